"""Health checks: liveness, readiness, and the state of each dependency."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import httpx
import pytest

import glossator
from doors import (
    FACT,
    QUESTION,
    Body,
    is_milliseconds,
    is_timestamp,
    leaks_nothing,
)
from glossator.embed.local import LocalEmbedder
from glossator.pipeline import wiring
from glossator.pipeline.wiring import Engine
from glossator.read.reader import OnnxReader
from glossator.serve.app import ServerOptions
from glossator.serve.auth.callers import Scope
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from glossator.store.records.database import Database
from llm_server import LlmServer, fails, says
from operations import (
    DEFAULT_OPTIONS,
    HEALTH_PATHS,
    INDEX_DAMAGES,
    SECRET_ERROR,
    UNCACHED_OPTIONS,
    ask,
    fail,
    open_server,
    point_to_a_missing_generation,
    read_metrics,
    replace_records_by_a_folder,
    total,
)
from postgres import running_postgres

pytestmark = pytest.mark.slow

SERVICES = {"index", "records", "language_model"}


async def health_of(client: httpx.AsyncClient) -> tuple[int, str, dict[str, str], str]:
    """The HTTP status, the server's status, each service's status, and the text of both contracts, which must agree."""
    whole, asked = await client.get("/health"), await client.get("/ask/health")
    found, other = whole.json(), asked.json()
    assert set(found) == {"status", "timestamp", "services", "version", "dependencies"}
    assert set(other) == {"status", "dependencies"}
    assert set(found["services"]) == set(found["dependencies"]) == set(other["dependencies"]) == SERVICES
    assert found["version"] == glossator.__version__
    assert is_timestamp(found["timestamp"])
    for name, service in found["services"].items():
        check_service(name, service, other["dependencies"][name])
    assert asked.status_code == whole.status_code == (503 if found["status"] == "unavailable" else 200)
    assert other["status"] == {"unavailable": "unhealthy"}.get(found["status"], found["status"])
    services = {name: service["status"] for name, service in found["services"].items()}
    return whole.status_code, found["status"], services, whole.text + asked.text


def check_service(name: str, service: Body, dependency: Body) -> None:
    """Assert that both contracts agree on a service."""
    assert set(service) == {"name", "status", "latency_ms", "error"}
    assert set(dependency) == {"status", "details"}
    assert service["name"] == name
    assert is_milliseconds(service["latency_ms"])
    well = service["status"] == "healthy"
    assert (service["error"] is None) is well
    assert (dependency["status"] == "error") is (service["status"] == "unavailable")
    assert well or leaks_nothing(service["error"])


ALL_HEALTHY = dict.fromkeys(SERVICES, "healthy")
SHORT_TIMEOUTS = ServerOptions(probe_timeout_seconds=0.05, health_cache_seconds=600)


async def test_complete_server_is_healthy(client: httpx.AsyncClient) -> None:
    assert (await health_of(client))[:3] == (200, "healthy", ALL_HEALTHY)
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "generation": 1, "records": "ok"})
    assert (await client.get("/livez")).text == "ok"


async def test_readiness_says_why_the_reader_is_not_used(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(wiring, "_reader", lambda threads: OnnxReader(tmp_path))
    ready = await client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["reader"] == "The reader model's hashes.json is missing."


async def test_open_circuit_breaker_makes_the_server_degraded(
    server_with_llm: tuple[httpx.AsyncClient, Engine], model: LlmServer
) -> None:
    client, engine = server_with_llm
    model.script(fails(401))
    assert engine.drafter is not None
    breaker = engine.drafter.models[0].breaker
    label = engine.drafter.models[0].label
    assert (await health_of(client))[:3] == (200, "healthy", ALL_HEALTHY)
    assert (await client.get("/readyz")).json()["language_models"] == {label: "closed"}
    while breaker.state != "open":
        assert FACT in (await ask(client, QUESTION)).text
    asked = len(model.requests)
    status, state, services, text = await health_of(client)
    assert (status, state, services) == (200, "degraded", ALL_HEALTHY | {"language_model": "unavailable"})
    assert "sk-" not in text
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["language_models"]) == (200, {label: "open"})
    assert len(model.requests) == asked  # probes do not call the model
    breaker.record_success()
    assert (await health_of(client))[:3] == (200, "healthy", ALL_HEALTHY)


@pytest.fixture
def drafter_threads(monkeypatch: pytest.MonkeyPatch) -> list[Thread]:
    """The threads in which the language model client, which takes seconds to import, was loaded."""
    found: list[Thread] = []
    make = wiring.make_drafter

    def noted(*given: Any) -> Any:
        found.append(current_thread())
        return make(*given)

    monkeypatch.setattr(wiring, "make_drafter", noted)
    return found


async def test_language_models_are_degraded_while_one_of_several_fails(data: Path, model: LlmServer) -> None:
    model.script(*[says(f"{FACT} [Source 1]")] * 10)
    dead = "http://127.0.0.1:9/v1#dead"
    async with open_server(
        data, UNCACHED_OPTIONS, llm=f"{dead},{model.url}#scripted", verify_models=False, cache_answers=0
    ) as (client, engine):
        while "open" not in engine.model_states.values():
            await ask(client, QUESTION)
        status, overall, services, _ = await health_of(client)
    assert (status, overall) == (200, "degraded")
    assert services == {"index": "healthy", "records": "healthy", "language_model": "degraded"}


async def test_health_and_metrics_do_not_load_the_language_model_client(
    drafter_threads: list[Thread], server_with_llm: tuple[httpx.AsyncClient, Engine]
) -> None:
    client, _ = server_with_llm
    assert (await health_of(client))[2]["language_model"] == "healthy"
    assert list((await client.get("/readyz")).json()["language_models"].values()) == ["closed"]
    assert total(await read_metrics(client), "breaker") == 0
    assert drafter_threads == []


async def test_language_model_client_is_loaded_once_outside_the_event_loop(
    drafter_threads: list[Thread], server_with_llm: tuple[httpx.AsyncClient, Engine], model: LlmServer
) -> None:
    model.script(says(f"{FACT} [1]"))
    await asyncio.gather(*(ask(server_with_llm[0], QUESTION) for _ in range(5)))
    assert len(drafter_threads) == 1
    assert drafter_threads[0] is not current_thread()


def use_an_unreachable_postgres(_folder: Path) -> dict[str, str]:
    return {"database_url": "postgresql://keeper:pass-word@127.0.0.1:9/hidden"}


@pytest.mark.parametrize("damage", [replace_records_by_a_folder, use_an_unreachable_postgres])
async def test_unavailable_database_makes_the_server_degraded(
    private_data: Path, damage: Callable[[Path], dict[str, str]]
) -> None:
    async with open_server(private_data, **damage(private_data)) as (client, _):
        status, state, services, text = await health_of(client)
        assert (status, state, services) == (200, "degraded", ALL_HEALTHY | {"records": "unavailable"})
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["records"]) == (200, "down")
        assert FACT in (await ask(client, QUESTION)).text
    for secret in ("pass-word", "keeper", "hidden", ":9/", "secret-place", "postgres"):
        assert secret not in text + ready.text


async def test_server_is_healthy_again_after_a_database_outage(data: Path) -> None:
    with running_postgres() as server:
        async with open_server(data, UNCACHED_OPTIONS, database_url=server.create("hidden")) as (client, _):
            await ask(client, QUESTION)
            assert (await health_of(client))[1] == "healthy"
            await asyncio.to_thread(server.stop)
            assert (await health_of(client))[1] == "degraded"
            await asyncio.to_thread(server.start)
            assert (await health_of(client))[1] == "healthy"


@pytest.mark.parametrize("damage", INDEX_DAMAGES)
async def test_missing_or_damaged_index_makes_the_server_unavailable(
    private_data: Path, damage: Callable[[Path], None]
) -> None:
    damage(private_data)
    async with open_server(private_data) as (client, _):
        status, state, services, text = await health_of(client)
        assert (status, state, services) == (503, "unavailable", ALL_HEALTHY | {"index": "unavailable"})
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["error"]) == (503, "QDRANT_UNAVAILABLE")
        assert "glossator ingest" in ready.json()["message"]
        assert int(ready.headers["retry-after"]) > 0
        assert (await client.get("/livez")).status_code == 200
    for secret in ("secret-place", "CURRENT", "sqlite", "generations"):
        assert secret not in text + ready.text


async def test_index_loss_and_recovery_are_noticed(private_data: Path) -> None:
    async with open_server(private_data, UNCACHED_OPTIONS) as (client, _):
        assert (await health_of(client))[1] == "healthy"
        point_to_a_missing_generation(private_data)
        assert (await health_of(client))[1] == "unavailable"
        (private_data / "CURRENT").write_text("1\n")
        assert (await health_of(client))[1] == "healthy"


async def test_hanging_database_does_not_hang_the_health_check(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_database: Database) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Database, "revision", hang)
    async with open_server(data, SHORT_TIMEOUTS) as (client, _):
        status, state, services, _ = await health_of(client)
    assert services["records"] == "unavailable"
    assert (status, state) in ((200, "degraded"), (503, "unavailable"))  # a busy machine may find the index slow, too


@pytest.fixture
async def hanging_embedder(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """An embedding model that hangs until the test is over; the questions that wait for it.

    The fixture is async so that it releases the thread before the event loop waits for its threads to end.
    """
    released, questions = Event(), []

    def embed_query(_self: LocalEmbedder, question: str, *_: object) -> None:
        questions.append(question)
        released.wait(120)
        raise RuntimeError(SECRET_ERROR)

    monkeypatch.setattr(LocalEmbedder, "embed_query", embed_query)
    yield questions
    released.set()


async def test_hanging_index_makes_the_server_unavailable(data: Path, hanging_embedder: list[str]) -> None:
    async with open_server(data, SHORT_TIMEOUTS) as (client, _):
        status, state, services, text = await health_of(client)
        assert (status, state, services["index"]) == (503, "unavailable", "unavailable")
        assert "Timed out." in text
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/livez")).text == "ok"


async def test_hanging_probes_do_not_pile_up(data: Path, hanging_embedder: list[str]) -> None:
    async with open_server(data, replace(SHORT_TIMEOUTS, health_cache_seconds=-1)) as (client, _):
        for _ in range(40):
            assert (await client.get("/readyz")).status_code == 503
        async with asyncio.timeout(60):
            assert (await client.get("/metrics")).status_code == 200
    assert len(hanging_embedder) == 1


@pytest.mark.parametrize(
    ("part", "found"),
    [(LocalEmbedder, (503, "unavailable")), (Database, (200, "degraded"))],
    ids=["index", "records"],
)
async def test_unexpected_probe_errors_are_reported_without_details(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, part: type, found: tuple[int, str]
) -> None:
    monkeypatch.setattr(part, {LocalEmbedder: "embed_query", Database: "revision"}[part], fail)
    status, state, _, text = await health_of(client)
    assert (status, state) == found
    assert SECRET_ERROR not in text


def count_probes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that grows with every probe of the database."""
    probes: list[object] = []
    revision = Database.revision

    async def counted(database: Database) -> str | None:
        probes.append(database)
        return await revision(database)

    monkeypatch.setattr(Database, "revision", counted)
    return probes


