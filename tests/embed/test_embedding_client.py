"""Requests to an embedding server: what is sent, how responses are validated, and what is retried."""

from __future__ import annotations

import logging
import socket
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from chunks import make_chunk
from embedding_server import (
    API_KEY,
    FAST_BACKOFF,
    EmbeddingServer,
    Fault,
    embedder_of,
    embedder_settings,
    error_body,
    remote_embedder,
    word_vector,
)
from glossator.core.errors import EmbeddingModelUnavailable
from glossator.core.ports import no_progress
from glossator.embed.client import (
    MAX_BATCH_CHARACTERS,
    MAX_BATCH_TEXTS,
    MAX_TEXT_CHARACTERS,
    RequestPolicy,
)
from glossator.pipeline.wiring import make_embedder


def test_openai_request_contains_the_chunk_and_each_sentence(embedding_server: EmbeddingServer) -> None:
    chunk = make_chunk("Robots walk far. Birds fly over the sea.", "Moving")
    embedding = remote_embedder(embedding_server).embed_chunks([chunk], no_progress)[0]
    path, headers, body = embedding_server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["authorization"] == f"Bearer {API_KEY}"
    assert body == {
        "model": "words",
        "input": ["Moving\nRobots walk far. Birds fly over the sea.", "Robots walk far.", "Birds fly over the sea."],
    }
    assert embedding.vector.shape == (128,)
    assert embedding.sentences.shape == (2, 128)
    assert embedding.sentences.dtype == np.float16


def test_cohere_request_has_the_input_type_of_documents_and_queries(embedding_server: EmbeddingServer) -> None:
    embedder = remote_embedder(embedding_server, "cohere", "embed-v4.0")
    embedder.embed_chunks([make_chunk("Robots walk.")], no_progress)
    embedder.embed_query("Do robots walk?")
    assert [path for path, _, _ in embedding_server.requests] == ["/v2/embed"] * 2
    first, second = (body for _, _, body in embedding_server.requests)
    assert first == {
        "model": "embed-v4.0",
        "texts": ["Page\nRobots walk.", "Robots walk."],
        "input_type": "search_document",
        "embedding_types": ["float"],
    }
    assert (second["texts"], second["input_type"]) == (["Do robots walk?"], "search_query")


def test_cohere_chat_base_url_works_for_embeddings(embedding_server: EmbeddingServer) -> None:
    base_url = f"{embedding_server.url}/compatibility/v1/"
    settings = embedder_settings("cohere:m", cohere_api_key=API_KEY, cohere_base_url=base_url)
    make_embedder(settings).embed_query("Do robots walk?")
    assert embedding_server.requests[0][0] == "/v2/embed"


def test_gemini_and_custom_urls_use_the_openai_api(embedding_server: EmbeddingServer) -> None:
    remote_embedder(embedding_server, "gemini", "gemini-embedding-001").embed_query("One?")
    settings = embedder_settings(f"{embedding_server.url}/v1#org/model:tag", openai_api_key=API_KEY)
    make_embedder(settings).embed_query("Two?")
    assert [(path, body["model"]) for path, _, body in embedding_server.requests] == [
        ("/v1/embeddings", "gemini-embedding-001"),
        ("/v1/embeddings", "org/model:tag"),
    ]
    assert "authorization" not in embedding_server.requests[1][1], "OpenAI's key went to another host"


@pytest.mark.parametrize(
    "change_items",
    [
        lambda data: data[::-1],
        lambda data: [{k: v for k, v in item.items() if k != "index" or v} for item in data],
        lambda data: [item | {"index": 0} for item in data],
        lambda data: [{"embedding": item["embedding"], "index": None} for item in data],
    ],
    ids=["shuffled", "index 0 omitted, as by Gemini", "all indexes 0", "all indexes null"],
)
def test_vectors_are_in_the_order_of_the_texts(
    embedding_server: EmbeddingServer, change_items: Callable[[Any], Any]
) -> None:
    embedding_server.change_items = change_items
    chunk = make_chunk("Robots walk far. Birds fly over the sea.")
    embedding = remote_embedder(embedding_server).embed_chunks([chunk], no_progress)[0]
    expected = word_vector("Birds fly over the sea.", "words")
    assert np.allclose(embedding.sentences[1].astype(float), expected / np.linalg.norm(expected), atol=1e-2)


