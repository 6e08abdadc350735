"""A remote embedding model that hangs or is down: keywords are searched, and a circuit breaker limits the waiting."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import httpx
import pytest

from api_requests import QUESTIONS, error_of
from commands import quick_folder
from doors import ABOUT_SELECTION, BASE, FACT, OUT_OF_SCOPE, PAGES, QUESTION, SELECTION, stream
from embedding_server import EmbeddingServer, Fault, running_embedding_server
from glossator.cli.doctor import DoctorFinding, diagnose
from glossator.core.errors import EmbeddingModelUnavailable
from glossator.core.ports import no_progress
from glossator.core.settings import Settings, load_settings
from glossator.embed.calibration import reference_passages
from glossator.embed.remote import RemoteEmbedder
from glossator.facade import Book
from glossator.pipeline.wiring import wire
from glossator.serve.app import ServerOptions, create_app
from llm_server import LONG_COOLDOWN_SECONDS
from operations import read_metrics

pytestmark = pytest.mark.slow

HANGING, DOWN = Fault(seconds=30), Fault(500, headers={"retry-after": "900"})
BREAKER = "glossator_breaker", (("model", "embedder"),)


@dataclass(frozen=True)
class RemoteBook:
    """A book that a remote model embedded, and that model."""

    settings: Settings
    model: EmbeddingServer

    @contextmanager
    def failing(self, fault: Fault) -> Iterator[None]:
        """The model returns this to every request."""
        self.model.faults = [fault] * 1000
        yield
        self.model.faults = []

    @contextmanager
    def slow_batches(self, seconds: float) -> Iterator[None]:
        """The model takes this long for several texts at once."""

        def wait(rows: list[list[float]]) -> list[list[float]]:
            time.sleep(seconds if len(rows) > 1 else 0.0)
            return rows

        self.model.change_vectors = wait
        yield
        self.model.change_vectors = None


@pytest.fixture(scope="module")
def book() -> Iterator[RemoteBook]:
    with quick_folder() as folder, running_embedding_server() as model:
        for name, text in PAGES.items():
            page = folder / "book" / name
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, "utf-8")
        settings = load_settings(
            data_dir=folder / "data",
            embedder=f"{model.url}/v1#words",
            verify_models=False,
            query_seconds=1.5,
            cache_answers=0,
        )
        with Book(wire(settings)) as opened:
            opened.ingest(folder / "book", base_url=BASE)
        yield RemoteBook(settings, model)


@asynccontextmanager
async def serving(book: RemoteBook) -> AsyncIterator[tuple[httpx.AsyncClient, RemoteEmbedder]]:
    """A client of a new server, and the server's embedder."""
    engine = wire(book.settings, cooldown_seconds=LONG_COOLDOWN_SECONDS)
    assert isinstance(engine.embedder, RemoteEmbedder)
    app = create_app(book.settings, engine, options=ServerOptions(health_cache_seconds=-1))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client, engine.embedder


async def test_query_is_answered_within_its_time_although_the_embedder_hangs(book: RemoteBook) -> None:
    """The first request of a new process: not even the dimension of the model needs an answer from it."""
    async with serving(book) as (client, _):
        with book.failing(HANGING):
            started = time.monotonic()
            response = await client.post("/query", json={"query": QUESTION})
            assert time.monotonic() - started < HANGING.seconds / 2
    assert response.status_code == 200
    assert FACT in response.json()["answer"]


async def test_keywords_are_searched_until_the_embedder_works_again(book: RemoteBook) -> None:
    async with serving(book) as (client, _):
        with book.failing(DOWN):
            found = (await stream(client, "/chat/stream", {"query": QUESTION})).sources
            assert found["metadata"]["mode"] == "full"
            assert (found["metadata"]["degraded"], found["metadata"]["keywords_only"]) == (True, True)
            assert "zero-moment-point" in found["sources"][0]["source_url"]
            health = await client.get("/health")
            assert (health.status_code, health.json()["status"]) == (200, "degraded")
            assert "only keywords were searched" in health.text
            assert (await client.get("/search", params={"q": QUESTION})).json()["results"]
        found = (await stream(client, "/chat/stream", {"query": QUESTION})).sources
        assert (found["metadata"]["degraded"], found["metadata"]["keywords_only"]) == (False, False)


