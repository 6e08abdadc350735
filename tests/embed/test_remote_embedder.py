"""The remote embedder: fingerprint, dimension and tokens, and a book that is ingested and asked with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import glossator
from embedding_server import API_KEY, EmbeddingServer, Fault, embedder_settings, remote_embedder
from glossator.cli.doctor import diagnose
from glossator.core.errors import EmbeddingModelUnavailable, IndexMismatch
from glossator.core.settings import load_settings
from glossator.core.types import EmbeddingCounts
from glossator.embed import remote
from glossator.embed.local import LocalEmbedder, built_in_model
from glossator.pipeline.wiring import make_embedder

pytestmark = pytest.mark.slow

QUESTION = "What causes tides?"
TEXTS = ["The robot walks.", "", "Ein längerer Satz über Roboter und Gelenke.", "歩くロボット", "x = [1, 2]\n" * 20]


def test_fingerprint_is_unique_to_each_model(embedding_server: EmbeddingServer) -> None:
    embedders = [
        remote_embedder(embedding_server),
        remote_embedder(embedding_server, model="other"),
        remote_embedder(embedding_server, "gemini"),
        remote_embedder(embedding_server, "cohere"),
        make_embedder(embedder_settings(f"{embedding_server.url}/v1#words")),
        make_embedder(embedder_settings(f"{embedding_server.url}/v2#words")),
    ]
    fingerprints = [embedder.fingerprint for embedder in embedders]
    assert len(set(fingerprints)) == len(fingerprints)
    assert remote_embedder(embedding_server).fingerprint == fingerprints[0]
    embedding_server.change_vectors = lambda rows: [row[:50] for row in rows]
    assert remote_embedder(embedding_server).fingerprint != fingerprints[0]


def test_dimension_is_requested_once_and_only_if_unknown(embedding_server: EmbeddingServer) -> None:
    embedder = remote_embedder(embedding_server)
    assert embedding_server.requests == []
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: embedder.dimension, range(8))) == {128}
    assert embedder.fingerprint.count("128") == 1
    assert len(embedding_server.requests) == 1
    other = remote_embedder(embedding_server)
    other.embed_query("Who?")
    assert other.dimension == 128
    assert len(embedding_server.requests) == 2


def test_change_of_dimension_is_an_error(embedding_server: EmbeddingServer) -> None:
    embedder = remote_embedder(embedding_server)
    embedder.embed_query("Who?")
    embedding_server.change_vectors = lambda rows: [row[:50] for row in rows]
    with pytest.raises(EmbeddingModelUnavailable, match="vectors of 50 dimensions, but earlier ones had 128"):
        embedder.embed_query("Who?")


def test_tokens_are_counted_by_the_built_in_tokenizer_or_estimated(
    embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert remote_embedder(embedding_server).count_tokens(TEXTS) == LocalEmbedder(built_in_model()).count_tokens(TEXTS)

    def missing() -> Path:
        raise EmbeddingModelUnavailable("The built-in embedding model is not installed.")

    monkeypatch.setattr(remote, "built_in_model", missing)
    assert remote_embedder(embedding_server).count_tokens(TEXTS) == [4, 0, 12, 5, 55]


@pytest.fixture
def use_model(embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets GLOSSATOR_EMBEDDER to a model of the server."""

    def choose(model: str) -> None:
        monkeypatch.setenv("GLOSSATOR_EMBEDDER", f"{embedding_server.url}/v1#{model}")

    choose("words")
    return choose


@pytest.mark.usefixtures("use_model")
def test_book_is_ingested_and_answers_questions(small_book: Path, tmp_path: Path) -> None:
    with glossator.open(tmp_path / "data") as book:
        assert book.ingest(small_book).embeddings == EmbeddingCounts(made=3)
        answer = book.ask(QUESTION)
        assert not answer.abstained
        assert "gravity of the Moon" in answer.text
        assert book.ask("Who won the football cup in Brazil?").abstained
        assert "wild yeast" in book.ask("What is in it?", "A starter holds wild yeast. It smells.").text


@pytest.mark.usefixtures("use_model")
def test_unchanged_chunks_are_not_sent_again(
    embedding_server: EmbeddingServer, small_book: Path, tmp_path: Path
) -> None:
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book)
        embedding_server.requests.clear()
        assert book.ingest(small_book).embeddings == EmbeddingCounts(reused=3)
    assert embedding_server.requests == []
    with glossator.open(tmp_path / "data") as book:
        assert book.ingest(small_book).embeddings == EmbeddingCounts(reused=3)
        assert embedding_server.requests == []
        (small_book / "bread.md").write_text("# Bread\n\nRye keeps for a week.\n", "utf-8")
        assert book.ingest(small_book).embeddings == EmbeddingCounts(made=1, reused=2)
    assert embedding_server.texts == [["Bread\nRye keeps for a week.", "Rye keeps for a week."]]


@pytest.mark.parametrize("model", ["other", "short"])
def test_another_model_requires_a_new_ingest(
    use_model: Callable[[str], None], small_book: Path, tmp_path: Path, model: str
) -> None:
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book)
    use_model(model)
    with glossator.open(tmp_path / "data") as book:
        with pytest.raises(IndexMismatch, match=rf"/v1#words:128:1, but .*/v1#{model}:\d+:1 is configured"):
            book.ask(QUESTION)
        assert book.ingest(small_book).embeddings == EmbeddingCounts(made=3)
        assert "Moon" in book.ask(QUESTION).text


def test_confidence_does_not_depend_on_the_scale_of_cosines(
    use_model: Callable[[str], None], small_book: Path, tmp_path: Path
) -> None:
    confidences: dict[str, list[float]] = {}
    for model in ("words", "words-squeezed"):
        use_model(model)
        with glossator.open(tmp_path / model) as book:
            book.ingest(small_book)
            questions = (QUESTION, "When do spring tides occur?", "How is a starter fed?", "Who won the football cup?")
            confidences[model] = [book.ask(question).confidence for question in questions]
    assert confidences["words-squeezed"] == pytest.approx(confidences["words"], abs=0.02)


def test_doctor_shows_the_model_and_never_the_key(
    embedding_server: EmbeddingServer, small_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{embedding_server.url}/v1")
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", "openai:words")
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book)
    findings = {finding.topic: finding for finding in diagnose(load_settings(data_dir=tmp_path / "data"))}
    assert findings["embeddings"].good
    assert re.search(r"openai:127\.0\.0\.1:\d+/v1#words:128:1, 128 dimensions", findings["embeddings"].value)
    assert findings["index"].good
    embedding_server.faults = [Fault(401)]
    findings = {finding.topic: finding for finding in diagnose(load_settings(data_dir=tmp_path / "data"))}
    assert not findings["embeddings"].good
    assert "OPENAI_API_KEY" in findings["embeddings"].why
    assert API_KEY not in repr(findings)
