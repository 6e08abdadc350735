"""What an operator sees: health, measures, logs, traces, feedback, and errors that tell nothing of our insides."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import httpx
import pytest
from httpx_sse import aconnect_sse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

import doors
import glossator
from commands import START
from doors import (
    BASE,
    FACT,
    FALSEHOOD,
    OUT_OF_SCOPE,
    PAGES,
    QUESTION,
    Body,
    is_moment,
    is_time,
    is_uuid4,
    malformed,
    stream,
    tells_no_internals,
)
from glossator.core import errors
from glossator.core.answers import Delta
from glossator.core.errors import GlossatorError
from glossator.core.settings import load_settings
from glossator.embed.local import LocalEmbedder
from glossator.pipeline import wiring
from glossator.pipeline.wiring import Engine, wire
from glossator.serve.app import create_app
from glossator.serve.auth.keys import KEYS_FILE, KeyRing, Scope
from glossator.serve.ops import health
from glossator.serve.problems import STATUSES, problem_of
from glossator.store.records.database import Database
from llm_server import LlmServer, fails, says, stalls
from postgres import running_postgres

data, model = doors.data, doors.model

FAULT = "something secret in /etc/place"
PROBES = ("/health", "/ask/health", "/readyz")
PATIENCE = (health.KEPT_SECONDS, health.PROBE_SECONDS)
SERVICES = {"index", "records", "language_model"}
Measures = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@asynccontextmanager
async def opened(folder: Path, **settings: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Engine]]:
    """A client of a server in this process, and the server's engine."""
    wanted = load_settings(data_dir=folder, **settings)
    engine = wire(wanted)
    app = create_app(wanted, engine)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client, engine


@pytest.fixture
async def served(data: Path) -> AsyncIterator[tuple[httpx.AsyncClient, Engine]]:
    """Of a server with no language model."""
    async with opened(data) as found:
        yield found


@pytest.fixture
async def client(served: tuple[httpx.AsyncClient, Engine]) -> httpx.AsyncClient:
    return served[0]


@pytest.fixture
async def drafted(data: Path, model: LlmServer) -> AsyncIterator[tuple[httpx.AsyncClient, Engine]]:
    """Of a server whose answers the scripted model writes."""
    async with opened(data, llm=f"{model.url}#scripted", verify_models=False, cache_answers=0) as found:
        yield found


@pytest.fixture
def own(data: Path, tmp_path: Path) -> Path:
    """A copy of the data directory that a test may change."""
    return Path(shutil.copytree(data, tmp_path / "secret-place", symlinks=True))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no reason to find a server unwell."""
    monkeypatch.setattr(health, "PROBE_SECONDS", 600.0)


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the health is a new one."""
    monkeypatch.setattr(health, "KEPT_SECONDS", -1.0)


async def ask(client: httpx.AsyncClient, question: str, status: int = 200) -> httpx.Response:
    response = await client.post("/ask", json={"question": question})
    assert response.status_code == status
    return response


# Health


async def overall(client: httpx.AsyncClient) -> tuple[int, str, dict[str, str], str]:
    """The status of the server and of each service, which both contracts tell in their own words; and the words."""
    whole, asked = await client.get("/health"), await client.get("/ask/health")
    found, other = whole.json(), asked.json()
    assert set(found) == {"status", "timestamp", "services", "version", "dependencies"}
    assert set(other) == {"status", "dependencies"}
    assert set(found["services"]) == set(found["dependencies"]) == set(other["dependencies"]) == SERVICES
    assert found["version"] == glossator.__version__
    assert is_moment(found["timestamp"])
    for name, service in found["services"].items():
        check_service(name, service, other["dependencies"][name])
    assert asked.status_code == whole.status_code == (503 if found["status"] == "unavailable" else 200)
    assert other["status"] == {"unavailable": "unhealthy"}.get(found["status"], found["status"])
    services = {name: service["status"] for name, service in found["services"].items()}
    return whole.status_code, found["status"], services, whole.text + asked.text


def check_service(name: str, service: Body, dependency: Body) -> None:
    """Both contracts say the same of a service."""
    assert set(service) == {"name", "status", "latency_ms", "error"}
    assert set(dependency) == {"status", "details"}
    assert service["name"] == name
    assert is_time(service["latency_ms"])
    well = service["status"] == "healthy"
    assert (service["error"] is None) is well
    assert (dependency["status"] != "error") is well
    assert well or tells_no_internals(service["error"])


WELL = dict.fromkeys(SERVICES, "healthy")


async def test_a_server_that_lacks_nothing_is_healthy(client: httpx.AsyncClient) -> None:
    assert (await overall(client))[:3] == (200, "healthy", WELL)
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "generation": 1, "records": "ok"})
    assert (await client.get("/livez")).text == "ok"


async def test_a_language_model_that_is_left_alone_makes_it_degraded(
    drafted: tuple[httpx.AsyncClient, Engine], model: LlmServer, anew: None
) -> None:
    client, engine = drafted
    model.script(fails(401))
    assert engine.drafter is not None
    breaker = engine.drafter.links[0].breaker
    label = engine.drafter.links[0].label
    assert (await overall(client))[:3] == (200, "healthy", WELL)
    assert (await client.get("/readyz")).json()["language_models"] == {label: "closed"}
    while breaker.state != "open":
        assert FACT in (await ask(client, QUESTION)).text
    asked = len(model.asked)
    status, state, services, said = await overall(client)
    assert (status, state, services) == (200, "degraded", WELL | {"language_model": "unavailable"})
    assert "sk-" not in said
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["language_models"]) == (200, {label: "open"})
    assert len(model.asked) == asked  # no probe asks the model
    breaker.succeeded()
    assert (await overall(client))[:3] == (200, "healthy", WELL)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[Thread]:
    """The threads in which the language model's library, which takes seconds to import, was opened."""
    found: list[Thread] = []
    make = wiring.make_drafter

    def noted(*given: Any) -> Any:
        found.append(current_thread())
        return make(*given)

    monkeypatch.setattr(wiring, "make_drafter", noted)
    return found