@pytest.mark.parametrize("question", [OUT_OF_SCOPE, "the", "?"])
async def test_keywords_alone_do_not_answer_everything(book: RemoteBook, question: str) -> None:
    async with serving(book) as (client, _):
        with book.failing(DOWN):
            found = (await client.post("/chat", json={"query": question})).json()
    assert (found["metadata"]["mode"], found["sources"]) == ("no_results", [])


async def test_reader_does_not_wait_for_a_slow_calibration(book: RemoteBook) -> None:
    async with serving(book) as (client, embedder):
        embedder.calibration_seconds = 0.05
        with book.slow_batches(1.0):
            found = (await stream(client, "/chat/stream", {"query": QUESTION})).sources
            assert found["metadata"]["keywords_only"]
            embedder.calibration_seconds = 60
            assert embedder.calibration
        found = (await stream(client, "/chat/stream", {"query": QUESTION})).sources
        assert not found["metadata"]["keywords_only"]


async def test_circuit_breaker_answers_for_the_embedder_until_it_works_again(book: RemoteBook) -> None:
    async with serving(book) as (client, embedder):
        assert (await client.post("/query", json=QUESTIONS["/query"])).status_code == 200
        assert (await client.get("/readyz")).json()["embedder"] == "closed"
        assert (await read_metrics(client))[BREAKER] == 0
        with book.failing(DOWN):
            while embedder.breaker.state != "open":
                assert (await client.post("/query", json=QUESTIONS["/query"])).status_code == 200
            asked = len(book.model.requests)
            for path, body in QUESTIONS.items():
                if path != "/chat/stream":
                    assert (await client.post(path, json=body)).status_code == 200, path
            assert len(book.model.requests) == asked
            assert (await client.get("/readyz")).json()["embedder"] == "open"
            assert (await read_metrics(client))[BREAKER] == 2
        embedder.breaker.record_success()
        assert (await client.post("/query", json=QUESTIONS["/query"])).status_code == 200


async def test_rejected_questions_do_not_open_the_circuit_breaker(book: RemoteBook) -> None:
    async with serving(book) as (client, embedder):
        with book.failing(Fault(400, b'{"error": {"message": "too long"}}')):
            for _ in range(10):
                assert (await client.post("/chat", json={"query": QUESTION})).status_code == 503
        assert embedder.breaker.state == "closed"


async def test_selection_fails_in_time_too(book: RemoteBook) -> None:
    async with serving(book) as (client, _):
        with book.failing(DOWN):
            body = {"query": ABOUT_SELECTION, "selected_text": SELECTION}
            assert error_of(await client.post("/chat", json=body)) == (503, "SERVICE_UNAVAILABLE")


def test_doctor_shows_the_state_of_the_embedder(book: RemoteBook) -> None:
    def finding() -> DoctorFinding:
        return next(each for each in diagnose(book.settings) if each.topic == "embeddings")

    assert finding().why == "set by GLOSSATOR_EMBEDDER; works, circuit breaker closed"
    with book.failing(DOWN):
        assert not finding().good


async def test_an_index_of_another_dimension_can_be_replaced(book: RemoteBook) -> None:
    embedder = wire(book.settings).embedder
    assert embedder.dimension == 128
    book.model.change_vectors = lambda rows: [row[:64] for row in rows]
    try:
        with pytest.raises(EmbeddingModelUnavailable, match="64 dimensions"):
            embedder.embed_query("Who?")
        embedder.embed_chunks(reference_passages(), no_progress)
        assert embedder.dimension == 64
    finally:
        book.model.change_vectors = None
