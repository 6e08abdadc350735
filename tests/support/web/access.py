"""A server with API keys, and requests of every scope to it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from api_requests import CHEAP_PATH, JSON, QUESTIONS
from commands import quick_folder
from data_dirs import copy_data
from doors import Body, is_uuid4, serving
from glossator.serve.auth.keys import KEYS_FILE, KeyStore

OTHER_QUESTION = "What is a harmonic drive?"
PAGE, OTHER_PAGE = "https://docs.example.com", "http://localhost:3000"
PUBLIC_PATHS = ["/livez", "/readyz", "/health", "/ask/health", "/style.css", "/widget.js"]
UNLISTED_PATHS = ["/", "/?q=x", "/nowhere", "/docs", "/redoc", "/openapi.json", "/mcp", "/docs/module1/balance"]
"""Paths that the OpenAPI document does not list."""
UNKNOWN_SESSION = "no-such-session"
READ_REQUESTS = [("POST", path) for path in QUESTIONS] + [
    ("GET", "/search?q=x"),
    ("POST", "/search"),
    ("POST", "/mcp"),
    ("GET", f"/history/{uuid.uuid4()}"),
    ("GET", f"/agent/session/{UNKNOWN_SESSION}"),
    ("GET", f"/agent/query/session/{UNKNOWN_SESSION}"),
    ("GET", "/"),
    ("GET", "/llms.txt"),
    ("GET", "/widget/book"),
    ("GET", "/v1/models"),
    ("GET", "/openapi.json"),
]
WRITE_REQUESTS = [
    ("DELETE", f"/agent/session/{UNKNOWN_SESSION}"),
    ("DELETE", f"/agent/query/session/{UNKNOWN_SESSION}"),
    ("POST", f"/agent/query/session/{UNKNOWN_SESSION}/reset"),
    ("POST", "/feedback"),
    ("POST", "/widget/token"),
]
ADMIN_REQUESTS = [
    ("GET", "/metrics"),
    ("GET", "/feedback"),
    ("GET", "/admin/ingest"),
    ("GET", "/admin/ingest/20260101-000000-00000000"),
    ("GET", "/admin/ingest/20260101-000000-00000000/events"),
]


@dataclass(frozen=True)
class KeyedServer:
    """A data directory with a book and API keys."""

    folder: Path
    store: KeyStore
    read: str
    write: str
    admin: str
    alice: str
    bob: str


@pytest.fixture(scope="module")
def keyed(data: Path) -> Iterator[KeyedServer]:
    with quick_folder() as folder:
        own = copy_data(data, folder / "data")
        store = KeyStore(own / KEYS_FILE)
        scoped = [store.create(scope, [scope]) for scope in ("read", "write", "admin")]
        users = [store.create(f"key of {user}", ["write"], user) for user in ("alice", "bob")]
        yield KeyedServer(own, store, *scoped, *users)


@pytest.fixture
async def client(keyed: KeyedServer) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(keyed.folder, max_body_bytes=5000, cors_origins=f"{PAGE},{OTHER_PAGE}") as opened:
        yield opened


def bearer(key: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", **more}


def has_security_headers(response: httpx.Response) -> bool:
    """Whether a response has a request id and security headers."""
    found = response.headers
    return (
        is_uuid4(found.get("x-request-id"))
        and found.get("x-content-type-options") == "nosniff"
        and found.get("referrer-policy") == "no-referrer"
        and "frame-ancestors 'none'" in found.get("content-security-policy", "")
    )


async def responses_by_status(
    client: httpx.AsyncClient, keyed: KeyedServer, **headers: str
) -> dict[int, httpx.Response]:
    """One response of each status."""
    key = bearer(keyed.read, **headers)
    responses = [
        await client.get("/livez", headers=headers),
        await client.post("/ask", json={}, headers=key),
        await client.get(CHEAP_PATH, headers=headers),
        await client.get("/metrics", headers=key),
        await client.get("/nowhere", headers=key),
        await client.get("/chat", headers=key),
        await client.post("/ask", content=b" " * 5001, headers=key | JSON),
        await client.post("/ask", content=b"x", headers=key | {"Content-Type": "text/plain"}),
    ]
    found = {response.status_code: response for response in responses}
    assert set(found) == {200, 400, 401, 403, 404, 405, 413, 415}
    return found


async def preflight(
    client: httpx.AsyncClient, path: str, method: str = "POST", origin: str = PAGE, **more: str
) -> httpx.Response:
    wanted = "authorization, content-type, idempotency-key, last-event-id, x-api-key"
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": wanted,
    }
    return await client.options(path, headers=headers | more)


async def new_token(client: httpx.AsyncClient, key: str, **fields: Any) -> str:
    response = await client.post("/widget/token", json={"origin": PAGE} | fields, headers=bearer(key))
    assert response.status_code == 200
    made = response.json()
    assert set(made) == {"token", "expires_in"}
    return str(made["token"])


async def ask_in_session(client: httpx.AsyncClient, key: str, path: str, question: str, session: str) -> None:
    named: dict[str, Body] = {
        "/chat": {"query": question, "session_id": session},
        "/agent/chat": {"message": question, "session_id": session},
        "/agent/query/session": {"query_text": question, "conversation_id": session},
    }
    assert (await client.post(path, json=named[path], headers=bearer(key))).status_code == 200
