"""Who may ask: keys and their scopes, users and their conversations, tokens of widgets, and pages of other origins."""

from __future__ import annotations

import json
import re
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
import uvicorn
from test_limits import ASKING, CHEAP, JSON, OTHERS, seconds_to_wait, told, until_refused

import doors
from commands import quick_folder, run
from doors import FACT, QUESTION, Body, is_uuid4, serving, stream
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from glossator.serve.auth import keys
from glossator.serve.auth.keys import KEYS_FILE, KeyRing

data = doors.data

PAGE, OTHER_PAGE = "https://docs.example.com", "http://localhost:3000"
DRIVES = "What is a harmonic drive?"
PUBLIC = ["/livez", "/readyz", "/health", "/ask/health", "/style.css", "/widget.js"]
HIDDEN = ["/", "/?q=x", "/nowhere", "/docs", "/redoc", "/openapi.json", "/mcp", "/docs/module1/balance"]
"""What the OpenAPI document does not list."""
NO_SESSION = "no-such-session"
READING = [("POST", path) for path in ASKING] + [
    ("GET", "/search?q=x"),
    ("POST", "/search"),
    ("POST", "/mcp"),
    ("GET", f"/history/{uuid.uuid4()}"),
    ("GET", f"/agent/session/{NO_SESSION}"),
    ("GET", f"/agent/query/session/{NO_SESSION}"),
    ("GET", "/"),
    ("GET", "/llms.txt"),
    ("GET", "/v1/models"),
    ("GET", "/openapi.json"),
]
WRITING = [
    ("DELETE", f"/agent/session/{NO_SESSION}"),
    ("DELETE", f"/agent/query/session/{NO_SESSION}"),
    ("POST", f"/agent/query/session/{NO_SESSION}/reset"),
    ("POST", "/feedback"),
    ("POST", "/widget/token"),
]
ADMINISTERING = [("GET", "/metrics")]


@dataclass(frozen=True)
class Guarded:
    """A book behind keys."""

    folder: Path
    ring: KeyRing
    read: str
    write: str
    admin: str
    alice: str
    bob: str


@pytest.fixture(scope="module")
def guarded(data: Path) -> Iterator[Guarded]:
    with quick_folder() as folder:
        own = Path(shutil.copytree(data, folder / "data", symlinks=True))
        ring = KeyRing(own / KEYS_FILE)
        scoped = [ring.create(scope, [scope]) for scope in ("read", "write", "admin")]
        users = [ring.create(f"key of {user}", ["write"], user) for user in ("alice", "bob")]
        yield Guarded(own, ring, *scoped, *users)


