"""GLOSSATOR_PUBLIC_READING: with keys, anyone may still read the book and ask from its pages, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import jwt
import pytest

from access import ADMIN_REQUESTS, PAGE, READ_REQUESTS, WRITE_REQUESTS, KeyedServer, ask_in_session, bearer
from api_requests import QUESTIONS, error_of
from doors import QUESTION, serving

OWN = "http://127.0.0.1"
PAGES = ["/", f"/?q={QUESTION}", "/docs/module1/balance", "/style.css", "/widget.js", "/llms.txt"]


@pytest.fixture
async def public(keyed: KeyedServer) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(keyed.folder, public_reading=True, failed_auth_per_minute=0) as client:
        yield client


async def token_for(client: httpx.AsyncClient, origin: str | None = OWN, **fields: Any) -> httpx.Response:
    sent = {"Origin": origin} if origin else {}
    return await client.post("/widget/token", json={"origin": origin or OWN} | fields, headers=sent)


async def test_pages_need_a_key_unless_reading_is_public(client: httpx.AsyncClient, public: httpx.AsyncClient) -> None:
    for path in PAGES:
        assert (await public.get(path)).status_code == 200, path
    for path in ("/", "/docs/module1/balance", "/llms.txt"):
        assert (await client.get(path)).status_code == 401, path
    assert (await public.get("/no/such/page")).status_code == 404


async def test_everything_else_still_needs_a_key(public: httpx.AsyncClient) -> None:
    readable = {("GET", "/"), ("GET", "/llms.txt")}
    more = [("GET", path) for path in ("/docs", "/openapi.json", "/mcp", "/chat", "/history/x", "/v1/models/x")]
    more += [(method, "/docs/module1/balance") for method in ("POST", "PUT", "DELETE", "HEAD", "PATCH")]
    for method, path in [*READ_REQUESTS, *WRITE_REQUESTS, *ADMIN_REQUESTS, *more]:
        if (method, path) not in readable:
            response = await public.request(method, path, json={} if method == "POST" else None)
            assert response.status_code == 401, (method, path)


async def test_an_invalid_credential_is_refused_on_a_page_too(public: httpx.AsyncClient) -> None:
    assert (await public.get("/", headers=bearer("gl_wrong"))).status_code == 401


async def test_a_page_of_the_server_gets_a_token_to_ask_with(public: httpx.AsyncClient, keyed: KeyedServer) -> None:
    token = (await token_for(public)).json()["token"]
    for path in ("/ask", "/chat"):
        sent = bearer(token, Origin=OWN)
        assert (await public.post(path, json=QUESTIONS[path], headers=sent)).status_code == 200
        assert (await public.post(path, json=QUESTIONS[path], headers=bearer(token, Origin=PAGE))).status_code == 401
    assert error_of(await public.get("/metrics", headers=bearer(token, Origin=OWN))) == (403, "FORBIDDEN")


async def test_only_pages_of_the_server_get_a_token(client: httpx.AsyncClient, public: httpx.AsyncClient) -> None:
    assert (await token_for(client)).status_code == 401
    for origin in (None, PAGE, "null", "http://127.0.0.1.evil.example", "http://localhost"):
        assert (await token_for(public, origin)).status_code == 401, origin
    assert (await token_for(public, user="alice")).status_code == 403
    elsewhere = await public.post("/widget/token", json={"origin": PAGE}, headers={"Origin": OWN})
    assert elsewhere.status_code == 403


async def test_a_proxy_may_end_tls(public: httpx.AsyncClient) -> None:
    made = (await token_for(public, "https://127.0.0.1")).json()["token"]
    assert jwt.decode(made, options={"verify_signature": False})["aud"] == "https://127.0.0.1"


async def test_readers_do_not_see_the_conversations_of_keys(public: httpx.AsyncClient, keyed: KeyedServer) -> None:
    token = (await token_for(public)).json()["token"]
    await ask_in_session(public, keyed.write, "/agent/chat", QUESTION, "private")
    found = await public.get("/agent/session/private", headers=bearer(token, Origin=OWN))
    assert found.status_code == 404


async def test_without_keys_the_setting_changes_nothing(data: Any) -> None:
    async with serving(data, public_reading=True) as client:
        assert (await client.get("/metrics")).status_code == 200