async def test_nobody_who_only_looks_opens_the_language_model(
    threads: list[Thread], drafted: tuple[httpx.AsyncClient, Engine]
) -> None:
    client, _ = drafted
    assert (await overall(client))[2]["language_model"] == "healthy"
    assert list((await client.get("/readyz")).json()["language_models"].values()) == ["closed"]
    assert count(await measures(client), "breaker") == 0
    assert threads == []


async def test_the_language_model_is_opened_beside_the_event_loop(
    threads: list[Thread], drafted: tuple[httpx.AsyncClient, Engine], model: LlmServer
) -> None:
    model.script(says(f"{FACT} [1]"))
    await asyncio.gather(*(ask(drafted[0], QUESTION) for _ in range(5)))
    assert len(threads) == 1
    assert threads[0] is not current_thread()


def records_that_are_a_folder(folder: Path) -> dict[str, str]:
    (folder / "records.sqlite").unlink(missing_ok=True)
    (folder / "records.sqlite").mkdir()
    return {}


def a_postgres_that_is_not_there(_folder: Path) -> dict[str, str]:
    return {"database_url": "postgresql://keeper:pass-word@127.0.0.1:9/hidden"}


@pytest.mark.parametrize("lose", [records_that_are_a_folder, a_postgres_that_is_not_there])
async def test_without_its_database_it_is_degraded(own: Path, lose: Callable[[Path], dict[str, str]]) -> None:
    async with opened(own, **lose(own)) as (client, _):
        status, state, services, said = await overall(client)
        assert (status, state, services) == (200, "degraded", WELL | {"records": "unavailable"})
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["records"]) == (200, "down")
        assert FACT in (await ask(client, QUESTION)).text
    for secret in ("pass-word", "keeper", "hidden", ":9/", "secret-place", "postgres"):
        assert secret not in said + ready.text


async def test_a_database_that_comes_back_is_well_again(data: Path, anew: None) -> None:
    with running_postgres() as server:
        async with opened(data, database_url=server.create("hidden")) as (client, _):
            await ask(client, QUESTION)
            assert (await overall(client))[1] == "healthy"
            await asyncio.to_thread(server.stop)
            assert (await overall(client))[1] == "degraded"
            await asyncio.to_thread(server.start)
            assert (await overall(client))[1] == "healthy"


def nothing(folder: Path) -> None:
    shutil.rmtree(folder)


def no_manifest(folder: Path) -> None:
    next(folder.glob("generations/*/manifest.json")).unlink()


def no_documents(folder: Path) -> None:
    next(folder.glob("generations/*/documents.sqlite")).write_bytes(b"\0" * 8192)


def no_number(folder: Path) -> None:
    (folder / "CURRENT").write_text("seven\n")


def another_number(folder: Path) -> None:
    (folder / "CURRENT").write_text("7\n")


LOSSES = [nothing, no_manifest, no_documents, no_number, another_number]


@pytest.mark.parametrize("lose", LOSSES)
async def test_without_an_index_it_is_unavailable(own: Path, lose: Callable[[Path], None]) -> None:
    lose(own)
    async with opened(own) as (client, _):
        status, state, services, said = await overall(client)
        assert (status, state, services) == (503, "unavailable", WELL | {"index": "unavailable"})
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["error"]) == (503, "QDRANT_UNAVAILABLE")
        assert "glossator ingest" in ready.json()["message"]
        assert int(ready.headers["retry-after"]) > 0
        assert (await client.get("/livez")).status_code == 200
    for secret in ("secret-place", "CURRENT", "sqlite", "generations"):
        assert secret not in said + ready.text


async def test_an_index_that_is_lost_and_made_again_is_noticed(own: Path, anew: None) -> None:
    async with opened(own) as (client, _):
        assert (await overall(client))[1] == "healthy"
        another_number(own)
        assert (await overall(client))[1] == "unavailable"
        (own / "CURRENT").write_text("1\n")
        assert (await overall(client))[1] == "healthy"


async def test_a_database_that_hangs_does_not_make_health_hang(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_database: Database) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(health, "PROBE_SECONDS", 0.05)
    monkeypatch.setattr(health, "KEPT_SECONDS", 600.0)
    monkeypatch.setattr(Database, "revision", hang)
    status, state, services, _ = await overall(client)
    assert services["records"] == "unavailable"
    assert (status, state) in ((200, "degraded"), (503, "unavailable"))  # a busy machine may find the index slow, too


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """An embedding model that does not answer before the test is over; the questions that wait for it."""
    freed, asked = Event(), []

    def embed_query(_self: LocalEmbedder, question: str) -> None:
        asked.append(question)
        freed.wait(120)
        raise RuntimeError(FAULT)

    monkeypatch.setattr(health, "PROBE_SECONDS", 0.05)
    monkeypatch.setattr(health, "KEPT_SECONDS", 600.0)
    monkeypatch.setattr(LocalEmbedder, "embed_query", embed_query)
    yield asked
    freed.set()


async def test_an_index_that_hangs_makes_it_unavailable(client: httpx.AsyncClient, hanging: list[str]) -> None:
    status, state, services, said = await overall(client)
    assert (status, state, services["index"]) == (503, "unavailable", "unavailable")
    assert "in time" in said
    assert (await client.get("/readyz")).status_code == 503
    assert (await client.get("/livez")).text == "ok"


async def test_probes_of_what_hangs_do_not_pile_up(
    client: httpx.AsyncClient, hanging: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "KEPT_SECONDS", -1.0)
    for _ in range(40):
        assert (await client.get("/readyz")).status_code == 503
    async with asyncio.timeout(60):
        assert (await client.get("/metrics")).status_code == 200
    assert len(hanging) == 1


@pytest.mark.parametrize(
    ("part", "found"),
    [(LocalEmbedder, (503, "unavailable")), (Database, (200, "degraded"))],
    ids=["index", "records"],
)
async def test_a_probe_that_fails_in_an_unforeseen_way_has_found_something(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, part: type, found: tuple[int, str]
) -> None:
    monkeypatch.setattr(part, {LocalEmbedder: "embed_query", Database: "revision"}[part], fail)
    status, state, _, said = await overall(client)
    assert (status, state) == found
    assert FAULT not in said