@pytest.fixture
async def client(guarded: Guarded) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(guarded.folder, max_body_bytes=5000, cors_origins=f"{PAGE},{OTHER_PAGE}") as opened:
        yield opened


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers look at their keys with every request."""
    monkeypatch.setattr(keys, "CHECK_EVERY", 0.0)


def bearing(key: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", **more}


def is_safe(response: httpx.Response) -> bool:
    """Whether it has an id, and headers that keep browsers safe."""
    found = response.headers
    return (
        is_uuid4(found.get("x-request-id"))
        and found.get("x-content-type-options") == "nosniff"
        and found.get("referrer-policy") == "no-referrer"
        and "frame-ancestors 'none'" in found.get("content-security-policy", "")
    )


# Keys.


async def test_without_keys_everybody_may_do_everything(data: Path) -> None:
    async with serving(data) as client:
        for method, path in READING + WRITING + ADMINISTERING:
            response = await client.request(method, path, json={} if method == "POST" else None)
            assert response.status_code not in (401, 403), path


async def test_what_is_public_needs_no_key(client: httpx.AsyncClient) -> None:
    for path in PUBLIC:
        assert (await client.get(path)).status_code in (200, 404)
    for path in PUBLIC[:5]:
        assert (await client.get(path)).status_code == 200


async def test_everything_else_needs_a_key(client: httpx.AsyncClient, guarded: Guarded) -> None:
    listed = (await client.get("/openapi.json", headers=bearing(guarded.read))).json()["paths"]
    routes = [(method, re.sub(r"\{.*?\}", "x", path)) for path, methods in listed.items() for method in methods]
    assert len(routes) > 20
    for method, path in [*routes, *(("GET", path) for path in HIDDEN), ("POST", "/mcp"), ("PUT", "/chat")]:
        if path not in PUBLIC:
            response = await client.request(method, path, json={} if method == "post" else None)
            assert response.status_code == 401, (method, path)
            assert response.headers["www-authenticate"].startswith("Bearer")
            assert is_safe(response), path


@pytest.mark.parametrize("path", [*ASKING, *OTHERS, "/history/x", f"/agent/session/{NO_SESSION}", "/metrics"])
async def test_each_door_asks_for_a_key_in_its_own_shape(client: httpx.AsyncClient, path: str) -> None:
    response = await client.post(path, json=(ASKING | OTHERS).get(path))
    assert told(response) == (401, "UNAUTHORIZED")
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
async def test_an_address_that_only_looks_public_is_not(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 401


async def test_a_key_may_come_in_either_header(client: httpx.AsyncClient, guarded: Guarded) -> None:
    key = guarded.read
    for sent in (
        {"Authorization": f"Bearer {key}"},
        {"Authorization": f"bearer {key}"},
        {"Authorization": f"BEARER  {key} "},
        {"X-API-Key": key},
    ):
        assert (await client.get(CHEAP, headers=sent)).status_code == 200


async def test_nothing_else_is_a_key(client: httpx.AsyncClient, guarded: Guarded, tmp_path: Path) -> None:
    key, foreign = guarded.read, KeyRing(tmp_path / KEYS_FILE).create("foreign", ["admin"])
    refusals = [
        await client.get(CHEAP, headers=sent)
        for sent in (
            {},
            bearing(""),
            bearing("x"),
            bearing(foreign),
            bearing(key[:-1]),
            bearing(f"{key}0"),
            bearing(key.upper()),
            bearing(key.split("_")[1]),
            bearing(f"{key}, {key}"),
            {"Authorization": key},
            {"Authorization": f"Basic {key}"},
            {"X-API-Key": f"Bearer {key}"},
            {"Cookie": f"X-API-Key={key}; Authorization=Bearer {key}"},
            bearing("x" * 100_000),
        )
    ]
    refusals += [await client.get(CHEAP, params={name: key}) for name in ("key", "api_key", "access_token", "token")]
    refusals += [await client.get(CHEAP, headers=[(b"authorization", b"Bearer \xff\x00\xfe")])]
    assert {told(response) for response in refusals} == {(401, "UNAUTHORIZED")}
    assert len({response.json()["error"]["message"] for response in refusals}) == 1
    assert not any(part in response.text for response in refusals for part in (key, foreign, key.split("_")[2]))


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [("read", READING), ("write", READING + WRITING), ("admin", READING + WRITING + ADMINISTERING)],
)
async def test_a_key_does_what_its_scopes_say(
    client: httpx.AsyncClient, guarded: Guarded, scope: str, allowed: list[tuple[str, str]]
) -> None:
    for method, path in READING + WRITING + ADMINISTERING:
        body = {} if method == "POST" else None
        response = await client.request(method, path, json=body, headers=bearing(getattr(guarded, scope)))
        assert response.status_code != 401
        assert (response.status_code == 403) is ((method, path) not in allowed), path
        if response.status_code == 403:
            assert told(response) == (403, "FORBIDDEN")


@pytest.mark.usefixtures("watchful")
async def test_keys_are_made_and_revoked_without_a_restart(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / KEYS_FILE)
    async with serving(tmp_path) as client:
        assert (await client.get(CHEAP)).status_code == 200
        first, second = ring.create("first", ["read"]), ring.create("second", ["read"])
        assert (await client.get(CHEAP)).status_code == 401
        assert (await client.get(CHEAP, headers=bearing(first))).status_code == 200
        ring.revoke(first.split("_")[1])
        assert (await client.get(CHEAP, headers=bearing(first))).status_code == 401
        assert (await client.get(CHEAP, headers=bearing(second))).status_code == 200
        (tmp_path / KEYS_FILE).unlink()
        assert (await client.get(CHEAP)).status_code == 401


async def test_an_expired_key_opens_nothing(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / KEYS_FILE)
    expired, good = ring.create("expired", ["admin"], days=1e-9), ring.create("good", ["read"], days=1)
    async with serving(tmp_path) as client:
        assert (await client.get(CHEAP, headers=bearing(expired))).status_code == 401
        assert (await client.get(CHEAP, headers=bearing(good))).status_code == 200


async def test_a_body_without_a_key_is_not_even_read(client: httpx.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        raise AssertionError("somebody reads it")
        yield b""

    assert (await client.post("/ask", content=pieces(), headers=JSON)).status_code == 401


# Users and their conversations.


async def asked(client: httpx.AsyncClient, key: str, path: str, question: str, session: str) -> None:
    named: dict[str, Body] = {
        "/chat": {"query": question, "session_id": session},
        "/agent/chat": {"message": question, "session_id": session},
        "/agent/query/session": {"query_text": question, "conversation_id": session},
    }
    assert (await client.post(path, json=named[path], headers=bearing(key))).status_code == 200


SESSIONS = [
    ("/chat", "/history"),
    ("/agent/chat", "/agent/session"),
    ("/agent/query/session", "/agent/query/session"),
]


@pytest.mark.parametrize(("ask", "read"), SESSIONS)
async def test_the_same_name_of_two_users_is_two_conversations(
    client: httpx.AsyncClient, guarded: Guarded, ask: str, read: str
) -> None:
    session = str(uuid.uuid4())
    await asked(client, guarded.alice, ask, QUESTION, session)
    for other in (guarded.bob, guarded.write, guarded.admin):
        assert told(await client.get(f"{read}/{session}", headers=bearing(other))) == (404, "SESSION_NOT_FOUND")
    await asked(client, guarded.bob, ask, DRIVES, session)
    for key, own, foreign in ((guarded.alice, QUESTION, DRIVES), (guarded.bob, DRIVES, QUESTION)):
        found = (await client.get(f"{read}/{session}", headers=bearing(key))).text
        assert own in found
        assert foreign not in found


@pytest.mark.parametrize(("ask", "read"), SESSIONS[1:])
async def test_nobody_ends_the_conversation_of_another(
    client: httpx.AsyncClient, guarded: Guarded, ask: str, read: str
) -> None:
    session = str(uuid.uuid4())
    await asked(client, guarded.alice, ask, QUESTION, session)
    for other in (guarded.bob, guarded.write, guarded.admin):
        ends = [await client.delete(f"{read}/{session}", headers=bearing(other))]
        if "query" in read:
            ends.append(await client.post(f"{read}/{session}/reset", headers=bearing(other)))
        assert {told(response) for response in ends} == {(404, "SESSION_NOT_FOUND")}
    assert QUESTION in (await client.get(f"{read}/{session}", headers=bearing(guarded.alice))).text
    assert (await client.delete(f"{read}/{session}", headers=bearing(guarded.alice))).status_code == 204
    assert (await client.get(f"{read}/{session}", headers=bearing(guarded.alice))).status_code == 404


async def test_a_key_without_a_user_is_nobody_in_particular(client: httpx.AsyncClient, guarded: Guarded) -> None:
    session = str(uuid.uuid4())
    await asked(client, guarded.write, "/agent/chat", QUESTION, session)
    assert QUESTION in (await client.get(f"/agent/session/{session}", headers=bearing(guarded.read))).text
    assert (await client.get(f"/agent/session/{session}", headers=bearing(guarded.alice))).status_code == 404


async def test_nobody_takes_the_place_of_a_users_conversation(client: httpx.AsyncClient, guarded: Guarded) -> None:
    """Whatever the records call it, which whoever reads our source can find out."""
    from glossator.core.conversations import session_key

    name = uuid.uuid4().hex
    inside = str(session_key(name, "alice").session_id)
    await client.post("/agent/chat", json={"message": DRIVES, "session_id": inside}, headers=bearing(guarded.write))
    await asked(client, guarded.alice, "/agent/chat", QUESTION, name)
    found = (await client.get(f"/agent/session/{name}", headers=bearing(guarded.alice))).text
    assert QUESTION in found
    assert DRIVES not in found
    theirs = await client.get(f"/agent/session/{inside}", headers=bearing(guarded.write))
    assert QUESTION not in theirs.text


async def test_a_request_repeated_by_another_is_another_request(client: httpx.AsyncClient, guarded: Guarded) -> None:
    named = {"Idempotency-Key": str(uuid.uuid4())}
    first = (await client.post("/chat", json={"query": QUESTION}, headers=bearing(guarded.alice, **named))).json()
    again = (await client.post("/chat", json={"query": QUESTION}, headers=bearing(guarded.alice, **named))).json()
    other = (await client.post("/chat", json={"query": DRIVES}, headers=bearing(guarded.bob, **named))).json()
    assert again["session_id"] == first["session_id"] != other["session_id"]
    assert FACT not in other["answer"]


async def test_nobody_hears_the_stream_of_another(client: httpx.AsyncClient, guarded: Guarded) -> None:
    body = {"query": QUESTION, "session_id": str(uuid.uuid4())}
    heard = (await client.post("/chat/stream", json=body, headers=bearing(guarded.alice))).text
    name = re.findall("(?m)^id: (.*)$", heard)[0]
    for place in (name, f"{name.partition('.')[0]}.0.00000000"):
        sent = bearing(guarded.bob, **{"Last-Event-ID": place})
        other = (await client.post("/chat/stream", json=body | {"query": DRIVES}, headers=sent)).text
        assert FACT not in other
    history = await client.get(f"/history/{body['session_id']}", headers=bearing(guarded.alice))
    assert history.json()["total_entries"] == 1


async def test_nobody_speaks_of_an_answer_in_the_conversation_of_another(
    client: httpx.AsyncClient, guarded: Guarded
) -> None:
    session = str(uuid.uuid4())
    client.headers = httpx.Headers(bearing(guarded.alice))
    receipt = (await stream(client, "/chat/stream", {"query": QUESTION, "session_id": session})).sources["metadata"]
    body = {"receipt_id": receipt["receipt_id"], "rating": "down", "session_id": session}
    assert (await client.post("/feedback", json=body, headers=bearing(guarded.bob))).status_code == 404
    assert (await client.post("/feedback", json=body)).status_code == 201


# Tokens of widgets.


async def token(client: httpx.AsyncClient, key: str, **asked: Any) -> str:
    response = await client.post("/widget/token", json={"origin": PAGE} | asked, headers=bearing(key))
    assert response.status_code == 200
    made = response.json()
    assert set(made) == {"token", "expires_in"}
    return str(made["token"])


async def test_a_token_opens_from_its_page_alone(client: httpx.AsyncClient, guarded: Guarded) -> None:
    made = await token(client, guarded.write)
    assert (await client.get(CHEAP, headers=bearing(made, Origin=PAGE))).status_code == 200
    assert (await client.get(CHEAP, headers={"X-API-Key": made, "Origin": PAGE})).status_code == 200
    for origin in (
        OTHER_PAGE,
        f"{PAGE}.evil.example",
        f"{PAGE}:8443",
        "http://docs.example.com",
        f"{PAGE}/",
        "null",
        "",
    ):
        assert told(await client.get(CHEAP, headers=bearing(made, Origin=origin))) == (401, "UNAUTHORIZED")
    assert (await client.get(CHEAP, headers=bearing(made))).status_code == 401
    assert (await client.get(CHEAP, headers=bearing(made, Referer=f"{PAGE}/"))).status_code == 401


async def test_a_page_of_the_servers_own_origin_reads_without_saying_where_it_comes_from(
    client: httpx.AsyncClient, guarded: Guarded
) -> None:
    own = str(client.base_url).rstrip("/")
    made = await token(client, guarded.write, origin=own)
    browsers = {"Sec-Fetch-Site": "same-origin"}
    assert (await client.get(CHEAP, headers=bearing(made, **browsers))).status_code == 200
    assert (await client.get(CHEAP, headers=bearing(made, **browsers, Origin=OTHER_PAGE))).status_code == 401
    assert (await client.get(CHEAP, headers=bearing(made, **browsers, Host="other.example"))).status_code == 401
    assert (await client.get(CHEAP, headers=bearing(made, **{"Sec-Fetch-Site": "cross-site"}))).status_code == 401


async def test_a_token_reads_and_writes_and_no_more(client: httpx.AsyncClient, guarded: Guarded) -> None:
    sent = bearing(await token(client, guarded.write), Origin=PAGE)
    assert (await client.post("/ask", json=ASKING["/ask"], headers=sent)).status_code == 200
    assert (await client.delete(f"/agent/session/{NO_SESSION}", headers=sent)).status_code == 404
    assert told(await client.get("/metrics", headers=sent)) == (403, "FORBIDDEN")


@pytest.mark.parametrize(("age", "status"), [(0, 200), (-3600, 401)])
async def test_a_token_ends(client: httpx.AsyncClient, guarded: Guarded, age: int, status: int) -> None:
    secret = json.loads((guarded.folder / KEYS_FILE).read_text("utf-8"))["secret"]
    issued = int(time.time()) + age
    made = jwt.encode({"aud": PAGE, "iat": issued, "exp": issued + 900}, secret, algorithm="HS256")
    assert (await client.get(CHEAP, headers=bearing(made, Origin=PAGE))).status_code == status


async def test_a_token_is_signed(client: httpx.AsyncClient, guarded: Guarded) -> None:
    made = await token(client, guarded.write)
    head, claims, signature = made.split(".")
    for forged in (f"{head}.{claims}.", f"{head}.{claims}.{signature[::-1]}", f"e30.{claims}.{signature}"):
        assert (await client.get(CHEAP, headers=bearing(forged, Origin=PAGE))).status_code == 401
    unsigned = jwt.encode({"aud": PAGE, "iat": 1, "exp": 2**33}, "", algorithm="none")
    assert (await client.get(CHEAP, headers=bearing(unsigned, Origin=PAGE))).status_code == 401


@pytest.mark.usefixtures("watchful")
async def test_rotating_the_secret_ends_every_token_and_no_key(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / KEYS_FILE)
    key = ring.create("site", ["write"])
    async with serving(tmp_path) as client:
        made = await token(client, key)
        assert (await client.get(CHEAP, headers=bearing(made, Origin=PAGE))).status_code == 200
        ring.rotate()
        assert (await client.get(CHEAP, headers=bearing(made, Origin=PAGE))).status_code == 401
        assert (await client.get(CHEAP, headers=bearing(key))).status_code == 200


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
async def test_a_token_for_nothing_sensible_is_not_made(
    client: httpx.AsyncClient, guarded: Guarded, body: Body
) -> None:
    response = await client.post("/widget/token", json=body, headers=bearing(guarded.write))
    assert told(response) == (400, "VALIDATION_ERROR")


async def test_a_token_is_its_users(client: httpx.AsyncClient, guarded: Guarded) -> None:
    """A site's own key may speak for any user of the site."""
    session = str(uuid.uuid4())
    await asked(client, guarded.alice, "/chat", QUESTION, session)
    for key, user, status in (
        (guarded.write, "alice", 200),
        (guarded.write, "bob", 404),
        (guarded.write, None, 404),
        (guarded.alice, None, 200),
        (guarded.bob, None, 404),
    ):
        sent = bearing(await token(client, key, user=user), Origin=PAGE)
        assert (await client.get(f"/history/{session}", headers=sent)).status_code == status


