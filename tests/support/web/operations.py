"""A server in the test process with its engine, its metrics, and ways to damage its data."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

import glossator
from data_dirs import copy_data
from doors import BASE, LONG_STREAM_TIMEOUTS
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import Engine, wire
from glossator.serve.app import ServerOptions, create_app
from glossator.serve.doors.streams import Streams
from llm_server import LONG_COOLDOWN_SECONDS, LlmServer

SECRET_ERROR = "something secret in /etc/place"  # noqa: S105 - the text of an error
HEALTH_PATHS = ("/health", "/ask/health", "/readyz")
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
"""Values of metrics by name and labels."""
DEFAULT_OPTIONS = ServerOptions(probe_timeout_seconds=600)
"""A busy machine must not make a server look unhealthy."""
UNCACHED_OPTIONS = ServerOptions(probe_timeout_seconds=600, health_cache_seconds=-1)


@asynccontextmanager
async def open_server(
    folder: Path, options: ServerOptions = DEFAULT_OPTIONS, **values: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, Engine]]:
    """A client of a server in this process, and the server's engine."""
    settings = load_settings(data_dir=folder, **values)
    engine = wire(settings, cooldown_seconds=LONG_COOLDOWN_SECONDS)
    app = create_app(settings, engine, streams=Streams(LONG_STREAM_TIMEOUTS), options=options)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client, engine


@pytest.fixture
async def server(data: Path) -> AsyncIterator[tuple[httpx.AsyncClient, Engine]]:
    """A server without a language model."""
    async with open_server(data) as found:
        yield found


@pytest.fixture
async def client(server: tuple[httpx.AsyncClient, Engine]) -> httpx.AsyncClient:
    return server[0]


@pytest.fixture
async def server_with_llm(data: Path, model: LlmServer) -> AsyncIterator[tuple[httpx.AsyncClient, Engine]]:
    """A server whose answers the scripted model writes; its health is not cached."""
    async with open_server(
        data, UNCACHED_OPTIONS, llm=f"{model.url}#scripted", verify_models=False, cache_answers=0
    ) as found:
        yield found


@pytest.fixture
def private_data(data: Path, tmp_path: Path) -> Path:
    """A copy of the data directory that a test may change; its path must not be shown to clients."""
    return copy_data(data, tmp_path / "secret-place")


async def ask(client: httpx.AsyncClient, question: str, status: int = 200) -> httpx.Response:
    response = await client.post("/ask", json={"question": question})
    assert response.status_code == status
    return response


def fail(*_given: object, **_more: object) -> None:
    raise RuntimeError(SECRET_ERROR)


def replace_records_by_a_folder(folder: Path) -> dict[str, str]:
    (folder / "records.sqlite").unlink(missing_ok=True)
    (folder / "records.sqlite").mkdir()
    return {}


def delete_everything(folder: Path) -> None:
    shutil.rmtree(folder)


def delete_manifest(folder: Path) -> None:
    next(folder.glob("generations/*/manifest.json")).unlink()


def corrupt_documents(folder: Path) -> None:
    next(folder.glob("generations/*/documents.sqlite")).write_bytes(b"\0" * 8192)


def corrupt_current(folder: Path) -> None:
    (folder / "CURRENT").write_text("seven\n")


def point_to_a_missing_generation(folder: Path) -> None:
    (folder / "CURRENT").write_text("7\n")


INDEX_DAMAGES = [delete_everything, delete_manifest, corrupt_documents, corrupt_current, point_to_a_missing_generation]


def ingest(source: Path, folder: Path) -> None:
    with glossator.open(folder) as book:
        book.ingest(source, base_url=f"{BASE}/more")


async def read_metrics(client: httpx.AsyncClient) -> Samples:
    response = await client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parse_metrics(response.text)


def parse_metrics(text: str) -> Samples:
    """Every sample by its name and labels; without creation times."""
    families = list(text_string_to_metric_families(text))
    assert all(family.name.startswith("glossator_") and family.documentation for family in families)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def total(found: Samples, name: str, /, **labels: str) -> float:
    """The sum of all samples that have these labels."""
    wanted = set(labels.items())
    return sum(value for (each, given), value in found.items() if each == f"glossator_{name}" and wanted <= set(given))


@asynccontextmanager
async def changes_by(client: httpx.AsyncClient, name: str, by: float, /, **labels: str) -> AsyncIterator[None]:
    """Assert that a metric changes by this much."""
    before = total(await read_metrics(client), name, **labels)
    yield
    assert total(await read_metrics(client), name, **labels) - before == by, (name, labels)
