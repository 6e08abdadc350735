"""Metrics of one server."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from doors import (
    FACT,
    FALSEHOOD,
    OUT_OF_SCOPE,
    QUESTION,
    stream,
)
from glossator.pipeline.wiring import Engine
from llm_server import LlmServer, fails, says
from operations import (
    HEALTH_PATHS,
    INDEX_DAMAGES,
    UNCACHED_OPTIONS,
    ask,
    changes_by,
    ingest,
    open_server,
    read_metrics,
    replace_records_by_a_folder,
    total,
)

pytestmark = pytest.mark.slow


async def test_requests_are_counted_by_route(client: httpx.AsyncClient) -> None:
    name = uuid.uuid4()
    async with (
        changes_by(client, "requests_total", 1, method="POST", route="/ask", status="200"),
        changes_by(client, "requests_total", 1, method="POST", route="/ask", status="400"),
        changes_by(client, "requests_total", 1, method="GET", route="/history/{session_id}", status="404"),
        changes_by(client, "requests_total", 1, method="GET", route="/search", status="200"),
        changes_by(client, "request_seconds_count", 2, route="/ask"),
    ):
        await ask(client, QUESTION)
        await ask(client, "", 400)
        await client.get(f"/history/{name}")
        await client.get("/search", params={"q": "secret-word"})
    text = (await client.get("/metrics")).text
    assert str(name) not in text
    assert "secret-word" not in text


PATH_TEMPLATES = "/{} /docs/{} /v1/models/{} /agent/session/{} /history/{} /mcp/{} /search?q=x&{} /ask/{}".split()


async def test_arbitrary_paths_create_no_new_series(client: httpx.AsyncClient) -> None:
    async def request_random_paths(times: int) -> set[Any]:
        for number in range(times):
            method = ("GET", "POST", "DELETE")[number % 3]
            await client.request(method, PATH_TEMPLATES[number % len(PATH_TEMPLATES)].format(uuid.uuid4().hex))
        return set(await read_metrics(client))

    await read_metrics(client)  # itself a request that is measured
    assert await request_random_paths(6 * len(PATH_TEMPLATES)) == await request_random_paths(1000)


async def test_each_stage_of_an_answer_is_timed(client: httpx.AsyncClient) -> None:
    async with (
        changes_by(client, "stage_seconds_count", 1, stage="embedding"),
        changes_by(client, "stage_seconds_count", 1, stage="retrieval"),
        changes_by(client, "stage_seconds_count", 1, stage="generation"),
        changes_by(client, "stage_seconds_count", 1, stage="records"),
    ):
        await ask(client, QUESTION)
    found = await read_metrics(client)
    for stage in ("embedding", "retrieval", "generation", "records"):
        assert 0 < total(found, "stage_seconds_sum", stage=stage) <= total(found, "request_seconds_sum", route="/ask")


async def test_probes_are_not_counted_as_stages(data: Path) -> None:
    async with open_server(data, UNCACHED_OPTIONS) as (client, _):
        await ask(client, QUESTION)
        async with changes_by(client, "stage_seconds_count", 0):
            for path in HEALTH_PATHS:
                await client.get(path)


async def test_answers_and_abstentions_are_counted_in_every_format(client: httpx.AsyncClient) -> None:
    whole = {"messages": [{"role": "user", "content": QUESTION}]}
    async with (
        changes_by(client, "answers_total", 5, mode="full"),
        changes_by(client, "answers_total", 1, mode="no_results"),
        changes_by(client, "abstentions_total", 1),
    ):
        await ask(client, QUESTION)
        await ask(client, OUT_OF_SCOPE)
        await stream(client, "/ask", {"question": QUESTION, "stream": True})
        await client.post("/chat", json={"query": QUESTION})
        await client.post("/v1/chat/completions", json=whole)
        await client.post("/v1/chat/completions", json=whole | {"stream": True})


async def test_answers_that_cannot_be_stored_are_counted(private_data: Path) -> None:
    async with open_server(private_data) as (client, _), changes_by(client, "unstored_answers_total", 0):
        await ask(client, QUESTION)
    replace_records_by_a_folder(private_data)
    async with open_server(private_data) as (client, _), changes_by(client, "unstored_answers_total", 2):
        await ask(client, QUESTION)
        await client.post("/chat", json={"query": QUESTION})


async def test_tokens_and_verdicts_are_counted(
    server_with_llm: tuple[httpx.AsyncClient, Engine], model: LlmServer
) -> None:
    client, _ = server_with_llm
    model.script(says(f"{FACT} [1] {FALSEHOOD} [1]"), says("NOT FOUND"))
    before = await read_metrics(client)
    await ask(client, QUESTION)
    after = await read_metrics(client)

    def change(name: str, **labels: str) -> float:
        return total(after, name, **labels) - total(before, name, **labels)

    assert len(model.requests) == 2
    assert change("tokens_total", kind="input") == 2 * 20
    assert change("tokens_total", kind="output") == 2 * 5
    assert change("verdicts_total", status="supported") == 1
    assert change("verdicts_total") == 2


async def test_circuit_breaker_state_is_shown(
    server_with_llm: tuple[httpx.AsyncClient, Engine], model: LlmServer
) -> None:
    client, engine = server_with_llm
    model.script(fails(401))
    assert engine.drafter is not None
    chained = engine.drafter.models[0]
    assert (await read_metrics(client))["glossator_breaker", (("model", chained.label),)] == 0
    while chained.breaker.state != "open":
        await ask(client, QUESTION)
    assert (await read_metrics(client))["glossator_breaker", (("model", chained.label),)] == 2
    chained.breaker.record_success()
    assert (await read_metrics(client))["glossator_breaker", (("model", chained.label),)] == 0


async def test_cache_hits_and_misses_are_counted(client: httpx.AsyncClient) -> None:
    async with changes_by(client, "cache_total", 1, found="miss"), changes_by(client, "cache_total", 2, found="hit"):
        for _ in range(3):
            await ask(client, QUESTION)


async def test_index_generation_is_shown(private_data: Path, tmp_path: Path) -> None:
    (tmp_path / "more.md").write_text("# Gait\n\nA gait is a pattern of steps that repeats.\n", "utf-8")
    async with open_server(private_data) as (client, _):
        assert (await read_metrics(client))["glossator_index_generation", ()] == 1
        await asyncio.to_thread(ingest, tmp_path / "more.md", private_data)
        assert (await read_metrics(client))["glossator_index_generation", ()] == 2


@pytest.mark.parametrize("damage", INDEX_DAMAGES)
async def test_metrics_work_without_an_index(private_data: Path, damage: Callable[[Path], None]) -> None:
    damage(private_data)
    async with open_server(private_data) as (client, _):
        await ask(client, QUESTION, 503)
        found = await read_metrics(client)
    assert total(found, "requests_total", route="/ask", status="503") == 1


async def test_generation_without_a_book_is_zero(tmp_path: Path) -> None:
    async with open_server(tmp_path / "secret-place") as (client, _):
        assert (await read_metrics(client))["glossator_index_generation", ()] == 0