async def test_a_users_key_makes_no_tokens_for_others(client: httpx.AsyncClient, guarded: Guarded) -> None:
    body = {"origin": PAGE, "user": "alice"}
    response = await client.post("/widget/token", json=body, headers=bearing(guarded.bob))
    assert told(response) == (403, "FORBIDDEN")


@pytest.mark.parametrize("user", [None, "alice", "bob"])
async def test_a_token_makes_no_tokens(client: httpx.AsyncClient, guarded: Guarded, user: str | None) -> None:
    """Else it would never end."""
    sent = bearing(await token(client, guarded.write, user="alice"), Origin=PAGE)
    response = await client.post("/widget/token", json={"origin": PAGE, "user": user, "seconds": 3600}, headers=sent)
    assert told(response) == (403, "FORBIDDEN")


# Pages of other origins.

FOREIGN = [
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


async def varied(client: httpx.AsyncClient, guarded: Guarded, **headers: str) -> dict[int, httpx.Response]:
    """Responses of every kind, by their status."""
    key = bearing(guarded.read, **headers)
    responses = [
        await client.get("/livez", headers=headers),
        await client.post("/ask", json={}, headers=key),
        await client.get(CHEAP, headers=headers),
        await client.get("/metrics", headers=key),
        await client.get("/nowhere", headers=key),
        await client.get("/chat", headers=key),
        await client.post("/ask", content=b" " * 5001, headers=key | JSON),
        await client.post("/ask", content=b"x", headers=key | {"Content-Type": "text/plain"}),
    ]
    found = {response.status_code: response for response in responses}
    assert set(found) == {200, 400, 401, 403, 404, 405, 413, 415}
    return found


@pytest.mark.parametrize("origin", [PAGE, OTHER_PAGE])
async def test_a_page_that_may_ask_can_read_every_answer(
    client: httpx.AsyncClient, guarded: Guarded, origin: str
) -> None:
    for status, response in (await varied(client, guarded, Origin=origin)).items():
        found = response.headers
        assert found["access-control-allow-origin"] == origin, status
        assert "origin" in found["vary"].lower()
        assert "access-control-allow-credentials" not in found
        exposed = found["access-control-expose-headers"].lower()
        assert "retry-after" in exposed
        assert "x-request-id" in exposed
        assert is_safe(response), status


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_page_that_may_not_ask_reads_nothing(client: httpx.AsyncClient, guarded: Guarded, origin: str) -> None:
    for response in (await varied(client, guarded, Origin=origin)).values():
        assert "access-control-allow-origin" not in response.headers
        assert "access-control-allow-credentials" not in response.headers


async def test_by_default_no_page_may_ask(data: Path) -> None:
    async with serving(data) as client:
        for origin in (PAGE, "http://127.0.0.1", "http://localhost", "null"):
            response = await client.get(CHEAP, headers={"Origin": origin})
            assert "access-control-allow-origin" not in response.headers


async def test_a_page_learns_that_it_asked_too_often(tmp_path: Path) -> None:
    async with serving(tmp_path, rate_per_minute=1, cors_origins=PAGE) as client:
        _, refusal = await until_refused(lambda: client.get(CHEAP, headers={"Origin": PAGE}))
        assert refusal.headers["access-control-allow-origin"] == PAGE
        assert seconds_to_wait(refusal)
        assert (await preflight(client, "/chat")).status_code in (200, 204)


@pytest.mark.parametrize("listed", [f" {PAGE} , {OTHER_PAGE} ", f"{PAGE.upper()},{OTHER_PAGE},", f"{PAGE}:443"])
async def test_origins_may_be_listed_as_people_write_them(tmp_path: Path, listed: str) -> None:
    async with serving(tmp_path, cors_origins=listed) as client:
        response = await client.get(CHEAP, headers={"Origin": PAGE})
    assert response.headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize("listed", ["*", "docs.example.com", f"{PAGE}/docs", "null"])
def test_what_is_no_origin_stops_the_server(tmp_path: Path, listed: str) -> None:
    from glossator.core.errors import GlossatorError

    with pytest.raises(GlossatorError):
        create_app(load_settings(data_dir=tmp_path, cors_origins=listed))


async def preflight(
    client: httpx.AsyncClient, path: str, method: str = "POST", origin: str = PAGE, **more: str
) -> httpx.Response:
    wanted = "authorization, content-type, idempotency-key, last-event-id, x-api-key"
    asked = {"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": wanted}
    return await client.options(path, headers=asked | more)


@pytest.mark.parametrize(
    ("method", "path"), [*(("POST", path) for path in [*ASKING, *OTHERS]), ("GET", "/search"), WRITING[0]]
)
async def test_a_page_may_ask_what_it_may_without_a_key(client: httpx.AsyncClient, method: str, path: str) -> None:
    response = await preflight(client, path, method)
    found = response.headers
    assert response.status_code in (200, 204)
    assert found["access-control-allow-origin"] == PAGE
    assert method in found["access-control-allow-methods"]
    allowed = {name.strip().lower() for name in found["access-control-allow-headers"].split(",")}
    assert {"authorization", "content-type", "idempotency-key", "last-event-id", "x-api-key"} <= allowed
    assert "access-control-allow-credentials" not in found
    assert is_safe(response)


@pytest.mark.parametrize("origin", FOREIGN)
async def test_another_page_may_not(client: httpx.AsyncClient, origin: str) -> None:
    response = await preflight(client, "/chat", origin=origin)
    assert "access-control-allow-origin" not in response.headers
    assert "access-control-allow-credentials" not in response.headers
    assert is_safe(response)


async def test_a_page_may_not_do_everything(client: httpx.AsyncClient) -> None:
    assert "PUT" not in (await preflight(client, "/chat", "PUT")).headers.get("access-control-allow-methods", "")
    network = {"Access-Control-Request-Private-Network": "true"}
    assert "access-control-allow-private-network" not in (await preflight(client, "/chat", **network)).headers
    unknown = await preflight(client, "/chat", **{"Access-Control-Request-Headers": "x-evil"})
    assert "x-evil" not in unknown.headers.get("access-control-allow-headers", "").lower()


async def test_asking_for_options_tells_nothing(client: httpx.AsyncClient) -> None:
    for path in ("/chat", "/metrics", "/mcp", "/history/x", "/"):
        response = await client.options(path)
        assert response.status_code in (401, 405)
        assert is_safe(response)


# Every response.


async def test_every_response_is_safe_and_has_an_id_of_its_own(client: httpx.AsyncClient, guarded: Guarded) -> None:
    key = bearing(guarded.admin)
    responses = [
        *(await varied(client, guarded)).values(),
        await preflight(client, "/chat"),
        await preflight(client, "/nowhere"),
        await client.head("/livez"),
        await client.request("TRACE", "/livez"),
        await client.post("/chat/stream", json=ASKING["/chat/stream"], headers=key),
        *[await client.get(path, headers=key) for path in [*PUBLIC, *HIDDEN, "/metrics", "/llms.txt"]],
        *[await client.get(path) for path in ("/docs", "/redoc")],
        await client.post("/mcp", json=OTHERS["/mcp"], headers=key),
    ]
    assert [str(response.request.url) for response in responses if not is_safe(response)] == []
    assert len({response.headers["x-request-id"] for response in responses}) == len(responses)


@pytest.fixture
def own(data: Path, tmp_path: Path) -> Path:
    """A copy of the data directory that a test may change."""
    return Path(shutil.copytree(data, tmp_path / "own", symlinks=True))


async def test_a_fault_of_ours_is_safe_too(own: Path) -> None:
    async with serving(own, cors_origins=PAGE) as client:
        assert (await client.get("/readyz")).status_code == 200
        documents = own / "generations" / "000001" / "documents.sqlite"
        documents.write_bytes(b"\x00" * documents.stat().st_size)
        response = await client.get("/nowhere", headers={"Origin": PAGE})
    assert response.status_code == 500
    assert response.headers["access-control-allow-origin"] == PAGE
    assert is_safe(response)


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
CARRIERS = [b"x-request-id", b"origin", b"idempotency-key", b"last-event-id", b"access-control-request-headers"]


@pytest.mark.parametrize("name", CARRIERS, ids=bytes.decode)
async def test_nothing_of_a_header_comes_back(client: httpx.AsyncClient, guarded: Guarded, name: bytes) -> None:
    key = (b"x-api-key", guarded.write.encode())
    wanted = [(b"access-control-request-method", b"POST")]
    wanted += [] if name == b"origin" else [(b"origin", PAGE.encode())]
    for value in INJECTIONS:
        responses = [
            await client.get("/livez", headers=[(name, value)]),
            await client.get(CHEAP, headers=[(name, value)]),
            await client.options("/chat", headers=[(name, value), *wanted]),
        ]
        for path in ("/chat", "/chat/stream", "/agent/chat"):
            responses.append(await client.post(path, json=ASKING[path], headers=[(name, value), key]))
        for response in responses:
            assert response.status_code < 500
            assert "evil" not in str(response.headers.raw).lower()
            assert "evil" not in response.text.lower()
            assert "set-cookie" not in response.headers
            assert is_safe(response)


async def test_an_id_that_a_client_names_is_not_taken_over(client: httpx.AsyncClient) -> None:
    named = str(uuid.uuid4())
    response = await client.get("/livez", headers={"X-Request-ID": named})
    assert is_uuid4(response.headers["x-request-id"])
    assert response.headers["x-request-id"] != named


@pytest.mark.parametrize(
    "path", ["//evil.example", "//evil.example/%2e%2e", "/nowhere%0d%0aSet-Cookie:evil=1", "/\\evil"]
)
async def test_no_address_leads_elsewhere(client: httpx.AsyncClient, guarded: Guarded, path: str) -> None:
    response = await client.get(f"http://127.0.0.1{path}", headers=bearing(guarded.read))
    assert response.status_code == 404
    assert "evil" not in str(response.headers.raw)


# Starting an open server.


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts of servers that would have run; nothing listens, in whatever way a server is started."""
    hosts: list[str] = []

    def note(server: uvicorn.Server, *_: object) -> None:
        hosts.append(server.config.host)
        server.started = True

    def never(*_: object) -> None:
        raise AssertionError("this would listen")

    monkeypatch.setattr(uvicorn.Server, "run", note)
    monkeypatch.setattr(uvicorn.Server, "startup", never)
    monkeypatch.setattr(uvicorn.Config, "bind_socket", never)
    for name in ("DATA_DIR", "HOST"):  # which starting a server sets for its workers
        monkeypatch.setenv(f"GLOSSATOR_{name}", "127.0.0.1")
    return hosts


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.com"])  # noqa: S104 - nothing listens
def test_an_open_server_for_others_warns_loudly(tmp_path: Path, started: list[str], host: str) -> None:
    outcome = run("serve", "--host", host, "--port", "0", "--data-dir", tmp_path)
    assert started == [host]
    assert "!!!!!!!!" in outcome.err
    assert host in outcome.err
    assert outcome.out == ""
    remedy = re.search(r"glossator (keys create \S+.*)", outcome.err)
    assert remedy
    assert run(*remedy[1].split(), "--data-dir", tmp_path).code == 0
    assert run("serve", "--host", host, "--port", "0", "--data-dir", tmp_path).err == ""


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_server_for_this_machine_does_not(tmp_path: Path, started: list[str], host: str) -> None:
    assert run("serve", "--host", host, "--port", "0", "--data-dir", tmp_path).err == ""
    assert started == [host]


def test_an_open_server_warns_where_a_program_reads_its_lines_too(tmp_path: Path, started: list[str]) -> None:
    outcome = run("serve", "--host", "0.0.0.0", "--json", "--data-dir", tmp_path)  # noqa: S104 - nothing listens
    assert len(started) == 1
    assert "0.0.0.0" in outcome.err  # noqa: S104 - as above
