"""API keys over HTTP: which requests need one, and what its scopes allow."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from access import (
    ADMIN_REQUESTS,
    PUBLIC_PATHS,
    READ_REQUESTS,
    UNKNOWN_SESSION,
    UNLISTED_PATHS,
    WRITE_REQUESTS,
    KeyedServer,
    bearer,
    has_security_headers,
)
from api_requests import CHEAP_PATH, JSON, OTHER_POSTS, QUESTIONS, error_of
from doors import serving
from glossator.serve.app import ServerOptions
from glossator.serve.auth.keys import KEYS_FILE, KeyStore

pytestmark = pytest.mark.slow


async def test_without_keys_every_request_is_allowed(data: Path) -> None:
    async with serving(data) as client:
        for method, path in READ_REQUESTS + WRITE_REQUESTS + ADMIN_REQUESTS:
            response = await client.request(method, path, json={} if method == "POST" else None)
            assert response.status_code not in (401, 403), path


async def test_public_paths_need_no_key(client: httpx.AsyncClient) -> None:
    for path in PUBLIC_PATHS:
        assert (await client.get(path)).status_code in (200, 404)
    for path in PUBLIC_PATHS[:5]:
        assert (await client.get(path)).status_code == 200


async def test_all_other_paths_need_a_key(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    listed = (await client.get("/openapi.json", headers=bearer(keyed.read))).json()["paths"]
    routes = [(method, re.sub(r"\{.*?\}", "x", path)) for path, methods in listed.items() for method in methods]
    assert len(routes) > 20
    for method, path in [*routes, *(("GET", path) for path in UNLISTED_PATHS), ("POST", "/mcp"), ("PUT", "/chat")]:
        if path not in PUBLIC_PATHS:
            response = await client.request(method, path, json={} if method == "post" else None)
            assert response.status_code == 401, (method, path)
            assert response.headers["www-authenticate"].startswith("Bearer")
            assert has_security_headers(response), path


@pytest.mark.parametrize(
    "path", [*QUESTIONS, *OTHER_POSTS, "/history/x", f"/agent/session/{UNKNOWN_SESSION}", "/metrics"]
)
async def test_unauthorized_error_has_the_shape_of_the_door(client: httpx.AsyncClient, path: str) -> None:
    response = await client.post(path, json=(QUESTIONS | OTHER_POSTS).get(path))
    assert error_of(response) == (401, "UNAUTHORIZED")
    assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "path",
    [
        "/livez/",
        "//livez",
        "/LIVEZ",
        "/livez%20",
        "/livez%00",
        "/livez/../metrics",
        "/livez%2f..%2fmetrics",
        "/livez;/metrics",
        "/metrics?/livez",
        "/metrics#/livez",
        "/metrics/",
        "//metrics",
        "/health/x",
        "/style.css/x",
        "/widget.js/x",
        "/docs/oauth2-redirect",
    ],
)
async def test_paths_that_resemble_public_ones_need_a_key(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 401


async def test_key_is_accepted_in_either_header(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    key = keyed.read
    for sent in (
        {"Authorization": f"Bearer {key}"},
        {"Authorization": f"bearer {key}"},
        {"Authorization": f"BEARER  {key} "},
        {"X-API-Key": key},
    ):
        assert (await client.get(CHEAP_PATH, headers=sent)).status_code == 200


async def test_invalid_credentials_get_the_same_401(
    client: httpx.AsyncClient, keyed: KeyedServer, tmp_path: Path
) -> None:
    key, foreign = keyed.read, KeyStore(tmp_path / KEYS_FILE).create("foreign", ["admin"])
    responses = [
        await client.get(CHEAP_PATH, headers=sent)
        for sent in (
            {},
            bearer(""),
            bearer("x"),
            bearer(foreign),
            bearer(key[:-1]),
            bearer(f"{key}0"),
            bearer(key.upper()),
            bearer(key.split("_")[1]),
            bearer(f"{key}, {key}"),
            {"Authorization": key},
            {"Authorization": f"Basic {key}"},
            {"X-API-Key": f"Bearer {key}"},
            {"Cookie": f"X-API-Key={key}; Authorization=Bearer {key}"},
            bearer("x" * 100_000),
        )
    ]
    responses += [
        await client.get(CHEAP_PATH, params={name: key}) for name in ("key", "api_key", "access_token", "token")
    ]
    responses += [await client.get(CHEAP_PATH, headers=[(b"authorization", b"Bearer \xff\x00\xfe")])]
    assert {error_of(response) for response in responses} == {(401, "UNAUTHORIZED")}
    assert len({response.json()["error"]["message"] for response in responses}) == 1
    assert not any(part in response.text for response in responses for part in (key, foreign, key.split("_")[2]))


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("read", READ_REQUESTS),
        ("write", READ_REQUESTS + WRITE_REQUESTS),
        ("admin", READ_REQUESTS + WRITE_REQUESTS + ADMIN_REQUESTS),
    ],
)
async def test_scopes_decide_what_a_key_may_do(
    client: httpx.AsyncClient, keyed: KeyedServer, scope: str, allowed: list[tuple[str, str]]
) -> None:
    for method, path in READ_REQUESTS + WRITE_REQUESTS + ADMIN_REQUESTS:
        body = {} if method == "POST" else None
        response = await client.request(method, path, json=body, headers=bearer(getattr(keyed, scope)))
        assert response.status_code != 401
        assert (response.status_code == 403) is ((method, path) not in allowed), path
        if response.status_code == 403:
            assert error_of(response) == (403, "FORBIDDEN")


async def test_keys_are_created_and_revoked_without_a_restart(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / KEYS_FILE)
    async with serving(tmp_path, ServerOptions(key_check_interval_seconds=0)) as client:
        assert (await client.get(CHEAP_PATH)).status_code == 200
        first, second = store.create("first", ["read"]), store.create("second", ["read"])
        assert (await client.get(CHEAP_PATH)).status_code == 401
        assert (await client.get(CHEAP_PATH, headers=bearer(first))).status_code == 200
        store.revoke(first.split("_")[1])
        assert (await client.get(CHEAP_PATH, headers=bearer(first))).status_code == 401
        assert (await client.get(CHEAP_PATH, headers=bearer(second))).status_code == 200
        (tmp_path / KEYS_FILE).unlink()
        assert (await client.get(CHEAP_PATH)).status_code == 401


async def test_expired_key_is_rejected(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / KEYS_FILE)
    expired, good = store.create("expired", ["admin"], days=1e-9), store.create("good", ["read"], days=1)
    async with serving(tmp_path) as client:
        assert (await client.get(CHEAP_PATH, headers=bearer(expired))).status_code == 401
        assert (await client.get(CHEAP_PATH, headers=bearer(good))).status_code == 200


async def test_body_of_an_unauthorized_request_is_not_read(client: httpx.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    assert (await client.post("/ask", content=pieces(), headers=JSON)).status_code == 401