async def test_concurrent_health_checks_share_one_probe(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = count_probes(monkeypatch)
    async with open_server(data, replace(DEFAULT_OPTIONS, health_cache_seconds=600)) as (client, _):
        responses = await asyncio.gather(*(client.get(path) for path in HEALTH_PATHS * 20))
        assert {response.status_code for response in responses} == {200}
        assert len(probes) == 1
        await client.get("/health")
    assert len(probes) == 1


async def test_probe_results_are_cached_for_a_second(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = ServerOptions()
    assert (defaults.health_cache_seconds, defaults.probe_timeout_seconds) == (1.0, 2.0)
    probes = count_probes(monkeypatch)
    began = time.monotonic()
    while len(probes) < 2:
        await client.get("/health")
    assert time.monotonic() - began >= 1.0  # never sooner, however slow the machine


async def test_health_needs_no_key_and_metrics_need_admin(private_data: Path) -> None:
    store = KeyStore(private_data / KEYS_FILE)
    keys = {scope: store.create(scope, [scope]) for scope in Scope}
    async with open_server(private_data) as (client, _):
        for path in (*HEALTH_PATHS, "/livez"):
            assert (await client.get(path)).status_code == 200
        assert (await client.get("/metrics")).status_code == 401
        for scope, key in keys.items():
            found = await client.get("/metrics", headers={"authorization": f"Bearer {key}"})
            assert found.status_code == (200 if scope is Scope.ADMIN else 403)
            assert key not in found.text


async def test_health_and_metrics_respond_under_overload(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def answering(*_asked: object, **_more: object) -> AsyncIterator[str]:
        started.set()
        await release.wait()
        raise RuntimeError(SECRET_ERROR)
        yield ""

    monkeypatch.setattr("glossator.pipeline.answering.answer_question", answering)
    async with open_server(data, max_running=1, max_waiting=0) as (client, _):
        hung = asyncio.create_task(client.post("/ask", json={"question": QUESTION}))
        await started.wait()
        rejected = await client.post("/ask", json={"question": QUESTION})
        assert (rejected.status_code, rejected.json()["error"]) == (429, "overloaded")
        for path in (*HEALTH_PATHS, "/livez", "/metrics"):
            assert (await client.get(path)).status_code == 200
        assert (await read_metrics(client))["glossator_requests_running", ()] == 2
        release.set()
        assert (await hung).status_code == 500
