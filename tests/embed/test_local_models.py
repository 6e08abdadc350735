"""Local models other than the built-in one: used as their own files say, calibrated, or refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glossator
from chunks import make_chunk
from glossator.core.errors import EmbeddingModelUnavailable
from glossator.core.ports import no_progress
from glossator.embed.calibration import built_in_calibration
from glossator.embed.local import LocalEmbedder, built_in_model
from glossator.embed.model_config import ModelConfig, Pooling, read_model_config
from tiny_onnx import INT32, classifier, write_model

PROMPTS = {"prompts": {"query": "query: ", "document": "passage: "}}
CLS = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
PASSAGE = (
    "The oxygen that a plant releases comes from water. Arches bridged the valleys. Drop those that no query uses."
)


def modules(*kinds: str) -> str:
    return json.dumps(
        [{"path": f"{n}_{kind}", "type": f"sentence_transformers.models.{kind}"} for n, kind in enumerate(kinds)]
    )


def test_model_of_any_dimension_gives_unit_vectors_and_a_calibration_of_its_own(tmp_path: Path) -> None:
    embedder = LocalEmbedder(write_model(tmp_path / "tiny"))
    (made,) = embedder.embed_chunks([make_chunk(PASSAGE)], no_progress)
    assert (embedder.dimension, made.vector.shape, made.sentences.shape) == (96, (96,), (3, 96))
    assert np.allclose(np.linalg.norm(made.vector), 1, atol=1e-5)
    assert embedder.calibration != built_in_calibration()
    query = embedder.embed_query("Where does the oxygen that plants give off come from?")
    assert int((made.sentences.astype(np.float32) @ query.sentence).argmax()) == 0


def test_a_book_can_be_asked_with_another_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_book: Path
) -> None:
    monkeypatch.setenv(
        "GLOSSATOR_EMBEDDER", str(write_model(tmp_path / "tiny", files={"config_sentence_transformers.json": PROMPTS}))
    )
    (small_book / "plants.md").write_text(f"# Plants\n\n{PASSAGE}\n", "utf-8")
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book)
        assert book.search("oxygen that a plant releases")[0].title == "Plants"
        assert not book.ask("Where does the oxygen that a plant releases come from?").abstained


@pytest.mark.parametrize("pooling", Pooling)
def test_pooling_is_read_from_the_folder(tmp_path: Path, pooling: Pooling) -> None:
    modes = {f"pooling_mode_{mode}": mode is pooling for mode in Pooling}
    assert read_model_config(write_model(tmp_path, files={"1_Pooling/config.json": modes})).pooling is pooling


def test_pooled_vector_is_that_of_the_chosen_tokens(tmp_path: Path) -> None:
    mean = LocalEmbedder(write_model(tmp_path / "mean"))
    states = mean._embed_query("oxygen").vector  # of [CLS] oxygen [SEP]
    cls = LocalEmbedder(write_model(tmp_path / "cls", files={"1_Pooling/config.json": CLS}))
    assert not np.allclose(cls._embed_query("oxygen").vector, states)
    assert np.allclose(cls._embed_query("oxygen").vector, cls._embed_query("water").vector)


def test_padding_does_not_change_a_mean(tmp_path: Path) -> None:
    embedder = LocalEmbedder(write_model(tmp_path))
    chunks = [make_chunk("Oxygen comes from water. " * n) for n in (1, 6)]
    for chunk, batched in zip(chunks, embedder.embed_chunks(chunks, no_progress), strict=True):
        assert np.allclose(embedder.embed_chunks([chunk], no_progress)[0].vector, batched.vector, atol=1e-6)


def test_prompts_and_length_are_read_from_the_folder(tmp_path: Path) -> None:
    files = {
        "config_sentence_transformers.json": PROMPTS,
        "sentence_bert_config.json": {"max_seq_length": 128},
        "config.json": {"max_position_embeddings": 512, "model_type": "bert"},
        "modules.json": modules("Transformer", "Pooling", "Normalize"),
        "1_Pooling/config.json": {"pooling_mode": "mean", "embedding_dimension": 96},
    }
    config = read_model_config(write_model(tmp_path, files=files))
    assert config == ModelConfig(Pooling.MEAN, "query: ", "passage: ", 128)


def test_sentences_are_found_behind_a_prompt(tmp_path: Path) -> None:
    plain = LocalEmbedder(write_model(tmp_path / "plain"))
    prompted = LocalEmbedder(write_model(tmp_path / "prompted", files={"config_sentence_transformers.json": PROMPTS}))
    chunk = make_chunk(PASSAGE)
    (one,), (two,) = (e.embed_chunks([chunk], no_progress) for e in (plain, prompted))
    assert np.array_equal(one.sentences, two.sentences)
    assert not np.allclose(one.vector, two.vector)
    assert np.array_equal(plain.embed_query("oxygen").sentence, prompted.embed_query("oxygen").sentence)


def test_published_layout_works(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    flat = LocalEmbedder(folder).fingerprint
    published = write_model(tmp_path / "published" / "tiny")
    (published / "onnx").mkdir()
    (published / "model.onnx").rename(published / "onnx" / "model.onnx")
    assert LocalEmbedder(published).fingerprint == flat
    assert LocalEmbedder(published).dimension == 96


def test_integer_inputs_of_32_bits_work(tmp_path: Path) -> None:
    assert LocalEmbedder(write_model(tmp_path, kind=INT32)).dimension == 96


@pytest.mark.parametrize(
    "files",
    [
        {"1_Pooling/config.json": {"pooling_mode_max_tokens": True}},
        {"config_sentence_transformers.json": PROMPTS},
        {"config_sentence_transformers.json": {"prompts": {"document": "passage: "}}},
        {"sentence_bert_config.json": {"max_seq_length": 128}},
        {"model.onnx_data": "weights"},
    ],
)
def test_fingerprint_covers_all_that_changes_vectors(tmp_path: Path, files: dict[str, Any]) -> None:
    plain, other = write_model(tmp_path / "a" / "m"), write_model(tmp_path / "b" / "m", files=files)
    assert LocalEmbedder(plain).fingerprint != LocalEmbedder(other).fingerprint
    assert LocalEmbedder(plain).fingerprint == LocalEmbedder(write_model(tmp_path / "c" / "m")).fingerprint


def test_fingerprint_of_the_built_in_model_is_that_of_existing_indexes() -> None:
    assert LocalEmbedder(built_in_model()).fingerprint == "local:bge_small_en:d3f4f8c9ba1dfa0a"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"1_Pooling/config.json": {"pooling_mode_weightedmean_tokens": True}}, "weightedmean_tokens"),
        ({"1_Pooling/config.json": CLS | {"pooling_mode_max_tokens": True}}, "cls_token and max_tokens"),
        ({"modules.json": modules("Transformer", "Pooling", "Dense")}, "layer of type Dense"),
        ({"1_Pooling/config.json": "{"}, r"1_Pooling.config\.json cannot be read"),
        ({"config_sentence_transformers.json": {"prompts": 5}}, r"config_sentence_transformers\.json cannot be read"),
        ({"1_Pooling/config.json": CLS}, "does not distinguish answers"),
    ],
)
def test_unusable_model_is_refused_before_anything_is_indexed(
    tmp_path: Path, files: dict[str, Any], reason: str
) -> None:
    with pytest.raises(EmbeddingModelUnavailable, match=reason):
        LocalEmbedder(write_model(tmp_path / "tiny", files=files)).embed_chunks([make_chunk(PASSAGE)], no_progress)


def test_model_without_token_vectors_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingModelUnavailable, match=r"tiny has no token vectors"):
        LocalEmbedder(classifier(tmp_path / "tiny")).embed_query("Who?")
    reranker = built_in_model().parent / "reranker_en"
    with pytest.raises(EmbeddingModelUnavailable, match="reranker_en"):
        LocalEmbedder(reranker).embed_chunks([make_chunk(PASSAGE)], no_progress)
