"""Streams in this process: what may be sent, how one comes back to a stream, and what becomes of one that is left."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import StreamingResponse

import doors
import glossator
from commands import quick_folder
from doors import ABOUT_SELECTION, BASE, FACT, FALSEHOOD, PAGES, QUESTION, SELECTION, Body, tells_no_internals
from glossator.answer.llm import chain
from glossator.core.answers import UNAVAILABLE
from glossator.core.settings import load_settings
from glossator.serve import app as application
from glossator.serve.auth.keys import KeyRing, Scope
from glossator.serve.doors import query, streams
from glossator.serve.doors.streams import Streams
from glossator.store.records import record_store as repository
from glossator.store.records.record_store import Records
from llm_server import LlmServer, Reply, dies, fails, says, stalls

pytestmark = pytest.mark.asyncio(loop_scope="module")
data, model = doors.data, doors.model

SENTENCES = (
    FACT,
    "Miomir Vukobratović introduced it in 1968.",
    "A robot keeps its balance as long as this point stays inside the support polygon of its feet.",
)
OTHER = "Walking controllers compute the zero-moment point 200 times per second from force sensors in the ankles."
NOTHING = says("NOT FOUND")
ALL = 1000
"""More pieces than any answer has."""
LONG = 300.0
"""Seconds that no test waits for."""
MOST_SECONDS = 60.0
"""Within which everything happens that a test waits for, however busy the machine is."""
OWN = frozenset(
    "query_time_ms request_id response_time_ms embedding_time_ms retrieval_time_ms generation_time_ms timestamp"
    " conversation_id".split()
)
"""What is told of a request, and not of its answer."""


def _with_query(session: str) -> Body:
    return {"query": QUESTION, "session_id": session}


def _with_message(session: str) -> Body:
    return {"message": QUESTION, "session_id": session, "stream": True}


def _in_conversation(session: str) -> Body:
    return {"query_text": QUESTION, "conversation_id": session, "stream": True}


WAYS: dict[str, Callable[[str], Body]] = {
    "/chat/stream": _with_query,
    "/agent/chat": _with_message,
    "/agent/chat/structured": _with_message,
    "/agent/query": lambda _: {"query_text": QUESTION, "stream": True},
    "/agent/query/session": _in_conversation,
    "/ask": lambda _: {"question": QUESTION, "stream": True},
    "/query": lambda _: {"query": QUESTION, "stream": True},
}
"""Every way to a stream, and what is sent there."""
REMEMBERED = ["/chat/stream", "/agent/chat", "/agent/chat/structured", "/agent/query/session"]
every_way = pytest.mark.parametrize("path", WAYS)
every_remembered_way = pytest.mark.parametrize("path", REMEMBERED)


class Gate:
    """Lets a language model say so many pieces, and no more; after the last it may end."""

    def __init__(self) -> None:
        self.allowed = 0


def paced(pieces: Sequence[str], gate: Gate) -> Reply:
    """An answer whose pieces come as a gate lets them."""

    async def lines() -> AsyncIterator[str]:
        for number, piece in enumerate((*pieces, "")):
            while gate.allowed <= number:  # noqa: ASYNC110 - it is opened by another thread
                await asyncio.sleep(0.005)
            choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None if piece else "stop"}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"

    return lambda _body: StreamingResponse(lines(), media_type="text/event-stream")


def paragraphs(*sentences: str) -> list[str]:
    """Sentences that pass the gate of the server one by one."""
    return [f"{sentence} [Source 1]\n\n" for sentence in sentences]


@dataclass(frozen=True)
class Event:
    """One event as it was sent."""

    name: str
    id: str
    data: Any


class Reader:
    """A client of this process, who hears everything at once, may be slow, and may leave at any moment."""

    def __init__(self, app: FastAPI, path: str, body: Body, headers: dict[str, str]) -> None:
        self.status, self.headers, self.raw, self.whole = 0, httpx.Headers(), "", False
        self.listening = asyncio.Event()
        self.listening.set()
        self._left, self._news = asyncio.Event(), asyncio.Event()
        self._body = [json.dumps(body).encode()]
        given = {"content-type": "application/json", "host": "127.0.0.1"} | headers
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))
        self.task.add_done_callback(lambda _: self._news.set())

    async def _receive(self) -> Body:
        if self._body:
            return {"type": "http.request", "body": self._body.pop(), "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], httpx.Headers(message["headers"])
        else:
            await self.listening.wait()
            self.raw += "" if self._left.is_set() else message["body"].decode()
            self.whole = not message.get("more_body", False)
        self._news.set()

    @property
    def events(self) -> list[Event]:
        return [_event(block) for block in self.raw.split("\n\n")[:-1] if not block.startswith(":")]

    @property
    def comments(self) -> int:
        return sum(block.startswith(":") for block in self.raw.split("\n\n")[:-1])

    @property
    def deltas(self) -> list[str]:
        return [event.data["delta"] for event in self.events if event.name == "delta"]

    @property
    def text(self) -> str:
        return "".join(self.deltas)

    @property
    def last_id(self) -> str:
        """What a browser would come back with."""
        return next((event.id for event in reversed(self.events) if event.id), "")

    def named(self, name: str) -> Any:
        """The data of the only event that is called so."""
        (found,) = (event.data for event in self.events if event.name == name)
        return found

    async def until(self, ready: Callable[[Reader], object]) -> Reader:
        """Hear so much."""
        async with asyncio.timeout(MOST_SECONDS):
            while not ready(self):
                assert not self.task.done(), f"it ended with {self.raw!r}"
                self._news.clear()
                await self._news.wait()
        return self

    async def heard(self, deltas: int) -> Reader:
        """Hear so many deltas."""
        return await self.until(lambda reader: len(reader.deltas) >= deltas)

    async def end(self) -> Reader:
        """Hear everything; a connection that breaks is an error."""
        async with asyncio.timeout(MOST_SECONDS):
            await self.task
        assert self.whole
        return self

    async def leave(self) -> Reader:
        """Hear no more."""
        self._left.set()
        async with asyncio.timeout(MOST_SECONDS):
            await self.task
        return self


def _event(block: str) -> Event:
    """An event that is written as the standard says, each of its fields once and in one line."""
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    assert fields.keys() in ({"event", "id", "data"}, {"event", "data"})
    assert len(fields) == block.count("\n") + 1
    return Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))


@dataclass(frozen=True)
class Server:
    """A server in this process."""

    app: FastAPI
    streams: Streams
    client: httpx.AsyncClient

    def read(self, path: str, body: Body, last_event_id: str = "", **headers: str) -> Reader:
        again = {"Last-Event-ID": last_event_id} if last_event_id else {}
        return Reader(self.app, path, body, again | headers)

    async def history(self, session: str, **headers: str) -> list[str]:
        """The answers of a conversation."""
        response = await self.client.get(f"/history/{session}", headers=headers)
        return [entry["response"] for entry in response.json().get("entries", [])]

    async def stored(self, session: str) -> list[str]:
        """The same, when there are any."""
        async with asyncio.timeout(MOST_SECONDS):
            while not (found := await self.history(session)):  # noqa: ASYNC110 - they are written by others
                await asyncio.sleep(0.01)
        return found

    async def forgotten(self, reader: Reader) -> None:
        """Wait until nothing is known of a reader's stream."""
        name = reader.last_id.partition(".")[0]
        await soon(lambda: not any(each.startswith(name) for each in self.streams._open))


