"""Widget tokens over HTTP: their origin, lifetime, scope and user."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import httpx
import jwt
import pytest

from access import (
    OTHER_PAGE,
    PAGE,
    UNKNOWN_SESSION,
    KeyedServer,
    ask_in_session,
    bearer,
    new_token,
)
from api_requests import CHEAP_PATH, QUESTIONS, error_of
from doors import QUESTION, Body, serving
from glossator.serve.app import ServerOptions
from glossator.serve.auth.keys import KEYS_FILE, KeyStore


async def test_token_is_valid_from_its_origin_only(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    made = await new_token(client, keyed.write)
    assert (await client.get(CHEAP_PATH, headers=bearer(made, Origin=PAGE))).status_code == 200
    assert (await client.get(CHEAP_PATH, headers={"X-API-Key": made, "Origin": PAGE})).status_code == 200
    for origin in (
        OTHER_PAGE,
        f"{PAGE}.evil.example",
        f"{PAGE}:8443",
        "http://docs.example.com",
        f"{PAGE}/",
        "null",
        "",
    ):
        assert error_of(await client.get(CHEAP_PATH, headers=bearer(made, Origin=origin))) == (401, "UNAUTHORIZED")
    assert (await client.get(CHEAP_PATH, headers=bearer(made))).status_code == 401
    assert (await client.get(CHEAP_PATH, headers=bearer(made, Referer=f"{PAGE}/"))).status_code == 401


async def test_same_origin_requests_need_no_origin_header(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    own = str(client.base_url).rstrip("/")
    made = await new_token(client, keyed.write, origin=own)
    browsers = {"Sec-Fetch-Site": "same-origin"}
    assert (await client.get(CHEAP_PATH, headers=bearer(made, **browsers))).status_code == 200
    assert (await client.get(CHEAP_PATH, headers=bearer(made, **browsers, Origin=OTHER_PAGE))).status_code == 401
    assert (await client.get(CHEAP_PATH, headers=bearer(made, **browsers, Host="localhost"))).status_code == 401
    assert (await client.get(CHEAP_PATH, headers=bearer(made, **{"Sec-Fetch-Site": "cross-site"}))).status_code == 401


async def test_token_has_the_write_scope(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    sent = bearer(await new_token(client, keyed.write), Origin=PAGE)
    assert (await client.post("/ask", json=QUESTIONS["/ask"], headers=sent)).status_code == 200
    assert (await client.delete(f"/agent/session/{UNKNOWN_SESSION}", headers=sent)).status_code == 404
    assert error_of(await client.get("/metrics", headers=sent)) == (403, "FORBIDDEN")


@pytest.mark.parametrize(("age", "status"), [(0, 200), (-3600, 401)])
async def test_token_expires(client: httpx.AsyncClient, keyed: KeyedServer, age: int, status: int) -> None:
    secret = json.loads((keyed.folder / KEYS_FILE).read_text("utf-8"))["secret"]
    issued = int(time.time()) + age
    made = jwt.encode({"aud": PAGE, "iat": issued, "exp": issued + 900}, secret, algorithm="HS256")
    assert (await client.get(CHEAP_PATH, headers=bearer(made, Origin=PAGE))).status_code == status


async def test_forged_token_is_rejected(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    made = await new_token(client, keyed.write)
    head, claims, signature = made.split(".")
    for forged in (f"{head}.{claims}.", f"{head}.{claims}.{signature[::-1]}", f"e30.{claims}.{signature}"):
        assert (await client.get(CHEAP_PATH, headers=bearer(forged, Origin=PAGE))).status_code == 401
    unsigned = jwt.encode({"aud": PAGE, "iat": 1, "exp": 2**33}, "", algorithm="none")
    assert (await client.get(CHEAP_PATH, headers=bearer(unsigned, Origin=PAGE))).status_code == 401


async def test_rotating_the_secret_invalidates_tokens_but_not_keys(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / KEYS_FILE)
    key = store.create("site", ["write"])
    async with serving(tmp_path, ServerOptions(key_check_interval_seconds=0)) as client:
        made = await new_token(client, key)
        assert (await client.get(CHEAP_PATH, headers=bearer(made, Origin=PAGE))).status_code == 200
        store.rotate_secret()
        assert (await client.get(CHEAP_PATH, headers=bearer(made, Origin=PAGE))).status_code == 401
        assert (await client.get(CHEAP_PATH, headers=bearer(key))).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"origin": "docs.example.com"},
        {"origin": f"{PAGE}/path"},
        {"origin": "*"},
        {"origin": "null"},
        {"origin": PAGE, "seconds": 59},
        {"origin": PAGE, "seconds": 3601},
        {"origin": PAGE, "seconds": "900"},
        {"origin": PAGE, "user": ""},
        {"origin": PAGE, "user": "a\nb"},
        {"origin": PAGE, "scope": "admin"},
    ],
)
async def test_invalid_token_request_is_rejected(client: httpx.AsyncClient, keyed: KeyedServer, body: Body) -> None:
    response = await client.post("/widget/token", json=body, headers=bearer(keyed.write))
    assert error_of(response) == (400, "VALIDATION_ERROR")


async def test_token_acts_for_its_user(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    """A key without a user may create tokens for any user."""
    session = str(uuid.uuid4())
    await ask_in_session(client, keyed.alice, "/chat", QUESTION, session)
    for key, user, status in (
        (keyed.write, "alice", 200),
        (keyed.write, "bob", 404),
        (keyed.write, None, 404),
        (keyed.alice, None, 200),
        (keyed.bob, None, 404),
    ):
        sent = bearer(await new_token(client, key, user=user), Origin=PAGE)
        assert (await client.get(f"/history/{session}", headers=sent)).status_code == status


async def test_users_key_cannot_create_tokens_for_others(client: httpx.AsyncClient, keyed: KeyedServer) -> None:
    body = {"origin": PAGE, "user": "alice"}
    response = await client.post("/widget/token", json=body, headers=bearer(keyed.bob))
    assert error_of(response) == (403, "FORBIDDEN")


@pytest.mark.parametrize("user", [None, "alice", "bob"])
async def test_token_cannot_create_tokens(client: httpx.AsyncClient, keyed: KeyedServer, user: str | None) -> None:
    """Otherwise it could be renewed without end."""
    sent = bearer(await new_token(client, keyed.write, user="alice"), Origin=PAGE)
    response = await client.post("/widget/token", json={"origin": PAGE, "user": user, "seconds": 3600}, headers=sent)
    assert error_of(response) == (403, "FORBIDDEN")
