"""Remote embedders against a real server on loopback: what is sent, what is believed, and what each fault becomes."""

from __future__ import annotations

import json
import logging
import re
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

import glossator
from glossator.cli.doctor import examine
from glossator.core.errors import IndexMismatch, ModelProblem, SettingsError
from glossator.core.ports import Embedder, silent
from glossator.core.settings import load_settings
from glossator.core.text.sentences import split_sentences
from glossator.core.text.words import content_words
from glossator.core.types import Chunk, EmbeddingCounts
from glossator.embed import calibration, remote
from glossator.embed import client as requests
from glossator.embed.local import LocalEmbedder, built_in_model
from glossator.pipeline.wiring import make_embedder

KEY = "sk-test-0123456789abcdef"
VARIABLES = [f"{name}_{end}" for name in ("OPENAI", "GEMINI", "COHERE") for end in ("API_KEY", "BASE_URL")]
MOON = "What causes tides?"


@dataclass(frozen=True)
class Fault:
    """An answer that is not the right one."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class Server:
    """What the server was asked, what it answers next, and how it embeds."""

    url: str
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    alter: Callable[[list[list[float]]], Any] | None = None
    arrange: Callable[[list[dict[str, Any]]], Any] | None = None

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [body.get("input") or body["texts"] for _, _, body in self.requests]

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        rows = [vector(text, body["model"]).tolist() for text in body.get("input") or body["texts"]]
        rows = self.alter(rows) if self.alter else rows
        if path.endswith("/v2/embed"):
            return {"id": "x", "embeddings": {"float": rows}}
        data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
        return {"object": "list", "data": self.arrange(data) if self.arrange else data, "model": body["model"]}


def vector(text: str, model: str) -> NDArray[np.float64]:
    """A direction for each word, summed; `…-squeezed` has the same with all cosines moved closer to 1."""
    name, _, squeezed = model.partition("-")
    size = 64 if name == "short" else 128
    rows = [np.random.default_rng(crc32(f"{name}{word}".encode())).normal(size=size) for word in content_words(text)]
    summed = np.sum([*rows, np.full(size, 0.2)], axis=0)
    return np.append(summed / np.linalg.norm(summed), 1.5) if squeezed else 3 * summed


class Handler(BaseHTTPRequestHandler):
    """Speaks OpenAI's /embeddings and Cohere's /v2/embed."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_POST(self) -> None:
        state: Server = self.server.state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        state.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        fault = state.faults.pop(0) if state.faults else None
        time.sleep(fault.seconds if fault else 0)
        content = fault.body if fault else json.dumps(state.answer(self.path, body)).encode()
        self.send_response(fault.status if fault else 200)
        for name, value in (fault.headers if fault else {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


class QuietServer(ThreadingHTTPServer):
    """A client that has hung up is no news."""

    daemon_threads = True
    state: Server

    def handle_error(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with QuietServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.state = Server(f"http://127.0.0.1:{httpd.server_port}")
        Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
        yield httpd.state
        httpd.shutdown()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, and no settings of whoever runs the tests."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"GLOSSATOR_{name}", raising=False)
    monkeypatch.setattr(requests, "FIRST_WAIT", 0.001)


def embedder(server: Server, provider: str = "openai", model: str = "words", key: str = KEY) -> Embedder:
    base = server.url if provider == "cohere" else f"{server.url}/v1"
    return make_embedder(settings(f"{provider}:{model}", **{f"{provider}_api_key": key, f"{provider}_base_url": base}))


def settings(spec: str, **more: Any) -> Any:
    return load_settings(embedder=spec, **more)


def chunk(text: str, title: str = "Page") -> Chunk:
    spans = tuple(split_sentences(text))
    return Chunk(f"{title}#0", title, "", title, (title,), title, (title,), "", 0, 0, len(text), text, spans)


def words_of(problem: BaseException) -> str:
    """All that a reader of logs could see of an error."""
    return "".join(traceback.format_exception(problem))


def test_openai_is_sent_the_model_and_every_text(server: Server) -> None:
    made = embedder(server).embed_chunks([chunk("Robots walk far. Birds fly over the sea.", "Moving")], silent)[0]
    path, headers, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "words",
        "input": ["Moving\nRobots walk far. Birds fly over the sea.", "Robots walk far.", "Birds fly over the sea."],
    }
    assert made.vector.shape == (128,)
    assert made.sentences.shape == (2, 128)
    assert made.sentences.dtype == np.float16


def test_cohere_is_told_what_is_a_document_and_what_a_question(server: Server) -> None:
    own = embedder(server, "cohere", "embed-v4.0")
    own.embed_chunks([chunk("Robots walk.")], silent)
    own.embed_query("Do robots walk?")
    assert [path for path, _, _ in server.requests] == ["/v2/embed"] * 2
    first, second = (body for _, _, body in server.requests)
    assert first == {
        "model": "embed-v4.0",
        "texts": ["Page\nRobots walk.", "Robots walk."],
        "input_type": "search_document",
        "embedding_types": ["float"],
    }
    assert (second["texts"], second["input_type"]) == (["Do robots walk?"], "search_query")


def test_the_address_of_coheres_language_models_serves_too(server: Server) -> None:
    base = f"{server.url}/compatibility/v1/"
    make_embedder(settings("cohere:m", cohere_api_key=KEY, cohere_base_url=base)).embed_query("Do robots walk?")
    assert server.requests[0][0] == "/v2/embed"


def test_gemini_and_addresses_speak_as_openai_does(server: Server) -> None:
    embedder(server, "gemini", "gemini-embedding-001").embed_query("One?")
    make_embedder(settings(f"{server.url}/v1#org/model:tag", openai_api_key=KEY)).embed_query("Two?")
    assert [(path, body["model"]) for path, _, body in server.requests] == [
        ("/v1/embeddings", "gemini-embedding-001"),
        ("/v1/embeddings", "org/model:tag"),
    ]
    assert "authorization" not in server.requests[1][1], "OpenAI's key went to another address"


@pytest.mark.parametrize(
    "arrange",
    [
        lambda data: data[::-1],
        lambda data: [{k: v for k, v in item.items() if k != "index" or v} for item in data],
        lambda data: [item | {"index": 0} for item in data],
        lambda data: [{"embedding": item["embedding"], "index": None} for item in data],
    ],
    ids=["shuffled", "no index of 0, as Gemini does", "all 0", "none"],
)
def test_vectors_come_in_the_order_of_the_texts(server: Server, arrange: Callable[[Any], Any]) -> None:
    server.arrange = arrange
    made = embedder(server).embed_chunks([chunk("Robots walk far. Birds fly over the sea.")], silent)[0]
    expected = vector("Birds fly over the sea.", "words")
    assert np.allclose(made.sentences[1].astype(float), expected / np.linalg.norm(expected), atol=1e-2)


def test_vectors_are_of_unit_length_and_the_nearest_sentence_answers(server: Server) -> None:
    own = embedder(server)
    made = own.embed_chunks([chunk("Bread needs flour. A gyroscope measures rotation. Rain fell.")], silent)[0]
    query = own.embed_query("What does a gyroscope measure?")
    assert np.allclose(np.linalg.norm(made.vector), 1, atol=1e-5)
    assert np.allclose(np.linalg.norm(made.sentences.astype(np.float32), axis=1), 1, atol=1e-2)
    assert np.allclose(np.linalg.norm(query.vector), 1, atol=1e-5)
    assert int((made.sentences.astype(np.float32) @ query.sentence).argmax()) == 1


def test_requests_are_bounded_and_what_comes_back_is_in_order(server: Server) -> None:
    own = embedder(server)
    chunks = [chunk(f"Sentence {n} about robots. Number {n} walks on. And {n} stops here.") for n in range(150)]
    heard: list[int] = []
    made = own.embed_chunks(chunks, lambda _stage, done, _total: heard.append(done))
    assert sum(map(len, server.texts)) == 600
    assert max(map(len, server.texts)) == requests.BATCH_TEXTS
    assert heard == sorted(heard)
    assert heard[-1] == 150
    for number in (0, 77, 149):
        assert np.array_equal(made[number].vector, own.embed_chunks([chunks[number]], silent)[0].vector)


def test_a_request_never_holds_too_many_characters(server: Server) -> None:
    embedder(server).embed_chunks([chunk("x" * 7_000, f"Page {n}") for n in range(40)], silent)
    sizes = [sum(map(len, texts)) for texts in server.texts]
    assert len(sizes) > 5
    assert max(sizes) <= requests.BATCH_CHARACTERS


def test_texts_that_no_server_takes_are_mended(server: Server) -> None:
    embedder(server).embed_query("long " * 10_000)
    embedder(server).embed_query("half \ud800 a character")
    assert len(server.texts[0][0]) == requests.LONGEST_TEXT
    assert server.texts[1] == ["half ? a character"]


def test_nothing_to_embed_asks_nothing(server: Server) -> None:
    assert embedder(server).embed_chunks([], silent) == []
    assert server.requests == []


def said(message: str, code: str = "") -> bytes:
    return json.dumps({"error": {"message": message, "code": code}}).encode()


FAULTS = {
    "wrong key": (Fault(401, said(f"Incorrect API key provided: {KEY}")), "does not accept the key in OPENAI_API_KEY"),
    "wrong key, Gemini": (Fault(400, b'[{"error": {"message": "API key not valid."}}]'), "key in OPENAI_API_KEY"),
    "forbidden": (Fault(403, said(f"{KEY} may not")), "does not let this key use the model 'words'"),
    "unknown model": (Fault(404, said("The model does not exist")), "'words'.*The model does not exist.*EMBEDDER"),
    "bad request": (Fault(400, said(f"no {KEY[3:]} for\nyou")), "status 400.*GLOSSATOR_EMBEDDER and .*OPENAI_BASE_URL"),
    "bad request, Cohere": (Fault(422, b'{"message": "too\\u001b[31m long"}'), r"\(too\[31m long\)"),
    "no such page": (Fault(404, b"<html>Not here</html>"), "not answer as an embedding endpoint.*status 404"),
    "redirect": (Fault(302, b"", {"location": "/v1/elsewhere"}), "status 302"),
    "account": (Fault(429, said("You exceeded your quota", "insufficient_quota")), "behind OPENAI_API_KEY.*used up"),
    "page": (Fault(200, b"<!doctype html><p>Welcome</p>"), "its answer is not JSON"),
    "deep": (Fault(200, b"[" * 100_000), "its answer is not JSON"),
    "other JSON": (Fault(200, b'{"object": "chat.completion"}'), "its answer holds no vectors"),
    "a list": (Fault(200, b"[1]"), "its answer holds no vectors"),
    "bad gzip": (Fault(200, b"no gzip", {"content-encoding": "gzip"}), "cannot be decoded"),
}


@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=FAULTS)
def test_a_lasting_fault_is_a_clear_error_after_one_attempt(
    server: Server, fault: Fault, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.faults = [fault] * 3
    with pytest.raises(ModelProblem, match=message) as caught:
        embedder(server).embed_query("Who?")
    assert len(server.requests) == 1
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert KEY[3:] not in words_of(caught.value) + caplog.text


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda rows: rows[:-1], "it gave 2 vectors for 3 texts"),
        (lambda rows: [*rows, rows[0]], "it gave 4 vectors for 3 texts"),
        (lambda rows: [[*rows[0][:-1], float("nan")], *rows[1:]], "zero or not finite"),
        (lambda rows: [[float("inf")] * 128, *rows[1:]], "zero or not finite"),
        (lambda rows: [[0.0] * 128, *rows[1:]], "zero or not finite"),
        (lambda rows: [rows[0][:5], *rows[1:]], "differ in length"),
        (lambda rows: [["0.5"] * 128] * 3, "no lists of numbers"),
        (lambda rows: [None] * 3, "no lists of numbers"),
        (lambda rows: [[]] * 3, "no lists of numbers"),
        (lambda rows: [{"a": 1}] * 3, "no lists of numbers"),
    ],
)
def test_vectors_that_cannot_be_right_are_refused(
    server: Server, rows: Callable[[list[list[float]]], Any], message: str
) -> None:
    server.alter = rows
    with pytest.raises(ModelProblem, match=message):
        embedder(server).embed_chunks([chunk("Robots walk far. Birds fly over the sea.")], silent)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_fault_is_tried_again(server: Server, status: int) -> None:
    server.faults = [Fault(status), Fault(status, said("busy"))]
    assert len(embedder(server).embed_query("Who?").vector) == 128
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 500])
def test_a_fault_that_does_not_pass_is_an_error_after_three_attempts(server: Server, status: int) -> None:
    server.faults = [Fault(status, said("too busy"))] * 5
    with pytest.raises(ModelProblem, match=rf"status {status}: too busy.*Try again later"):
        embedder(server).embed_query("Who?")
    assert len(server.requests) == requests.ATTEMPTS


