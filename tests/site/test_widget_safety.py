"""The chat among enemies: what others write never runs in it, and pages and chat leave each other alone."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

import browser
import doors
import glossator
from browser import (
    SHARED,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    cited,
    events,
    field_of,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    settled,
)
from commands import quick_folder
from doors import FACT, PAGES, QUESTION
from llm_server import LlmServer, says

model = doors.model

CALL = "pwned()"
ELSEWHERE = "https://evil.example/x"
MARKUP = [
    f"<script>{CALL}</script>",
    f"<ScRiPt >{CALL}</sCrIpT >",
    f"<script src={ELSEWHERE}.js></script>",
    f"<script type=module>{CALL}</script>",
    f"</script><script>{CALL}</script>",
    f"<<script>script>{CALL}<</script>/script>",
    f"<img src=x onerror={CALL}>",
    f'<img src="x" onerror="{CALL}">',
    f"<img/src=x/onerror={CALL}>",
    f"<img src={ELSEWHERE}.png>",
    f'<image src=x onerror="{CALL}">',
    f'"><img src=x onerror={CALL}>',
    f"'><svg/onload={CALL}>",
    f"<svg onload={CALL}>",
    f"<svg><script>{CALL}</script></svg>",
    f"<svg><animate onbegin={CALL} attributeName=x dur=1s>",
    f'<svg><a xlink:href="javascript:{CALL}"><text y=9>x</text></a></svg>',
    f'<svg><use href="data:image/svg+xml,<svg onload={CALL}>"></svg>',
    f"<svg><foreignObject><iframe onload={CALL}></iframe></foreignObject></svg>",
    f'<math><mtext></form><form><mglyph><style></math><img src onerror="{CALL}">',
    f'<math href="javascript:{CALL}">x</math>',
    f"<body onload={CALL}>",
    f"<iframe src=javascript:{CALL}></iframe>",
    f"<iframe srcdoc='<script>parent.{CALL}</script>'></iframe>",
    f"<object data=javascript:{CALL}></object>",
    f"<embed src=javascript:{CALL}>",
    f"<video><source onerror={CALL}></video>",
    f"<audio src=x onerror={CALL}>",
    f"<details open ontoggle={CALL}>x</details>",
    f"<input autofocus onfocus={CALL}>",
    f"<p tabindex=0 autofocus onfocus={CALL}>x</p>",
    f"<marquee onstart={CALL}>x</marquee>",
    f"<form action=javascript:{CALL}><button>x</button></form>",
    f"<button formaction=javascript:{CALL}>x</button>",
    f"<a href=javascript:{CALL}>x</a>",
    f'<a href="&#106;avascript:{CALL}">x</a>',
    f"<base href={ELSEWHERE}>",
    f"<link rel=stylesheet href={ELSEWHERE}.css>",
    f"<style>@import '{ELSEWHERE}.css';</style>",
    f'<div style="background:url({ELSEWHERE})">x</div>',
    f"<meta http-equiv=refresh content='0;url=javascript:{CALL}'>",
    f"<template shadowrootmode=open><img src=x onerror={CALL}></template>",
    f"<noscript><p title='</noscript><img src=x onerror={CALL}>'>",
    f"<!--><img src=x onerror={CALL}>-->",
    f"<![CDATA[<img src=x onerror={CALL}>]]>",
    f"&lt;img src=x onerror={CALL}&gt;",
    f"\\x3cimg src=x onerror={CALL}\\x3e",
    f"＜script＞{CALL}＜/script＞",
    f"<glossator-chat endpoint=javascript:{CALL}></glossator-chat>",
]
ADDRESSES = [
    f"javascript:{CALL}",
    f"JaVaScRiPt:{CALL}",
    f"  javascript:{CALL}",
    f"java\tscript:{CALL}",
    f"java\nscript:{CALL}",
    f"\x01javascript:{CALL}",
    f"\u00a0javascript:{CALL}",
    f"javascript&colon;{CALL}",
    f"&#x6A;avascript:{CALL}",
    f"javascript%3A{CALL}",
    f"javascript://%0a{CALL}",
    f"vbscript:{CALL}",
    f"data:text/html,<script>{CALL}</script>",
    "data:text/html;base64,PHNjcmlwdD5wd25lZCgpPC9zY3JpcHQ+",
    f"data:image/svg+xml,<svg onload={CALL}>",
    "blob:https://evil.example/1",
    f"view-source:javascript:{CALL}",
    "file:///etc/passwd",
    "chrome://settings",
    "ftp://evil.example/x",
    f"filesystem:javascript:{CALL}",
]
LINKS = [f"[x]({address})" for address in ADDRESSES] + [
    f"[x](<javascript:{CALL}>)",
    f"[x](javascript:{CALL} 'title')",
    f'[x](https://ok.example/"onmouseover="{CALL})',
    f"![x](javascript:{CALL})",
    f"![x]({ELSEWHERE}.png)",
    f"<javascript:{CALL}>",
    f"[x][1]\n\n[1]: javascript:{CALL}",
    f"[[x](javascript:{CALL})](javascript:{CALL})",
    f"**[x](javascript:{CALL})**",
    f"`<img src=x onerror={CALL}>`",
    f"```html\n<img src=x onerror={CALL}>\n```",
    f"| <img src=x onerror={CALL}> | b |\n|---|---|\n| [x](javascript:{CALL}) | d |",
    f"- <img src=x onerror={CALL}>\n> <svg onload={CALL}>",
]
ODDITIES = [
    "{{constructor.constructor('pwned()')()}}",
    "${pwned()} #{pwned()} <%= pwned() %> {% pwned() %}",
    "__proto__ constructor toString [__proto__](x)",
    "\u202egnp.exe\u202c \u2066\u2067\u2068\u2069\u200f\u061c",
    "before\0after",
    "\ufffe\uffff\ufdd0\ud800 lone \udc00\ud800",
    "\u2028\u2029\x85\x0b\x0c\x1b[31m\b\x7f",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    "\U000e0001\U000e0070\U000e0077\ufeff\u00ad\u200b",
    "*" * 300 + "[" * 300 + "`" * 300 + "_" * 300,
    "> " * 300 + "x",
    "A" * 3000,
]
HOSTILE = [*MARKUP, *LINKS, *ODDITIES]
assert len(HOSTILE) >= 60

WATCH = """
globalThis.ran = [];
for (const name of ["alert", "confirm", "prompt", "print", "open", "pwned"]) globalThis[name] = () => ran.push(name);
addEventListener("securitypolicyviolation", (event) => ran.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
FOUND = """
() => {
    const tags = new Set(("a article blockquote button code details div em footer form h1 h2 h3 h4 h5 h6 header li ol p"
        + " path pre q section span strong sub sup summary svg table tbody td textarea th tr ul").split(" "));
    const attributes = new Set(("class dir disabled hidden href id lang maxlength open part placeholder rel role rows"
        + " start tabindex target title type viewBox d").split(" "));
    const found = [...ran];
    const roots = [document.querySelector("glossator-chat")?.shadowRoot, document.querySelector("article")];
    for (const root of roots) for (const node of root?.querySelectorAll("*") ?? []) {
        if (!tags.has(node.localName)) found.push(`element ${node.localName}`);
        if (/^(svg|path)$/.test(node.localName) && !node.closest("button.icon")) found.push("a foreign drawing");
        for (const { name, value } of node.attributes) {
            const placed = name === "style" && node.matches(".card, .offer") && /^(left|top)[^(]*$/.test(value);
            if (!attributes.has(name) && !name.startsWith("aria-") && !placed) found.push(`attribute ${name}=${value}`);
        }
        if (node.localName === "a" && !/^https?:$/.test(node.protocol)) found.push(`address ${node.href}`);
    }
    if (document.querySelectorAll("glossator-chat").length > 1) found.push("another chat");
    return found;
}
"""
SHADOW_TEXT = "() => document.querySelector('glossator-chat').shadowRoot.textContent"


@dataclass
class Strict:
    """A site of one page, which is sent with a policy."""

    url: str = ""
    served: tuple[str, str] = ("", "")


@pytest.fixture(scope="module")
def strict() -> Iterator[Strict]:
    running = Strict()

    class Sender(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            policy, body = running.served
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Security-Policy", policy)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Sender) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running.url = f"http://127.0.0.1:{server.server_port}"
        yield running
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def address(site: Site, strict: Strict) -> Iterator[str]:
    """A server with a book that is partly hostile."""
    with serving_book(PAGES | hostile_pages(), cors_origins=f"{site.url},{strict.url}") as found_at:
        yield found_at


@contextmanager
def serving_book(pages: dict[str, str], **settings: Any) -> Iterator[str]:
    """The address of a server with these pages, whose citations are its own."""
    with quick_folder() as folder, browser.listening() as on:
        for name, text in pages.items():
            path = folder / "book" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", errors="replace")
        with glossator.open(folder / "data") as book:
            book.ingest(folder / "book", base_url=f"{browser.address_of(on)}/book")
        with browser.serving(folder / "data", on, **settings) as found_at:
            yield found_at


def hostile_pages() -> dict[str, str]:
    """The corpus as sentences that can be quoted, in titles, in headings, in lists, tables and code."""
    pages = {}
    for at in range(0, len(HOSTILE), 10):
        some = [re.sub("[\n\0]", " ", text) for text in HOSTILE[at : at + 10]]
        body = "".join(
            f"## Gadget {at + n} {text}\n\nThe gadget {at + n} is called {text} by its makers.\n\n- {text}\n\n"
            f"| {text} | b |\n|---|---|\n| {text} | d |\n\n```\n{text}\n```\n\n    {text}\n\n"
            for n, text in enumerate(some)
        )
        pages[f"hostile{at}.md"] = f"# Gadgets {at} {some[0]}\n\n{body}"
    markup = "".join(f"<p>The widget {n} is called {text} by its makers.</p>" for n, text in enumerate(MARKUP))
    return pages | {
        "markup.html": f"<html><head><title>{MARKUP[7]}</title></head><body><h1>M</h1>{markup}</body></html>"
    }


@pytest.fixture
def page(open_page: OpenPage, complaints: browser.Complaints) -> Iterator[Page]:
    """A page that notes whatever runs in it, and calls to other hosts."""
    opened = open_page()
    strangers: list[str] = []
    opened.add_init_script(WATCH)
    opened.on("dialog", lambda dialog: (strangers.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda request: strangers.append(request.url))
    complaints.allow("Failed to load resource")
    yield opened
    assert [url for url in strangers if not url.startswith("http://127.0.0.1:")] == []
    assert len(opened.context.pages) == 1


def found(page: Page) -> list[str]:
    """What ran, and what stands in the chat or in the book's page that never should."""
    wrong: list[str] = page.evaluate(FOUND)
    return wrong


# Nothing that anybody writes runs.


def test_the_check_itself_finds_what_it_is_for(page: Page, site: Site, address: str) -> None:
    page.goto(with_chat(site, address, "/check"))
    expect(launcher(page)).to_be_visible()
    page.evaluate(
        "() => { pwned(); const root = document.querySelector('glossator-chat').shadowRoot;"
        " const link = document.createElement('a'); link.setAttribute('href', 'javascript:1');"
        " link.setAttribute('onclick', ''); root.append(link, document.createElement('img')); }"
    )
    assert {"pwned", "attribute onclick=", "address javascript:1", "element img"} <= set(found(page))


def test_a_hostile_book_is_read_as_text(page: Page, address: str) -> None:
    contents = [f"/book/{name.removesuffix('.md')}" for name in hostile_pages()]
    seen = ""
    for path in contents:
        response = page.goto(path)
        assert response is not None
        assert response.status == 200
        expect(launcher(page)).to_be_visible()
        assert found(page) == []
        seen += page.locator("article").inner_text()
    assert seen.count("pwned") > len(MARKUP)


def test_a_hostile_book_is_quoted_as_text(page: Page) -> None:
    open_chat(page)
    for number in range(0, len(HOSTILE), 4):
        ask(page, f"What is the gadget {number} called by its makers?")
        for mark in marks(page).all()[-2:]:
            mark.focus()
        assert (number, found(page)) == (number, [])
    assert page.evaluate(SHADOW_TEXT).count("pwned") > len(HOSTILE) // 4


def test_a_hostile_question_is_shown_as_text(page: Page) -> None:
    open_chat(page)
    for text in HOSTILE:
        page.locator("glossator-chat").evaluate("(chat, text) => chat.ask(text)", text)
    expect(messages(page)).to_have_count(len(HOSTILE))
    expect(button(page, "Cancel")).to_have_count(0, timeout=60_000)
    settled(page)
    assert found(page) == []
    shown = page.locator("glossator-chat .question").all_text_contents()
    assert [text.removeprefix("You: ") for text in shown] == HOSTILE
    page.reload()
    expect(messages(page).nth(40)).to_be_visible()
    assert found(page) == []


@pytest.mark.parametrize("local", [True, False], ids=["on the book's own site", "elsewhere"])
def test_a_hostile_answer_is_shown_as_text(page: Page, site: Site, address: str, local: bool) -> None:
    chat = f'<glossator-chat endpoint="{address}"></glossator-chat>'
    script = f'<script type="module" src="{address}/widget.js"></script>'
    open_chat(page, "/" if local else site.add("/answers", chat + script))
    streams: list[str] = []
    page.route("**/chat/stream", lambda route: route.fulfill(headers=EVENTS, body=streams.pop()))
    for text in [*HOSTILE, *ADDRESSES]:
        streams.append(hostile_stream(text))
        turn = ask(page, "What?")
        turn.locator("[part=mark]").first.focus()
        assert (text, found(page)) == (text, [])
        for link in turn.locator("[part=mark]:not([href]), [part=mark][href^='#']").all():
            link.click()
        assert (text, found(page)) == (text, [])


EVENTS = {**SHARED, "Content-Type": "text/event-stream"}


def hostile_stream(text: str) -> str:
    """An answer with this text wherever a server puts one."""
    source = cited(text, text, title=text, section=f"{text}'s")
    place = {"url": text, "title": text, "section": text, "anchor": text}
    return events(
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


TIRING = ["[", "[x](", "*a", "**a", "`", "``a", "> ", "- ", "1. ", "| ", "a|\n--", "\n- a", "\n  ", "~~~\n"]


def test_no_text_keeps_the_page_busy(page: Page) -> None:
    open_chat(page)
    streams: list[str] = []
    page.route("**/chat/stream", lambda route: route.fulfill(headers=EVENTS, body=streams.pop()))
    for text in [*(piece * (10_000 // len(piece)) for piece in TIRING), "|\n" + 30_000 * "-" + "x"]:
        streams.append(events(f"{text}\n\nThe end.", cited("/x", "x")))
        ask(page, "What?")
        expect(answers(page).last).to_contain_text("The end.")
        button(page, "New conversation").click()


def test_a_hostile_error_is_shown_as_text(page: Page) -> None:
    open_chat(page)
    said: list[str] = []
    names = ("error_code", "message", "request_id", "details")
    page.route(
        "**/chat/stream",
        lambda route: route.fulfill(status=400, body=json.dumps(dict.fromkeys(names, said[-1]))),
    )
    for text in HOSTILE:
        said.append(text)
        turn = ask(page, "What?")
        expect(turn.locator("[part=trouble]")).to_be_visible()
        assert (text, found(page)) == (text, [])


def planted(value: Any, text: str) -> Any:
    """The same with this text wherever there was one."""
    if isinstance(value, dict):
        return {key: planted(each, text) for key, each in value.items()}
    if isinstance(value, list):
        return [planted(each, text) for each in value]
    return text if isinstance(value, str) else value


def test_a_hostile_history_is_shown_as_text(page: Page, address: str) -> None:
    session = httpx.post(f"{address}/chat", json={"query": QUESTION}).json()["session_id"]
    real = httpx.get(f"{address}/history/{session}", params={"details": True}).json()
    entries = [planted(entry, text) | {"response": f"{text}\n\n[1]"} for entry in real["entries"] for text in HOSTILE]
    history = json.dumps(real | {"entries": entries})
    page.route("**/history/**", lambda route: route.fulfill(content_type="application/json", body=history))
    page.add_init_script("localStorage.setItem(`glossator:${location.origin}/`, '../<img src=x onerror=pwned()>')")
    open_chat(page)
    expect(messages(page)).to_have_count(len(HOSTILE))
    for mark in marks(page).all()[:5]:
        mark.focus()
    assert found(page) == []


def test_a_session_id_stays_in_its_place(page: Page) -> None:
    called: list[str] = []
    page.on("request", lambda request: called.append(request.url))
    page.add_init_script("localStorage.setItem(`glossator:${location.origin}/`, '../../feedback?x=1#')")
    page.goto("/")
    expect(launcher(page)).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert not [url for url in called if "/feedback" in url]


def test_a_hostile_model_is_shown_as_text(page: Page, model: LlmServer) -> None:
    given = {"llm": f"{model.url}#scripted", "verify_models": False, "cache_answers": 0}
    with serving_book(PAGES, **given) as found_at:
        open_chat(page, found_at)
        for at in range(0, len(HOSTILE), 8):
            some = HOSTILE[at : at + 8]
            model.script(says("\n\n".join(f"{FACT} {text} [Source 1]" for text in some), size=4000))
            ask(page, QUESTION)
            assert (some, found(page)) == (some, [])
        expect(answers(page).last).to_contain_text("zero-moment point")


NAMES = ["title", "greeting", "accent", "lang", "position", "theme", "token", "dir", "part", "id"]


def test_hostile_attributes_are_text(page: Page) -> None:
    open_chat(page)
    for text in [*HOSTILE, *ADDRESSES]:
        page.locator("glossator-chat").evaluate(
            "(chat, [names, text]) => { for (const name of names) chat.setAttribute(name, text); }", [NAMES, text]
        )
        assert (text, found(page)) == (text, [])


def test_a_hostile_endpoint_gets_nothing(open_page: OpenPage, complaints: browser.Complaints) -> None:
    complaints.allow(
        "Failed to load|Fetch API cannot load|Refused to connect|violates the following|URL scheme|Not allowed"
    )
    page = open_page()
    page.add_init_script(WATCH)
    page.goto("/")
    launcher(page).click()
    for text in (*ADDRESSES, "http://", "http://[", "//", "\\\\", "x:y"):
        page.locator("glossator-chat").evaluate("(chat, text) => chat.setAttribute('endpoint', text)", text)
        turn = ask(page, "What?")
        expect(turn.locator("[part=trouble], [part=answer]:not(:empty)")).not_to_have_count(0)
        assert [one for one in found(page) if not one.startswith("connect-src")] == []


@pytest.mark.parametrize(
    "colour", [f"url({ELSEWHERE})", f"red; background: url({ELSEWHERE})", f"image-set('{ELSEWHERE}')"]
)
def test_an_accent_calls_nobody(page: Page, site: Site, address: str, colour: str) -> None:
    chat = (
        f'<glossator-chat accent="{colour}"></glossator-chat><script type="module" src="{address}/widget.js"></script>'
    )
    open_chat(page, site.add("/accent", chat))
    assert found(page) == []


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
        assert (text, found(page)) == (text, [])
        ask(page, "What is it called?")
        assert (text, found(page)) == (text, [])
        button(page, "Close").click()


# A page that allows as little as it can.

POLICIES = {"nonce": "'nonce-r4nd0m'", "host": "{address}"}


@pytest.mark.parametrize("language", ["en", "ur"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_strictest_page_can_hold_the_chat(
    page: Page, strict: Strict, address: str, policy: str, language: str
) -> None:
    allowed = (
        f"default-src 'none'; script-src {POLICIES[policy].format(address=address)}; connect-src {address};"
        " style-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    )
    body = (
        f'<!doctype html><html lang="en"><title>Strict</title><p id=here>{FACT}</p>'
        f'<glossator-chat lang={language} accent="rgb(0, 90, 60)"></glossator-chat>'
        f'<script type="module" nonce="r4nd0m" src="{address}/widget.js"></script></html>'
    )
    strict.served = (allowed, body)
    open_chat(page, strict.url)
    expect(panel(page)).to_have_css("position", "fixed")
    expect(page.locator("glossator-chat .send")).to_have_css("background-color", "rgb(0, 90, 60)")
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    marks(page).first.hover()
    expect(page.locator("glossator-chat .card")).to_be_visible()
    browser.select(page, "#here")
    expect(page.locator("glossator-chat .offer")).to_be_visible()
    if language == "ur":
        expect(page.locator("glossator-chat .send")).to_have_text("بھیجیں")
    assert found(page) == []


# Page and chat leave each other alone.


def with_chat(site: Site, address: str, path: str, style: str = "", body: str = "") -> str:
    script = f'<script type="module" src="{address}/widget.js"></script>'
    return site.add(path, f"{body}<glossator-chat></glossator-chat>{script}", f"<style>{style}</style>")


def test_nothing_global_is_left_behind(open_page: OpenPage, site: Site, address: str) -> None:
    page = open_page()
    page.goto(site.add("/globals", "<p>Text</p>"))
    names = "() => [Object.getOwnPropertyNames(window), Object.keys(document), document.head.innerHTML]"
    before = page.evaluate(names)
    page.evaluate(
        """async (url) => {
            const script = Object.assign(document.createElement("script"), { type: "module", src: url });
            document.body.append(script, document.createElement("glossator-chat"));
            await customElements.whenDefined("glossator-chat");
        }""",
        f"{address}/widget.js",
    )
    launcher(page).click()
    ask(page, QUESTION)
    assert page.evaluate(names) == before


STYLED = (
    "<h2>Head</h2><p>Text <a href=/x>link</a> <q>q</q></p><button>B</button><textarea></textarea>"
    "<ol><li>i</ol><pre>x</pre>"
)
STYLES = """
() => [...document.querySelectorAll("html, main, main *:not(glossator-chat, script)")].map((node) => {
    const style = getComputedStyle(node);
    const names = [...style].filter((name) => !name.startsWith("--"));
    return [node.localName, ...names.map((name) => style.getPropertyValue(name))];
})
"""


def test_the_chat_changes_nothing_of_the_page(open_page: OpenPage, site: Site, address: str) -> None:
    page = open_page()
    page.goto(site.add("/plain", STYLED + "<glossator-chat></glossator-chat>"))
    before = page.evaluate(STYLES)
    page.goto(with_chat(site, address, "/styled", body=STYLED))
    launcher(page).click()
    ask(page, QUESTION)
    page.locator("h1").click()
    assert page.evaluate(STYLES) == before


HOSTILE_STYLES = {
    "elements": "button, textarea, section, div, p, a, svg { display: none !important; color: red !important }",
    "classes": ".panel, .launcher, .log, .message, .bar, .icon, .send, .card, .note { display: none !important }",
    "colours": "* { color: red !important; background: black !important }",
    "letters": "* { font: italic 40px/3 fantasy !important; letter-spacing: 9px !important; text-transform: uppercase"
    " !important; word-spacing: 50px !important; text-indent: 90px !important }",
    "places": "* { text-align: right !important; white-space: nowrap !important; direction: rtl !important }",
    "sizes": "* { box-sizing: content-box !important; padding: 30px !important; margin: 30px !important; width: 10px;"
    " height: 10px; overflow: hidden; position: static !important; float: left; opacity: 1; z-index: 0 !important }",
}
LOOK = """
() => {
    const root = document.querySelector("glossator-chat").shadowRoot;
    const names = ("color background-color font-size font-style line-height letter-spacing text-transform word-spacing"
        + " text-indent text-align white-space direction display width height padding-left margin-left position")
        .split(" ");
    return [".panel", ".send", ".question", "[part=answer] p", "textarea", "[part=mark]", "h2"].map((selector) => {
        const style = getComputedStyle(root.querySelector(selector));
        return [selector, Object.fromEntries(names.map((name) => [name, style.getPropertyValue(name)]))];
    });
}
"""


@pytest.mark.parametrize("name", HOSTILE_STYLES)
def test_a_page_with_rough_styles_does_not_break_the_chat(
    open_page: OpenPage, site: Site, address: str, name: str
) -> None:
    looks = []
    for path, style in (("/gentle", ""), (f"/{name}", HOSTILE_STYLES[name])):
        page = open_page()
        open_chat(page, with_chat(site, address, path, style))
        ask(page, QUESTION)
        expect(answers(page)).to_be_visible()
        looks.append(page.evaluate(LOOK))
    assert looks[0] == looks[1]


def test_a_page_styles_the_chat_by_its_variables_and_parts(open_page: OpenPage, site: Site, address: str) -> None:
    style = (
        "glossator-chat { --accent: rgb(0, 100, 0); --ink: rgb(1, 2, 3); --ground: rgb(250, 251, 252) }"
        " glossator-chat::part(launcher) { border: 5px solid rgb(9, 9, 9) }"
        " glossator-chat::part(panel) { border-radius: 3px } glossator-chat::part(answer) { font-style: italic }"
    )
    page = open_page()
    page.goto(with_chat(site, address, "/variables", style))
    expect(launcher(page)).to_have_css("background-color", "rgb(0, 100, 0)")
    expect(launcher(page)).to_have_css("border-top-color", "rgb(9, 9, 9)")
    expect(launcher(page)).to_have_css("border-top-width", "5px")
    launcher(page).click()
    expect(panel(page)).to_have_css("border-radius", "3px")
    expect(panel(page)).to_have_css("background-color", "rgb(250, 251, 252)")
    ask(page, QUESTION)
    expect(answers(page)).to_have_css("font-style", "italic")
    expect(answers(page)).to_have_css("color", "rgb(1, 2, 3)")
    expect(field_of(page)).to_have_css("color", "rgb(1, 2, 3)")
