"""MCP over streamable HTTP: concurrency, shutdown, allowed hosts, hostile bodies."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from glossator.pipeline.wiring import Engine
from glossator.serve.mcp.server import MAX_BODY_BYTES, McpEndpoint
from glossator.serve.middleware.hosts import AllowedHosts
from mcp_book import (
    BASE,
    HEADERS,
    LIST_TOOLS,
    MOON,
    call_tool,
    run,
    serving_mcp,
    use_every_tool,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_every_tool_works_over_http(address: str, engine: Engine, path: str, mode: str) -> None:
    async with Client(f"{address}{path}", mode=mode) as client:
        await use_every_tool(client, engine)


async def test_twenty_concurrent_calls_get_their_own_answers(address: str) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        call
        for n in range(7)
        for call in (
            ("search_book", {"query": f"{MOON} {n}"}),
            ("ask_book", {"question": f"What do spring tides have, number {n}?"}),
            ("read_section", {"url": f"{BASE}/{('tides', 'evil', 'old')[n % 3]}"}),
        )
    ][:20]
    async with Client(f"{address}/mcp") as modern, Client(f"{address}/mcp", mode="legacy") as legacy:
        one_by_one = [(await modern.call_tool(*call)).structured_content for call in calls]
        for client in (modern, legacy):
            at_once = await asyncio.gather(*(client.call_tool(*call) for call in calls))
            assert [result.structured_content for result in at_once] == one_by_one


async def test_twenty_concurrent_clients_start_one_server(engine: Engine) -> None:
    before = asyncio.all_tasks()
    async with (
        serving_mcp(McpEndpoint(engine)) as address,
        httpx.AsyncClient(base_url=address, headers=HEADERS, timeout=60) as client,
    ):
        responses = await asyncio.gather(*(client.post("/mcp", json=LIST_TOOLS) for _ in range(20)))
        assert {len(response.json()["result"]["tools"]) for response in responses} == {3}
        assert len({task for task in asyncio.all_tasks() if task.get_name() == "mcp"} - before) == 1


async def test_closing_leaves_no_task(engine: Engine) -> None:
    before = asyncio.all_tasks()
    endpoint = McpEndpoint(engine)
    async with serving_mcp(endpoint) as address:
        async with Client(f"{address}/mcp") as client, Client(f"{address}/mcp", mode="legacy") as other:
            await call_tool(client, "search_book", query=MOON)
            await call_tool(other, "search_book", query=MOON)
        assert endpoint._running is not None
        assert not endpoint._running.done()
    await asyncio.sleep(0.1)
    assert asyncio.all_tasks() <= before
    await endpoint.close()
    transport = httpx.ASGITransport(endpoint)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=HEADERS) as late:
        assert (await late.post("/", json=LIST_TOOLS)).status_code == 503


async def test_unused_endpoint_closes(engine: Engine) -> None:
    await asyncio.wait_for(McpEndpoint(engine).close(), 1)


async def test_endpoint_can_be_closed_while_it_starts(engine: Engine) -> None:
    endpoint = McpEndpoint(engine)
    starting = asyncio.create_task(endpoint._started())
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait_for(endpoint.close(), 10)
    assert endpoint._running is not None
    assert endpoint._running.exception() is None


async def test_conversation_is_shared_between_workers(engine: Engine) -> None:
    """The server is stateless: any worker can continue what another began."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    first, second = McpEndpoint(engine), McpEndpoint(engine)
    async with (
        serving_mcp(first) as one,
        serving_mcp(second) as two,
        httpx.AsyncClient(headers=HEADERS, timeout=60) as client,
    ):
        begun = await client.post(f"{one}/mcp", json={**LIST_TOOLS, "method": "initialize", "params": hello})
        assert begun.json()["result"]["serverInfo"]["name"] == "glossator"
        assert "mcp-session-id" not in begun.headers
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await client.post(f"{two}/mcp", json=ready)).status_code == 202
        call = {"name": "read_section", "arguments": {"title": "Café"}}
        done = await client.post(f"{two}/mcp", json={**LIST_TOOLS, "method": "tools/call", "params": call})
        assert done.json()["result"]["structuredContent"]["section"] == "Café"