def fail(*_given: object, **_more: object) -> None:
    raise RuntimeError(FAULT)


def count_probes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is written down of every probe of the database."""
    made: list[object] = []
    revision = Database.revision

    async def counted(database: Database) -> str | None:
        made.append(database)
        return await revision(database)

    monkeypatch.setattr(Database, "revision", counted)
    return made


async def test_many_who_ask_at_once_share_one_probe(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "KEPT_SECONDS", 600.0)
    made = count_probes(monkeypatch)
    found = await asyncio.gather(*(client.get(path) for path in PROBES * 20))
    assert {response.status_code for response in found} == {200}
    assert len(made) == 1
    await client.get("/health")
    assert len(made) == 1


async def test_what_a_probe_found_is_kept_for_a_second(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PATIENCE == (1.0, 2.0)
    made = count_probes(monkeypatch)
    began = time.monotonic()
    while len(made) < 2:
        await client.get("/health")
    assert time.monotonic() - began >= 1.0  # never sooner, however slow the machine


async def test_health_needs_no_key_and_measures_do(own: Path) -> None:
    ring = KeyRing(own / KEYS_FILE)
    keys = {scope: ring.create(scope, [scope]) for scope in Scope}
    async with opened(own) as (client, _):
        for path in (*PROBES, "/livez"):
            assert (await client.get(path)).status_code == 200
        assert (await client.get("/metrics")).status_code == 401
        for scope, key in keys.items():
            found = await client.get("/metrics", headers={"authorization": f"Bearer {key}"})
            assert found.status_code == (200 if scope is Scope.ADMIN else 403)
            assert key not in found.text


async def test_a_full_server_still_says_how_it_is(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, over = asyncio.Event(), asyncio.Event()

    async def answering(*_asked: object, **_more: object) -> AsyncIterator[str]:
        begun.set()
        await over.wait()
        raise RuntimeError(FAULT)
        yield ""

    monkeypatch.setattr("glossator.pipeline.answering.answer_question", answering)
    async with opened(data, max_running=1, max_waiting=0) as (client, _):
        hung = asyncio.create_task(client.post("/ask", json={"question": QUESTION}))
        await begun.wait()
        refused = await client.post("/ask", json={"question": QUESTION})
        assert (refused.status_code, refused.json()["error"]) == (429, "overloaded")
        for path in (*PROBES, "/livez", "/metrics"):
            assert (await client.get(path)).status_code == 200
        assert (await measures(client))["glossator_requests_running", ()] == 2
        over.set()
        assert (await hung).status_code == 500


# Measures


async def measures(client: httpx.AsyncClient) -> Measures:
    response = await client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parsed(response.text)


def parsed(text: str) -> Measures:
    """Every sample by its name and labels; moments of creation left out."""
    families = list(text_string_to_metric_families(text))
    assert all(family.name.startswith("glossator_") and family.documentation for family in families)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def count(found: Measures, name: str, /, **labels: str) -> float:
    """The sum of all samples that have these labels."""
    wanted = set(labels.items())
    return sum(value for (each, given), value in found.items() if each == f"glossator_{name}" and wanted <= set(given))


@asynccontextmanager
async def moved(client: httpx.AsyncClient, name: str, by: float, /, **labels: str) -> AsyncIterator[None]:
    """That a measure moves by so much."""
    before = count(await measures(client), name, **labels)
    yield
    assert count(await measures(client), name, **labels) - before == by, (name, labels)


async def test_requests_are_counted_by_the_path_of_their_route(client: httpx.AsyncClient) -> None:
    name = uuid.uuid4()
    async with (
        moved(client, "requests_total", 1, method="POST", route="/ask", status="200"),
        moved(client, "requests_total", 1, method="POST", route="/ask", status="400"),
        moved(client, "requests_total", 1, method="GET", route="/history/{session_id}", status="404"),
        moved(client, "requests_total", 1, method="GET", route="/search", status="200"),
        moved(client, "request_seconds_count", 2, route="/ask"),
    ):
        await ask(client, QUESTION)
        await ask(client, "", 400)
        await client.get(f"/history/{name}")
        await client.get("/search", params={"q": "secret-word"})
    text = (await client.get("/metrics")).text
    assert str(name) not in text
    assert "secret-word" not in text


INVENTED = "/{} /docs/{} /v1/models/{} /agent/session/{} /history/{} /mcp/{} /search?q=x&{} /ask/{}".split()


async def test_a_thousand_invented_paths_make_no_new_series(client: httpx.AsyncClient) -> None:
    async def invent(times: int) -> set[Any]:
        for number in range(times):
            method = ("GET", "POST", "DELETE")[number % 3]
            await client.request(method, INVENTED[number % len(INVENTED)].format(uuid.uuid4().hex))
        return set(await measures(client))

    await measures(client)  # which are measured themselves, from the first time on
    assert await invent(6 * len(INVENTED)) == await invent(1000)


async def test_each_stage_of_an_answer_is_timed(client: httpx.AsyncClient) -> None:
    async with (
        moved(client, "stage_seconds_count", 1, stage="embedding"),
        moved(client, "stage_seconds_count", 1, stage="retrieval"),
        moved(client, "stage_seconds_count", 1, stage="generation"),
        moved(client, "stage_seconds_count", 1, stage="records"),
    ):
        await ask(client, QUESTION)
    found = await measures(client)
    for stage in ("embedding", "retrieval", "generation", "records"):
        assert 0 < count(found, "stage_seconds_sum", stage=stage) <= count(found, "request_seconds_sum", route="/ask")


async def test_a_probe_is_no_stage_of_an_answer(client: httpx.AsyncClient, anew: None) -> None:
    await ask(client, QUESTION)
    async with moved(client, "stage_seconds_count", 0):
        for path in PROBES:
            await client.get(path)


async def test_answers_and_abstentions_are_counted_however_they_are_given(client: httpx.AsyncClient) -> None:
    whole = {"messages": [{"role": "user", "content": QUESTION}]}
    async with (
        moved(client, "answers_total", 5, mode="full"),
        moved(client, "answers_total", 1, mode="no_results"),
        moved(client, "abstentions_total", 1),
    ):
        await ask(client, QUESTION)
        await ask(client, OUT_OF_SCOPE)
        await stream(client, "/ask", {"question": QUESTION, "stream": True})
        await client.post("/chat", json={"query": QUESTION})
        await client.post("/v1/chat/completions", json=whole)
        await client.post("/v1/chat/completions", json=whole | {"stream": True})


async def test_tokens_and_verdicts_are_counted(drafted: tuple[httpx.AsyncClient, Engine], model: LlmServer) -> None:
    client, _ = drafted
    model.script(says(f"{FACT} [1] {FALSEHOOD} [1]"), says("NOT FOUND"))
    before = await measures(client)
    await ask(client, QUESTION)
    after = await measures(client)

    def by(name: str, **labels: str) -> float:
        return count(after, name, **labels) - count(before, name, **labels)

    assert len(model.asked) == 2
    assert by("tokens_total", kind="input") == 2 * 20
    assert by("tokens_total", kind="output") == 2 * 5
    assert by("verdicts_total", status="supported") == 1
    assert by("verdicts_total") == 2


async def test_a_breaker_shows_its_state(drafted: tuple[httpx.AsyncClient, Engine], model: LlmServer) -> None:
    client, engine = drafted
    model.script(fails(401))
    assert engine.drafter is not None
    link = engine.drafter.links[0]
    assert (await measures(client))["glossator_breaker", (("model", link.label),)] == 0
    while link.breaker.state != "open":
        await ask(client, QUESTION)
    assert (await measures(client))["glossator_breaker", (("model", link.label),)] == 2
    link.breaker.succeeded()
    assert (await measures(client))["glossator_breaker", (("model", link.label),)] == 0


async def test_answers_from_memory_are_counted(client: httpx.AsyncClient) -> None:
    async with moved(client, "cache_total", 1, found="miss"), moved(client, "cache_total", 2, found="hit"):
        for _ in range(3):
            await ask(client, QUESTION)


async def test_the_generation_is_shown(own: Path, tmp_path: Path) -> None:
    (tmp_path / "more.md").write_text("# Gait\n\nA gait is a pattern of steps that repeats.\n", "utf-8")
    async with opened(own) as (client, _):
        assert (await measures(client))["glossator_index_generation", ()] == 1
        await asyncio.to_thread(ingest, tmp_path / "more.md", own)
        assert (await measures(client))["glossator_index_generation", ()] == 2


def ingest(source: Path, folder: Path) -> None:
    with glossator.open(folder) as book:
        book.ingest(source, base_url=f"{BASE}/more")


@pytest.mark.parametrize("lose", LOSSES)
async def test_measures_can_be_read_without_an_index(own: Path, lose: Callable[[Path], None]) -> None:
    lose(own)
    async with opened(own) as (client, _):
        await ask(client, QUESTION, 503)
        found = await measures(client)
    assert count(found, "requests_total", route="/ask", status="503") == 1


async def test_the_generation_of_a_server_with_no_book_is_none(tmp_path: Path) -> None:
    async with opened(tmp_path / "secret-place") as (client, _):
        assert (await measures(client))["glossator_index_generation", ()] == 0


# Servers in processes of their own


class Process:
    """A served process; `lines` are what it has logged so far."""

    def __init__(self, folder: Path, *options: str, workers: int = 1, **env: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("GLOSSATOR_", "OTEL_"))}
        command = [*START, "serve", "--port", "0", "--workers", str(workers), "--data-dir", str(folder), *options]
        self.process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            encoding="utf-8",
            env=clean | env,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = Thread(target=self._read)
        self._reader.start()
        until(lambda: self._started(workers))
        self.address = "".join(self.lines).partition("Uvicorn running on ")[2].split()[0]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    def _started(self, workers: int) -> bool:
        log = "".join(self.lines)
        assert self.process.poll() is None, log
        return "Uvicorn running on" in log and log.count("startup complete") >= workers

    @property
    def workers(self) -> list[int]:
        return [int(pid) for pid in re.findall(r"Started server process \[(\d+)\]", "".join(self.lines))]

    def stop(self) -> list[Body]:
        """Let it end; its log, of which every line must be one JSON object."""
        self.process.terminate()
        self.process.wait(120)
        self._reader.join()
        found = [json.loads(line) for line in self.lines]
        assert all(isinstance(line, dict) and line["level"] and line["message"] for line in found)
        return found

    def kill(self) -> None:
        """End it and its workers, if any are left."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