def test_vectors_have_unit_length_and_the_nearest_sentence_answers(embedding_server: EmbeddingServer) -> None:
    embedder = remote_embedder(embedding_server)
    chunk = make_chunk("Bread needs flour. A gyroscope measures rotation. Rain fell.")
    embedding = embedder.embed_chunks([chunk], no_progress)[0]
    query = embedder.embed_query("What does a gyroscope measure?")
    assert np.allclose(np.linalg.norm(embedding.vector), 1, atol=1e-5)
    assert np.allclose(np.linalg.norm(embedding.sentences.astype(np.float32), axis=1), 1, atol=1e-2)
    assert np.allclose(np.linalg.norm(query.vector), 1, atol=1e-5)
    assert int((embedding.sentences.astype(np.float32) @ query.sentence).argmax()) == 1


def test_batches_are_limited_and_results_stay_in_order(embedding_server: EmbeddingServer) -> None:
    embedder = remote_embedder(embedding_server)
    chunks = [make_chunk(f"Sentence {n} about robots. Number {n} walks on. And {n} stops here.") for n in range(150)]
    reported: list[int] = []
    embeddings = embedder.embed_chunks(chunks, lambda _stage, done, _total: reported.append(done))
    assert sum(map(len, embedding_server.texts)) == 600
    assert max(map(len, embedding_server.texts)) == MAX_BATCH_TEXTS
    assert reported == sorted(reported)
    assert reported[-1] == 150
    for number in (0, 77, 149):
        alone = embedder.embed_chunks([chunks[number]], no_progress)[0]
        assert np.array_equal(embeddings[number].vector, alone.vector)


def test_request_size_is_limited(embedding_server: EmbeddingServer) -> None:
    chunks = [make_chunk("x" * 7_000, f"Page {n}") for n in range(40)]
    remote_embedder(embedding_server).embed_chunks(chunks, no_progress)
    sizes = [sum(map(len, texts)) for texts in embedding_server.texts]
    assert len(sizes) > 5
    assert max(sizes) <= MAX_BATCH_CHARACTERS


def test_texts_that_servers_reject_are_sanitized(embedding_server: EmbeddingServer) -> None:
    remote_embedder(embedding_server).embed_query("long " * 10_000)
    remote_embedder(embedding_server).embed_query("half \ud800 a character")
    assert len(embedding_server.texts[0][0]) == MAX_TEXT_CHARACTERS
    assert embedding_server.texts[1] == ["half ? a character"]


def test_no_texts_send_no_request(embedding_server: EmbeddingServer) -> None:
    assert remote_embedder(embedding_server).embed_chunks([], no_progress) == []
    assert embedding_server.requests == []