def test_the_server_says_how_long_to_wait(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=15), usegmt=True)
    server.faults = [Fault(429, headers={"retry-after": "7"}), Fault(429, headers={"retry-after": date})]
    monkeypatch.setattr(time, "sleep", lambda seconds: waits.append(seconds) if seconds else None)
    embedder(server).embed_query("Who?")
    assert waits[0] == 7
    assert 0 < waits[1] <= 15


def test_a_wait_that_is_too_long_is_not_waited_for(server: Server) -> None:
    server.faults = [Fault(429, headers={"retry-after": "3600"})]
    with pytest.raises(ModelProblem, match="Try again in 3600 seconds"):
        embedder(server).embed_query("Who?")
    assert len(server.requests) == 1


def test_a_wait_that_cannot_be_read_is_our_own(server: Server) -> None:
    server.faults = [Fault(429, headers={"retry-after": "soon"})]
    embedder(server).embed_query("Who?")
    assert len(server.requests) == 2


def test_a_slow_server_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "READ_SECONDS", 0.05)
    server.faults = [Fault(seconds=0.5)] * 3
    with pytest.raises(ModelProblem, match=r"cannot be reached \(it did not answer in time\).*OPENAI_BASE_URL"):
        embedder(server).embed_query("Who?")


def test_an_answer_without_end_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_BYTES", 1000)
    server.faults = [Fault(body=b" " * 5000)]
    with pytest.raises(ModelProblem, match="does not end"):
        embedder(server).embed_query("Who?")


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelProblem, match=rf"127\.0\.0\.1:{port}/v1 cannot be reached.*GLOSSATOR_EMBEDDER"):
        make_embedder(settings(f"http://127.0.0.1:{port}/v1#m")).embed_query("Who?")


