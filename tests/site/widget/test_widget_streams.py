"""Streams in the chat: interrupted ones are resumed, and unusual or malformed ones are handled."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncIterator, Callable
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import faulty_proxy
from browser import ask, open_chat
from doors import FACT, QUESTION
from faulty_proxy import (
    NO_RESPONSE,
    REQUEST_BODY,
    SENTENCES,
    CannedResponse,
    FaultyProxy,
    error_box,
    expect_complete,
    expect_error,
    rate_limited,
    record_response,
    retry,
)
from glossator.core.answers import Delta

pytestmark = pytest.mark.slow

data, model, shared_proxy = faulty_proxy.data, faulty_proxy.model, faulty_proxy.shared_proxy
address, proxy, stream = faulty_proxy.address, faulty_proxy.proxy, faulty_proxy.stream


def ask_and_disconnect(
    page: Page, proxy: FaultyProxy, stream: CannedResponse, *later: CannedResponse, end: int = 1, breaks: bool = True
) -> Locator:
    """Ask a question; the connection is lost after its first events were shown."""
    shown = threading.Event()
    proxy.replies = [stream.with_pieces(*stream.events[:end], shown, breaks=breaks), *later]
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(FACT)
    shown.set()
    return turn


def test_an_interrupted_stream_is_resumed(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    held = threading.Event()
    turn = ask_and_disconnect(page, proxy, stream, stream.with_pieces(held, *stream.events[1:]))
    expect(turn).to_contain_text(FACT)
    held.set()
    expect_complete(page, turn)
    assert proxy.resumed == [None, id_of(stream.events[0])]
    assert proxy.bodies == [REQUEST_BODY, REQUEST_BODY]


@pytest.mark.parametrize("breaks", [True, False], ids=["connection lost", "ended early"])
@pytest.mark.parametrize("end", [1, -2, -1], ids=["after a sentence", "before the sources", "after the sources"])
def test_the_server_sends_the_rest_of_an_interrupted_stream(
    page: Page, proxy: FaultyProxy, stream: CannedResponse, end: int, breaks: bool
) -> None:
    expect_complete(page, ask_and_disconnect(page, proxy, stream, end=end, breaks=breaks))
    assert proxy.resumed == [None, id_of(stream.events[:end][-1])]


def test_a_stream_interrupted_within_an_event(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    shown = threading.Event()
    first, second = stream.events[:2]
    proxy.replies = [stream.with_pieces(first, second[:-3], shown, breaks=True)]
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(FACT)
    shown.set()
    expect_complete(page, turn)
    assert proxy.resumed == [None, id_of(first)]


def test_a_stream_interrupted_before_its_first_event(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    proxy.replies = [stream.with_pieces(stream.events[0][:20], breaks=True)]
    turn = ask(open_chat(page), QUESTION)
    expect_error(page, turn, "interrupted")
    retry(page, turn)


def test_received_text_stays_when_the_stream_cannot_be_resumed(
    page: Page, proxy: FaultyProxy, stream: CannedResponse
) -> None:
    turn = ask_and_disconnect(page, proxy, stream, NO_RESPONSE, NO_RESPONSE)
    expect_error(page, turn, "interrupted")
    expect(turn).to_contain_text(FACT)
    assert len(proxy.bodies) == 3
    retry(page, turn)
    assert proxy.resumed[-1] is None


def test_a_stream_that_never_completes_is_an_error(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    proxy.replies = [stream.with_pieces(stream.events[0]), stream.with_pieces(), stream.with_pieces()]
    turn = ask(open_chat(page), QUESTION)
    expect_error(page, turn, "interrupted")
    expect(turn).to_contain_text(FACT)
    retry(page, turn)


def test_offline_during_a_stream(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    held = threading.Event()
    proxy.replies = [stream.with_pieces(stream.events[0], held, breaks=True)]
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(FACT)
    page.context.set_offline(True)
    held.set()
    expect(error_box(turn)).to_have_count(1)
    expect(turn).to_contain_text(FACT)
    page.context.set_offline(False)
    retry(page, turn)


def test_a_rate_limit_while_resuming(page: Page, proxy: FaultyProxy, data: Path, stream: CannedResponse) -> None:
    page.clock.install()
    turn = ask_and_disconnect(page, proxy, stream, rate_limited(data))
    expect_error(page, turn, "busy")
    expect(turn).to_contain_text(FACT)
    page.clock.fast_forward(3_600_000)
    retry(page, turn)


def test_resuming_a_stream_that_the_server_has_lost(
    page: Page, proxy: FaultyProxy, data: Path, stream: CannedResponse
) -> None:
    unknown = {"Last-Event-ID": "00000000-0000-4000-8000-000000000000.9.00000000"}
    lost = record_response(data, headers=unknown)
    assert b"STREAM_LOST" in lost.body
    turn = ask_and_disconnect(page, proxy, stream, lost)
    expect_error(page, turn, "failed")
    expect(turn).to_contain_text(FACT)
    retry(page, turn)


def test_an_error_event_in_a_stream(
    page: Page, proxy: FaultyProxy, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answering(*_args: object, **_kwargs: object) -> AsyncIterator[str]:
        yield Delta("Some words.")
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr("glossator.pipeline.answering.answer_question", answering)
        proxy.replies = [record_response(data)]
    assert b"event: error" in proxy.replies[0].body
    turn = ask(open_chat(page), QUESTION)
    expect(turn).to_contain_text("Some words.")
    expect_error(page, turn, "failed")
    retry(page, turn)


def id_of(event: bytes) -> str:
    (found,) = re.findall(rb"^id: (.*)$", event, re.MULTILINE)
    return str(found, "ascii")


READ_BYTE_BY_BYTE = """
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
"""Streams are read byte by byte: in the middle of characters, of line ends and of names."""
SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda body: body,
    "CRLF": lambda body: body.replace(b"\n", b"\r\n"),
    "comments": lambda body: b": hello\n\n" + body.replace(b"\n\n", b"\n\n: keep-alive\n\n:\n\n"),
    "comments within": lambda body: body.replace(b"data: ", b": a comment\ndata: "),
    "no blanks": lambda body: body.replace(b"event: ", b"event:").replace(b"data: ", b"data:"),
    "other fields": lambda body: body.replace(b"event: ", b"retry: 10\nevent: "),
    "other events": lambda body: b'event: news\ndata: {"delta": "News!"}\n\n' + body,
    "empty events": lambda body: b"event: delta\n\n" + body,
    "a byte order mark": lambda body: "\ufeff".encode() + body,
}


