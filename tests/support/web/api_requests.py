"""Requests for every route that answers, the errors they return, and clients that run into limits."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from commands import quick_folder
from doors import QUESTION, Body, is_uuid4
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from llm_server import LlmServer

TIMEOUT_SECONDS = 60.0
"""For something that should happen at once."""
MAX_REQUESTS = 60
"""More than any rate limit in the tests allows."""
CHEAP_PATH = "/v1/models"
QUESTIONS: dict[str, Body] = {
    "/chat": {"query": QUESTION},
    "/chat/stream": {"query": QUESTION},
    "/agent/chat": {"message": QUESTION, "session_id": "limits"},
    "/agent/chat/structured": {"message": QUESTION, "session_id": "limits"},
    "/agent/query": {"query_text": QUESTION},
    "/agent/query/session": {"query_text": QUESTION},
    "/ask": {"question": QUESTION},
    "/query": {"query": QUESTION},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": QUESTION}]},
}
"""A question for every route that answers one."""
OTHER_POSTS: dict[str, Body] = {
    "/search": {"query": QUESTION},
    "/feedback": {"receipt_id": "x", "rating": "up"},
    "/widget/token": {"origin": "https://docs.example.com"},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
}
HEALTH_PATHS = ["/livez", "/readyz", "/health", "/ask/health", "/style.css"]
JSON = {"Content-Type": "application/json"}
_FIELDS = {
    "/chat": {"error_code", "message", "request_id", "details"},
    "/history": {"error_code", "message", "request_id", "details"},
    "/agent": {"error", "session_id"},
    "/ask": {"error", "message", "details"},
    "/query": {"error", "message", "detail", "status_code"},
    "/v1": {"error"},
    "": {"error", "message", "request_id", "details"},
}
_ERROR_FIELDS = {"/agent": {"code", "message", "details"}, "/v1": {"code", "message", "type", "param"}}


@pytest.fixture(scope="module")
def empty_data() -> Iterator[Path]:
    """A data directory without a book; treat it as read-only."""
    with quick_folder() as folder:
        yield folder / "data"


def error_of(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error; checks that it has the shape of its door."""
    found = response.json()
    door = next(name for name in _FIELDS if response.url.path.startswith(name))
    assert set(found) == _FIELDS[door]
    assert set(found["error"]) == _ERROR_FIELDS[door] if door in _ERROR_FIELDS else isinstance(found["message"], str)
    assert found.get("status_code", response.status_code) == response.status_code
    assert is_uuid4(response.headers["x-request-id"])
    assert found.get("request_id", response.headers["x-request-id"]) == response.headers["x-request-id"]
    code = found["error"]["code"] if door in _ERROR_FIELDS else found.get("error_code", found.get("error"))
    return response.status_code, code.upper()


def retry_after(response: httpx.Response) -> int:
    seconds = response.headers["retry-after"]
    assert re.fullmatch("[1-9][0-9]*", seconds)
    return int(seconds)


@asynccontextmanager
async def clients_at(folder: Path, *addresses: str, **settings: Any) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Clients of one server, one at each address."""
    app = create_app(load_settings(data_dir=folder, **settings))
    transports = [httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 1)) for address in addresses]
    clients = [httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") for transport in transports]
    async with app.router.lifespan_context(app):
        yield clients
    for client in clients:
        await client.aclose()


async def eventually(condition: Callable[[], bool], seconds: float = TIMEOUT_SECONDS) -> bool:
    """Whether the condition becomes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True


async def send_until_rejected(send: Callable[[], Awaitable[httpx.Response]]) -> tuple[int, httpx.Response]:
    """How many requests were allowed before one was rejected, and the rejection."""
    for count in range(MAX_REQUESTS):
        response = await send()
        if response.status_code == 429:
            return count, response
    raise AssertionError("no request was rejected")


async def count_allowed(client: httpx.AsyncClient, **kwargs: Any) -> int:
    """How many cheap requests are allowed before one is rejected."""
    count, rejection = await send_until_rejected(lambda: client.get(CHEAP_PATH, **kwargs))
    assert error_of(rejection) == (429, "RATE_LIMITED")
    return count


def llm_settings(model: LlmServer) -> dict[str, Any]:
    """Settings with which this model writes the answers."""
    return {"llm": f"{model.url}#scripted", "verify_models": False, "cache_answers": 0}
