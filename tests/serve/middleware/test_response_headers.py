"""Headers of every response: request ids, security headers, and nothing that a client injected."""

from __future__ import annotations

import uuid
from pathlib import Path

import httpx
import pytest

from access import (
    PAGE,
    PUBLIC_PATHS,
    UNLISTED_PATHS,
    KeyedServer,
    bearer,
    has_security_headers,
    preflight,
    responses_by_status,
)
from api_requests import CHEAP_PATH, OTHER_POSTS, QUESTIONS
from data_dirs import copy_data
from doors import is_uuid4, serving

pytestmark = pytest.mark.slow


async def test_every_response_has_security_headers_and_its_own_id(
    client: httpx.AsyncClient, keyed: KeyedServer
) -> None:
    key = bearer(keyed.admin)
    responses = [
        *(await responses_by_status(client, keyed)).values(),
        await preflight(client, "/chat"),
        await preflight(client, "/nowhere"),
        await client.head("/livez"),
        await client.request("TRACE", "/livez"),
        await client.post("/chat/stream", json=QUESTIONS["/chat/stream"], headers=key),
        *[await client.get(path, headers=key) for path in [*PUBLIC_PATHS, *UNLISTED_PATHS, "/metrics", "/llms.txt"]],
        *[await client.get(path) for path in ("/docs", "/redoc")],
        await client.post("/mcp", json=OTHER_POSTS["/mcp"], headers=key),
    ]
    assert [str(response.request.url) for response in responses if not has_security_headers(response)] == []
    assert len({response.headers["x-request-id"] for response in responses}) == len(responses)


@pytest.fixture
def own(data: Path, tmp_path: Path) -> Path:
    """A copy of the data directory that a test may change."""
    return copy_data(data, tmp_path / "own")


async def test_internal_errors_have_security_headers(own: Path) -> None:
    async with serving(own, cors_origins=PAGE) as client:
        assert (await client.get("/readyz")).status_code == 200
        documents = own / "generations" / "000001" / "documents.sqlite"
        documents.write_bytes(b"\x00" * documents.stat().st_size)
        response = await client.get("/nowhere", headers={"Origin": PAGE})
    assert response.status_code == 500
    assert response.headers["access-control-allow-origin"] == PAGE
    assert has_security_headers(response)


INJECTIONS = [
    b"evil\r\nSet-Cookie: evil=1",
    b"evil\nX-Evil: 1",
    b"evil\r\n\r\n<script>evil</script>",
    b"evil\x00evil",
    b"evil\xff\xfe",
    b"evil<script>alert(1)</script>",
    b"evil-4f3c2f0e-4a53-4b6e-9d53-2f7c30b1a111",
    b"evil" * 3000,
]
ECHOED_HEADERS = [b"x-request-id", b"origin", b"idempotency-key", b"last-event-id", b"access-control-request-headers"]


@pytest.mark.parametrize("name", ECHOED_HEADERS, ids=bytes.decode)
async def test_request_headers_are_not_echoed(client: httpx.AsyncClient, keyed: KeyedServer, name: bytes) -> None:
    key = (b"x-api-key", keyed.write.encode())
    wanted = [(b"access-control-request-method", b"POST")]
    wanted += [] if name == b"origin" else [(b"origin", PAGE.encode())]
    for value in INJECTIONS:
        responses = [
            await client.get("/livez", headers=[(name, value)]),
            await client.get(CHEAP_PATH, headers=[(name, value)]),
            await client.options("/chat", headers=[(name, value), *wanted]),
        ]
        for path in ("/chat", "/chat/stream", "/agent/chat"):
            responses.append(await client.post(path, json=QUESTIONS[path], headers=[(name, value), key]))
        for response in responses:
            assert response.status_code < 500
            assert "evil" not in str(response.headers.raw).lower()
            assert "evil" not in response.text.lower()
            assert "set-cookie" not in response.headers
            assert has_security_headers(response)


async def test_request_id_of_the_client_is_ignored(client: httpx.AsyncClient) -> None:
    named = str(uuid.uuid4())
    response = await client.get("/livez", headers={"X-Request-ID": named})
    assert is_uuid4(response.headers["x-request-id"])
    assert response.headers["x-request-id"] != named


@pytest.mark.parametrize(
    "path", ["//evil.example", "//evil.example/%2e%2e", "/nowhere%0d%0aSet-Cookie:evil=1", "/\\evil"]
)
async def test_no_path_redirects_elsewhere(client: httpx.AsyncClient, keyed: KeyedServer, path: str) -> None:
    response = await client.get(f"http://127.0.0.1{path}", headers=bearer(keyed.read))
    assert response.status_code == 404
    assert "evil" not in str(response.headers.raw)
