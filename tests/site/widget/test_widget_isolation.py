"""Isolation: the chat works under strict policies, and page and chat do not change each other."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

import browser
import hostile
from browser import OpenPage, Site, answers, ask, field_of, launcher, marks, open_chat, panel
from doors import FACT, QUESTION
from hostile import intrusions, with_chat

pytestmark = pytest.mark.slow

address, model, page, strict_site = hostile.address, hostile.model, hostile.page, hostile.strict_site


POLICIES = {"nonce": "'nonce-r4nd0m'", "host": "{address}"}


@pytest.mark.parametrize("language", ["en", "ur"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_chat_works_under_the_strictest_policy(
    page: Page, strict_site: Site, address: str, policy: str, language: str
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
    strict_site.policies["/"], strict_site.pages["/"] = allowed, body
    open_chat(page, strict_site.url)
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
    assert intrusions(page) == []


def test_the_chat_leaves_no_globals(open_page: OpenPage, site: Site, address: str) -> None:
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


def test_the_chat_does_not_change_the_page_styles(open_page: OpenPage, site: Site, address: str) -> None:
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
COMPUTED_STYLES = """
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
def test_page_styles_do_not_reach_the_chat(open_page: OpenPage, site: Site, address: str, name: str) -> None:
    looks = []
    for path, style in (("/gentle", ""), (f"/{name}", HOSTILE_STYLES[name])):
        page = open_page()
        open_chat(page, with_chat(site, address, path, style))
        ask(page, QUESTION)
        expect(answers(page)).to_be_visible()
        looks.append(page.evaluate(COMPUTED_STYLES))
    assert looks[0] == looks[1]


def test_the_chat_is_styled_by_variables_and_parts(open_page: OpenPage, site: Site, address: str) -> None:
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