PERMANENT_FAULTS = {
    "wrong key": (
        Fault(401, error_body(f"Incorrect API key provided: {API_KEY}")),
        "rejected the API key in OPENAI_API_KEY",
    ),
    "wrong key, Gemini": (
        Fault(400, b'[{"error": {"message": "API key not valid."}}]'),
        "rejected the API key in OPENAI_API_KEY",
    ),
    "forbidden": (
        Fault(403, error_body(f"{API_KEY} may not")),
        "does not allow this API key to use the model 'words'",
    ),
    "unknown model": (
        Fault(404, error_body("The model does not exist")),
        "'words'.*The model does not exist.*EMBEDDER",
    ),
    "bad request": (
        Fault(400, error_body(f"no {API_KEY[3:]} for\nyou")),
        "status 400.*GLOSSATOR_EMBEDDER and .*OPENAI_BASE_URL",
    ),
    "bad request, Cohere": (Fault(422, b'{"message": "too\\u001b[31m long"}'), r"\(too\[31m long\)"),
    "page not found": (
        Fault(404, b"<html>Not here</html>"),
        "not return a valid embedding response.*status 404",
    ),
    "redirect": (Fault(302, b"", {"location": "/v1/elsewhere"}), "status 302"),
    "no quota": (
        Fault(429, error_body("You exceeded your quota", "insufficient_quota")),
        "account of OPENAI_API_KEY.*has no quota left",
    ),
    "web page": (Fault(200, b"<!doctype html><p>Welcome</p>"), "response: it is not JSON"),
    "deeply nested JSON": (Fault(200, b"[" * 100_000), "response: it is not JSON"),
    "other JSON": (Fault(200, b'{"object": "chat.completion"}'), "response: it contains no vectors"),
    "JSON list": (Fault(200, b"[1]"), "response: it contains no vectors"),
    "bad gzip": (Fault(200, b"no gzip", {"content-encoding": "gzip"}), "cannot be decoded"),
}


@pytest.mark.parametrize(("fault", "message"), PERMANENT_FAULTS.values(), ids=PERMANENT_FAULTS)
def test_permanent_fault_is_a_clear_error_without_retry(
    embedding_server: EmbeddingServer, fault: Fault, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedding_server.faults = [fault] * 3
    with pytest.raises(EmbeddingModelUnavailable, match=message) as caught:
        remote_embedder(embedding_server).embed_query("Who?")
    assert len(embedding_server.requests) == 1
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert API_KEY[3:] not in "".join(traceback.format_exception(caught.value)) + caplog.text


INVALID_VECTORS: dict[str, tuple[Callable[[list[list[float]]], Any], str]] = {
    "too few": (lambda rows: rows[:-1], "it contains 2 vectors for 3 texts"),
    "too many": (lambda rows: [*rows, rows[0]], "it contains 4 vectors for 3 texts"),
    "not a number": (lambda rows: [[*rows[0][:-1], float("nan")], *rows[1:]], "zero or not finite"),
    "infinite": (lambda rows: [[float("inf")] * 128, *rows[1:]], "zero or not finite"),
    "zero": (lambda rows: [[0.0] * 128, *rows[1:]], "zero or not finite"),
    "different lengths": (lambda rows: [rows[0][:5], *rows[1:]], "differ in length"),
    "strings": (lambda _rows: [["0.5"] * 128] * 3, "not lists of numbers"),
    "null": (lambda _rows: [None] * 3, "not lists of numbers"),
    "empty": (lambda _rows: [[]] * 3, "not lists of numbers"),
    "objects": (lambda _rows: [{"a": 1}] * 3, "not lists of numbers"),
}


@pytest.mark.parametrize(("change", "message"), INVALID_VECTORS.values(), ids=INVALID_VECTORS)
def test_invalid_vectors_are_rejected(
    embedding_server: EmbeddingServer, change: Callable[[list[list[float]]], Any], message: str
) -> None:
    embedding_server.change_vectors = change
    with pytest.raises(EmbeddingModelUnavailable, match=message):
        remote_embedder(embedding_server).embed_chunks(
            [make_chunk("Robots walk far. Birds fly over the sea.")], no_progress
        )


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_transient_fault_is_retried(embedding_server: EmbeddingServer, status: int) -> None:
    embedding_server.faults = [Fault(status), Fault(status, error_body("busy"))]
    assert len(remote_embedder(embedding_server).embed_query("Who?").vector) == 128
    assert len(embedding_server.requests) == 3


@pytest.mark.parametrize("status", [429, 500])
def test_transient_fault_is_an_error_after_three_attempts(embedding_server: EmbeddingServer, status: int) -> None:
    embedding_server.faults = [Fault(status, error_body("too busy"))] * 5
    with pytest.raises(EmbeddingModelUnavailable, match=rf"status {status}: too busy.*Try again later"):
        remote_embedder(embedding_server).embed_query("Who?")
    assert len(embedding_server.requests) == FAST_BACKOFF.attempts == RequestPolicy().backoff.attempts == 3


def test_retry_after_header_is_respected(embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=15), usegmt=True)
    embedding_server.faults = [Fault(429, headers={"retry-after": "7"}), Fault(429, headers={"retry-after": date})]
    monkeypatch.setattr(time, "sleep", lambda seconds: delays.append(seconds) if seconds else None)
    remote_embedder(embedding_server).embed_query("Who?")
    assert delays[0] == 7
    assert 0 < delays[1] <= 15