@pytest.mark.parametrize(
    ("hosts", "headers", "status"),
    [
        ((), {}, 200),
        ((), {"Host": "localhost:8000"}, 200),
        ((), {"Host": "localhost"}, 200),
        ((), {"Host": "[::1]:8000"}, 200),
        ((), {"Host": "evil.example"}, 421),
        ((), {"Host": "evil.example:8000"}, 421),
        ((), {"Host": "localhost.evil.example"}, 421),
        (("book.example",), {"Host": "book.example"}, 200),
        (("book.example",), {"Host": "book.example:8443", "Origin": "https://book.example:8443"}, 200),
        (("book.example",), {"Host": "other.example"}, 421),
        (("fd00::1",), {"Host": "[fd00::1]:8000"}, 200),
        (("*",), {"Host": "evil.example", "Origin": "http://evil.example"}, 200),
        ((), {"Origin": "http://localhost:6274"}, 200),
        ((), {"Origin": "https://app.example"}, 200),
        ((), {"Origin": "http://evil.example"}, 403),
        ((), {"Origin": "null"}, 403),
    ],
)
async def test_only_allowed_hosts_and_origins_are_served(
    engine: Engine, hosts: tuple[str, ...], headers: dict[str, str], status: int
) -> None:
    endpoint = McpEndpoint(engine, AllowedHosts.of(hosts), ("https://app.example",))
    modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}
    meta = {f"io.modelcontextprotocol/{name}": {} for name in ("clientInfo", "clientCapabilities")}
    meta |= {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}  # type: ignore[dict-item]
    meta["io.modelcontextprotocol/clientInfo"] = {"name": "test", "version": "1"}
    discover = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}
    transport = httpx.ASGITransport(endpoint)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=HEADERS) as client:
        assert (await client.post("/", json=LIST_TOOLS, headers=headers)).status_code == status
        assert (await client.post("/", json=discover, headers={**modern, **headers})).status_code == status
    await endpoint.close()


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "OPTIONS"])
async def test_only_post_is_allowed(address: str, method: str) -> None:
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as client:
        response = await client.request(method, f"{address}/mcp")
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


HOSTILE_BODIES: list[tuple[bytes, int]] = [
    (b"", 400),
    (b"{", 400),
    (b"[]", 400),
    (b"\xff", 400),
    (b"[" * 100_000, 400),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', 200),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}', 200),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}', 200),
    (b" " * (MAX_BODY_BYTES + 1), 413),
]


@pytest.mark.parametrize(("body", "status"), HOSTILE_BODIES, ids=lambda value: str(value)[:60])
async def test_hostile_bodies_are_rejected(address: str, body: bytes, status: int) -> None:
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as client:
        response = await client.post(f"{address}/mcp", content=body)
        assert response.status_code == status, response.text
        assert status != 200 or "error" in response.json()
        assert "Traceback" not in response.text
        assert (await client.post(f"{address}/mcp", json=LIST_TOOLS)).status_code == 200


@pytest.mark.parametrize(
    "place", ['"query": "\\ud800"', '"query": "x", "\\ud800": 1', '"query": "x", "section": "\\udfff"']
)
@pytest.mark.parametrize("version", [None, "2026-07-28"])
async def test_lone_surrogate_is_rejected(address: str, place: str, version: str | None) -> None:
    meta = (
        '"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo":'
        ' {"name": "test", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}, '
    )
    call = f'{{{meta if version else ""}"name": "search_book", "arguments": {{{place}}}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {call}}}'
    modern = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "search_book"} if version else {}
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as client:
        response = await client.post(f"{address}/mcp", content=body.encode(), headers=modern)
    assert response.status_code in (200, 400)
    assert "error" in response.json() or response.json()["result"]["isError"]
    assert "internal" not in response.text.lower()


async def test_mcp_package_is_imported_on_the_first_request(data: Path) -> None:
    code = f"""
import asyncio, sys, httpx
from pathlib import Path
from starlette.applications import Starlette
import glossator.serve.app
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import wire
from glossator.serve.mcp.server import McpEndpoint
from glossator.serve.middleware.hosts import AllowedHosts

async def main():
    engine = wire(load_settings(data_dir=Path({str(data)!r})))
    endpoint = McpEndpoint(engine)
    app = Starlette(routes=endpoint.routes())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        assert (await client.get("/mcp")).status_code == 405
        assert (await client.get("/elsewhere")).status_code == 404
        assert not [name for name in sys.modules if name.partition(".")[0] in ("mcp", "mcp_types")]
        response = await client.post("/mcp/", json={LIST_TOOLS!r}, headers={HEADERS!r})
        assert response.status_code == 200, response.text
        assert "mcp" in sys.modules
    await endpoint.close()
    await engine.close()

asyncio.run(main())
"""
    done = await run([sys.executable, "-W", "error", "-c", code])
    assert done.returncode == 0, done.stderr
