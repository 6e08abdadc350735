"""Errors in the chat: each is explained, loses no question, and can be retried."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import browser
import faulty_proxy
from answer_streams import answer_stream, cited_source
from browser import OpenPage, Site, answers, ask, button, chat_text, open_chat
from doors import FACT, QUESTION
from faulty_proxy import (
    NO_RESPONSE,
    REQUEST_BODY,
    CannedResponse,
    FaultyProxy,
    error_box,
    expect_complete,
    expect_error,
    llm_settings,
    rate_limited,
    record_response,
    retry,
)
from glossator.embed.local import LocalEmbedder
from glossator.serve.auth.callers import Scope
from glossator.serve.auth.keys import KeyStore
from llm_server import LlmServer, fails

pytestmark = pytest.mark.slow

data, model, shared_proxy = faulty_proxy.data, faulty_proxy.model, faulty_proxy.shared_proxy
address, proxy, stream = faulty_proxy.address, faulty_proxy.proxy, faulty_proxy.stream


def missing_key(data: Path, tmp_path: Path, _: pytest.MonkeyPatch) -> CannedResponse:
    KeyStore(tmp_path / "keys.json").create("ada", [Scope.READ])
    return record_response(tmp_path)


def body_too_large(data: Path, *_: object) -> CannedResponse:
    return record_response(data, REQUEST_BODY | {"selected_text": 2000 * "x"}, max_body_bytes=1000)


def internal_error(data: Path, _: Path, monkeypatch: pytest.MonkeyPatch) -> CannedResponse:
    with monkeypatch.context() as patched:
        patched.setattr(LocalEmbedder, "embed_query", None)
        return record_response(data)


def no_index(_: Path, tmp_path: Path, __: object) -> CannedResponse:
    return record_response(tmp_path)


def timed_out(data: Path, *_: object) -> CannedResponse:
    return record_response(data, request_seconds=0.001)


def question_too_long(data: Path, *_: object) -> CannedResponse:
    return record_response(data, {"query": 32_001 * "x"})


def invalid_request(data: Path, *_: object) -> CannedResponse:
    return record_response(data, REQUEST_BODY | {"filters": {"unknown": 1}})


ERRORS: dict[str, tuple[int, str, Callable[..., CannedResponse]]] = {
    "missing key": (401, "unauthorized", missing_key),
    "rate limited": (429, "busy", rate_limited),
    "internal error": (500, "failed", internal_error),
    "no index": (503, "unavailable", no_index),
    "timed out": (504, "slow", timed_out),
}
FINAL_ERRORS: dict[str, tuple[int, str, Callable[..., CannedResponse]]] = {
    "body too large": (413, "large", body_too_large),
    "question too long": (400, "large", question_too_long),
    "invalid request": (400, "refused", invalid_request),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_explained_and_can_be_retried(
    page: Page, proxy: FaultyProxy, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    status, kind, record = ERRORS[name]
    reply = record(data, tmp_path, monkeypatch)
    assert reply.status == status
    proxy.replies = [reply]
    proxy.token_reply = reply if status == 401 else None
    page.clock.install()
    turn = ask(open_chat(page), QUESTION)
    expect_error(page, turn, kind)
    expect(error_box(turn)).not_to_contain_text(re.compile(r"[{}<>]|_|undefined|null|\d{3}(?! s)"))
    page.clock.fast_forward(3_600_000)
    retry(page, turn)
    assert proxy.bodies == [REQUEST_BODY, REQUEST_BODY]


@pytest.mark.parametrize("name", FINAL_ERRORS)
def test_a_request_that_would_fail_again_offers_no_retry(
    page: Page, proxy: FaultyProxy, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    status, kind, record = FINAL_ERRORS[name]
    reply = record(data, tmp_path, monkeypatch)
    assert reply.status == status
    proxy.replies = [reply]
    turn = ask(open_chat(page), QUESTION)
    expect_error(page, turn, kind)
    expect(error_box(turn).get_by_role("button")).to_have_count(0)
    expect_complete(page, ask(page, QUESTION))


def test_a_host_that_the_server_does_not_serve_offers_no_retry(page: Page, proxy: FaultyProxy, data: Path) -> None:
    reply = record_response(data, headers={"Host": "elsewhere.example"})
    assert reply.status == 421
    proxy.replies = [reply, reply]  # Chromium itself sends such a request again
    turn = ask(open_chat(page), QUESTION)
    expect_error(page, turn, "refused")
    expect(error_box(turn).get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize("name", ["rate limited", "no index"])
def test_the_retry_button_counts_down_to_retry_after(
    page: Page, proxy: FaultyProxy, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    reply = ERRORS[name][2](data, tmp_path, monkeypatch)
    seconds = int(reply.headers["retry-after"])
    proxy.replies = [reply]
    page.clock.install()
    turn = ask(open_chat(page), QUESTION)
    waiting = error_box(turn).get_by_role("button")
    expect(waiting).to_be_disabled()
    before = int(re.sub(r"\D", "", waiting.inner_text()))
    assert 0 < before <= seconds
    page.clock.fast_forward(10_000)
    expect(waiting).to_have_text(re.compile(rf"^Try again in ({'|'.join(map(str, range(1, before - 9)))}) s$"))
    expect(waiting).to_be_disabled()
    page.clock.fast_forward(1000 * seconds)
    expect(waiting).to_be_enabled()
    retry(page, turn)


def test_a_failed_question_does_not_block_the_next(page: Page, proxy: FaultyProxy, data: Path, tmp_path: Path) -> None:
    held = threading.Event()
    proxy.replies = [record_response(tmp_path).with_pieces(held, b"{}")]
    open_chat(page)
    first = ask(page, QUESTION, wait=False)
    second = ask(page, QUESTION, wait=False)
    expect(second).to_contain_text(chat_text(page, "waiting"))
    held.set()
    expect_complete(page, second)
    expect_error(page, first, "unavailable")


def test_an_error_without_json_is_explained(page: Page, proxy: FaultyProxy) -> None:
    proxy.replies = [CannedResponse(502, {"Content-Type": "text/html"}, (b"<html><h1>Bad gateway</h1></html>",))]
    turn = ask(open_chat(page), QUESTION)
    expect_error(page, turn, "failed")
    expect(turn).not_to_contain_text("gateway")
    retry(page, turn)


def test_a_web_page_instead_of_a_stream_is_an_error(page: Page, proxy: FaultyProxy) -> None:
    proxy.replies = [CannedResponse(200, {"Content-Type": "text/html"}, (b"<html><h1>Welcome</h1></html>\n\n",))]
    turn = ask(open_chat(page), QUESTION)
    expect(turn).not_to_contain_text("Welcome")
    expect(error_box(turn)).to_have_count(1)
    retry(page, turn)


def test_offline(page: Page, proxy: FaultyProxy) -> None:
    open_chat(page)
    page.context.set_offline(True)
    turn = ask(page, QUESTION)
    expect_error(page, turn, "offline")
    page.context.set_offline(False)
    retry(page, turn)


def test_the_server_closes_the_connection(page: Page, proxy: FaultyProxy) -> None:
    proxy.replies = [NO_RESPONSE]
    turn = ask(open_chat(page), QUESTION)
    expect_error(page, turn, "unreachable")
    retry(page, turn)


def test_an_origin_that_is_not_allowed(
    open_page: OpenPage, proxy: FaultyProxy, site: Site, console_errors: browser.ConsoleErrors
) -> None:
    console_errors.allow("blocked by CORS policy")
    chat = f'<glossator-chat></glossator-chat><script type="module" src="{proxy.url}/widget.js"></script>'
    page = open_chat(open_page(), site.add("/stranger", chat))
    turn = ask(page, QUESTION)
    expect_error(page, turn, "unreachable")
    button(page, chat_text(page, "retry")).click()
    expect_error(page, turn, "unreachable")
    assert proxy.bodies == []


COUNT_READS = """
const read = ReadableStreamDefaultReader.prototype.read;
ReadableStreamDefaultReader.prototype.read = async function () {
    const found = await read.call(this);
    globalThis.reads = (globalThis.reads ?? 0) + 1;
    return found;
};
"""


def test_a_server_that_never_responds_times_out(page: Page, proxy: FaultyProxy) -> None:
    never = threading.Event()
    proxy.replies = [NO_RESPONSE.with_pieces(never)]
    page.clock.install()
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(chat_text(page, "thinking"))
    page.clock.fast_forward(10_000)
    expect(error_box(turn)).to_have_count(0)
    page.clock.fast_forward(30_000)
    expect_error(page, turn, "slow")
    never.set()
    retry(page, turn)


def test_a_silent_stream_times_out(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    never = threading.Event()
    proxy.replies = [stream.with_pieces(stream.events[0], never, breaks=True)]
    page.clock.install()
    turn = ask(open_chat(page), QUESTION, wait=False)
    expect(turn).to_contain_text(FACT)
    page.clock.fast_forward(31_000)
    expect_error(page, turn, "slow")
    expect(turn).to_contain_text(FACT)
    never.set()
    retry(page, turn)


def test_heartbeats_prevent_the_timeout(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    alive = [threading.Event() for _ in range(4)]
    beats = [piece for event in alive for piece in (event, b": keep-alive\n\n")]
    go_on = threading.Event()
    proxy.replies = [stream.with_pieces(*beats, go_on, *stream.events)]
    page.add_init_script(COUNT_READS)
    page.clock.install()
    turn = ask(open_chat(page), QUESTION, wait=False)
    for count, event in enumerate(alive, 1):
        event.set()
        page.wait_for_function("count => globalThis.reads === count", arg=count)
        page.clock.fast_forward(20_000)
        expect(turn).to_contain_text(chat_text(page, "thinking"))
    go_on.set()
    expect_complete(page, turn)


def test_a_degraded_answer_is_labelled(page: Page, proxy: FaultyProxy, data: Path, model: LlmServer) -> None:
    model.script(fails(500))
    proxy.replies = [record_response(data, **llm_settings(model))]
    turn = ask(open_chat(page), QUESTION)
    expect(turn.locator("[part=degraded]")).to_have_text(chat_text(page, "degraded"))
    expect(turn).to_contain_text(FACT)
    expect(error_box(turn)).to_have_count(0)


def test_an_answer_that_was_not_stored_says_so(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    body = stream.body.replace(b'"stored": true', b'"stored": false')
    assert body != stream.body
    proxy.replies = [stream.with_pieces(body)]
    turn = ask(open_chat(page), QUESTION)
    expect_complete(page, turn)
    expect(turn).to_contain_text(chat_text(page, "notStored"))


def test_a_history_that_cannot_be_loaded_is_ignored(page: Page, proxy: FaultyProxy) -> None:
    open_chat(page)
    expect_complete(page, ask(page, QUESTION))
    page.route("**/history/**", lambda route: route.abort())
    page.reload()
    expect(browser.field_of(page)).to_be_visible()
    expect_complete(page, ask(page, QUESTION))


def test_a_failed_rating_says_so(page: Page, proxy: FaultyProxy) -> None:
    turn = ask(open_chat(page), QUESTION)
    page.route("**/feedback", lambda route: route.abort())
    button(page, chat_text(page, "up")).click()
    expect(page.locator("glossator-chat [role=status]")).to_contain_text(chat_text(page, "unreachable"))
    page.unroute("**/feedback")
    button(page, chat_text(page, "up")).click()
    expect(turn).to_contain_text(chat_text(page, "thanks"))
    expect(answers(page)).to_have_count(1)


def test_every_citation_shows_its_own_verdict(page: Page, proxy: FaultyProxy, stream: CannedResponse) -> None:
    source = cited_source(f"{proxy.url}/book/balance", FACT)
    verdicts = [{"citations": [1], "status": status, "score": 0.5} for status in ("supported", "unsupported")]
    stream_text = answer_stream("One sentence. [1] Another one. [1]", source, verdicts=verdicts)
    proxy.replies = [stream.with_pieces(stream_text.encode())]
    turn = ask(open_chat(page), QUESTION)
    card = page.locator("glossator-chat [part=card]")
    for mark, key in zip(turn.locator("[part=mark]").all(), ("supported", "flagged"), strict=True):
        mark.focus()
        expect(card).to_contain_text(chat_text(page, key))
