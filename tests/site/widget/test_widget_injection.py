"""Injection: no text from a book, a question, an answer or a server runs in the chat."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

import browser
import hostile
from answer_streams import answer_stream, cited_source
from browser import (
    CORS_HEADERS,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    launcher,
    marks,
    messages,
    open_chat,
    wait_until_idle,
)
from doors import FACT, PAGES, QUESTION
from hostile import (
    EVIL_URL,
    HOSTILE,
    MARKDOWN_LINKS,
    MARKUP,
    RECORD_CALLS,
    URLS,
    hostile_pages,
    intrusions,
    serving_book,
    with_chat,
)
from llm_server import LlmServer, says

pytestmark = pytest.mark.slow

address, model, page, strict_site = hostile.address, hostile.model, hostile.page, hostile.strict_site


assert len(HOSTILE) >= 60
SHADOW_TEXT = "() => document.querySelector('glossator-chat').shadowRoot.textContent"


def test_the_check_finds_intrusions(page: Page, site: Site, address: str) -> None:
    page.goto(with_chat(site, address, "/check"))
    expect(launcher(page)).to_be_visible()
    page.evaluate(
        "() => { pwned(); const root = document.querySelector('glossator-chat').shadowRoot;"
        " const link = document.createElement('a'); link.setAttribute('href', 'javascript:1');"
        " link.setAttribute('onclick', ''); root.append(link, document.createElement('img')); }"
    )
    assert {"pwned", "attribute onclick=", "address javascript:1", "element img"} <= set(intrusions(page))


def test_a_hostile_book_is_shown_as_text(page: Page, address: str) -> None:
    contents = [f"/book/{name.removesuffix('.md')}" for name in hostile_pages()]
    seen = ""
    for path in contents:
        response = page.goto(path)
        assert response is not None
        assert response.status == 200
        expect(launcher(page)).to_be_visible()
        assert intrusions(page) == []
        seen += page.locator("article").inner_text()
    assert seen.count("pwned") > len(MARKUP)


def test_a_hostile_book_is_quoted_as_text(page: Page) -> None:
    open_chat(page)
    for number in range(0, len(HOSTILE), 4):
        ask(page, f"What is the gadget {number} called by its makers?")
        for mark in marks(page).all()[-2:]:
            mark.focus()
        assert (number, intrusions(page)) == (number, [])
    assert page.evaluate(SHADOW_TEXT).count("pwned") > len(HOSTILE) // 4


def test_a_hostile_question_is_shown_as_text(page: Page) -> None:
    open_chat(page)
    for text in HOSTILE:
        page.locator("glossator-chat").evaluate("(chat, text) => chat.ask(text)", text)
    expect(messages(page)).to_have_count(len(HOSTILE))
    expect(button(page, "Cancel")).to_have_count(0, timeout=240_000)
    wait_until_idle(page)
    assert intrusions(page) == []
    shown = page.locator("glossator-chat .question").all_text_contents()
    assert [text.removeprefix("You: ") for text in shown] == HOSTILE
    page.reload()
    expect(messages(page).nth(40)).to_be_visible()
    assert intrusions(page) == []


@pytest.mark.parametrize(
    ("local", "texts"),
    [(True, [*HOSTILE, *URLS]), (False, [*MARKDOWN_LINKS, *URLS])],  # only addresses depend on the site
    ids=["on the book's own site", "elsewhere"],
)
def test_a_hostile_answer_is_shown_as_text(page: Page, site: Site, address: str, local: bool, texts: list[str]) -> None:
    chat = f'<glossator-chat endpoint="{address}"></glossator-chat>'
    script = f'<script type="module" src="{address}/widget.js"></script>'
    open_chat(page, "/" if local else site.add("/answers", chat + script))
    streams: list[str] = []
    page.route("**/chat/stream", lambda route: route.fulfill(headers=STREAM_HEADERS, body=streams.pop()))
    for number, text in enumerate(texts, 1):
        streams.append(hostile_stream(text))
        turn = ask(page, "What?")
        turn.locator("[part=mark]").first.focus()
        assert (text, intrusions(page)) == (text, [])
        for link in turn.locator("[part=mark]:not([href]), [part=mark][href^='#']").all():
            link.click()
        assert (text, intrusions(page)) == (text, [])
        if number % 10 == 0:  # a long conversation takes long to draw
            button(page, "New conversation").click()


STREAM_HEADERS = {**CORS_HEADERS, "Content-Type": "text/event-stream"}


def hostile_stream(text: str) -> str:
    """An answer stream with this text in every field."""
    source = cited_source(text, text, title=text, section=f"{text}'s")
    place = {"url": text, "title": text, "section": text, "anchor": text}
    return answer_stream(
        f"{text}\n\n[1] {text}",
        source,
        suggestions=[place, place],
        verdicts=[{"citations": [1], "status": text, "score": 1}],
        session_id=text,
        receipt_id=text,
        mode=text,
        fallback_message=text,
        degraded=text,
        withheld=text,
        confidence=text,
    )


SLOW_PATTERNS = ["[", "[x](", "*a", "**a", "`", "``a", "> ", "- ", "1. ", "| ", "a|\n--", "\n- a", "\n  ", "~~~\n"]


def test_no_text_blocks_the_page(page: Page) -> None:
    open_chat(page)
    streams: list[str] = []
    page.route("**/chat/stream", lambda route: route.fulfill(headers=STREAM_HEADERS, body=streams.pop()))
    for text in [*(piece * (10_000 // len(piece)) for piece in SLOW_PATTERNS), "|\n" + 30_000 * "-" + "x"]:
        streams.append(answer_stream(f"{text}\n\nThe end.", cited_source("/x", "x")))
        ask(page, "What?")
        expect(answers(page).last).to_contain_text("The end.")
        button(page, "New conversation").click()


def test_a_hostile_error_is_shown_as_text(page: Page) -> None:
    open_chat(page)
    texts: list[str] = []
    names = ("error_code", "message", "request_id", "details")
    page.route(
        "**/chat/stream",
        lambda route: route.fulfill(status=400, body=json.dumps(dict.fromkeys(names, texts[-1]))),
    )
    for number, text in enumerate(HOSTILE, 1):
        texts.append(text)
        turn = ask(page, "What?")
        expect(turn.locator("[part=trouble]")).to_be_visible()
        assert (text, intrusions(page)) == (text, [])
        if number % 10 == 0:  # a long conversation takes long to draw
            button(page, "New conversation").click()


def with_text(value: Any, text: str) -> Any:
    """The value with every string replaced."""
    if isinstance(value, dict):
        return {key: with_text(each, text) for key, each in value.items()}
    if isinstance(value, list):
        return [with_text(each, text) for each in value]
    return text if isinstance(value, str) else value


def test_a_hostile_history_is_shown_as_text(page: Page, address: str) -> None:
    session = httpx.post(f"{address}/chat", json={"query": QUESTION}).json()["session_id"]
    real = httpx.get(f"{address}/history/{session}", params={"details": True}).json()
    entries = [with_text(entry, text) | {"response": f"{text}\n\n[1]"} for entry in real["entries"] for text in HOSTILE]
    history = json.dumps(real | {"entries": entries})
    page.route("**/history/**", lambda route: route.fulfill(content_type="application/json", body=history))
    page.add_init_script("localStorage.setItem(`glossator:${location.origin}/`, '../<img src=x onerror=pwned()>')")
    open_chat(page)
    expect(messages(page)).to_have_count(len(HOSTILE))
    for mark in marks(page).all()[:5]:
        mark.focus()
    assert intrusions(page) == []


def test_a_session_id_cannot_change_the_path(page: Page) -> None:
    called: list[str] = []
    page.on("request", lambda request: called.append(request.url))
    page.add_init_script("localStorage.setItem(`glossator:${location.origin}/`, '../../feedback?x=1#')")
    page.goto("/")
    expect(launcher(page)).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert not [url for url in called if "/feedback" in url]


def test_a_hostile_model_is_shown_as_text(page: Page, model: LlmServer) -> None:
    given = {"llm": f"{model.url}#scripted", "verify_models": False, "cache_answers": 0}
    with serving_book(PAGES, **given) as server_url:
        open_chat(page, server_url)
        for at in range(0, len(HOSTILE), 8):
            some = HOSTILE[at : at + 8]
            model.script(says("\n\n".join(f"{FACT} {text} [Source 1]" for text in some), size=4000))
            ask(page, QUESTION)
            assert (some, intrusions(page)) == (some, [])
        expect(answers(page).last).to_contain_text("zero-moment point")


ATTRIBUTES = ["title", "greeting", "accent", "lang", "position", "theme", "token", "dir", "part", "id"]


def test_hostile_attributes_are_text(page: Page) -> None:
    open_chat(page)
    for text in [*HOSTILE, *URLS]:
        page.locator("glossator-chat").evaluate(
            "(chat, [names, text]) => { for (const name of names) chat.setAttribute(name, text); }", [ATTRIBUTES, text]
        )
        assert (text, intrusions(page)) == (text, [])


def test_a_hostile_endpoint_is_not_called(open_page: OpenPage, console_errors: browser.ConsoleErrors) -> None:
    console_errors.allow(
        "Failed to load|Fetch API cannot load|Refused to connect|violates the following|URL scheme|Not allowed"
    )
    page = open_page()
    page.add_init_script(RECORD_CALLS)
    page.goto("/")
    launcher(page).click()
    for text in (*URLS, "http://", "http://[", "//", "\\\\", "x:y"):
        page.locator("glossator-chat").evaluate("(chat, text) => chat.setAttribute('endpoint', text)", text)
        turn = ask(page, "What?")
        expect(turn.locator("[part=trouble], [part=answer]:not(:empty)")).not_to_have_count(0)
        assert [one for one in intrusions(page) if not one.startswith("connect-src")] == []


@pytest.mark.parametrize(
    "colour", [f"url({EVIL_URL})", f"red; background: url({EVIL_URL})", f"image-set('{EVIL_URL}')"]
)
def test_an_accent_colour_loads_nothing(page: Page, site: Site, address: str, colour: str) -> None:
    chat = (
        f'<glossator-chat accent="{colour}"></glossator-chat><script type="module" src="{address}/widget.js"></script>'
    )
    open_chat(page, site.add("/accent", chat))
    assert intrusions(page) == []


def test_a_hostile_selection_is_shown_as_text(page: Page, site: Site, address: str) -> None:
    script = f'<script type="module" src="{address}/widget.js"></script>'
    page.goto(site.add("/selection", f"<pre id=here></pre><glossator-chat></glossator-chat>{script}"))
    expect(launcher(page)).to_be_visible()
    for at in range(0, len(HOSTILE), 6):
        text = "\n".join(HOSTILE[at : at + 6])[:600]
        page.locator("#here").evaluate("(node, text) => (node.textContent = text)", text)
        browser.select(page, "#here")
        page.locator("glossator-chat .offer").click()
        expect(page.locator("glossator-chat .quote").last).to_be_visible()
        assert (text, intrusions(page)) == (text, [])
        ask(page, "What is it called?")
        assert (text, intrusions(page)) == (text, [])
        button(page, "Close").click()
