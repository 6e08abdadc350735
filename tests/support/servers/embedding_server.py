"""An embedding server on loopback that speaks OpenAI's and Cohere's API, and returns faults on request."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from glossator.core.ports import Embedder
from glossator.core.resilience.retry import Backoff
from glossator.core.settings import Settings, load_settings
from glossator.core.text.words import content_words
from glossator.embed.client import RequestPolicy
from glossator.embed.endpoints import find_endpoint
from glossator.embed.remote import RemoteEmbedder

API_KEY = "sk-test-0123456789abcdef"
FAST_BACKOFF = Backoff(first_seconds=0.001, max_seconds=20.0, attempts=3)
FAST_RETRIES = RequestPolicy(backoff=FAST_BACKOFF)


@dataclass(frozen=True)
class Fault:
    """A response to send instead of embeddings, after a delay."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class EmbeddingServer:
    """The requests received, the faults to return next, and changes to the vectors."""

    url: str
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    change_vectors: Callable[[list[list[float]]], Any] | None = None
    change_items: Callable[[list[dict[str, Any]]], Any] | None = None

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [body.get("input") or body["texts"] for _, _, body in self.requests]

    def response(self, path: str, body: dict[str, Any]) -> Any:
        """The response to a request, in the format of its API."""
        rows = [word_vector(text, body["model"]).tolist() for text in body.get("input") or body["texts"]]
        rows = self.change_vectors(rows) if self.change_vectors else rows
        if path.endswith("/v2/embed"):
            return {"id": "x", "embeddings": {"float": rows}}
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        data = self.change_items(data) if self.change_items else data
        return {"object": "list", "data": data, "model": body["model"]}


def word_vector(text: str, model: str) -> NDArray[np.float64]:
    """The sum of a random vector for each word; `…-squeezed` gives the same with all cosines moved closer to 1."""
    name, _, squeezed = model.partition("-")
    size = 64 if name == "short" else 128
    rows = [np.random.default_rng(crc32(f"{name}{word}".encode())).normal(size=size) for word in content_words(text)]
    total = np.sum([*rows, np.full(size, 0.2)], axis=0)
    return np.append(total / np.linalg.norm(total), 1.5) if squeezed else 3 * total


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_POST(self) -> None:
        state: EmbeddingServer = self.server.state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        state.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        fault = state.faults.pop(0) if state.faults else None
        time.sleep(fault.seconds if fault else 0)
        content = fault.body if fault else json.dumps(state.response(self.path, body)).encode()
        self.send_response(fault.status if fault else 200)
        for name, value in (fault.headers if fault else {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    state: EmbeddingServer

    def handle_error(self, *_arguments: object) -> None:
        """Ignore clients that disconnected."""


@contextmanager
def running_embedding_server() -> Iterator[EmbeddingServer]:
    """A server on a free port."""
    with _QuietServer(("127.0.0.1", 0), _Handler) as httpd:
        httpd.state = EmbeddingServer(f"http://127.0.0.1:{httpd.server_port}")
        Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
        yield httpd.state
        httpd.shutdown()


def embedder_settings(spec: str, **more: Any) -> Settings:
    """Settings with GLOSSATOR_EMBEDDER set to `spec`."""
    return load_settings(embedder=spec, **more)


def embedder_of(settings: Settings, policy: RequestPolicy = FAST_RETRIES) -> Embedder:
    """The remote embedder that settings name, with short retry delays."""
    endpoint = find_endpoint(settings)
    assert endpoint is not None
    return RemoteEmbedder(endpoint, policy)


def remote_embedder(
    server: EmbeddingServer,
    provider: str = "openai",
    model: str = "words",
    key: str = API_KEY,
    policy: RequestPolicy = FAST_RETRIES,
) -> Embedder:
    """An embedder that uses the server in place of a provider's."""
    base_url = server.url if provider == "cohere" else f"{server.url}/v1"
    names = {f"{provider}_api_key": key, f"{provider}_base_url": base_url}
    return embedder_of(embedder_settings(f"{provider}:{model}", **names), policy)


def error_body(message: str, code: str = "") -> bytes:
    """An error response in OpenAI's format."""
    return json.dumps({"error": {"message": message, "code": code}}).encode()