@contextmanager
def process(folder: Path, *options: str, workers: int = 1, **env: str) -> Iterator[Process]:
    running = Process(folder, *options, workers=workers, **env)
    try:
        yield running
    finally:
        running.kill()


def connection(running: Process) -> socket.socket:
    host, _, port = running.address.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=120)


def until(true: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait for something that comes for certain."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def held(pid: int) -> Iterator[None]:
    """A process that does nothing for a while, so that another one does everything."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def logged(running: Process, name: str) -> bool:
    return any(name in line for line in running.lines)


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, to see that a process stands still")


@pytest.fixture(scope="module")
def used(data: Path) -> Path:
    """The book with its tables made, so that no worker that stands still is just making them."""
    with glossator.open(data) as book:
        book.ask(QUESTION)
    assert (data / "records.sqlite").exists()
    return data


@LINUX
def test_the_counts_of_all_workers_add_up(used: Path, model: LlmServer, tmp_path: Path) -> None:
    model.script(says(f"{FACT} [1]"))
    env = {"GLOSSATOR_LLM": f"{model.url}#scripted", "GLOSSATOR_VERIFY_MODELS": "false", "TMPDIR": str(tmp_path)}
    with process(used, workers=2, **env) as running:
        one, two = running.workers
        seen = []
        with held(running.process.pid):  # which would replace a worker that does nothing
            for other, times in ((two, 2), (one, 3)):
                with held(other):
                    for _ in range(times):
                        name = answered(running, "POST", "/ask", json={"question": QUESTION})
                        until(partial(logged, running, name))  # and counted just before
            for other in (two, one):
                with held(other):
                    seen.append(parsed(httpx.get(f"{running.address}/metrics", timeout=120).text))
        running.stop()
    for found in seen:
        assert count(found, "requests_total", route="/ask", status="200") == 5
        assert count(found, "request_seconds_count", route="/ask") == 5
        assert count(found, "answers_total", mode="full") == 5
        assert count(found, "stage_seconds_count", stage="generation") == 2
        assert count(found, "cache_total", found="miss") == 2
        assert count(found, "cache_total", found="hit") == 3
        assert count(found, "tokens_total", kind="input") == 2 * 20
        assert count(found, "index_generation") == 1
    assert list(tmp_path.glob("glossator-counts-*")) == []


@LINUX
def test_a_worker_that_was_killed_serves_nothing_any_more(used: Path, model: LlmServer, tmp_path: Path) -> None:
    model.script(stalls())
    env = {"GLOSSATOR_LLM": f"{model.url}#scripted", "TMPDIR": str(tmp_path)}
    with process(used, workers=2, **env) as running:
        one, two = running.workers
        with held(running.process.pid), held(two), connection(running) as hung:
            body = json.dumps({"question": QUESTION})
            head = f"POST /ask HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            hung.sendall(f"{head}{body}".encode())
            until(lambda: len(model.asked) > 0)
            os.kill(one, signal.SIGKILL)
        until(lambda: "".join(running.lines).count("startup complete") >= 3)
        found = parsed(httpx.get(f"{running.address}/metrics", timeout=120).text)
        running.stop()
    assert count(found, "requests_running") == 1


def test_nothing_in_the_process_reports_to_its_makers(data: Path, tmp_path: Path) -> None:
    with process(data, TMPDIR=str(tmp_path)) as running:
        answered(running, "POST", "/ask", json={"question": QUESTION})
        running.stop()
    assert [file.name for file in tmp_path.iterdir()] == []  # ONNX Runtime's telemetry keeps its session in `.ses`


# Logs


HIDDEN = "hushhush"


def answered(running: Process, method: str, path: str, **more: Any) -> str:
    """The id of a request."""
    response = httpx.request(method, running.address + path, timeout=120, **more)
    assert is_uuid4(response.headers["x-request-id"])
    return str(response.headers["x-request-id"])


def test_every_line_is_json_and_names_its_request(own: Path) -> None:
    key = KeyRing(own / KEYS_FILE).create("reader", [Scope.ADMIN])
    with process(own) as running, httpx.Client(headers={"authorization": f"Bearer {key}"}) as client:
        more = {"headers": dict(client.headers)}
        said = {
            answered(running, "GET", "/livez", **more): ("GET", "/livez", 200),
            answered(running, "GET", f"/search?q={HIDDEN}", **more): ("GET", "/search", 200),
            answered(running, "POST", "/ask", json={"question": f"What is {HIDDEN}?"}, **more): ("POST", "/ask", 200),
            answered(running, "GET", f"/{HIDDEN}", **more): ("GET", "/{path:path}", 404),
            answered(running, "POST", "/chat/stream", json={"query": HIDDEN}, **more): ("POST", "/chat/stream", 200),
            answered(running, "POST", f"/ask?{HIDDEN}", json={"q": HIDDEN}, **more): ("POST", "/ask", 400),
            answered(running, "GET", "/metrics", headers={"x-api-key": HIDDEN}): ("GET", "other", 401),
            answered(running, "GET", f"/?q={HIDDEN}", **more): ("GET", "/", 200),
        }
        lines = running.stop()
        log = "".join(running.lines)
    mine = [line for line in lines if line["logger"] == "glossator.requests"]
    assert {line["request_id"]: (line["method"], line["route"], line["status"]) for line in mine} == said
    assert len(mine) == len(said)
    assert all(is_moment(line["time"]) and is_time(line["ms"]) for line in mine)
    for secret in (HIDDEN, key, key.split("_")[2], str(own), "secret-place", "Traceback"):
        assert secret not in log
    assert {line["caller"] for line in mine} - {"open"} == {key.split("_")[1]}


def test_bad_input_makes_one_line_each_and_no_traceback(data: Path) -> None:
    bodies = malformed({"question": HIDDEN}, "question").values()
    headers = {"content-type": "application/json"}
    with process(data) as running:
        ids = [answered(running, "POST", "/ask", content=body, headers=headers) for body in bodies]
        ids += [answered(running, "PUT", "/ask", content=HIDDEN), answered(running, "GET", "/search?top_k=0")]
        for rubbish in (b"RUBBISH\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n"):
            with connection(running) as opened_one:
                opened_one.sendall(rubbish)
                assert opened_one.recv(100).startswith(b"HTTP/1.1 400")
        lines = running.stop()
    mine = [line for line in lines if line.get("request_id")]
    assert [line["request_id"] for line in mine] == ids
    assert {(line["level"], line["status"] < 500) for line in mine} == {("info", True)}
    assert sum("Invalid HTTP request" in line["message"] for line in lines) == 3
    assert not any("exception" in line for line in lines)
    assert HIDDEN not in json.dumps(lines)


@pytest.mark.parametrize("lose", [nothing, no_documents, no_number])
def test_what_is_wrong_with_the_index_is_logged_without_its_place(own: Path, lose: Callable[[Path], None]) -> None:
    lose(own)
    with process(own) as running:
        ids = [answered(running, "POST", "/ask", json={"question": HIDDEN}), answered(running, "GET", "/readyz")]
        lines = running.stop()
    mine = [line for line in lines if line.get("request_id")]
    assert {line["request_id"] for line in mine} == set(ids)
    assert {line["problem"] for line in mine if "problem" in line} == {"QDRANT_UNAVAILABLE"}
    assert [line["level"] for line in mine if line["request_id"] == ids[0]] == ["error", "info"]
    assert not any("exception" in line for line in lines)
    for secret in (HIDDEN, str(own), "secret-place"):
        assert secret not in json.dumps(lines)


def test_a_fault_of_ours_is_logged_whole_on_one_line(own: Path) -> None:
    with process(own) as running:
        answered(running, "GET", "/readyz")
        no_documents(own)
        name = answered(running, "GET", "/docs/module1/kinematics")
        lines = running.stop()
    fault, line = (line for line in lines if line.get("request_id") == name)
    assert (fault["level"], fault["message"]) == ("error", "DatabaseError")
    assert fault["exception"].startswith("Traceback")
    assert (line["status"], line["problem"]) == (500, "INTERNAL_ERROR")
    assert "secret-place" not in json.dumps(lines)


def test_a_language_model_that_fails_is_logged_with_its_request(data: Path, model: LlmServer) -> None:
    model.script(fails(401))
    with process(data, GLOSSATOR_LLM=f"{model.url}#scripted", GLOSSATOR_LLM_API_KEY="sk-secret") as running:
        name = answered(running, "POST", "/ask", json={"question": QUESTION})
        lines = running.stop()
    mine = [line for line in lines if line.get("request_id") == name]
    assert {line["level"] for line in mine} == {"warning", "info"}
    assert any("HTTP 401" in line["message"] for line in mine)
    assert "sk-secret" not in json.dumps(lines)
    assert QUESTION not in json.dumps(lines)


# Traces


class Collector:
    """What an OpenTelemetry collector was sent."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        self.bytes = b""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector._take(self.path, self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_given: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    def _take(self, path: str, body: bytes) -> None:
        assert path == "/v1/traces"
        request = ExportTraceServiceRequest.FromString(body)
        self.bytes += body
        for each in request.resource_spans:
            self.resources.append(each.resource)
            self.spans += [span for scope in each.scope_spans for span in scope.spans]

    def trace(self, trace_id: str) -> list[Any]:
        """The spans of one trace, the earliest first."""
        found = [span for span in self.spans if span.trace_id.hex() == trace_id]
        return sorted(found, key=lambda span: int(span.start_time_unix_nano))

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    yield found
    found.close()


SERVER, INTERNAL = 2, 1
STAGES = ["embedding", "retrieval", "generation", "records"]
PARENT = "b7ad6b7169203331"


def parent(trace_id: str, flags: str = "01") -> dict[str, dict[str, str]]:
    return {"headers": {"traceparent": f"00-{trace_id}-{PARENT}-{flags}"}}


def test_a_request_and_its_stages_are_spans_of_the_callers_trace(data: Path, collector: Collector) -> None:
    whole, streamed, unsampled, refused = (uuid.uuid4().hex for _ in range(4))
    ask_other, ask_more = {"question": "What is the Jacobian?"}, {"question": QUESTION, "stream": True}
    with process(data, OTEL_EXPORTER_OTLP_ENDPOINT=collector.address, OTEL_SERVICE_NAME="library") as running:
        answered(running, "POST", f"/ask?{HIDDEN}", json=ask_other, **parent(whole))
        answered(running, "POST", "/ask", json=ask_more, **parent(streamed))
        answered(running, "GET", f"/search?q={HIDDEN}", **parent(unsampled, "00"))
        answered(running, "POST", "/ask", json={HIDDEN: HIDDEN}, **parent(refused))
        lines = running.stop()
    for trace_id in (whole, streamed):
        request, *stages = collector.trace(trace_id)
        assert (request.kind, request.parent_span_id.hex()) == (SERVER, PARENT)
        assert [span.name for span in stages] == STAGES
        assert {span.parent_span_id for span in stages} == {request.span_id}
        assert {span.kind for span in stages} == {INTERNAL}
        assert all(span.end_time_unix_nano <= request.end_time_unix_nano for span in stages)
    assert collector.trace(unsampled) == []
    assert [span.kind for span in collector.trace(refused)] == [SERVER]
    names = {a.value.string_value for r in collector.resources for a in r.attributes if a.key == "service.name"}
    assert names == {"library"}
    assert HIDDEN.encode() not in collector.bytes
    assert not any(line["level"] in ("warning", "error") for line in lines)


def attributes(span: Any) -> dict[str, Any]:
    values = {attribute.key: attribute.value for attribute in span.attributes}
    return {key: getattr(value, value.WhichOneof("value")) for key, value in values.items()}


def test_a_span_tells_the_route_and_the_status(own: Path, collector: Collector) -> None:
    good, missing, bad, broken = (uuid.uuid4().hex for _ in range(4))
    with process(own, OTEL_EXPORTER_OTLP_ENDPOINT=collector.address) as running:
        answered(running, "POST", "/ask", json={"question": QUESTION}, **parent(good))
        answered(running, "GET", f"/{HIDDEN}", **parent(missing))
        answered(running, "POST", "/ask", json={}, **parent(bad))
        another_number(own)
        answered(running, "POST", "/ask", json={"question": QUESTION}, **parent(broken))
        running.stop()
    wanted = {
        good: ("POST /ask", 200, 0),
        missing: ("GET /{path:path}", 404, 0),
        bad: ("POST /ask", 400, 0),
        broken: ("POST /ask", 503, 2),
    }
    for trace_id, (name, status, code) in wanted.items():
        request = collector.trace(trace_id)[0]
        about = attributes(request)
        assert (request.name, about["http.response.status_code"], request.status.code) == (name, status, code)
        assert about["http.route"] == name.split()[1]


def test_a_parent_that_is_none_begins_a_new_trace(data: Path, collector: Collector) -> None:
    headers = ("", "rubbish", f"00-{'0' * 32}-{PARENT}-01", "00-x-y-01", "ff" * 500)
    with process(data, OTEL_EXPORTER_OTLP_ENDPOINT=collector.address) as running:
        for header in headers:
            answered(running, "GET", "/livez", headers={"traceparent": header})
        running.stop()
    assert {(span.kind, span.parent_span_id) for span in collector.spans} == {(SERVER, b"")}
    assert len({span.trace_id for span in collector.spans}) == len(headers)


def test_a_collector_that_is_not_there_costs_no_answer(data: Path) -> None:
    with process(data, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1") as running:
        response = httpx.post(f"{running.address}/ask", json={"question": QUESTION}, timeout=120)
        assert FACT in response.text
        lines = running.stop()
    assert not any(QUESTION in json.dumps(line) for line in lines)


UNTRACED = """
import asyncio, sys
from pathlib import Path
import httpx
from glossator.core.settings import load_settings
from glossator.serve.app import create_app

async def main():
    app = create_app(load_settings(data_dir=Path(sys.argv[1])))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        assert (await client.post("/ask", json={"question": sys.argv[2]})).status_code == 200
    print([name for name in sys.modules if name.startswith("opentelemetry.sdk")])

asyncio.run(main())
"""


DISABLED = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}


@pytest.mark.parametrize("env", [{}, DISABLED], ids=["unset", "disabled"])
def test_whom_nobody_asks_for_spans_does_not_load_the_sdk(data: Path, env: dict[str, str]) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-c", UNTRACED, data, QUESTION]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120, env=clean | env)
    assert done.stdout.decode().strip() == "[]"


# Feedback, contents, search


async def receipt(client: httpx.AsyncClient, session_id: str | None = None) -> str:
    """The receipt of an answer."""
    told = await stream(
        client, "/chat/stream", {"query": QUESTION} | ({"session_id": session_id} if session_id else {})
    )
    return str(told.sources["metadata"]["receipt_id"])


async def test_feedback_is_kept_and_counted(served: tuple[httpx.AsyncClient, Engine]) -> None:
    client, engine = served
    given = {"receipt_id": await receipt(client), "rating": "down", "reason": "wrong", "text": "It is not “so”."}
    async with moved(client, "feedback_total", 1, rating="down"), moved(client, "feedback_total", 0, rating="up"):
        response = await client.post("/feedback", json=given)
        assert (response.status_code, response.json()) == (201, {"status": "stored"})
    kept = (await engine.records.feedback())[0]
    assert (kept.rating, kept.reason, kept.text, kept.question) == ("down", "wrong", "It is not “so”.", QUESTION)


async def test_in_a_session_the_last_word_counts(own: Path) -> None:
    async with opened(own) as (client, engine):
        session = {"session_id": str(uuid.uuid4())}
        given = {"receipt_id": await receipt(client, session["session_id"])}
        before = len(await engine.records.feedback())
        for rating in ("up", "down", "up"):
            assert (await client.post("/feedback", json=given | session | {"rating": rating})).status_code == 201
        latest, *rest = await engine.records.feedback()
        assert (latest.rating, len(rest)) == ("up", before)
        for rating in ("down", "down"):
            assert (await client.post("/feedback", json=given | {"rating": rating})).status_code == 201
        assert [each.rating for each in await engine.records.feedback()][:3] == ["down", "down", "up"]


async def test_feedback_on_what_was_never_said_is_404(client: httpx.AsyncClient) -> None:
    response = await client.post("/feedback", json={"receipt_id": "nowhere", "rating": "up"})
    assert (response.status_code, response.json()["error"]) == (404, "RECEIPT_NOT_FOUND")
    elsewhere = {"receipt_id": await receipt(client), "rating": "up", "session_id": str(uuid.uuid4())}
    assert (await client.post("/feedback", json=elsewhere)).status_code == 404


BAD_FEEDBACK: list[Body] = [
    {"rating": "sideways"},
    {"rating": ""},
    {"rating": None},
    {"rating": 1},
    {"rating": True},
    {"rating": ["up"]},
    {"rating": "UP"},
    {"receipt_id": ""},
    {"receipt_id": "a b"},
    {"receipt_id": "x\n"},
    {"receipt_id": "x" * 101},
    {"receipt_id": 5},
    {"reason": "x" * 201},
    {"text": "x" * 4001},
    {"text": None},
    {"session_id": "a b"},
    {"session_id": ""},
    {"colour": "red"},
]


@pytest.mark.parametrize("bad", BAD_FEEDBACK, ids=str)
async def test_bad_feedback_is_refused(client: httpx.AsyncClient, bad: Body) -> None:
    async with moved(client, "feedback_total", 0):
        response = await client.post("/feedback", json={"receipt_id": "x", "rating": "up"} | bad)
    assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")
    assert tells_no_internals(response.json()["message"])


async def test_feedback_with_a_nul_is_refused(client: httpx.AsyncClient) -> None:
    name = await receipt(client)
    for field in ("reason", "text"):
        response = await client.post("/feedback", json={"receipt_id": name, "rating": "up", field: "a\0b"})
        assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")


async def test_feedback_without_a_database_is_503(own: Path) -> None:
    records_that_are_a_folder(own)
    async with opened(own) as (client, _):
        response = await client.post("/feedback", json={"receipt_id": "x", "rating": "up"})
    assert (response.status_code, response.json()["error"]) == (503, "SERVICE_UNAVAILABLE")
    assert int(response.headers["retry-after"]) > 0


async def test_the_contents_are_there_for_language_models(client: httpx.AsyncClient) -> None:
    response = await client.get("/llms.txt")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert response.text.startswith("# The book\n")
    links = re.findall(r"^- \[(.+)\]\(<(.+)>\)$", response.text, re.MULTILINE)
    titles = {
        f"{BASE}/{name.removesuffix('.md')}": text.splitlines()[0].removeprefix("# ") for name, text in PAGES.items()
    }
    assert {url: title for title, url in links} == titles
    for _, url in links:
        assert (await client.get(url.removeprefix("https://book.example"))).status_code == 200


async def test_a_title_cannot_break_out_of_the_contents(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# A ](https://evil.example) [title\n\nWords of a page.\n", "utf-8")
    await asyncio.to_thread(ingest, tmp_path / "page.md", tmp_path / "data")
    async with opened(tmp_path / "data") as (client, _):
        text = (await client.get("/llms.txt")).text
    assert "](https" not in text
    assert len(re.findall(r"^- \[[^\[\]]+\]\(<[^<>]+>\)$", text, re.MULTILINE)) == 1


async def test_search_finds_the_words(client: httpx.AsyncClient) -> None:
    found = (await client.get("/search", params={"q": QUESTION, "top_k": 1})).json()
    assert FACT in " ".join(found["results"][0]["text"].split())
    assert found["generation"] == 1


# Errors


def below(kind: type[GlossatorError]) -> Iterator[type[GlossatorError]]:
    """A class of errors and all below it that the tree names."""
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from below(each)


TREE = list(dict.fromkeys(below(GlossatorError)))
EXPECTED = {
    "GlossatorError": 500,
    "SettingsError": 500,
    "BadInput": 400,
    "SourceError": 400,
    "QuestionError": 400,
    "SessionIdError": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "ReceiptNotFound": 404,
    "SessionNotFound": 404,
    "RequestKeyReused": 409,
    "TurnLost": 409,
    "ConversationBusy": 429,
}
"""All others are 503: something that is needed is not there."""


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_a_code(kind: type[GlossatorError]) -> None:
    problem = problem_of(kind(FAULT, "Do this."))
    assert problem.status == EXPECTED.get(kind.__name__, 503)
    assert problem.status in STATUSES
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", problem.code)
    assert (problem.retry_after is not None) == (problem.status in (429, 503))
    if problem.status >= 500:
        assert FAULT not in problem.message
        assert problem.message


def test_every_error_is_drawn_in_the_tree() -> None:
    drawn = re.findall(r"^[│├└─ ]*(\w+)", errors.__doc__ or "", re.MULTILINE)
    assert {kind.__name__ for kind in TREE} <= set(drawn)


def one(error: Body) -> tuple[str, str, object]:
    return error["error"], error["message"], error["details"]


def inner(error: Body) -> tuple[str, str, object]:
    return error["error"]["code"], error["error"]["message"], error["error"].get("details")


DOORS: dict[str, tuple[str, Body, Callable[[Body], tuple[str, str, object]]]] = {
    "chat": ("/chat", {"query": QUESTION}, lambda e: (e["error_code"], e["message"], e["details"])),
    "chat stream": ("/chat/stream", {"query": QUESTION}, lambda e: (e["error_code"], e["message"], e["details"])),
    "agent": ("/agent/chat", {"message": QUESTION, "session_id": "fault"}, inner),
    "grounded": ("/agent/query", {"query_text": QUESTION}, inner),
    "ask": ("/ask", {"question": QUESTION}, one),
    "query": ("/query", {"query": QUESTION}, lambda e: (e["error"], e["message"], e["detail"])),
    "openai": ("/v1/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}, inner),
    "search": ("/search", {"query": QUESTION}, one),
}


@pytest.mark.parametrize("dev_mode", [False, True], ids=["for all", "for developers"])
@pytest.mark.parametrize("door", DOORS)
async def test_an_unforeseen_fault_is_500_in_the_shape_of_the_door(
    data: Path, monkeypatch: pytest.MonkeyPatch, door: str, dev_mode: bool
) -> None:
    path, body, read = DOORS[door]
    monkeypatch.setattr(LocalEmbedder, "embed_query", fail)
    async with opened(data, dev_mode=dev_mode) as (client, _):
        response = await client.post(path, json=body)
    code, message, details = read(response.json())
    assert (response.status_code, code.upper(), message) == (500, "INTERNAL_ERROR", "Something went wrong.")
    assert FAULT not in response.text
    assert tells_no_internals(response.text)
    assert (details is not None) == (dev_mode and door != "openai")
    assert is_uuid4(response.headers["x-request-id"])


@pytest.mark.parametrize("door", DOORS)
async def test_details_are_for_developers_alone(tmp_path: Path, door: str) -> None:
    path, body, read = DOORS[door]
    for dev_mode in (False, True):
        async with opened(tmp_path / "secret-place", dev_mode=dev_mode) as (client, _):
            absent, bad = await client.post(path, json=body), await client.post(path, json={})
        assert (absent.status_code, bad.status_code) == (503, 400)
        shown = dev_mode and door != "openai"
        assert (read(absent.json())[2] is not None) == shown
        assert (read(bad.json())[2] is not None) == shown
        assert ("secret-place" in absent.text) == shown


async def test_an_unforeseen_fault_on_a_page_is_a_page(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalEmbedder, "embed_query", fail)
    response = await client.get("/", params={"q": QUESTION})
    assert (response.status_code, response.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "Something went wrong" in response.text
    assert FAULT not in response.text


STREAMS = ("chat stream", "agent", "grounded", "ask", "query")


@pytest.mark.parametrize("door", STREAMS)
async def test_a_stream_that_fails_on_its_way_tells_nothing(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    async def answering(*_asked: object, **_more: object) -> AsyncIterator[str]:
        yield Delta("Some words.")
        raise RuntimeError(FAULT)

    path, body, read = DOORS[door]
    monkeypatch.setattr("glossator.pipeline.answering.answer_question", answering)
    streamed = body if door == "chat stream" else body | {"stream": True}
    async with aconnect_sse(client, "POST", path, json=streamed) as source:
        *_, last = [(event.event, event.data) async for event in source.aiter_sse()]
    code, message, details = read(json.loads(last[1]))
    assert (last[0], code.upper()) == ("error", "INTERNAL_ERROR")
    assert (message, details) == ("Something went wrong.", None)
    assert FAULT not in last[1]


@pytest.mark.parametrize("door", [door for door in DOORS if door != "search"])
async def test_what_no_route_knows_is_told_in_the_shape_of_its_door(client: httpx.AsyncClient, door: str) -> None:
    path, _, read = DOORS[door]
    for method, where, found in (
        ("PUT", path, (405, "METHOD_NOT_ALLOWED")),
        ("POST", f"{path}/nowhere/at/all", (404, "NOT_FOUND")),
        ("GET", f"{path}/nowhere/at/all", (404, "NOT_FOUND")),
    ):
        response = await client.request(method, where, json={})
        assert response.headers["content-type"] == "application/json", (method, where)
        assert (response.status_code, read(response.json())[0].upper()) == found
