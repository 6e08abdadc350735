"""The chat when things go wrong: every fault is told in plain words, loses no question, and can be tried again."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from starlette.testclient import TestClient

import browser
import doors
from browser import OpenPage, Site, answers, ask, button, messages, open_chat, settled
from doors import FACT, QUESTION
from glossator.core.answers import Delta
from glossator.core.settings import load_settings
from glossator.embed.local import LocalEmbedder
from glossator.serve.app import create_app
from glossator.serve.auth.keys import KeyRing, Scope
from llm_server import LlmServer, fails, says

data, model = doors.data, doors.model

SENTENCES = (
    FACT,
    "Miomir Vukobratović introduced it in 1968.",
    "A robot keeps its balance as long as this point stays inside the support polygon of its feet.",
)
ASKED = {"query": QUESTION, "selected_text": None, "session_id": None}
"""What the chat sends for the first question of a conversation."""
LONGEST_WAIT = 60.0
NOT_PASSED_ON = {"connection", "transfer-encoding", "content-length", "date", "server"}
Piece = bytes | threading.Event


@dataclass(frozen=True)
class Reply:
    """What is sent for a question: bytes as they are, a pause wherever an event stands; perhaps without an end."""

    status: int
    headers: dict[str, str]
    pieces: tuple[Piece, ...]
    breaks: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(piece for piece in self.pieces if isinstance(piece, bytes))

    @property
    def events(self) -> list[bytes]:
        return [part + b"\n\n" for part in self.body.split(b"\n\n")[:-1]]

    def sending(self, *pieces: Piece, breaks: bool = False) -> Reply:
        return replace(self, pieces=pieces, breaks=breaks)


SILENCE = Reply(0, {}, ())
"""The connection is lost before anything came."""


@dataclass
class Between:
    """Stands between the page and the real server, and breaks what it passes on as it is told to."""

    url: str = ""
    behind: str = ""
    replies: list[Reply] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    resumed: list[str | None] = field(default_factory=list)

    def next_reply(self, path: str, body: bytes, last_event_id: str | None) -> Reply | None:
        if path != "/chat/stream":
            return None
        self.asked.append(json.loads(body))
        self.resumed.append(last_event_id)
        return self.replies.pop(0) if self.replies else None


class Handler(BaseHTTPRequestHandler):
    """Answers a question as it is told to; everything else comes from the server behind."""

    between: Between
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        reply = None
        if self.command == "POST":
            reply = self.between.next_reply(self.path, body, self.headers.get("Last-Event-ID"))
        try:
            self._play(reply) if reply else self._pass_on(body)
        except OSError:  # the page has left
            return

    do_POST = do_DELETE = do_OPTIONS = do_GET  # noqa: N815 - the names that http.server calls

    def _play(self, reply: Reply) -> None:
        if reply.status:
            self._begin(reply.status, reply.headers)
        for piece in reply.pieces:
            if isinstance(piece, threading.Event):
                piece.wait(LONGEST_WAIT)
            else:
                self._send(piece)
        if reply.breaks or not reply.status:
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._send(b"")

    def _pass_on(self, body: bytes) -> None:
        given = urlsplit(self.between.behind)
        with closing(http.client.HTTPConnection(given.hostname or "", given.port)) as upstream:
            upstream.request(self.command, self.path, body or None, dict(self.headers))
            response = upstream.getresponse()
            self._begin(response.status, dict(response.getheaders()))
            while piece := response.read1():
                self._send(piece)
            self._send(b"")

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in NOT_PASSED_ON:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        if status not in (204, 304):
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def standing_between(data: Path, model: LlmServer) -> Iterator[Between]:
    between = Between()
    handler = type("Bound", (Handler,), {"between": between})
    with browser.listening() as on, browser.serving(data, on, **scripted(model)) as behind:
        between.behind = behind
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            server.daemon_threads, server.block_on_close = True, False
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            between.url = f"http://127.0.0.1:{server.server_port}"
            yield between
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def address(standing_between: Between) -> str:
    return standing_between.url


@pytest.fixture
def between(standing_between: Between, model: LlmServer, complaints: browser.Complaints) -> Between:
    """With nothing to break yet, and an answer of three sentences behind it."""
    standing_between.replies, standing_between.asked, standing_between.resumed = [], [], []
    model.script(says("\n\n".join(f"{sentence} [Source 1]" for sentence in SENTENCES), size=50, pause=0.01))
    complaints.allow("Failed to load resource")
    return standing_between


def scripted(model: LlmServer) -> dict[str, Any]:
    return {"llm": f"{model.url}#scripted", "verify_models": False, "cache_answers": 0}


def recorded(data: Path, body: Any = ASKED, headers: dict[str, str] | None = None, **settings: Any) -> Reply:
    """What a real server with these settings says to a question."""
    app = create_app(load_settings(data_dir=data, **settings))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        return as_reply(client.post("/chat/stream", json=body, headers=headers))


def as_reply(response: Any) -> Reply:
    return Reply(response.status_code, dict(response.headers), (response.content,))


@pytest.fixture
def stream(between: Between) -> Reply:
    """A good answer of the server that stands behind, which can take it up again."""
    return as_reply(httpx.post(f"{between.behind}/chat/stream", json=ASKED, timeout=LONGEST_WAIT))


def words(page: Page, key: str) -> str:
    """What the chat says for a thing."""
    text: str = page.evaluate("key => customElements.get('glossator-chat').strings.en[key]", key)
    return text


def trouble(turn: Locator) -> Locator:
    return turn.locator("[part=trouble]")


def is_whole(page: Page, turn: Locator) -> None:
    """The answer is there, every sentence of it once, and nothing is wrong."""
    settled(page)
    expect(turn.locator("[part=mark]")).to_have_count(len(SENTENCES))
    text = turn.locator("[part=answer]").inner_text()
    assert [text.count(sentence) for sentence in SENTENCES] == [1] * len(SENTENCES)
    expect(turn.locator(".question")).to_contain_text(QUESTION)
    expect(trouble(turn)).to_have_count(0)


def failed(page: Page, turn: Locator, kind: str) -> None:
    """What went wrong is told, and the question stands."""
    expect(trouble(turn)).to_contain_text(words(page, kind))
    expect(turn.locator(".question")).to_contain_text(QUESTION)
    settled(page)


def again(page: Page, turn: Locator) -> None:
    """It works when it is tried again, in the same place."""
    button(page, words(page, "retry")).click()
    is_whole(page, turn)
    expect(messages(page)).to_have_count(1)


# Errors of the server.


def no_key(data: Path, tmp_path: Path, _: pytest.MonkeyPatch) -> Reply:
    KeyRing(tmp_path / "keys.json").create("ada", [Scope.READ])
    return recorded(tmp_path)


def too_large(data: Path, *_: object) -> Reply:
    return recorded(data, ASKED | {"selected_text": 2000 * "x"}, max_body_bytes=1000)


def too_often(data: Path, *_: object) -> Reply:
    app = create_app(load_settings(data_dir=data, rate_per_minute=1))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        while (response := client.post("/chat/stream", json={})).status_code != 429:
            pass
    return as_reply(response)


def fault(data: Path, _: Path, monkeypatch: pytest.MonkeyPatch) -> Reply:
    with monkeypatch.context() as patched:
        patched.setattr(LocalEmbedder, "embed_query", None)
        return recorded(data)


def no_book(_: Path, tmp_path: Path, __: object) -> Reply:
    return recorded(tmp_path)


def too_slow(data: Path, *_: object) -> Reply:
    return recorded(data, request_seconds=0.001)


def too_long(data: Path, *_: object) -> Reply:
    return recorded(data, {"query": 32_001 * "x"})


ERRORS: dict[str, tuple[int, str, Callable[..., Reply]]] = {
    "no key": (401, "unauthorized", no_key),
    "too large": (413, "large", too_large),
    "too often": (429, "busy", too_often),
    "a fault": (500, "failed", fault),
    "no book": (503, "unavailable", no_book),
    "too slow": (504, "slow", too_slow),
    "too long": (400, "large", too_long),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_told_in_plain_words_and_can_be_tried_again(
    page: Page, between: Between, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    status, kind, record = ERRORS[name]
    reply = record(data, tmp_path, monkeypatch)
    assert reply.status == status
    between.replies = [reply]
    page.clock.install()
    turn = ask(open_chat(page), QUESTION)
    failed(page, turn, kind)
    expect(trouble(turn)).not_to_contain_text(re.compile(r"[{}<>]|_|undefined|null|\d{3}(?! s)"))
    page.clock.fast_forward(3_600_000)
    again(page, turn)
    assert between.asked == [ASKED, ASKED]


@pytest.mark.parametrize("name", ["too often", "no book"])
def test_the_button_counts_down_until_it_may_be_used(
    page: Page, between: Between, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    reply = ERRORS[name][2](data, tmp_path, monkeypatch)
    seconds = int(reply.headers["retry-after"])
    between.replies = [reply]
    page.clock.install()
    turn = ask(open_chat(page), QUESTION)
    waiting = trouble(turn).get_by_role("button")
    expect(waiting).to_be_disabled()
    before = int(re.sub(r"\D", "", waiting.inner_text()))
    assert 0 < before <= seconds
    page.clock.fast_forward(10_000)
    expect(waiting).to_have_text(re.compile(rf"^Try again in ({'|'.join(map(str, range(1, before - 9)))}) s$"))
    expect(waiting).to_be_disabled()
    page.clock.fast_forward(1000 * seconds)
    expect(waiting).to_be_enabled()
    again(page, turn)


def test_the_next_question_does_not_wait_for_one_that_failed(
    page: Page, between: Between, data: Path, tmp_path: Path
) -> None:
    held = threading.Event()
    between.replies = [recorded(tmp_path).sending(held, b"{}")]
    open_chat(page)
    first = ask(page, QUESTION, wait=False)
    second = ask(page, QUESTION, wait=False)
    expect(second).to_contain_text(words(page, "waiting"))
    held.set()
    is_whole(page, second)
    failed(page, first, "unavailable")


def test_an_error_that_is_no_json_is_told_the_same(page: Page, between: Between) -> None:
    between.replies = [Reply(502, {"Content-Type": "text/html"}, (b"<html><h1>Bad gateway</h1></html>",))]
    turn = ask(open_chat(page), QUESTION)
    failed(page, turn, "failed")
    expect(turn).not_to_contain_text("gateway")
    again(page, turn)


def test_a_page_in_place_of_an_answer_is_no_answer(page: Page, between: Between) -> None:
    between.replies = [Reply(200, {"Content-Type": "text/html"}, (b"<html><h1>Welcome</h1></html>\n\n",))]
    turn = ask(open_chat(page), QUESTION)
    expect(turn).not_to_contain_text("Welcome")
    expect(trouble(turn)).to_have_count(1)
    again(page, turn)


# No connection.


def test_offline(page: Page, between: Between) -> None:
    open_chat(page)
    page.context.set_offline(True)
    turn = ask(page, QUESTION)
    failed(page, turn, "offline")
    page.context.set_offline(False)
    again(page, turn)


def test_a_server_that_hangs_up(page: Page, between: Between) -> None:
    between.replies = [SILENCE]
    turn = ask(open_chat(page), QUESTION)
    failed(page, turn, "unreachable")
    again(page, turn)


def test_a_page_of_an_origin_that_may_not_ask(
    open_page: OpenPage, between: Between, site: Site, complaints: browser.Complaints
) -> None:
    complaints.allow("blocked by CORS policy")
    chat = f'<glossator-chat></glossator-chat><script type="module" src="{between.url}/widget.js"></script>'
    page = open_chat(open_page(), site.add("/stranger", chat))
    turn = ask(page, QUESTION)
    failed(page, turn, "unreachable")
    button(page, words(page, "retry")).click()
    failed(page, turn, "unreachable")
    assert between.asked == []


# Silence. The page's clock is moved; what was read is counted, so that nothing is said too early.

COUNTED = """
const read = ReadableStreamDefaultReader.prototype.read;
ReadableStreamDefaultReader.prototype.read = async function () {
    const found = await read.call(this);
    globalThis.reads = (globalThis.reads ?? 0) + 1;
    return found;
};
"""


def test_a_server_that_never_answers(page: Page, between: Between) -> None:
    never = threading.Event()
    between.replies = [SILENCE.sending(never)]
    page.clock.install()
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(words(page, "thinking"))
    page.clock.fast_forward(10_000)
    expect(trouble(turn)).to_have_count(0)
    page.clock.fast_forward(30_000)
    failed(page, turn, "slow")
    never.set()
    again(page, turn)


def test_a_stream_that_falls_silent(page: Page, between: Between, stream: Reply) -> None:
    never = threading.Event()
    between.replies = [stream.sending(stream.events[0], never, breaks=True)]
    page.clock.install()
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(FACT)
    page.clock.fast_forward(31_000)
    failed(page, turn, "slow")
    expect(turn).to_contain_text(FACT)
    never.set()
    again(page, turn)


def test_signs_of_life_keep_an_answer_waited_for(page: Page, between: Between, stream: Reply) -> None:
    alive = [threading.Event() for _ in range(4)]
    beats = [piece for event in alive for piece in (event, b": still here\n\n")]
    go_on = threading.Event()
    between.replies = [stream.sending(*beats, go_on, *stream.events)]
    page.add_init_script(COUNTED)
    page.clock.install()
    turn = ask(open_chat(page), QUESTION, wait=False)
    for count, event in enumerate(alive, 1):
        event.set()
        page.wait_for_function("count => globalThis.reads === count", arg=count)
        page.clock.fast_forward(20_000)
        expect(turn).to_contain_text(words(page, "thinking"))
    go_on.set()
    is_whole(page, turn)


# Streams that break.


def begun(page: Page, between: Between, stream: Reply, *later: Reply, end: int = 1, breaks: bool = True) -> Locator:
    """An exchange whose first events were shown before the connection broke."""
    shown = threading.Event()
    between.replies = [stream.sending(*stream.events[:end], shown, breaks=breaks), *later]
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(FACT)
    shown.set()
    return turn


def test_a_broken_stream_is_taken_up_where_it_stopped(page: Page, between: Between, stream: Reply) -> None:
    held = threading.Event()
    turn = begun(page, between, stream, stream.sending(held, *stream.events[1:]))
    expect(turn).to_contain_text(FACT)
    held.set()
    is_whole(page, turn)
    assert between.resumed == [None, id_of(stream.events[0])]
    assert between.asked == [ASKED, ASKED]


@pytest.mark.parametrize("breaks", [True, False], ids=["broken", "ended early"])
@pytest.mark.parametrize("end", [1, -2, -1], ids=["after a sentence", "before the sources", "after the sources"])
def test_the_server_itself_says_the_rest(page: Page, between: Between, stream: Reply, end: int, breaks: bool) -> None:
    is_whole(page, begun(page, between, stream, end=end, breaks=breaks))
    assert between.resumed == [None, id_of(stream.events[:end][-1])]


def test_a_stream_that_breaks_in_the_middle_of_an_event(page: Page, between: Between, stream: Reply) -> None:
    shown = threading.Event()
    first, second = stream.events[:2]
    between.replies = [stream.sending(first, second[:-3], shown, breaks=True)]
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(FACT)
    shown.set()
    is_whole(page, turn)
    assert between.resumed == [None, id_of(first)]


def test_a_stream_that_breaks_before_its_first_event(page: Page, between: Between, stream: Reply) -> None:
    between.replies = [stream.sending(stream.events[0][:20], breaks=True)]
    turn = ask(open_chat(page), QUESTION)
    failed(page, turn, "interrupted")
    again(page, turn)


def test_what_came_is_kept_when_the_rest_cannot_be_had(page: Page, between: Between, stream: Reply) -> None:
    turn = begun(page, between, stream, SILENCE, SILENCE)
    failed(page, turn, "interrupted")
    expect(turn).to_contain_text(FACT)
    assert len(between.asked) == 3
    again(page, turn)
    assert between.resumed[-1] is None


def test_a_stream_that_never_ends_well_is_marked(page: Page, between: Between, stream: Reply) -> None:
    between.replies = [stream.sending(stream.events[0]), stream.sending(), stream.sending()]
    turn = ask(open_chat(page), QUESTION)
    failed(page, turn, "interrupted")
    expect(turn).to_contain_text(FACT)
    again(page, turn)


def test_offline_in_mid_stream(page: Page, between: Between, stream: Reply) -> None:
    held = threading.Event()
    between.replies = [stream.sending(stream.events[0], held, breaks=True)]
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(FACT)
    page.context.set_offline(True)
    held.set()
    expect(trouble(turn)).to_have_count(1)
    expect(turn).to_contain_text(FACT)
    page.context.set_offline(False)
    again(page, turn)


def test_a_server_that_is_busy_when_one_comes_back(page: Page, between: Between, data: Path, stream: Reply) -> None:
    page.clock.install()
    turn = begun(page, between, stream, too_often(data))
    failed(page, turn, "busy")
    expect(turn).to_contain_text(FACT)
    page.clock.fast_forward(3_600_000)
    again(page, turn)


def test_a_stream_that_the_server_lost(page: Page, between: Between, data: Path, stream: Reply) -> None:
    unknown = {"Last-Event-ID": "00000000-0000-4000-8000-000000000000.9.00000000"}
    lost = recorded(data, headers=unknown)
    assert b"STREAM_LOST" in lost.body
    turn = begun(page, between, stream, lost)
    failed(page, turn, "failed")
    expect(turn).to_contain_text(FACT)
    again(page, turn)


def test_an_error_in_mid_stream(page: Page, between: Between, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answering(*_asked: object, **_more: object) -> AsyncIterator[str]:
        yield Delta("Some words.")
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr("glossator.pipeline.answering.answer_question", answering)
        between.replies = [recorded(data)]
    assert b"event: error" in between.replies[0].body
    turn = ask(open_chat(page), QUESTION)
    expect(turn).to_contain_text("Some words.")
    failed(page, turn, "failed")
    again(page, turn)


def id_of(event: bytes) -> str:
    (found,) = re.findall(rb"^id: (.*)$", event, re.MULTILINE)
    return str(found, "ascii")


# Streams that are written otherwise, or not as they should be.

SLIVERS = """
const read = ReadableStreamDefaultReader.prototype.read;
const held = new WeakMap();
ReadableStreamDefaultReader.prototype.read = async function () {
    if (!held.get(this)?.length) {
        const found = await read.call(this);
        if (found.done) return found;
        held.set(this, found.value);
    }
    const [first, rest] = [held.get(this).slice(0, 1), held.get(this).slice(1)];
    held.set(this, rest);
    return { done: false, value: first };
};
"""
"""Everything is read byte by byte: in the middle of characters, of line ends and of names."""
SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda body: body,
    "CRLF": lambda body: body.replace(b"\n", b"\r\n"),
    "comments": lambda body: b": hello\n\n" + body.replace(b"\n\n", b"\n\n: still here\n\n:\n\n"),
    "comments within": lambda body: body.replace(b"data: ", b": a comment\ndata: "),
    "no blanks": lambda body: body.replace(b"event: ", b"event:").replace(b"data: ", b"data:"),
    "other fields": lambda body: body.replace(b"event: ", b"retry: 10\nevent: "),
    "other events": lambda body: b'event: news\ndata: {"delta": "News!"}\n\n' + body,
    "empty events": lambda body: b"event: delta\n\n" + body,
    "a byte order mark": lambda body: "\ufeff".encode() + body,
}


@pytest.mark.parametrize("slivers", [False, True], ids=["whole", "byte by byte"])
def test_a_stream_may_be_written_and_cut_in_many_ways(
    page: Page, between: Between, stream: Reply, slivers: bool
) -> None:
    if slivers:
        page.add_init_script(SLIVERS)
    open_chat(page)
    for number, spelled in enumerate(SPELLINGS.values(), 1):
        between.replies = [stream.sending(spelled(stream.body))]
        turn = ask(page, QUESTION)
        is_whole(page, turn)
        expect(turn).not_to_contain_text("News!")
        assert len(between.asked) == number


SEPARATORS = ("\u2028", "\u2029", "\x85", "\v", "\f", "\0")
FORGED = ("event: error", 'data: {"delta": "Forged."}', "id: forged")


def test_no_character_of_a_text_ends_a_line(page: Page, between: Between, stream: Reply) -> None:
    open_chat(page)
    for number, (separator, forged) in enumerate(product(SEPARATORS, FORGED), 1):
        text = f"Words{separator}{forged} "
        event = b"event: delta\ndata: " + json.dumps({"delta": text}, ensure_ascii=False).encode() + b"\n\n"
        between.replies = [stream.sending(event, *stream.events)]
        turn = ask(page, QUESTION)
        is_whole(page, turn)
        expect(turn).to_contain_text("Words")
        expect(turn).to_contain_text(forged)
        assert len(between.asked) == number


def test_a_delta_that_makes_no_sense_is_never_shown(page: Page, between: Between, stream: Reply) -> None:
    open_chat(page)
    first, *rest = stream.events
    for wrong in (b"{", b"null", b"5", b"[]", b'"x"', b"{}", b'{"delta": null}', b'{"delta": {"a": 1}}', b"<p>"):
        between.replies = [stream.sending(first, b"event: delta\ndata: " + wrong + b"\n\n", *rest)]
        turn = ask(page, QUESTION)
        expect(turn).to_contain_text(FACT)
        expect(turn).not_to_contain_text(re.compile(r"undefined|null|\[object|NaN"))
        is_whole(page, turn)


def test_sources_that_make_no_sense_leave_the_answer(page: Page, between: Between, stream: Reply) -> None:
    open_chat(page)
    *deltas, _, done = stream.events
    for wrong in (b"{", b"null", b"{}", b'{"sources": null, "metadata": null}', b'{"sources": [], "metadata": {}}'):
        between.replies = [stream.sending(*deltas, b"event: sources\ndata: " + wrong + b"\n\n", done)]
        turn = ask(page, QUESTION)
        expect(turn).not_to_contain_text(re.compile(r"undefined|null|\[object|NaN"))
        text = turn.locator("[part=answer]").inner_text()
        assert [text.count(sentence) for sentence in SENTENCES] == [1] * len(SENTENCES)


# Answers that are less than they could be.


def test_an_answer_without_the_language_model_is_labelled(
    page: Page, between: Between, data: Path, model: LlmServer
) -> None:
    model.script(fails(500))
    between.replies = [recorded(data, **scripted(model))]
    turn = ask(open_chat(page), QUESTION)
    expect(turn.locator("[part=degraded]")).to_have_text(words(page, "degraded"))
    expect(turn).to_contain_text(FACT)
    expect(trouble(turn)).to_have_count(0)


def test_an_answer_that_is_not_stored_says_so(page: Page, between: Between, stream: Reply) -> None:
    body = stream.body.replace(b'"stored": true', b'"stored": false')
    assert body != stream.body
    between.replies = [stream.sending(body)]
    turn = ask(open_chat(page), QUESTION)
    is_whole(page, turn)
    expect(turn).to_contain_text(words(page, "notStored"))


def test_an_earlier_conversation_that_cannot_be_had_stops_nobody(page: Page, between: Between) -> None:
    open_chat(page)
    is_whole(page, ask(page, QUESTION))
    page.route("**/history/**", lambda route: route.abort())
    page.reload()
    expect(browser.field_of(page)).to_be_visible()
    is_whole(page, ask(page, QUESTION))


def test_a_rating_that_is_not_taken_says_so(page: Page, between: Between) -> None:
    turn = ask(open_chat(page), QUESTION)
    page.route("**/feedback", lambda route: route.abort())
    button(page, words(page, "up")).click()
    expect(page.locator("glossator-chat [role=status]")).to_contain_text(words(page, "unreachable"))
    page.unroute("**/feedback")
    button(page, words(page, "up")).click()
    expect(turn).to_contain_text(words(page, "thanks"))
    expect(answers(page)).to_have_count(1)


def test_every_mark_tells_its_own_verdict(page: Page, between: Between, stream: Reply) -> None:
    source = browser.cited(f"{between.url}/book/balance", FACT)
    verdicts = [{"citations": [1], "status": status, "score": 0.5} for status in ("supported", "unsupported")]
    told = browser.events("One sentence. [1] Another one. [1]", source, verdicts=verdicts)
    between.replies = [stream.sending(told.encode())]
    turn = ask(open_chat(page), QUESTION)
    card = page.locator("glossator-chat [part=card]")
    for mark, key in zip(turn.locator("[part=mark]").all(), ("supported", "flagged"), strict=True):
        mark.focus()
        expect(card).to_contain_text(words(page, key))