def test_an_address_that_wants_a_key_tells_how_to_give_one(server: Server) -> None:
    server.faults = [Fault(401)] * 2
    with pytest.raises(ModelProblem, match="GLOSSATOR_EMBEDDER_API_KEY is not set"):
        make_embedder(settings(f"{server.url}/v1#m")).embed_query("Who?")
    with pytest.raises(ModelProblem, match="OPENAI_API_KEY is not set"):
        embedder(server, key="").embed_query("Who?")


def test_no_proxy_stands_between_this_machine_and_itself(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert len(embedder(server).embed_query("Who?").vector) == 128


@pytest.mark.parametrize("provider", ["openai", "gemini", "cohere"])
def test_a_missing_key_is_named(provider: str) -> None:
    with pytest.raises(ModelProblem, match=rf"GLOSSATOR_EMBEDDER.*{provider.upper()}_API_KEY is not set"):
        make_embedder(settings(f"{provider}:model"))


@pytest.mark.parametrize("key", ["sk-secret\nsecret", "sk-secret secret", "sk-sécret"])
def test_a_key_that_is_none_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY holds characters") as caught:
        make_embedder(settings("openai:model", openai_api_key=key))
    assert "cret" not in str(caught.value)


def test_a_key_is_shown_nowhere(server: Server) -> None:
    own = embedder(server)
    shown = [repr(own), repr(vars(own)), own.fingerprint, repr(settings("openai:m", openai_api_key=KEY))]
    assert KEY not in "".join(shown)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpt-9", "GLOSSATOR_EMBEDDER is 'gpt-9'.*openai:MODEL, gemini:MODEL, cohere:MODEL or https://host/v1#MODEL"),
        ("mistral:embed", "GLOSSATOR_EMBEDDER is 'mistral:embed'.*cohere:MODEL"),
        ("openai:", "names no model.*openai:MODEL"),
        ("openai:a model", "names no model"),
        ("https://host/v1", "names no model.*#MODEL"),
        ("http://example.org/v1#m", "in the clear"),
        ("http://127.0.0.1.example.org/v1#m", "in the clear"),
        ("https://user:hunter2@host/v1#m", "not a plain address"),
        ("http://127.0.0.1@hunter2.org/v1#m", "not a plain address"),
        ("http://127.0.0.1\\@hunter2.org/v1#m", "not a plain address"),
        ("https://host/v1?key=hunter2#m", "not a plain address"),
        ("https://ho st/v1#m", "not a plain address"),
        ("https://#m", "not a plain address"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(spec: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        make_embedder(settings(spec, openai_api_key=KEY))
    assert "hunter2" not in str(caught.value)


def test_an_address_in_the_clear_is_refused_for_providers_too() -> None:
    with pytest.raises(SettingsError, match="OPENAI_BASE_URL would send"):
        make_embedder(settings("openai:m", openai_api_key=KEY, openai_base_url="http://example.org/v1"))


@pytest.mark.parametrize("host", ["localhost:1", "127.1.2.3", "[::1]:8080"])
def test_this_machine_may_be_called_in_the_clear(host: str) -> None:
    assert make_embedder(settings(f"http://{host}/v1#m"))


def test_keys_and_addresses_come_from_the_usual_variables(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GLOSSATOR_OPENAI_BASE_URL", f"{server.url}/v1/")
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", "openai:words")
    make_embedder(load_settings()).embed_query("Who?")
    path, headers, _ = server.requests[0]
    assert (path, headers["authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")


def test_no_two_models_share_a_fingerprint(server: Server) -> None:
    made = [
        embedder(server),
        embedder(server, model="other"),
        embedder(server, "gemini"),
        embedder(server, "cohere"),
        make_embedder(settings(f"{server.url}/v1#words")),
        make_embedder(settings(f"{server.url}/v2#words")),
    ]
    prints = [own.fingerprint for own in made]
    assert len(set(prints)) == len(prints)
    assert embedder(server).fingerprint == prints[0]
    server.alter = lambda rows: [row[:50] for row in rows]
    assert embedder(server).fingerprint != prints[0]


def test_the_length_is_asked_for_once_and_only_if_unknown(server: Server) -> None:
    own = embedder(server)
    assert server.requests == []
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: own.dimension, range(8))) == {128}
    assert own.fingerprint.count("128") == 1
    assert len(server.requests) == 1
    other = embedder(server)
    other.embed_query("Who?")
    assert other.dimension == 128
    assert len(server.requests) == 2


def test_a_model_that_changes_its_vectors_is_refused(server: Server) -> None:
    own = embedder(server)
    own.embed_query("Who?")
    server.alter = lambda rows: [row[:50] for row in rows]
    with pytest.raises(ModelProblem, match="vectors of 50 numbers, and before of 128"):
        own.embed_query("Who?")


TEXTS = ["The robot walks.", "", "Ein längerer Satz über Roboter und Gelenke.", "歩くロボット", "x = [1, 2]\n" * 20]


def test_tokens_are_those_of_the_built_in_model_or_an_estimate(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert embedder(server).count_tokens(TEXTS) == LocalEmbedder(built_in_model()).count_tokens(TEXTS)

    def missing() -> Path:
        raise ModelProblem("The built-in embedding model is not installed.")

    monkeypatch.setattr(remote, "built_in_model", missing)
    assert embedder(server).count_tokens(TEXTS) == [4, 0, 12, 5, 55]


def test_the_anchors_of_the_built_in_model_are_what_it_gives() -> None:
    local = LocalEmbedder(built_in_model())
    asked = [local.embed_query(question) for question in calibration.questions()]
    found = calibration.measure(asked, local.embed_chunks(calibration.passages(), silent))
    assert found.dense == pytest.approx(calibration.BUILT_IN.dense, abs=0.005)
    assert found.sentence == pytest.approx(calibration.BUILT_IN.sentence, abs=0.005)
    assert calibration.calibrate(calibration.BUILT_IN) == local.calibration


def relevance(model: Sequence[float], dense: float, sentence: float) -> float:
    return model[0] + model[1] * dense + model[2] * sentence + sum(model[3:])


def test_cosines_on_another_scale_give_the_same_relevance() -> None:
    def squeezed(cosines: tuple[float, float], by: float, start: float) -> tuple[float, float]:
        return (start + by * cosines[0], start + by * cosines[1])

    dense, sentence = calibration.BUILT_IN.dense, calibration.BUILT_IN.sentence
    base = calibration.built_in_calibration()
    moved = calibration.calibrate(calibration.Anchors(squeezed(dense, 0.3, 0.6), squeezed(sentence, 0.2, 0.7)))
    for d, s in ((0.5, 0.4), (0.8, 0.7), (0.6, 0.9)):
        for own, other in ((base.book, moved.book), (base.selection, moved.selection)):
            assert relevance(other, 0.6 + 0.3 * d, 0.7 + 0.2 * s) == pytest.approx(relevance(own, d, s))
    assert moved.dense * 0.3 == pytest.approx(base.dense)
    assert moved.sentence * 0.2 == pytest.approx(base.sentence)


def test_the_scale_is_measured_once(server: Server) -> None:
    own = embedder(server)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: own.calibration, range(4)))
    assert len(found) == 1
    assert [len(texts) for texts in server.texts] == [24, 96]
    assert own.calibration != calibration.built_in_calibration()


def test_a_measurement_that_failed_is_made_again(server: Server) -> None:
    own = embedder(server)
    server.faults = [Fault(401)]
    with pytest.raises(ModelProblem):
        _ = own.calibration
    assert own.calibration.book


def test_a_model_that_tells_nothing_apart_is_refused(server: Server) -> None:
    server.alter = lambda rows: [[1.0, 2.0, 3.0] for _ in rows]
    with pytest.raises(ModelProblem, match="'words' does not tell answers from other passages"):
        _ = embedder(server).calibration


@pytest.fixture
def served(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets GLOSSATOR_EMBEDDER to a model of the server."""

    def choose(model: str) -> None:
        monkeypatch.setenv("GLOSSATOR_EMBEDDER", f"{server.url}/v1#{model}")

    choose("words")
    return choose


def test_a_book_is_ingested_and_asked(
    server: Server, served: Callable[[str], None], small_book: Path, tmp_path: Path
) -> None:
    with glossator.open(tmp_path / "data") as book:
        assert book.ingest(small_book).embeddings == EmbeddingCounts(made=3)
        answer = book.ask(MOON)
        assert not answer.abstained
        assert "gravity of the Moon" in answer.text
        assert book.ask("Who won the football cup in Brazil?").abstained
        assert "wild yeast" in book.ask("What is in it?", "A starter holds wild yeast. It smells.").text


def test_what_has_not_changed_is_not_sent_again(
    server: Server, served: Callable[[str], None], small_book: Path, tmp_path: Path
) -> None:
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book)
        server.requests.clear()
        assert book.ingest(small_book).embeddings == EmbeddingCounts(reused=3)
    assert server.requests == []
    with glossator.open(tmp_path / "data") as book:
        assert book.ingest(small_book).embeddings == EmbeddingCounts(reused=3)
        assert server.texts == [["glossator"]], "more than the length of a vector was asked for"
        (small_book / "bread.md").write_text("# Bread\n\nRye keeps for a week.\n", "utf-8")
        assert book.ingest(small_book).embeddings == EmbeddingCounts(made=1, reused=2)
    assert server.texts[1:] == [["Bread\nRye keeps for a week.", "Rye keeps for a week."]]


@pytest.mark.parametrize("model", ["other", "short"])
def test_another_model_is_refused_until_the_book_is_ingested_again(
    server: Server, served: Callable[[str], None], small_book: Path, tmp_path: Path, model: str
) -> None:
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book)
    served(model)
    with glossator.open(tmp_path / "data") as book:
        with pytest.raises(IndexMismatch, match=rf"/v1#words:128:1, but .*/v1#{model}:\d+:1 is configured"):
            book.ask(MOON)
        assert book.ingest(small_book).embeddings == EmbeddingCounts(made=3)
        assert "Moon" in book.ask(MOON).text


def test_the_same_model_on_another_scale_is_as_sure(
    server: Server, served: Callable[[str], None], small_book: Path, tmp_path: Path
) -> None:
    found: dict[str, list[float]] = {}
    for model in ("words", "words-squeezed"):
        served(model)
        with glossator.open(tmp_path / model) as book:
            book.ingest(small_book)
            asked = (MOON, "When do spring tides occur?", "How is a starter fed?", "Who won the football cup?")
            found[model] = [book.ask(question).confidence for question in asked]
    assert found["words-squeezed"] == pytest.approx(found["words"], abs=0.02)


def test_the_doctor_shows_the_model_and_never_the_key(
    server: Server, small_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", "openai:words")
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book)
    found = {finding.topic: finding for finding in examine(load_settings(data_dir=tmp_path / "data"))}
    assert found["embeddings"].good
    assert re.search(r"openai:127\.0\.0\.1:\d+/v1#words:128:1, 128 dimensions", found["embeddings"].value)
    assert found["index"].good
    server.faults = [Fault(401)]
    found = {finding.topic: finding for finding in examine(load_settings(data_dir=tmp_path / "data"))}
    assert not found["embeddings"].good
    assert "OPENAI_API_KEY" in found["embeddings"].why
    assert KEY not in repr(found)
