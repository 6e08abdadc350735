"""An event id gives no access to an answer for another caller or question."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from data_dirs import book_data
from doors import (
    ABOUT_SELECTION,
    BASE,
    PAGES,
    SELECTION,
)
from glossator.serve.auth.callers import Scope
from glossator.serve.auth.keys import KeyStore
from llm_server import LlmServer, says
from streams import (
    ALL,
    ENDPOINTS,
    NOT_FOUND,
    OTHER_SENTENCE,
    SENTENCES,
    SESSION_ENDPOINTS,
    StreamServer,
    chat_body,
    each_endpoint,
    error_code,
    new_id,
    script,
    stream_server,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


ERUPTION = "Geysers erupt when water boils deep underground."
JACOBIAN = "What is the Jacobian?"
POSITIONS = ["unchanged", "from the beginning"]


def at_position(event_id: str, position: str) -> str:
    return event_id if position == "unchanged" else f"{event_id.partition('.')[0]}.0.00000000"


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("finished", [True, False], ids=["finished", "in progress"])
async def test_event_id_gives_no_access_with_another_question(
    server: StreamServer, model: LlmServer, position: str, finished: bool
) -> None:
    secret = {"query": ABOUT_SELECTION, "selected_text": SELECTION, "session_id": new_id()}
    pacer = script(model, ERUPTION)
    pacer.allowed = ALL if finished else 1
    client = await server.connect("/chat/stream", secret).until_deltas(1)
    if finished:
        await client.read_all()
    session = new_id()
    model.script(
        says("The Jacobian is the matrix that maps joint velocities to the velocity of the hand. [1]"), NOT_FOUND
    )
    other = {"query": JACOBIAN, "session_id": session}
    stranger = await server.connect("/chat/stream", other, at_position(client.events[0].id, position)).read_all()
    assert "eyser" not in stranger.raw
    assert "eyser" not in "".join(await server.history(session))
    await client.disconnect()


@dataclass(frozen=True)
class Users:
    """Two users and two workers, with the headers that authenticate the users."""

    server: StreamServer
    worker: StreamServer
    ada: dict[str, str]
    bob: dict[str, str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def users(model: LlmServer) -> AsyncIterator[Users]:
    with book_data(PAGES, BASE) as data:
        store = KeyStore(data / "keys.json")
        keys = [store.create(name, [Scope.READ], user=name) for name in ("ada", "bob")]
        ada, bob = ({"Authorization": f"Bearer {key}"} for key in keys)
        async with (
            stream_server(data, llm=f"{model.url}#scripted") as server,
            stream_server(data, llm=f"{model.url}#scripted") as worker,
        ):
            yield Users(server, worker, ada, bob)


@each_endpoint
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("finished", [True, False], ids=["finished", "in progress"])
async def test_event_id_gives_no_access_to_another_user(
    users: Users, model: LlmServer, path: str, position: str, finished: bool
) -> None:
    session, pacer = new_id(), script(model)
    body = ENDPOINTS[path](session)
    pacer.allowed = ALL if finished else 2
    client = await users.server.connect(path, body, **users.ada).until_deltas(2)
    if finished:
        await client.read_all()
    for server in (users.server, users.worker):
        script(model, OTHER_SENTENCE).allowed = ALL
        stranger = await server.connect(path, body, at_position(client.events[1].id, position), **users.bob).read_all()
        assert not any(sentence in stranger.text for sentence in SENTENCES)
    pacer.allowed = ALL
    await client.read_all()
    assert all(sentence in client.text for sentence in SENTENCES)
    stored = "".join(await users.server.history(session, **users.bob))
    assert not any(sentence in stored for sentence in SENTENCES)
    assert path not in SESSION_ENDPOINTS or len(await users.server.history(session, **users.ada)) == 1


async def test_resuming_without_an_api_key_is_unauthorized(users: Users, model: LlmServer) -> None:
    script(model).allowed = ALL
    body = chat_body(new_id())
    client = await users.server.connect("/chat/stream", body, **users.ada).read_all()
    stranger = await users.server.connect("/chat/stream", body, client.events[0].id).read_all()
    assert (stranger.status, error_code(json.loads(stranger.raw))) == (401, "UNAUTHORIZED")
