"""The built-in embedder: vectors, sentence vectors, fingerprint, and the cache that spares it work."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from glossator.core.errors import ModelProblem
from glossator.core.ports import silent
from glossator.core.text.sentences import split_sentences
from glossator.core.types import Chunk
from glossator.embed.cache import EmbeddingCache, embed_with_cache
from glossator.embed.local import LocalEmbedder, built_in_model


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder(built_in_model())


def chunk(text: str, title: str = "Page") -> Chunk:
    return Chunk(
        f"{title}#0",
        title,
        "",
        title,
        (title,),
        title,
        (title,),
        "",
        0,
        0,
        len(text),
        text,
        tuple(split_sentences(text)),
    )


def test_vectors_are_unit_length_and_one_a_sentence(embedder: LocalEmbedder) -> None:
    made = embedder.embed_chunks([chunk("Robots walk. Birds fly over the sea.")], silent)[0]
    assert made.vector.shape == (384,)
    assert made.sentences.shape == (2, 384)
    assert np.allclose(np.linalg.norm(made.vector), 1, atol=1e-5)
    assert np.allclose(np.linalg.norm(made.sentences.astype(np.float32), axis=1), 1, atol=1e-2)


def test_a_text_embeds_alike_alone_and_in_company(embedder: LocalEmbedder) -> None:
    texts = [chunk(f"Sentence number {n} about torque and motors. " * n) for n in range(1, 9)]
    together = embedder.embed_chunks(texts, silent)
    for text, made in zip(texts, together, strict=True):
        alone = embedder.embed_chunks([text], silent)[0]
        assert float(alone.vector @ made.vector) > 0.98


def test_the_nearest_sentence_is_the_one_that_answers(embedder: LocalEmbedder) -> None:
    made = embedder.embed_chunks(
        [chunk("Bread needs flour and salt. The gyroscope measures angular velocity. Rain fell on Monday.")], silent
    )[0]
    query = embedder.embed_query("Which sensor measures how fast a body turns?")
    assert int((made.sentences.astype(np.float32) @ query.sentence).argmax()) == 1


def test_a_text_longer_than_the_window_is_embedded_all_the_same(embedder: LocalEmbedder) -> None:
    made = embedder.embed_chunks([chunk("The motor turns quickly under load. " * 300)], silent)[0]
    assert np.isfinite(made.vector).all()
    assert np.isfinite(made.sentences.astype(np.float32)).all()


def test_progress_counts_up_to_all(embedder: LocalEmbedder) -> None:
    heard: list[tuple[int, int]] = []
    embedder.embed_chunks(
        [chunk(f"Text {n}.") for n in range(5)], lambda _stage, done, total: heard.append((done, total))
    )
    assert heard[-1] == (5, 5)
    assert heard == sorted(heard)


def test_what_is_in_the_cache_is_not_embedded_again(embedder: LocalEmbedder, tmp_path: Path) -> None:
    chunks = [chunk("One thing."), chunk("Another thing."), chunk("One thing.")]
    with EmbeddingCache(tmp_path / "cache.sqlite") as cache:
        first, made = embed_with_cache(embedder, cache, chunks, 1, silent)
        again, made_again = embed_with_cache(embedder, cache, chunks, 2, silent)
        _, with_other_headings = embed_with_cache(embedder, cache, [chunk("One thing.", "Elsewhere")], 2, silent)
    assert (made, made_again, with_other_headings) == (2, 0, 1)
    assert all(np.array_equal(a.vector, b.vector) for a, b in zip(first, again, strict=True))
    assert all(np.array_equal(a.sentences, b.sentences) for a, b in zip(first, again, strict=True))


def test_another_model_has_another_fingerprint(tmp_path: Path, embedder: LocalEmbedder) -> None:
    folder = tmp_path / "bge_small_en"
    shutil.copytree(built_in_model(), folder)
    assert LocalEmbedder(folder).fingerprint == embedder.fingerprint
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"\0")
    # The hash of a file is remembered by its path, so the altered copy gets a path of its own.
    altered = folder.rename(tmp_path / "altered")
    assert LocalEmbedder(altered).fingerprint != embedder.fingerprint


def test_a_folder_without_a_model_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelProblem, match=r"model\.onnx and tokenizer\.json"):
        LocalEmbedder(tmp_path)
