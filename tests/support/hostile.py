"""Hostile texts, a book made of them, and a check that none of them runs in a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page

import browser
import doors
from browser import OpenPage, Site
from commands import quick_folder
from data_dirs import ingest_with_kept_embeddings
from doors import PAGES
from glossator.core.text.formulas import MATH_ATTRIBUTES, MATH_TAGS

model = doors.model
PAYLOAD = "pwned()"
EVIL_URL = "https://evil.example/x"
MARKUP = [
    f"<script>{PAYLOAD}</script>",
    f"<ScRiPt >{PAYLOAD}</sCrIpT >",
    f"<script src={EVIL_URL}.js></script>",
    f"<script type=module>{PAYLOAD}</script>",
    f"</script><script>{PAYLOAD}</script>",
    f"<<script>script>{PAYLOAD}<</script>/script>",
    f"<img src=x onerror={PAYLOAD}>",
    f'<img src="x" onerror="{PAYLOAD}">',
    f"<img/src=x/onerror={PAYLOAD}>",
    f"<img src={EVIL_URL}.png>",
    f'<image src=x onerror="{PAYLOAD}">',
    f'"><img src=x onerror={PAYLOAD}>',
    f"'><svg/onload={PAYLOAD}>",
    f"<svg onload={PAYLOAD}>",
    f"<svg><script>{PAYLOAD}</script></svg>",
    f"<svg><animate onbegin={PAYLOAD} attributeName=x dur=1s>",
    f'<svg><a xlink:href="javascript:{PAYLOAD}"><text y=9>x</text></a></svg>',
    f'<svg><use href="data:image/svg+xml,<svg onload={PAYLOAD}>"></svg>',
    f"<svg><foreignObject><iframe onload={PAYLOAD}></iframe></foreignObject></svg>",
    f'<math><mtext></form><form><mglyph><style></math><img src onerror="{PAYLOAD}">',
    f'<math href="javascript:{PAYLOAD}">x</math>',
    f"<body onload={PAYLOAD}>",
    f"<iframe src=javascript:{PAYLOAD}></iframe>",
    f"<iframe srcdoc='<script>parent.{PAYLOAD}</script>'></iframe>",
    f"<object data=javascript:{PAYLOAD}></object>",
    f"<embed src=javascript:{PAYLOAD}>",
    f"<video><source onerror={PAYLOAD}></video>",
    f"<audio src=x onerror={PAYLOAD}>",
    f"<details open ontoggle={PAYLOAD}>x</details>",
    f"<input autofocus onfocus={PAYLOAD}>",
    f"<p tabindex=0 autofocus onfocus={PAYLOAD}>x</p>",
    f"<marquee onstart={PAYLOAD}>x</marquee>",
    f"<form action=javascript:{PAYLOAD}><button>x</button></form>",
    f"<button formaction=javascript:{PAYLOAD}>x</button>",
    f"<a href=javascript:{PAYLOAD}>x</a>",
    f'<a href="&#106;avascript:{PAYLOAD}">x</a>',
    f"<base href={EVIL_URL}>",
    f"<link rel=stylesheet href={EVIL_URL}.css>",
    f"<style>@import '{EVIL_URL}.css';</style>",
    f'<div style="background:url({EVIL_URL})">x</div>',
    f"<meta http-equiv=refresh content='0;url=javascript:{PAYLOAD}'>",
    f"<template shadowrootmode=open><img src=x onerror={PAYLOAD}></template>",
    f"<noscript><p title='</noscript><img src=x onerror={PAYLOAD}>'>",
    f"<!--><img src=x onerror={PAYLOAD}>-->",
    f"<![CDATA[<img src=x onerror={PAYLOAD}>]]>",
    f"&lt;img src=x onerror={PAYLOAD}&gt;",
    f"\\x3cimg src=x onerror={PAYLOAD}\\x3e",
    f"＜script＞{PAYLOAD}＜/script＞",
    f"<glossator-chat endpoint=javascript:{PAYLOAD}></glossator-chat>",
]
URLS = [
    f"javascript:{PAYLOAD}",
    f"JaVaScRiPt:{PAYLOAD}",
    f"  javascript:{PAYLOAD}",
    f"java\tscript:{PAYLOAD}",
    f"java\nscript:{PAYLOAD}",
    f"\x01javascript:{PAYLOAD}",
    f"\u00a0javascript:{PAYLOAD}",
    f"javascript&colon;{PAYLOAD}",
    f"&#x6A;avascript:{PAYLOAD}",
    f"javascript%3A{PAYLOAD}",
    f"javascript://%0a{PAYLOAD}",
    f"vbscript:{PAYLOAD}",
    f"data:text/html,<script>{PAYLOAD}</script>",
    "data:text/html;base64,PHNjcmlwdD5wd25lZCgpPC9zY3JpcHQ+",
    f"data:image/svg+xml,<svg onload={PAYLOAD}>",
    "blob:https://evil.example/1",
    f"view-source:javascript:{PAYLOAD}",
    "file:///etc/passwd",
    "chrome://settings",
    "ftp://evil.example/x",
    f"filesystem:javascript:{PAYLOAD}",
]
MARKDOWN_LINKS = [f"[x]({address})" for address in URLS] + [
    f"[x](<javascript:{PAYLOAD}>)",
    f"[x](javascript:{PAYLOAD} 'title')",
    f'[x](https://ok.example/"onmouseover="{PAYLOAD})',
    f"![x](javascript:{PAYLOAD})",
    f"![x]({EVIL_URL}.png)",
    f"<javascript:{PAYLOAD}>",
    f"[x][1]\n\n[1]: javascript:{PAYLOAD}",
    f"[[x](javascript:{PAYLOAD})](javascript:{PAYLOAD})",
    f"**[x](javascript:{PAYLOAD})**",
    f"`<img src=x onerror={PAYLOAD}>`",
    f"```html\n<img src=x onerror={PAYLOAD}>\n```",
    f"| <img src=x onerror={PAYLOAD}> | b |\n|---|---|\n| [x](javascript:{PAYLOAD}) | d |",
    f"- <img src=x onerror={PAYLOAD}>\n> <svg onload={PAYLOAD}>",
]
ODD_TEXTS = [
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
HOSTILE = [*MARKUP, *MARKDOWN_LINKS, *ODD_TEXTS]
RECORD_CALLS = """
globalThis.ran = [];
for (const name of ["alert", "confirm", "prompt", "print", "open", "pwned"]) globalThis[name] = () => ran.push(name);
addEventListener("securitypolicyviolation", (event) => ran.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
FIND_INTRUSIONS = """
() => {
    const tags = new Set(("a article blockquote button code details div em footer form h1 h2 h3 h4 h5 h6 header li ol p"
        + " path pre q section span strong sub sup summary svg table tbody td textarea th"
        + " thead tr ul MATH_TAGS").split(" "));
    const attributes = new Set(("class dir disabled hidden href id lang maxlength open part placeholder rel role rows"
        + " alt loading start tabindex target title type viewBox d MATH_ATTRIBUTES").split(" "));
    const found = [...ran];
    const roots = [document.querySelector("glossator-chat")?.shadowRoot, document.querySelector("article")];
    for (const root of roots) for (const node of root?.querySelectorAll("*") ?? []) {
        const picture = node.matches("article img:not([src]), article img[src^='/media/']");
        if (!tags.has(node.localName) && !picture) found.push(`element ${node.localName}`);
        if (/^(svg|path)$/.test(node.localName) && !node.closest("button.icon")) found.push("a foreign drawing");
        for (const { name, value } of node.attributes) {
            const placed = name === "style" && node.matches(".card, .offer") && /^(left|top)[^(]*$/.test(value);
            if (!attributes.has(name) && !name.startsWith("aria-") && !placed) found.push(`attribute ${name}=${value}`);
        }
        if (node.matches("a[href]") && !/^https?:$/.test(node.protocol)) found.push(`address ${node.href}`);
    }
    if (document.querySelectorAll("glossator-chat").length > 1) found.push("another chat");
    return found;
}
""".replace("MATH_TAGS", " ".join(MATH_TAGS)).replace("MATH_ATTRIBUTES", " ".join(MATH_ATTRIBUTES))


@pytest.fixture(scope="module")
def strict_site() -> Iterator[Site]:
    """A site for pages with a Content-Security-Policy."""
    with browser.running_site() as running:
        yield running


@pytest.fixture(scope="module")
def address(site: Site, strict_site: Site) -> Iterator[str]:
    """A server with a partly hostile book."""
    with serving_book(PAGES | hostile_pages(), cors_origins=f"{site.url},{strict_site.url}") as server_url:
        yield server_url


@contextmanager
def serving_book(pages: dict[str, str], **settings: Any) -> Iterator[str]:
    """Run a server with a book of these pages; gives its address."""
    with quick_folder() as folder, browser.bound_socket() as on:
        for name, text in pages.items():
            path = folder / "book" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", errors="replace")
        ingest_with_kept_embeddings(folder / "data", folder / "book", f"{browser.url_of(on)}/book")
        with browser.serving(folder / "data", on, **settings) as server_url:
            yield server_url


def hostile_pages() -> dict[str, str]:
    """The hostile texts in titles, headings, sentences, lists, tables and code."""
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
def page(open_page: OpenPage, console_errors: browser.ConsoleErrors) -> Iterator[Page]:
    """A page that records scripts that run in it and requests to other hosts."""
    opened = open_page()
    requested: list[str] = []
    opened.add_init_script(RECORD_CALLS)
    opened.on("dialog", lambda dialog: (requested.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda request: requested.append(request.url))
    console_errors.allow("Failed to load resource")
    yield opened
    assert [url for url in requested if not url.startswith("http://127.0.0.1:")] == []
    assert len(opened.context.pages) == 1


def intrusions(page: Page) -> list[str]:
    """Scripts that ran, and nodes in the chat or the book's page that should never be there."""
    wrong: list[str] = page.evaluate(FIND_INTRUSIONS)
    return wrong


def with_chat(site: Site, address: str, path: str, style: str = "", body: str = "") -> str:
    script = f'<script type="module" src="{address}/widget.js"></script>'
    return site.add(path, f"{body}<glossator-chat></glossator-chat>{script}", f"<style>{style}</style>")