def test_too_long_retry_after_is_an_error_without_retry(embedding_server: EmbeddingServer) -> None:
    embedding_server.faults = [Fault(429, headers={"retry-after": "3600"})]
    with pytest.raises(EmbeddingModelUnavailable, match="Try again in 3600 seconds"):
        remote_embedder(embedding_server).embed_query("Who?")
    assert len(embedding_server.requests) == 1


def test_malformed_retry_after_falls_back_to_backoff(embedding_server: EmbeddingServer) -> None:
    embedding_server.faults = [Fault(429, headers={"retry-after": "soon"})]
    remote_embedder(embedding_server).embed_query("Who?")
    assert len(embedding_server.requests) == 2


def test_slow_server_times_out(embedding_server: EmbeddingServer) -> None:
    embedding_server.faults = [Fault(seconds=0.5)] * 3
    embedder = remote_embedder(embedding_server, policy=RequestPolicy(FAST_BACKOFF, read_timeout_seconds=0.05))
    with pytest.raises(EmbeddingModelUnavailable, match=r"cannot be reached \(it timed out\).*OPENAI_BASE_URL"):
        embedder.embed_query("Who?")


def test_slow_response_body_times_out_as_a_whole(embedding_server: EmbeddingServer) -> None:
    embedding_server.faults = [Fault(body=b" " * 5000)] * 3
    embedder = remote_embedder(embedding_server, policy=RequestPolicy(FAST_BACKOFF, total_timeout_seconds=0.0))
    with pytest.raises(EmbeddingModelUnavailable, match=r"cannot be reached \(it timed out\).*OPENAI_BASE_URL"):
        embedder.embed_query("Who?")
    assert len(embedding_server.requests) == FAST_BACKOFF.attempts


def test_oversized_response_is_rejected(embedding_server: EmbeddingServer) -> None:
    embedding_server.faults = [Fault(body=b" " * 5000)]
    embedder = remote_embedder(embedding_server, policy=RequestPolicy(FAST_BACKOFF, max_response_bytes=1000))
    with pytest.raises(EmbeddingModelUnavailable, match="response: it is too large"):
        embedder.embed_query("Who?")


def test_unreachable_server_is_named_in_the_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    message = rf"127\.0\.0\.1:{port}/v1 cannot be reached.*GLOSSATOR_EMBEDDER"
    with pytest.raises(EmbeddingModelUnavailable, match=message):
        embedder_of(embedder_settings(f"http://127.0.0.1:{port}/v1#m")).embed_query("Who?")


def test_error_names_the_variable_of_a_required_key(embedding_server: EmbeddingServer) -> None:
    embedding_server.faults = [Fault(401)] * 2
    with pytest.raises(EmbeddingModelUnavailable, match="GLOSSATOR_EMBEDDER_API_KEY is not set"):
        make_embedder(embedder_settings(f"{embedding_server.url}/v1#m")).embed_query("Who?")
    with pytest.raises(EmbeddingModelUnavailable, match="OPENAI_API_KEY is not set"):
        remote_embedder(embedding_server, key="").embed_query("Who?")


def test_no_proxy_is_used_for_loopback(embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert len(remote_embedder(embedding_server).embed_query("Who?").vector) == 128
