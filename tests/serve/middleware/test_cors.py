"""Cross-origin requests: which pages may read responses, and preflight requests."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from access import (
    OTHER_PAGE,
    PAGE,
    WRITE_REQUESTS,
    KeyedServer,
    has_security_headers,
    preflight,
    responses_by_status,
)
from api_requests import CHEAP_PATH, OTHER_POSTS, QUESTIONS, retry_after, send_until_rejected
from doors import serving
from glossator.core.settings import load_settings
from glossator.serve.app import create_app

pytestmark = pytest.mark.slow

FOREIGN_ORIGINS = [
    "https://evil.example",
    "null",
    "*",
    "",
    "http://docs.example.com",
    "https://docs.example.com:8443",
    "https://docs.example.com.evil.example",
    "https://evil.docs.example.com",
    "https://docs.example.com@evil.example",
    "https://docs.example.com/",
]


@pytest.mark.parametrize("origin", [PAGE, OTHER_PAGE])
async def test_allowed_origin_can_read_every_response(
    client: httpx.AsyncClient, keyed: KeyedServer, origin: str
) -> None:
    for status, response in (await responses_by_status(client, keyed, Origin=origin)).items():
        found = response.headers
        assert found["access-control-allow-origin"] == origin, status
        assert "origin" in found["vary"].lower()
        assert "access-control-allow-credentials" not in found
        exposed = found["access-control-expose-headers"].lower()
        assert "retry-after" in exposed
        assert "x-request-id" in exposed
        assert has_security_headers(response), status


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_foreign_origin_cannot_read_responses(client: httpx.AsyncClient, keyed: KeyedServer, origin: str) -> None:
    for response in (await responses_by_status(client, keyed, Origin=origin)).values():
        assert "access-control-allow-origin" not in response.headers
        assert "access-control-allow-credentials" not in response.headers


async def test_no_origin_is_allowed_by_default(data: Path) -> None:
    async with serving(data) as client:
        for origin in (PAGE, "http://127.0.0.1", "http://localhost", "null"):
            response = await client.get(CHEAP_PATH, headers={"Origin": origin})
            assert "access-control-allow-origin" not in response.headers


async def test_allowed_origin_can_read_rate_limit_errors(tmp_path: Path) -> None:
    async with serving(tmp_path, rate_per_minute=1, cors_origins=PAGE) as client:
        _, refusal = await send_until_rejected(lambda: client.get(CHEAP_PATH, headers={"Origin": PAGE}))
        assert refusal.headers["access-control-allow-origin"] == PAGE
        assert retry_after(refusal)
        assert (await preflight(client, "/chat")).status_code in (200, 204)


@pytest.mark.parametrize("listed", [f" {PAGE} , {OTHER_PAGE} ", f"{PAGE.upper()},{OTHER_PAGE},", f"{PAGE}:443"])
async def test_configured_origins_are_normalised(tmp_path: Path, listed: str) -> None:
    async with serving(tmp_path, cors_origins=listed) as client:
        response = await client.get(CHEAP_PATH, headers={"Origin": PAGE})
    assert response.headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize("listed", ["*", "docs.example.com", f"{PAGE}/docs", "null"])
def test_invalid_configured_origin_is_reported_at_startup(tmp_path: Path, listed: str) -> None:
    from glossator.core.errors import GlossatorError

    with pytest.raises(GlossatorError):
        create_app(load_settings(data_dir=tmp_path, cors_origins=listed))


@pytest.mark.parametrize(
    ("method", "path"),
    [*(("POST", path) for path in [*QUESTIONS, *OTHER_POSTS]), ("GET", "/search"), WRITE_REQUESTS[0]],
)
async def test_preflight_of_an_allowed_origin_needs_no_key(client: httpx.AsyncClient, method: str, path: str) -> None:
    response = await preflight(client, path, method)
    found = response.headers
    assert response.status_code in (200, 204)
    assert found["access-control-allow-origin"] == PAGE
    assert method in found["access-control-allow-methods"]
    allowed = {name.strip().lower() for name in found["access-control-allow-headers"].split(",")}
    assert {"authorization", "content-type", "idempotency-key", "last-event-id", "x-api-key"} <= allowed
    assert "access-control-allow-credentials" not in found
    assert has_security_headers(response)


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_preflight_of_a_foreign_origin_is_denied(client: httpx.AsyncClient, origin: str) -> None:
    response = await preflight(client, "/chat", origin=origin)
    assert "access-control-allow-origin" not in response.headers
    assert "access-control-allow-credentials" not in response.headers
    assert has_security_headers(response)


async def test_preflight_denies_other_methods_headers_and_private_networks(client: httpx.AsyncClient) -> None:
    assert "PUT" not in (await preflight(client, "/chat", "PUT")).headers.get("access-control-allow-methods", "")
    network = {"Access-Control-Request-Private-Network": "true"}
    assert "access-control-allow-private-network" not in (await preflight(client, "/chat", **network)).headers
    unknown = await preflight(client, "/chat", **{"Access-Control-Request-Headers": "x-evil"})
    assert "x-evil" not in unknown.headers.get("access-control-allow-headers", "").lower()


async def test_plain_options_requests_reveal_nothing(client: httpx.AsyncClient) -> None:
    for path in ("/chat", "/metrics", "/mcp", "/history/x", "/"):
        response = await client.options(path)
        assert response.status_code in (401, 405)
        assert has_security_headers(response)