@pytest.mark.parametrize("byte_by_byte", [False, True], ids=["whole", "byte by byte"])
def test_all_spellings_of_a_stream_are_parsed(
    page: Page, proxy: FaultyProxy, stream: CannedResponse, byte_by_byte: bool
) -> None:
    if byte_by_byte:
        page.add_init_script(READ_BYTE_BY_BYTE)
    open_chat(page)
    for number, spelled in enumerate(SPELLINGS.values(), 1):
        proxy.replies = [stream.with_pieces(spelled(stream.body))]
        turn = ask(page, QUESTION)
        expect_complete(page, turn)
        expect(turn).not_to_contain_text("News!")
        assert len(proxy.bodies) == number


SEPARATORS = ("\u2028", "\u2029", "\x85", "\v", "\f", "\0")
FORGED = ("event: error", 'data: {"delta": "Forged."}', "id: forged")


def test_no_character_of_a_text_ends_an_event_line(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    open_chat(page)
    for number, (separator, forged) in enumerate(product(SEPARATORS, FORGED), 1):
        text = f"Words{separator}{forged} "
        event = b"event: delta\ndata: " + json.dumps({"delta": text}, ensure_ascii=False).encode() + b"\n\n"
        proxy.replies = [stream.with_pieces(event, *stream.events)]
        turn = ask(page, QUESTION)
        expect_complete(page, turn)
        expect(turn).to_contain_text("Words")
        expect(turn).to_contain_text(forged)
        assert len(proxy.bodies) == number


def test_a_malformed_delta_is_never_shown(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    open_chat(page)
    first, *rest = stream.events
    for wrong in (b"{", b"null", b"5", b"[]", b'"x"', b"{}", b'{"delta": null}', b'{"delta": {"a": 1}}', b"<p>"):
        proxy.replies = [stream.with_pieces(first, b"event: delta\ndata: " + wrong + b"\n\n", *rest)]
        turn = ask(page, QUESTION)
        expect(turn).to_contain_text(FACT)
        expect(turn).not_to_contain_text(re.compile(r"undefined|null|\[object|NaN"))
        expect_complete(page, turn)


def test_malformed_sources_leave_the_answer(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    open_chat(page)
    *deltas, _, done = stream.events
    for wrong in (b"{", b"null", b"{}", b'{"sources": null, "metadata": null}', b'{"sources": [], "metadata": {}}'):
        proxy.replies = [stream.with_pieces(*deltas, b"event: sources\ndata: " + wrong + b"\n\n", done)]
        turn = ask(page, QUESTION)
        expect(turn).not_to_contain_text(re.compile(r"undefined|null|\[object|NaN"))
        text = turn.locator("[part=answer]").inner_text()
        assert [text.count(sentence) for sentence in SENTENCES] == [1] * len(SENTENCES)