async def soon(happens: Callable[[], object]) -> None:
    """Wait for something that somebody else does."""
    async with asyncio.timeout(MOST_SECONDS):
        while not happens():  # noqa: ASYNC110 - it is another program's
            await asyncio.sleep(0.005)


@asynccontextmanager
async def serving(folder: Path, **given: Any) -> AsyncIterator[Server]:
    """A server from its start to its end."""
    values = {"verify_models": False, "cache_answers": 0, "answer_seconds": LONG, "request_seconds": LONG} | given
    with pytest.MonkeyPatch.context() as patched:
        found = Streams()
        patched.setattr(application, "Streams", lambda: found)
        app = application.create_app(load_settings(data_dir=folder, **values))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield Server(app, found, client)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(data: Path, model: LlmServer) -> AsyncIterator[Server]:
    """A server whose answers a language model writes."""
    async with serving(data, llm=f"{model.url}#scripted") as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def own(data: Path, model: LlmServer) -> AsyncIterator[Server]:
    """The same for one test alone: a language model that failed is trusted less by whoever asks it next."""
    async with serving(data, llm=f"{model.url}#scripted") as opened:
        yield opened


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is given up because a machine is busy."""
    monkeypatch.setattr(streams, "RETURN_WITHIN", LONG)
    monkeypatch.setattr(streams, "MOST_ALONE", ALL)
    monkeypatch.setattr(streams, "HEARTBEAT", LONG)
    monkeypatch.setattr(chain, "STALL", LONG)
    monkeypatch.setattr(chain, "PATIENCE", LONG)
    monkeypatch.setattr(chain, "PAUSE", 0.01)
    monkeypatch.setattr(query, "BUDGET", LONG)


def fresh() -> str:
    return str(uuid.uuid4())


def code_of(error: Body) -> str:
    """The code of an error in the shape of any door."""
    told = error.get("error_code") or error["error"]
    return str(told["code"] if isinstance(told, dict) else told).upper()


def about(event: Event) -> Event:
    """An event without what belongs to the request that it was told to."""
    if event.name != "sources":
        return event
    rest = {name: value for name, value in event.data["metadata"].items() if name not in OWN}
    return Event(event.name, event.id, event.data | {"metadata": rest})


def merged(events: Sequence[Event]) -> tuple[str, list[Event]]:
    """What events say, however their words were cut."""
    text = "".join(event.data["delta"] for event in events if event.name == "delta")
    return text, [about(event) for event in events if event.name != "delta"]


def places(events: Sequence[Event]) -> list[int]:
    """After how many events a reader can come back with the id of the last."""
    return [number for number, event in enumerate(events, 1) if event.id]


def script(model: LlmServer, *sentences: str) -> Gate:
    """The language model is going to say sentences, one by one as the gate lets them."""
    gate = Gate()
    model.script(paced(paragraphs(*(sentences or SENTENCES)), gate), NOTHING)
    return gate


async def told(server: Server, model: LlmServer, path: str, session: str) -> Reader:
    """A stream of the three sentences, heard from beginning to end."""
    script(model).allowed = ALL
    return await server.read(path, WAYS[path](session)).end()


def in_plain_marks(text: str) -> str:
    """A text as it is stored: without the list of sources that one door adds, and with marks that are bare numbers."""
    return re.sub(r"\[Source (\d+)\]", r"[\1]", text.partition("\n\nSources:\n")[0])


# What a stream looks like.


@every_way
async def test_a_stream_is_made_of_events(server: Server, model: LlmServer, path: str) -> None:
    reader = await told(server, model, path, fresh())
    assert reader.status == 200
    assert reader.headers["content-type"].partition(";")[0] == "text/event-stream"
    *deltas, sources, done = reader.events
    assert len(deltas) >= len(SENTENCES)
    assert all(event.name == "delta" and event.data.keys() == {"delta"} for event in deltas)
    assert all(isinstance(event.data["delta"], str) and event.data["delta"] for event in deltas)
    assert (sources.name, sources.data.keys()) == ("sources", {"sources", "metadata"})
    assert isinstance(sources.data["sources"], list)
    assert isinstance(sources.data["metadata"], dict)
    assert (done.name, done.data) == ("done", {"done": True})


@every_way
async def test_no_proxy_keeps_a_stream_or_changes_it(server: Server, model: LlmServer, path: str) -> None:
    headers = (await told(server, model, path, fresh())).headers
    assert {"no-store", "no-transform"} <= set(headers["cache-control"].split(", "))
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers
    assert "content-encoding" not in headers


@every_way
async def test_events_have_ids_of_one_stream(server: Server, model: LlmServer, path: str) -> None:
    one, other = await told(server, model, path, fresh()), await told(server, model, path, fresh())
    for reader in (one, other):
        bare = [event for event in reader.events if not event.id]
        assert [event.data["delta"].startswith("\n\nSources:\n") for event in bare] == [True] * len(bare)
        assert len(bare) <= 1
        ids = [event.id for event in reader.events if event.name == "delta" and event.id]
        assert len(set(ids)) == len(ids)
        assert len({event.id.partition(".")[0] for event in reader.events if event.id}) == 1
        assert all(event.id.isascii() and event.id.isprintable() for event in reader.events)
    assert not {event.id for event in one.events} & {event.id for event in other.events if event.id}


@every_way
async def test_words_come_as_soon_as_they_are_checked(server: Server, model: LlmServer, path: str) -> None:
    gate = script(model)
    reader = server.read(path, WAYS[path](fresh()))
    for number, sentence in enumerate(SENTENCES, 1):
        gate.allowed = number
        await reader.heard(number)
        assert sentence in reader.deltas[-1]
        assert len(reader.deltas) == number
    assert not reader.whole
    gate.allowed = ALL
    assert (await reader.end()).events[-1].name == "done"


HOSTILE = (
    "Geysers erupt when water boils deep underground.\r\n\r\n"
    'event: done\rdata: {"done": true}\n\nid: 1\n\n: x\u2028\u0085y'
)


@pytest.mark.parametrize("path", ["/chat/stream", "/agent/chat", "/agent/query/session"])
async def test_no_text_can_forge_an_event(data: Path, path: str) -> None:
    ways: dict[str, Body] = {
        "/chat/stream": {"query": ABOUT_SELECTION, "selected_text": HOSTILE},
        "/agent/chat": {"message": ABOUT_SELECTION, "context_text": HOSTILE, "session_id": fresh(), "stream": True},
        "/agent/query/session": {
            "query_text": ABOUT_SELECTION,
            "context_mode": "user_provided",
            "user_context": HOSTILE,
            "stream": True,
        },
    }
    async with serving(data) as server:
        reader = await server.read(path, ways[path]).end()
    assert "Geysers erupt" in reader.text
    assert [event.name for event in reader.events] == ["delta", "sources", "done"]
    assert "\r" not in reader.raw


# Nothing is sent that was not checked.

LIES = (
    FALSEHOOD,
    "It tastes of strawberries.",
    "Picasso painted the support polygon in 1937.",
    "Walking controllers compute the zero-moment point 9000 times per second from force sensors in the ankles.",
    "See https://evil.example/strawberries for more of it.",
    "## The strawberries of Picasso\n\n",
    "```\nimport strawberries\n```\n",
    "| Picasso | strawberries |\n|---|---|\n| 1937 | 9000 |\n",
)
INVENTED = re.compile(r"baker|1822|jean|strawberr|picasso|1937|9000|evil", re.IGNORECASE)
IDS_AND_NUMBERS = re.compile(r'": "?[0-9a-f.-]+"?(?=[,}])|^id: .*$', re.MULTILINE)
"""What may hold any digits by chance."""


@st.composite
def drafts(draw: st.DrawFn) -> tuple[list[str], str]:
    """Truths and inventions in any order and layout, cut anywhere; and what is said when it is to be mended."""
    line = st.sampled_from([*SENTENCES, OTHER, *LIES])
    between = st.sampled_from([" ", "\n", "\n\n", "\n- ", "\n1. ", "\n> "])
    mark = st.sampled_from([" [Source 1]", " [Source 2]", " [Source 9]", "", " [1]"])
    text = "".join(draw(line) + draw(mark) + draw(between) for _ in range(draw(st.integers(1, 6))))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=20)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in pieces if piece], draw(st.sampled_from(["NOT FOUND", *LIES, OTHER]))


many = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def scripted_with(model: LlmServer, draft: tuple[list[str], str]) -> None:
    gate = Gate()
    gate.allowed = ALL
    model.script(paced(draft[0], gate), says(draft[1]))


@many
@given(draft=drafts())
async def test_nothing_invented_is_ever_sent_and_what_is_sent_is_what_is_stored(
    server: Server, model: LlmServer, draft: tuple[list[str], str]
) -> None:
    session = fresh()
    scripted_with(model, draft)
    reader = await server.read("/chat/stream", _with_query(session)).end()
    assert reader.events[-1].name == "done"
    assert not INVENTED.search(IDS_AND_NUMBERS.sub("", reader.raw))
    assert await server.history(session) == [reader.text]


WHOLE = {
    "/chat/stream": ("/chat", "answer"),
    "/agent/chat": ("/agent/chat", "response"),
    "/agent/chat/structured": ("/agent/chat/structured", "answer"),
    "/agent/query": ("/agent/query", "response_text"),
    "/agent/query/session": ("/agent/query/session", "response_text"),
    "/ask": ("/ask", "answer"),
    "/query": ("/query", "answer"),
}
"""Where the same answer comes whole, and what it is called there."""


@many
@given(draft=drafts(), path=st.sampled_from(list(WAYS)))
async def test_a_stream_says_what_the_whole_answer_says(
    server: Server, model: LlmServer, draft: tuple[list[str], str], path: str
) -> None:
    scripted_with(model, draft)
    reader = await server.read(path, WAYS[path](fresh())).end()
    whole, field = WHOLE[path]
    scripted_with(model, draft)
    body = {name: value for name, value in WAYS[path](fresh()).items() if name != "stream"}
    found = (await server.client.post(whole, json=body)).json()
    assert reader.text == found[field]
    sources = reader.named("sources")
    assert sources["sources"] == found.get("sources", sources["sources"])
    sources["metadata"].get("grounding_validation", {}).pop("unsupported_claims", None)
    assert not INVENTED.search(reader.text + json.dumps(sources))


@every_remembered_way
async def test_what_was_streamed_is_stored_once(server: Server, model: LlmServer, path: str) -> None:
    session = fresh()
    reader = await told(server, model, path, session)
    assert await server.history(session) == [in_plain_marks(reader.text)]


# A language model that fails.


@every_way
async def test_what_was_said_stays_when_the_language_model_dies(own: Server, model: LlmServer, path: str) -> None:
    session = fresh()
    model.script(dies(f"{FACT} [Source 1]\n\n{FALSEHOOD} [Source 1]\n\nA robot keeps its balance as long as"))
    reader = await own.read(path, WAYS[path](session)).end()
    assert FACT in reader.deltas[0]
    assert "baker" not in reader.text
    assert "as long as" not in reader.text
    assert [event.name for event in reader.events[-2:]] == ["sources", "done"]
    if path in REMEMBERED:
        assert await own.history(session) == [in_plain_marks(reader.text)]


async def test_an_answer_that_was_cut_off_says_so(own: Server, model: LlmServer) -> None:
    model.script(dies(f"{FACT} [Source 1]\n\nA robot"))
    cut = await own.read("/chat/stream", _with_query(fresh())).end()
    assert (cut.named("sources")["metadata"]["degraded"], cut.named("sources")["metadata"]["mode"]) == (True, "full")
    full = await told(own, model, "/chat/stream", fresh())
    assert full.named("sources")["metadata"]["degraded"] is False


@pytest.mark.parametrize("reply", [fails(401), dies(""), dies("A robot keeps")], ids=["refuses", "dies", "says half"])
async def test_a_language_model_that_never_says_a_sentence_leaves_the_book(
    own: Server, model: LlmServer, reply: Reply
) -> None:
    session = fresh()
    model.script(reply)
    reader = await own.read("/chat/stream", _with_query(session)).end()
    assert [event.name for event in reader.events] == ["delta", "sources", "done"]
    assert FACT in reader.text
    assert reader.named("sources")["metadata"]["mode"] == "retrieval_only"
    assert await own.history(session) == [reader.text]


@pytest.mark.parametrize("path", [path for path in WAYS if path != "/chat/stream"])
async def test_a_stream_says_that_no_language_model_answers_as_the_whole_answer_does(
    own: Server, model: LlmServer, path: str
) -> None:
    model.script(fails(401))
    reader = await own.read(path, WAYS[path](fresh())).end()
    whole, field = WHOLE[path]
    body = {name: value for name, value in WAYS[path](fresh()).items() if name != "stream"}
    assert reader.text == (await own.client.post(whole, json=body)).json()[field]
    assert reader.text.startswith(f"{UNAVAILABLE} ")


async def test_a_language_model_that_stalls_is_cut_off(
    own: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "STALL", 0.2)
    model.script(stalls(f"{FACT} [Source 1]\n\nA robot keeps"))
    reader = await own.read("/chat/stream", _with_query(fresh())).end()
    assert reader.text == f"{FACT} [1]"
    assert reader.named("sources")["metadata"]["degraded"] is True
    await soon(lambda: model.left == 1)


async def test_the_time_of_an_answer_ends_it_and_not_the_connection(data: Path, model: LlmServer) -> None:
    async with serving(data, llm=f"{model.url}#scripted", answer_seconds=1.5) as server:
        model.script(stalls(f"{FACT} [Source 1]\n\nA robot keeps"))
        reader = await server.read("/chat/stream", _with_query(fresh())).end()
    assert FACT in reader.text
    assert reader.named("sources")["metadata"]["degraded"] is True
    assert reader.events[-1].name == "done"


@pytest.mark.parametrize("path", ["/chat/stream", "/agent/chat", "/query"])
async def test_the_time_of_a_request_does_not_break_the_connection(data: Path, model: LlmServer, path: str) -> None:
    async with serving(data, llm=f"{model.url}#scripted", request_seconds=2.0) as server:
        script(model).allowed = 1
        reader = await server.read(path, WAYS[path](fresh())).end()
    if reader.status == 200:
        assert not reader.text or FACT in reader.text
        assert code_of(reader.named("error")) == "TIMEOUT"
    else:  # the machine is so busy that nothing was said in that time
        assert (reader.status, code_of(json.loads(reader.raw))) == (504, "TIMEOUT")


@every_way
async def test_a_fault_in_mid_stream_comes_as_an_event_in_the_shape_of_the_door(
    server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fault(*_: object) -> None:
        raise RuntimeError("secret-place")

    monkeypatch.setattr(Records, "finish", fault)
    monkeypatch.setattr(Records, "keep", fault)
    reader = await told(server, model, path, fresh())
    assert all(sentence in reader.text for sentence in SENTENCES)
    assert reader.events[-1].name == "error"
    assert code_of(reader.named("error")) == "INTERNAL_ERROR"
    assert tells_no_internals(json.dumps(reader.named("error")))
    assert not any(event.name in ("sources", "done") for event in reader.events)


async def test_a_conversation_that_is_deleted_in_mid_stream_is_not_remembered(server: Server, model: LlmServer) -> None:
    session, gate = fresh(), script(model)
    gate.allowed = 1
    reader = await server.read("/chat/stream", _with_query(session)).heard(1)
    assert (await server.client.delete(f"/agent/session/{session}")).status_code == 204
    gate.allowed = ALL
    await reader.end()
    metadata = reader.named("sources")["metadata"]
    assert (metadata["stored"], metadata["receipt_id"]) == (False, "")
    assert await server.history(session) == []


# An error before anything was said.


@every_way
async def test_without_a_book_a_stream_is_refused_by_its_status(tmp_path: Path, path: str) -> None:
    async with serving(tmp_path / "secret-place") as server:
        reader = await server.read(path, WAYS[path](fresh())).end()
    assert reader.status == 503
    assert reader.headers["content-type"] == "application/json"
    assert code_of(json.loads(reader.raw)) in ("QDRANT_UNAVAILABLE", "RETRIEVAL_FAILED", "RETRIEVAL_ERROR")


@every_way
async def test_a_request_that_cannot_be_read_is_refused_by_its_status(server: Server, path: str) -> None:
    body = {name: "" if value == QUESTION else value for name, value in WAYS[path](fresh()).items()}
    reader = await server.read(path, body).end()
    assert reader.status == 400
    assert reader.headers["content-type"] == "application/json"


async def test_a_key_that_named_another_request_is_refused_by_its_status(server: Server, model: LlmServer) -> None:
    session = fresh()
    script(model).allowed = ALL
    headers = {"Idempotency-Key": fresh()}
    await server.read("/chat/stream", _with_query(session), **headers).end()
    reader = await server.read("/chat/stream", {"query": "What is a Jacobian?", "session_id": session}, **headers).end()
    assert (reader.status, code_of(json.loads(reader.raw))) == (409, "IDEMPOTENCY_KEY_REUSED")


@every_remembered_way
@pytest.mark.parametrize("as_status", [True, False])
async def test_a_busy_conversation_is_told_by_a_status_while_that_is_possible_and_else_by_an_event(
    server: Server, model: LlmServer, path: str, as_status: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "LONGEST_WAIT", 0.5)
    monkeypatch.setattr(streams, "WAIT_FOR_FIRST", LONG if as_status else 0.01)
    session, gate = fresh(), script(model)
    gate.allowed = 1
    first = await server.read(path, WAYS[path](session)).heard(1)
    second = await server.read(path, WAYS[path](session)).end()
    if as_status:
        assert (second.status, code_of(json.loads(second.raw))) == (429, "CONVERSATION_BUSY")
    else:
        assert (second.status, [event.name for event in second.events]) == (200, ["error"])
        assert code_of(second.named("error")) == "CONVERSATION_BUSY"
    gate.allowed = ALL
    await first.end()
    assert len(await server.history(session)) == 1


# Silence.


async def test_silence_is_filled_with_comments(
    server: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT", 0.05)
    monkeypatch.setattr(streams, "WAIT_FOR_FIRST", 0.05)
    session, gate = fresh(), script(model)
    reader = await server.read("/chat/stream", _with_query(session)).until(lambda reader: reader.comments >= 3)
    assert reader.events == []
    gate.allowed = 1
    await reader.heard(1)
    before = reader.comments
    await reader.until(lambda reader: reader.comments >= before + 3)
    gate.allowed = ALL
    await reader.end()
    assert [event.name for event in reader.events] == ["delta"] * 3 + ["sources", "done"]
    assert await server.history(session) == [reader.text]


async def test_one_who_comes_back_and_must_wait_hears_comments_too(
    server: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT", 0.05)
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    monkeypatch.setattr(streams, "WAIT_FOR_FIRST", 0.05)
    body, gate = _with_query(fresh()), script(model)
    gate.allowed = 2
    reader = await (await server.read("/chat/stream", body).heard(2)).leave()
    await server.forgotten(reader)
    gate = script(model)
    again = await server.read("/chat/stream", body, reader.last_id).until(lambda reader: reader.comments >= 2)
    assert again.events == []
    gate.allowed = ALL
    await again.end()
    assert SENTENCES[2] in again.text


async def test_no_comment_where_there_is_no_silence(server: Server, model: LlmServer) -> None:
    assert (await told(server, model, "/chat/stream", fresh())).comments == 0


async def test_a_slow_reader_misses_nothing_and_waits_for_nothing(server: Server, model: LlmServer) -> None:
    """What comes while an event is being sent is told right after it, not at the next sign of life."""
    session, gate = fresh(), script(model)
    gate.allowed = 1
    reader = server.read("/chat/stream", _with_query(session))
    reader.listening.clear()
    await reader.until(lambda reader: reader.status)
    gate.allowed = ALL
    await soon(lambda: len(model.asked) == 1)
    await server.stored(session)
    reader.listening.set()
    await reader.end()
    assert await server.history(session) == [reader.text]


# Coming back.


@every_way
async def test_one_who_comes_back_hears_exactly_the_rest(server: Server, model: LlmServer, path: str) -> None:
    body = WAYS[path](fresh())
    script(model).allowed = ALL
    reader = await server.read(path, body).end()
    for place in places(reader.events)[:-1]:
        again = await server.read(path, body, reader.events[place - 1].id).end()
        assert merged(again.events) == merged(reader.events[place:])
        assert again.headers["cache-control"] == reader.headers["cache-control"]
    assert len(model.asked) == 1


@every_way
async def test_one_who_heard_everything_hears_only_that_it_is_done(server: Server, model: LlmServer, path: str) -> None:
    body = WAYS[path](fresh())
    script(model).allowed = ALL
    reader = await server.read(path, body).end()
    again = await server.read(path, body, reader.last_id).end()
    assert [event.name for event in again.events] == ["done"]
    assert len(model.asked) == 1


@every_way
async def test_one_who_comes_back_at_every_event_of_an_answer_under_way_misses_nothing(
    server: Server, model: LlmServer, path: str
) -> None:
    session = fresh()
    body, gate, heard, last = WAYS[path](session), script(model), "", ""
    for number in range(1, len(SENTENCES) + 1):
        reader = server.read(path, body, last)
        gate.allowed = number
        await (await reader.heard(1)).leave()
        heard, last = heard + reader.text, reader.last_id
    gate.allowed = ALL
    reader = await server.read(path, body, last).end()
    whole = await told(server, model, path, fresh())
    assert heard + reader.text == whole.text
    assert [event.name for event in reader.events[-2:]] == ["sources", "done"]
    if path in REMEMBERED:
        assert await server.history(session) == [in_plain_marks(whole.text)]


@every_way
async def test_an_answer_is_written_once_however_often_one_comes_back(
    server: Server, model: LlmServer, path: str
) -> None:
    body, gate = WAYS[path](fresh()), script(model)
    gate.allowed = 1
    reader = await (await server.read(path, body).heard(1)).leave()
    for _ in range(3):
        await (await server.read(path, body, reader.last_id).until(lambda reader: reader.status)).leave()
    gate.allowed = ALL
    await server.read(path, body, reader.last_id).end()
    assert len(model.asked) == 1
    assert model.left == 0


async def test_an_answer_counts_once_however_often_it_is_heard(own: Server, model: LlmServer) -> None:
    body = _with_query(fresh())
    script(model).allowed = ALL
    reader = await own.read("/chat/stream", body).end()
    for place in places(reader.events)[:-1]:
        await own.read("/chat/stream", body, reader.events[place - 1].id).end()
    assert 'glossator_answers_total{mode="full"} 1.0' in (await own.client.get("/metrics")).text


async def test_the_list_of_sources_at_the_end_is_not_heard_twice(server: Server, model: LlmServer) -> None:
    body = _with_message(fresh())
    script(model).allowed = ALL
    reader = await server.read("/agent/chat", body).end()
    until_tail = reader.events[:-2]
    assert until_tail[-1].data["delta"].startswith("\n\nSources:\n")
    last = next(event.id for event in reversed(until_tail) if event.id)
    again = await server.read("/agent/chat", body, last).end()
    heard = "".join(event.data["delta"] for event in until_tail)
    assert heard + again.text == reader.text


@every_remembered_way
async def test_one_who_comes_back_late_hears_the_stored_answer(
    server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    session = fresh()
    body = WAYS[path](session)
    script(model).allowed = ALL
    reader = await server.read(path, body).end()
    for place in places(reader.events)[:-1]:
        await server.forgotten(reader)
        again = await server.read(path, body, reader.events[place - 1].id).end()
        assert merged(again.events) == merged(reader.events[place:])
    assert len(model.asked) == 1
    assert len(await server.history(session)) == 1


@pytest.mark.parametrize("path", ["/chat/stream", "/agent/query/session"])
async def test_one_who_named_no_conversation_comes_back_to_the_one_that_was_made(
    server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    body = {name: value for name, value in WAYS[path]("").items() if name not in ("session_id", "conversation_id")}
    script(model).allowed = ALL
    reader = await server.read(path, body).end()
    await server.forgotten(reader)
    again = await server.read(path, body, reader.events[0].id).end()
    named = [told.named("sources")["metadata"] for told in (reader, again)]
    assert len({metadata.get("session_id") or metadata["conversation_id"] for metadata in named}) == 1
    assert again.text == "".join(reader.deltas[1:])
    assert len(model.asked) == 1


async def test_the_answer_that_is_told_late_has_the_same_sources_though_no_model_wrote_it(
    own: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    body = _with_query(fresh())
    model.script(fails(401))
    reader = await own.read("/chat/stream", body).end()
    await own.forgotten(reader)
    again = await own.read("/chat/stream", body, reader.events[0].id).end()
    assert merged(again.events) == merged(reader.events[1:])


@pytest.mark.parametrize("path", ["/ask", "/query", "/agent/query"])
async def test_what_was_not_stored_is_written_again_for_one_who_comes_back_late(
    server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    body = WAYS[path](fresh())
    reader = await told(server, model, path, fresh())
    for place in places(reader.events)[:-1]:
        await server.forgotten(reader)
        script(model).allowed = ALL
        again = await server.read(path, body, reader.events[place - 1].id).end()
        assert merged(again.events) == merged(reader.events[place:])


@every_way
async def test_one_who_comes_back_to_another_worker_hears_the_rest(
    data: Path, server: Server, model: LlmServer, path: str
) -> None:
    session = fresh()
    body = WAYS[path](session)
    reader = await told(server, model, path, session)
    async with serving(data, llm=f"{model.url}#scripted") as other:
        for place in places(reader.events)[:-1]:
            script(model).allowed = ALL
            again = await other.read(path, body, reader.events[place - 1].id).end()
            assert merged(again.events) == merged(reader.events[place:])
            assert path not in REMEMBERED or model.asked == []
    if path in REMEMBERED:
        assert len(await server.history(session)) == 1


@every_remembered_way
async def test_another_worker_waits_for_the_one_that_is_still_writing(
    data: Path, server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "WAIT_FOR_FIRST", 0.01)
    session, gate = fresh(), script(model)
    body = WAYS[path](session)
    gate.allowed = 1
    async with serving(data, llm=f"{model.url}#scripted") as other:
        reader = await (await server.read(path, body).heard(1)).leave()
        again = await other.read(path, body, reader.last_id).until(lambda reader: reader.status)
        assert again.events == []
        gate.allowed = ALL
        await again.end()
    whole = await told(server, model, path, fresh())
    assert reader.text + again.text == whole.text
    assert again.events[-1].name == "done"
    assert await server.history(session) == [in_plain_marks(whole.text)]


async def test_two_readers_of_one_stream_hear_the_same(server: Server, model: LlmServer) -> None:
    body, gate = _with_query(fresh()), script(model)
    gate.allowed = 1
    one = await server.read("/chat/stream", body).heard(1)
    other = await server.read("/chat/stream", body, one.last_id).until(lambda reader: reader.status)
    gate.allowed = 2
    await one.heard(2)
    await other.heard(1)
    await one.leave()
    gate.allowed = ALL
    await other.end()
    assert one.deltas[1:] == other.deltas[:1]
    assert SENTENCES[2] in other.text
    assert len(model.asked) == 1


async def test_one_whose_request_has_a_key_comes_back_as_well(
    server: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, headers = fresh(), {"Idempotency-Key": fresh()}
    body, gate = _with_query(session), script(model)
    gate.allowed = 1
    reader = await (await server.read("/chat/stream", body, **headers).heard(1)).leave()
    gate.allowed = ALL
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    again = await server.read("/chat/stream", body, reader.last_id, **headers).end()
    await server.forgotten(reader)
    late = await server.read("/chat/stream", body, reader.last_id, **headers).end()
    repeated = await server.read("/chat/stream", body, **headers).end()
    assert again.text == late.text
    assert repeated.text == reader.text + again.text
    assert await server.history(session) == [repeated.text]
    assert len(model.asked) == 1


FORGED = [
    " ",
    "x",
    "0",
    "-1",
    "null",
    "\xff" * 8,
    "00000000-0000-0000-0000-000000000000",
    "00000000-0000-0000-0000-000000000000.0",
    "00000000-0000-0000-0000-000000000000.-1.00000000",
    "00000000-0000-0000-0000-000000000000.1e3.00000000",
    "00000000-0000-0000-0000-000000000000.9999999999999999999.00000000",
    "00000000-0000-0000-0000-00000000000G.1.00000000",
    "00000000-0000-0000-0000-000000000000.1.00000000x",
    "../../etc/passwd",
    "' OR 1=1 --",
    "a" * 10_000,
]


@pytest.mark.parametrize("name", FORGED, ids=range(len(FORGED)))
async def test_what_is_no_id_of_ours_is_not_looked_at(server: Server, model: LlmServer, name: str) -> None:
    session = fresh()
    script(model).allowed = ALL
    reader = await server.read("/chat/stream", _with_query(session), name).end()
    assert [event.name for event in reader.events] == ["delta"] * 3 + ["sources", "done"]
    assert await server.history(session) == [reader.text]


@every_way
@pytest.mark.parametrize("place", ["1.00000000", "128.00000000", "999999999.00000000", "999999999.e3b0c442s"])
async def test_an_id_that_was_never_given_out_gets_an_error(
    server: Server, model: LlmServer, path: str, place: str
) -> None:
    script(model).allowed = ALL
    reader = await server.read(path, WAYS[path](fresh()), f"{fresh()}.{place}").end()
    assert (reader.status, [event.name for event in reader.events]) == (200, ["error"])
    assert code_of(reader.named("error")) == "STREAM_LOST"
    assert tells_no_internals(json.dumps(reader.named("error")))


@every_way
async def test_an_answer_that_begins_otherwise_now_is_not_continued(
    server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    body = WAYS[path](fresh())
    script(model).allowed = 2
    reader = await (await server.read(path, body).heard(2)).leave()
    await server.forgotten(reader)
    script(model, OTHER, *SENTENCES).allowed = ALL
    again = await server.read(path, body, reader.last_id).end()
    assert [event.name for event in again.events] == ["error"]
    assert code_of(again.named("error")) == "STREAM_LOST"


@every_way
async def test_an_answer_that_was_given_up_is_continued_where_it_begins_the_same(
    server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    session = fresh()
    body = WAYS[path](session)
    script(model).allowed = 2
    reader = await (await server.read(path, body).heard(2)).leave()
    await server.forgotten(reader)
    script(model).allowed = ALL
    again = await server.read(path, body, reader.last_id).end()
    whole = await told(server, model, path, fresh())
    assert reader.text + again.text == whole.text
    if path in REMEMBERED:
        assert await server.history(session) == [in_plain_marks(whole.text)]


# An id is no key to somebody else's answer.

ERUPTION = "Geysers erupt when water boils deep underground."
JACOBIAN = "What is the Jacobian?"
WHICH = ["as it is", "from its beginning"]


def from_beginning(name: str, which: str) -> str:
    return name if which == "as it is" else f"{name.partition('.')[0]}.0.00000000"


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("over", [True, False], ids=["over", "under way"])
async def test_an_id_does_not_bring_the_answer_to_another_question(
    server: Server, model: LlmServer, which: str, over: bool
) -> None:
    secret = {"query": ABOUT_SELECTION, "selected_text": SELECTION, "session_id": fresh()}
    gate = script(model, ERUPTION)
    gate.allowed = ALL if over else 1
    reader = await server.read("/chat/stream", secret).heard(1)
    if over:
        await reader.end()
    session = fresh()
    model.script(
        says("The Jacobian is the matrix that maps joint velocities to the velocity of the hand. [1]"), NOTHING
    )
    other = {"query": JACOBIAN, "session_id": session}
    stranger = await server.read("/chat/stream", other, from_beginning(reader.events[0].id, which)).end()
    assert "eyser" not in stranger.raw
    assert "eyser" not in "".join(await server.history(session))
    await reader.leave()


@dataclass(frozen=True)
class Users:
    """Two users of two workers, with the headers that say who they are."""

    server: Server
    worker: Server
    ada: dict[str, str]
    bob: dict[str, str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def users(model: LlmServer) -> AsyncIterator[Users]:
    with quick_folder() as folder:
        await asyncio.to_thread(ingest, folder)
        ring = KeyRing(folder / "data" / "keys.json")
        keys = [ring.create(name, [Scope.READ], user=name) for name in ("ada", "bob")]
        ada, bob = ({"Authorization": f"Bearer {key}"} for key in keys)
        async with (
            serving(folder / "data", llm=f"{model.url}#scripted") as server,
            serving(folder / "data", llm=f"{model.url}#scripted") as worker,
        ):
            yield Users(server, worker, ada, bob)


def ingest(folder: Path) -> None:
    for name, text in PAGES.items():
        page = folder / "book" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, "utf-8")
    with glossator.open(folder / "data") as book:
        book.ingest(folder / "book", base_url=BASE)


@every_way
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("over", [True, False], ids=["over", "under way"])
async def test_no_user_hears_what_another_one_was_told(
    users: Users, model: LlmServer, path: str, which: str, over: bool
) -> None:
    session, gate = fresh(), script(model)
    body = WAYS[path](session)
    gate.allowed = ALL if over else 2
    reader = await users.server.read(path, body, **users.ada).heard(2)
    if over:
        await reader.end()
    for asked in (users.server, users.worker):
        script(model, OTHER).allowed = ALL
        stranger = await asked.read(path, body, from_beginning(reader.events[1].id, which), **users.bob).end()
        assert not any(sentence in stranger.text for sentence in SENTENCES)
    gate.allowed = ALL
    await reader.end()
    assert all(sentence in reader.text for sentence in SENTENCES)
    remembered = "".join(await users.server.history(session, **users.bob))
    assert not any(sentence in remembered for sentence in SENTENCES)
    assert path not in REMEMBERED or len(await users.server.history(session, **users.ada)) == 1


async def test_no_stream_is_continued_without_a_key(users: Users, model: LlmServer) -> None:
    script(model).allowed = ALL
    body = _with_query(fresh())
    reader = await users.server.read("/chat/stream", body, **users.ada).end()
    stranger = await users.server.read("/chat/stream", body, reader.events[0].id).end()
    assert (stranger.status, code_of(json.loads(stranger.raw))) == (401, "UNAUTHORIZED")


# Leaving.


@every_remembered_way
async def test_an_answer_goes_on_for_one_who_may_come_back(server: Server, model: LlmServer, path: str) -> None:
    session, gate = fresh(), script(model)
    gate.allowed = 1
    await (await server.read(path, WAYS[path](session)).heard(1)).leave()
    gate.allowed = ALL
    (stored,) = await server.stored(session)
    assert all(sentence in stored for sentence in SENTENCES)
    assert model.left == 0


@every_way
async def test_an_answer_that_nobody_hears_is_given_up(
    server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.05)
    session, gate = fresh(), script(model)
    gate.allowed = 1
    reader = await (await server.read(path, WAYS[path](session)).heard(1)).leave()
    await soon(lambda: model.left == 1)
    await server.forgotten(reader)
    assert await server.history(session) == []
    monkeypatch.setattr(repository, "LONGEST_WAIT", MOST_SECONDS / 2)
    again = await told(server, model, path, session)
    assert again.events[-1].name == "done"
    assert path not in REMEMBERED or await server.history(session) == [in_plain_marks(again.text)]


@every_way
async def test_one_who_leaves_before_the_first_word_ends_the_call_as_well(
    server: Server, model: LlmServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    monkeypatch.setattr(streams, "WAIT_FOR_FIRST", 0.5)
    session = fresh()
    script(model)
    reader = server.read(path, WAYS[path](session))
    await soon(lambda: model.asked)
    await reader.leave()
    await soon(lambda: model.left == 1)
    assert await server.history(session) == []
    assert (await told(server, model, path, session)).events[-1].name == "done"


async def test_one_who_leaves_while_an_event_is_being_sent_ends_the_call_as_well(
    server: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.0)
    session, gate = fresh(), script(model)
    gate.allowed = 1
    reader = server.read("/chat/stream", _with_query(session))
    reader.listening.clear()
    await reader.until(lambda reader: reader.status)
    await reader.leave()
    gc.collect()
    await soon(lambda: model.left == 1)
    assert await server.history(session) == []


async def test_one_who_comes_back_in_time_keeps_the_answer_going(
    server: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.3)
    session, gate = fresh(), script(model)
    gate.allowed = 1
    body = _with_query(session)
    reader = await (await server.read("/chat/stream", body).heard(1)).leave()
    again = server.read("/chat/stream", body, reader.last_id)
    await asyncio.sleep(0.6)
    gate.allowed = ALL
    await again.end()
    assert await server.history(session) == [reader.text + again.text]
    assert len(model.asked) == 1


async def test_one_who_leaves_again_has_as_much_time_as_before(
    server: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.5)
    session, gate = fresh(), script(model)
    gate.allowed = 1
    body = _with_query(session)
    reader = await (await server.read("/chat/stream", body).heard(1)).leave()
    again = await server.read("/chat/stream", body, reader.last_id).until(lambda reader: reader.status)
    monkeypatch.setattr(streams, "RETURN_WITHIN", LONG)
    await again.leave()
    await asyncio.sleep(1.0)
    gate.allowed = ALL
    assert len(await server.stored(session)) == 1
    assert (len(model.asked), model.left) == (1, 0)


async def test_where_too_many_answers_go_on_unheard_the_next_is_given_up_at_once(
    own: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_ALONE", 2)
    gate = Gate()
    gate.allowed = 1
    model.script(paced(paragraphs(*SENTENCES), gate))
    for left in (0, 0, 1, 2):
        await (await own.read("/chat/stream", _with_query(fresh())).heard(1)).leave()
        await soon(lambda: model.left == left)  # noqa: B023 - it is awaited here
    gate.allowed = ALL


async def test_answers_that_are_over_take_nobodys_place(
    own: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_ALONE", 2)
    for _ in range(4):
        await told(own, model, "/chat/stream", fresh())
    session, gate = fresh(), script(model)
    gate.allowed = 1
    await (await own.read("/chat/stream", _with_query(session)).heard(1)).leave()
    await asyncio.sleep(0.1)
    gate.allowed = ALL
    assert len(await own.stored(session)) == 1


async def test_a_server_that_stops_leaves_nothing_behind(data: Path, model: LlmServer) -> None:
    before = asyncio.all_tasks()
    gate = Gate()
    gate.allowed = 1
    model.script(paced(paragraphs(*SENTENCES), gate))
    async with serving(data, llm=f"{model.url}#scripted") as server:
        for path, body in WAYS.items():
            await (await server.read(path, body(fresh())).heard(1)).leave()
    await soon(lambda: model.left == len(WAYS))
    await soon(lambda: not asyncio.all_tasks() - before)


async def test_a_server_that_stops_says_so_to_those_who_listen(data: Path, model: LlmServer) -> None:
    before = asyncio.all_tasks()
    async with serving(data, llm=f"{model.url}#scripted") as server:
        readers = []
        for path, body in WAYS.items():
            script(model).allowed = 1
            readers.append(await server.read(path, body(fresh())).heard(1))
    for reader in readers:
        assert (await reader.end()).events[-1].name == "error"
        assert tells_no_internals(json.dumps(reader.named("error")))
    await soon(lambda: not asyncio.all_tasks() - before)


async def test_readers_who_leave_everywhere_leave_no_task(
    own: Server, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETURN_WITHIN", 0.01)
    await told(own, model, "/chat/stream", fresh())
    before = asyncio.all_tasks()
    gate = Gate()
    gate.allowed = 2
    model.script(paced(paragraphs(*SENTENCES), gate))
    for path in [*WAYS] * 3:
        await (await own.read(path, WAYS[path](fresh())).heard(1)).leave()
    await soon(lambda: model.left == 3 * len(WAYS))
    await soon(lambda: not asyncio.all_tasks() - before)


# A new edition of the book.


async def test_a_new_generation_fails_no_stream(model: LlmServer) -> None:
    with quick_folder() as folder:
        await asyncio.to_thread(ingest, folder)
        gate = Gate()
        gate.allowed = ALL
        model.script(paced(paragraphs(*SENTENCES), gate))
        async with serving(folder / "data", llm=f"{model.url}#scripted") as server:
            ingests = asyncio.create_task(asyncio.to_thread(new_editions, folder))
            heard = 0
            while not ingests.done():
                readers = [server.read(path, WAYS[path](fresh())) for path in WAYS]
                searched = await server.client.get("/search", params={"q": QUESTION})
                assert searched.status_code == 200
                for reader in readers:
                    assert (await reader.end()).events[-1].name == "done"
                    assert FACT in reader.text
                    heard += 1
            await ingests
            assert heard
            assert (await server.client.get("/search", params={"q": QUESTION})).json()["generation"] == 5


def new_editions(folder: Path) -> None:
    page = folder / "book" / "module2" / "actuators.md"
    with glossator.open(folder / "data") as book:
        for number in range(29, 33):
            page.write_text(PAGES["module2/actuators.md"].replace("28", str(number)), "utf-8")
            book.ingest(folder / "book", base_url=BASE)


async def test_a_stream_ends_in_the_edition_that_it_began_in(model: LlmServer) -> None:
    with quick_folder() as folder:
        await asyncio.to_thread(ingest, folder)
        async with serving(folder / "data", llm=f"{model.url}#scripted") as server:
            session, gate = fresh(), script(model)
            gate.allowed = 1
            reader = await server.read("/chat/stream", _with_query(session)).heard(1)
            await asyncio.to_thread(new_editions, folder)
            assert (await server.client.get("/search", params={"q": QUESTION})).json()["generation"] == 5
            gate.allowed = ALL
            await reader.end()
            assert all(sentence in reader.text for sentence in SENTENCES)
            assert reader.named("sources")["sources"]
            assert await server.history(session) == [reader.text]
