"""The chat on a page, in a real browser: what a reader sees, hears, selects, follows and comes back to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import axe_playwright_python
import httpx
import pytest
from playwright.sync_api import Page, expect

import browser
from browser import (
    BALANCE,
    FACT,
    GLOSSARY,
    OUT_OF_SCOPE,
    PHONE,
    QUESTION,
    Complaints,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    cited,
    events,
    field_of,
    held,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    said,
    scripted,
    select,
    settled,
)
from llm_server import running_llm_server, says, searches

pytestmark = browser.needs_chromium
site, shelf, address, chromium = browser.site, browser.shelf, browser.address, browser.chromium
complaints, open_page, page = browser.complaints, browser.open_page, browser.page

LARGEST_SCRIPT = 30 * 1024
CHAT = '<glossator-chat endpoint="{address}" {attributes}></glossator-chat>'
SCRIPT = '<script type="module" src="{address}/widget.js"></script>'
SHORT = events("Yes. [1]", cited("/book/glossary", "yes"))
MARKDOWN = """## Steps

1. Measure the **forces**
2. Compute the *point*
   - inside the polygon
   - outside it

| Robot | Mass |
|---|---|
| Atlas | 89 kg |

```python
print("<b>zmp</b>")
```

See [the glossary](https://example.org/glossary) and `p_x`. [1]
"""


def embedded(site: Site, address: str, attributes: str = "", path: str = "/page") -> str:
    """The address of a page of another origin with the chat in it."""
    return site.add(path, (CHAT + SCRIPT).format(address=address, attributes=attributes))


def later(page: Page) -> None:
    """After every timer of the page that is set by now and is short: they run in their order."""
    page.evaluate("new Promise(resolve => setTimeout(resolve, 500))")


# The script.


def test_script_is_small_and_may_be_loaded_by_every_site(address: str) -> None:
    response = httpx.get(f"{address}/widget.js")
    assert len(response.content) <= LARGEST_SCRIPT
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["access-control-allow-origin"] == "*"


def test_script_is_not_sent_again_while_it_is_the_same(address: str) -> None:
    tag = httpx.get(f"{address}/widget.js").headers["etag"]
    again = httpx.get(f"{address}/widget.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["access-control-allow-origin"] == "*"


def test_scripted_answers_have_the_shape_of_real_ones(address: str) -> None:
    def shape(stream: str) -> list[Any]:
        told = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
        return [sorted(told[0]), sorted(told[-2]["metadata"]), sorted(told[-2]["sources"][0]), told[-1]]

    real = httpx.post(f"{address}/chat/stream", json={"query": QUESTION}, timeout=60).text
    assert shape(real) == shape(events("Yes. [1]", cited("/x", "yes")))


# The element.


def test_another_site_asks_with_one_script_and_one_element(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address))
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    assert (marks(page).first.get_attribute("href") or "").startswith(f"{address}{GLOSSARY}#zero-moment-point")
    expect(marks(page).first).to_have_attribute("target", "_blank")


def test_site_that_is_not_allowed_reads_why(page: Page, address: str, complaints: Complaints) -> None:
    complaints.allow("CORS|ERR_FAILED")
    with browser.running_site() as stranger:
        open_chat(page, embedded(stranger, address))
        turn = ask(page, QUESTION)
        expect(turn).to_contain_text(said(page, "unreachable"))
        expect(button(page, "Try again")).to_be_enabled()


def test_window_gets_no_new_name(page: Page, site: Site, address: str) -> None:
    page.goto(site.add("/bare", ""))
    names = "() => Object.getOwnPropertyNames(window).sort()"
    before = page.evaluate(names)
    open_chat(page, embedded(site, address))
    assert page.evaluate(names) == before


def test_attributes_set_title_and_greeting(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address, 'title="Ask Rosie" greeting="Hello, reader."'))
    expect(panel(page).get_by_role("heading")).to_have_text("Ask Rosie")
    expect(panel(page)).to_have_accessible_name("Ask Rosie")
    expect(panel(page)).to_contain_text("Hello, reader.")
    page.locator("glossator-chat").evaluate("node => node.setAttribute('greeting', 'Welcome back.')")
    expect(panel(page)).to_contain_text("Welcome back.")


def test_attributes_set_colour_and_side(page: Page, site: Site, address: str) -> None:
    page.goto(embedded(site, address, 'accent="rgb(1, 80, 60)" position="left"'))
    expect(launcher(page)).to_have_css("background-color", "rgb(1, 80, 60)")
    box = launcher(page).bounding_box()
    assert box
    assert box["x"] < 100


@pytest.mark.parametrize(("theme", "scheme"), [("dark", "light"), ("light", "dark")])
def test_theme_wins_over_the_system(open_page: OpenPage, site: Site, address: str, theme: str, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    open_chat(page, embedded(site, address, f'theme="{theme}"'))
    expect(panel(page)).to_have_css(
        "background-color", {"dark": "rgb(27, 31, 36)", "light": "rgb(255, 255, 255)"}[theme]
    )


def test_token_is_sent(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address, 'token="abc123"'))
    with page.expect_request("**/chat/stream") as sent:
        ask(page, QUESTION)
    assert sent.value.headers["authorization"] == "Bearer abc123"


def test_strict_policy_of_a_site_is_no_hindrance(page: Page, site: Site, address: str) -> None:
    policy = (
        f"default-src 'none'; script-src {address}; connect-src {address}; img-src data:;"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page.goto(site.add("/strict", (CHAT + SCRIPT).format(address=address, attributes='accent="navy"'), head))
    expect(launcher(page)).to_have_css("position", "fixed")
    expect(launcher(page)).to_have_css("background-color", "rgb(0, 0, 128)")
    launcher(page).click()
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)


def test_element_that_is_moved_keeps_its_conversation_once(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    page.locator("glossator-chat").evaluate("node => document.body.prepend(node)")
    later(page)
    expect(messages(page)).to_have_count(1)
    expect(answers(page)).to_contain_text(FACT)


def test_words_that_come_late_disturb_nobody(page: Page, site: Site, address: str) -> None:
    late = browser.Held()
    page.route("**/ur.js", late.hold)
    open_chat(page, embedded(site, address, 'lang="ur"'))
    field_of(page).fill("half a question")
    late.routes.pop().continue_()
    expect(button(page, "بھیجیں")).to_be_visible()
    expect(field_of(page)).to_have_value("half a question")
    expect(field_of(page)).to_be_focused()


# Asking.


def test_answer_with_marks_and_sources(page: Page) -> None:
    open_chat(page)
    turn = ask(page, QUESTION)
    expect(turn.locator("[part=question]")).to_contain_text(QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    expect(marks(page)).to_have_text(["1", "2"])
    expect(turn.locator("details.sources li").first).to_contain_text("Glossary › Zero-moment point")
    expect(field_of(page)).to_have_value("")


def test_stop_is_offered_only_while_there_is_something_to_stop(page: Page) -> None:
    open_chat(page)
    expect(button(page, "Stop")).to_be_hidden()


def test_question_that_the_book_does_not_answer(page: Page) -> None:
    open_chat(page)
    turn = ask(page, OUT_OF_SCOPE)
    expect(turn).to_contain_text("The book does not answer this question.")
    expect(turn).to_contain_text(said(page, "near"))
    expect(turn.locator("details.sources a").first).to_be_visible()
    expect(marks(page)).to_have_count(0)


def test_enter_sends_and_shift_enter_begins_a_line(page: Page) -> None:
    open_chat(page)
    asked = scripted(page, SHORT)
    field_of(page).press_sequentially("one")
    field_of(page).press("Shift+Enter")
    field_of(page).press_sequentially("two")
    expect(field_of(page)).to_have_value("one\ntwo")
    field_of(page).press("Enter")
    settled(page)
    assert [body["query"] for body in asked] == ["one\ntwo"]
    expect(field_of(page)).to_have_value("")


def test_send_button_asks_and_nothing_is_not_asked(page: Page) -> None:
    open_chat(page)
    asked = scripted(page, SHORT)
    field_of(page).fill("  \n ")
    field_of(page).press("Enter")
    button(page, "Send").click()
    field_of(page).fill("Why?")
    button(page, "Send").click()
    expect(messages(page)).to_have_count(1)
    assert [body["query"] for body in asked] == ["Why?"]


def test_enter_that_ends_a_composition_does_not_send(page: Page) -> None:
    open_chat(page)
    field_of(page).fill("かな")
    field_of(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})
    expect(field_of(page)).to_have_value("かな")
    expect(messages(page)).to_have_count(0)


def test_keys_typed_in_the_chat_are_no_shortcuts_of_the_page(page: Page) -> None:
    """A site's search that opens at a slash sees no text field here, only the element."""
    open_chat(page)
    page.evaluate("() => { window.keys = []; addEventListener('keydown', event => keys.push(event.key)); }")
    field_of(page).press_sequentially("/s")
    expect(field_of(page)).to_have_value("/s")
    assert page.evaluate("keys") == []


def test_escape_closes_and_focus_returns_to_the_button(page: Page) -> None:
    open_chat(page)
    page.keyboard.press("Escape")
    expect(panel(page)).to_be_hidden()
    expect(launcher(page)).to_be_focused()
    page.keyboard.press("Enter")
    expect(field_of(page)).to_be_focused()


@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_tab_stays_inside_the_panel(page: Page, key: str) -> None:
    open_chat(page)
    ask(page, QUESTION)
    field_of(page).focus()
    inside = (
        "() => { const chat = document.querySelector('glossator-chat'), at = chat.shadowRoot.activeElement;"
        " return document.activeElement === chat && chat.shadowRoot.querySelector('[part=panel]').contains(at)"
        " && [...chat.shadowRoot.querySelectorAll('*')].indexOf(at); }"
    )
    reached = []
    for _ in range(30):
        page.keyboard.press(key)
        reached.append(page.evaluate(inside))
    assert all(reached)
    assert len(set(reached)) < len(reached), "it never came round"


@pytest.mark.parametrize("name", ["Helpful", "Stop", "Cancel", "Try again", "Delete conversation", "Keep it"])
def test_focus_stays_in_the_panel_when_its_button_goes(page: Page, complaints: Complaints, name: str) -> None:
    """Where it is lost, neither Escape nor Tab is heard any more."""
    complaints.allow("503")
    open_chat(page)
    reach(page, name)
    button(page, name).last.focus()
    page.keyboard.press("Enter")
    later(page)
    page.keyboard.press("Escape")
    expect(panel(page)).to_be_hidden()


def reach(page: Page, name: str) -> None:
    """A state in which the chat has this button."""
    if name in ("Stop", "Cancel"):
        held(page)
        ask(page, "First?", wait=False)
        ask(page, "Second?", wait=False)
        return
    if name == "Try again":
        page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}), times=1)
    ask(page, QUESTION)
    if name in ("Delete conversation", "Keep it"):
        button(page, "Delete conversation").click()


def test_answer_is_spoken(page: Page) -> None:
    open_chat(page)
    live = page.locator("glossator-chat [aria-live=polite]")
    live.evaluate(
        "node => { node.heard = []; new MutationObserver(() => node.heard.push(node.textContent))"
        ".observe(node, { childList: true, characterData: true, subtree: true }); }"
    )
    ask(page, QUESTION)
    assert FACT in live.evaluate("node => node.heard.join('')")


def test_direction_follows_the_text(page: Page) -> None:
    open_chat(page)
    scripted(page, events("صفر لمحہ نقطہ زمین پر ہے۔"))
    turn = ask(page, "صفر لمحہ نقطہ کیا ہے؟")
    expect(turn.locator("[part=question]")).to_have_css("direction", "rtl")
    expect(turn.locator("[part=answer] p")).to_have_css("direction", "rtl")
    expect(field_of(page)).to_have_attribute("dir", "auto")
    expect(panel(page)).to_have_css("direction", "ltr")


def test_urdu(page: Page, site: Site, address: str) -> None:
    page.goto(embedded(site, address, 'lang="ur"'))
    expect(launcher(page)).to_have_text("کتاب سے پوچھیں")
    launcher(page).click()
    expect(panel(page)).to_have_css("direction", "rtl")
    expect(button(page, "بھیجیں")).to_be_visible()
    box = panel(page).bounding_box()
    assert box
    assert box["x"] < 100


def test_another_language_is_added(page: Page, site: Site, address: str) -> None:
    page.goto(embedded(site, address))
    page.evaluate("customElements.get('glossator-chat').strings.fr = { title: 'Demander au livre', send: 'Envoyer' }")
    page.locator("glossator-chat").evaluate("node => node.lang = 'fr-CA'")
    expect(launcher(page)).to_have_text("Demander au livre")
    launcher(page).click()
    expect(button(page, "Envoyer")).to_be_visible()
    expect(button(page, "Close")).to_be_visible()


def test_panel_floats_on_a_desktop_and_fills_a_phone(open_page: OpenPage) -> None:
    wide, narrow = open_chat(open_page()), open_chat(open_page(viewport=PHONE))
    box = panel(wide).bounding_box()
    assert box
    assert box["width"] < 500
    assert panel(narrow).bounding_box() == {"x": 0, "y": 0, **PHONE}


@pytest.mark.parametrize(("width", "is_sheet"), [(767, True), (768, False)])
def test_sheet_begins_under_768_pixels(open_page: OpenPage, width: int, is_sheet: bool) -> None:
    page = open_chat(open_page(viewport={"width": width, "height": 800}))
    box = panel(page).bounding_box()
    assert box
    assert (box["width"] == width) is is_sheet


@pytest.mark.parametrize("viewport", [{"width": 320, "height": 480}, PHONE, browser.DESKTOP])
def test_nothing_runs_out_of_the_panel(open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_chat(open_page(viewport=viewport))
    wide = f"{'x' * 300} [a link](https://example.org/{'y' * 300})\n\n```\n{'z' * 300}\n```\n\n" + MARKDOWN
    scripted(page, events(wide + "\n| " + "| wide column " * 12 + "\n" + "|---" * 13, cited(GLOSSARY, "x")))
    ask(page, "w" * 300)
    log = page.locator("glossator-chat [part=log]")
    assert log.evaluate("node => node.scrollWidth <= node.clientWidth")
    for control in (field_of(page), button(page, "Send"), button(page, "Close")):
        expect(control).to_be_in_viewport(ratio=1)


def test_stop(page: Page) -> None:
    open_chat(page)
    waiting = held(page)
    turn = ask(page, QUESTION, wait=False)
    button(page, "Stop").click()
    expect(turn).to_contain_text(said(page, "stopped"))
    expect(button(page, "Stop")).to_be_hidden()
    assert len(waiting.asked) == 1


def test_question_waits_for_its_turn(page: Page) -> None:
    open_chat(page)
    waiting = held(page)
    first, second = ask(page, "First?", wait=False), ask(page, "Second?", wait=False)
    expect(second).to_contain_text(said(page, "waiting"))
    waiting.release(events("One."))
    expect(first.locator("[part=answer]")).to_have_text("One.")
    expect(second).not_to_contain_text(said(page, "waiting"))
    waiting.release(events("Two."))
    expect(second.locator("[part=answer]")).to_have_text("Two.")
    assert [body["query"] for body in waiting.asked] == ["First?", "Second?"]
    assert waiting.asked[1]["session_id"] == browser.SESSION


def test_question_that_waits_can_be_cancelled(page: Page) -> None:
    open_chat(page)
    waiting = held(page)
    ask(page, "First?", wait=False)
    ask(page, "Second?", wait=False)
    button(page, "Cancel").click()
    expect(messages(page)).to_have_count(1)
    waiting.release(events("One."))
    settled(page)
    assert len(waiting.asked) == 1


def test_retry(page: Page, complaints: Complaints) -> None:
    complaints.allow("503")
    open_chat(page)
    page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}), times=1)
    turn = ask(page, QUESTION)
    expect(turn).to_contain_text(said(page, "unavailable"))
    button(page, "Try again").click()
    expect(answers(page)).to_contain_text(FACT)
    expect(messages(page)).to_have_count(1)


def test_markdown_becomes_nodes(page: Page) -> None:
    open_chat(page)
    scripted(page, events(MARKDOWN, cited("/book/glossary", "x")))
    ask(page, QUESTION)
    shown = answers(page)
    expect(shown.locator("p strong").first).to_have_text("Steps")
    expect(shown.locator("ol > li")).to_have_count(2)
    expect(shown.locator("ol > li > ul > li")).to_have_text(["inside the polygon", "outside it"])
    expect(shown.locator("ol strong")).to_have_text("forces")
    expect(shown.locator("th")).to_have_text(["Robot", "Mass"])
    expect(shown.locator("td")).to_have_text(["Atlas", "89 kg"])
    expect(shown.locator("pre code")).to_have_text('print("<b>zmp</b>")')
    expect(shown.locator("p > code")).to_have_text("p_x")
    expect(shown.get_by_role("link", name="the glossary")).to_have_attribute("href", "https://example.org/glossary")
    expect(shown.locator("b")).to_have_count(0)


def test_code_is_copied(open_page: OpenPage) -> None:
    page = open_chat(open_page(permissions=["clipboard-read", "clipboard-write"]))
    scripted(page, events(MARKDOWN))
    ask(page, QUESTION)
    button(page, "Copy").click()
    expect(button(page, "Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == 'print("<b>zmp</b>")'


# Citations.

CARD = "glossator-chat [part=card]"
PLACE = "Glossary › Zero-moment point"
QUOTE = f"{FACT} of the moment of gravity and inertia forces vanish."
LIT = "() => [...(CSS.highlights.get('glossator') ?? [])].map(String)"


def card_says_it_all(page: Page) -> None:
    card = page.locator(CARD)
    expect(card).to_be_visible()
    expect(card.locator("q")).to_have_text(QUOTE)
    for words in (PLACE, said(page, "score", 100), said(page, "supported")):
        expect(card).to_contain_text(words)


def test_card_opens_on_hover(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.hover()
    card_says_it_all(page)
    panel(page).get_by_role("heading").hover()
    expect(page.locator(CARD)).to_be_hidden()


def test_card_stays_while_the_pointer_is_on_it(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.hover()
    mark, card = marks(page).first.bounding_box(), page.locator(CARD).bounding_box()
    assert mark
    assert card
    page.mouse.move(mark["x"] + mark["width"] / 2, card["y"] + card["height"] / 2, steps=60)
    later(page)
    card_says_it_all(page)
    panel(page).get_by_role("heading").hover()
    expect(page.locator(CARD)).to_be_hidden()


def test_card_opens_on_focus_and_escape_closes_it(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.focus()
    card_says_it_all(page)
    spoken = f"{PLACE} {QUOTE} {said(page, 'score', 100)} · {said(page, 'supported')}"
    expect(marks(page).first).to_have_accessible_description(spoken)
    page.keyboard.press("Escape")
    expect(page.locator(CARD)).to_be_hidden()
    expect(panel(page)).to_be_visible()


def test_card_opens_on_a_tap_and_a_tap_on_it_goes_there(open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    page.goto("/")
    launcher(page).tap()
    ask(page, QUESTION)
    marks(page).first.tap()
    card_says_it_all(page)
    page.locator(CARD).tap()
    page.wait_for_url(f"**{GLOSSARY}#zero-moment-point*")


def test_cards_stay_on_the_screen(open_page: OpenPage) -> None:
    page = open_chat(open_page(viewport=PHONE))
    scripted(page, events("Word " * 11 + "word. [1]", cited(GLOSSARY, "long " * 80)))
    ask(page, QUESTION)
    marks(page).first.focus()
    box = page.locator(CARD).bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= PHONE["height"]


def test_sentence_that_is_not_confirmed_says_so(page: Page) -> None:
    open_chat(page)
    flagged = [{"citations": [1], "status": "unsupported", "score": 0.1}]
    scripted(page, events("Maybe. [1]", cited(GLOSSARY, "maybe"), verdicts=flagged))
    ask(page, QUESTION)
    marks(page).first.focus()
    expect(page.locator(CARD)).to_contain_text(said(page, "flagged"))


def test_mark_of_this_page_scrolls_to_the_words_and_lights_them_up(page: Page) -> None:
    open_chat(page, GLOSSARY)
    ask(page, QUESTION)
    marks(page).first.click()
    assert page.evaluate(LIT) == [QUOTE]
    expect(page.locator("article p", has_text=FACT)).to_be_in_viewport()
    expect(panel(page)).to_be_visible()
    assert "text=" not in page.url


@pytest.mark.parametrize(
    ("directive", "quote"),
    [
        ("The%20zero%2Dmoment%20point%20lies%20on%20the%20ground.", "The zero-moment point lies on the ground."),
        (
            "THE%20ZERO,inside%20it.",
            "The zero-moment point lies on the ground. The robot stands while it stays inside it.",
        ),
        ("ground.-,The%20robot,-stands", "The robot"),
    ],
    ids=["whole", "beginning and end", "between others"],
)
def test_words_are_found_across_the_markup_of_a_site(
    page: Page, site: Site, address: str, directive: str, quote: str
) -> None:
    text = (
        "<p>Before.</p><p>The <em>zero</em>-moment\n   <b>point</b> lies on the ground.</p>\n"
        "<p>The robot stands while it stays inside it.</p>"
    )
    url = site.add("/words", text + (CHAT + SCRIPT).format(address=address, attributes=""))
    open_chat(page, url)
    scripted(page, events("So it is. [1]", cited(f"{url}#somewhere:~:text={directive}", quote)))
    ask(page, QUESTION)
    marks(page).first.click()
    assert [" ".join(lit.split()) for lit in page.evaluate(LIT)] == [quote]


def test_mark_whose_words_are_gone_leads_to_the_anchor(page: Page) -> None:
    open_chat(page, BALANCE)
    scripted(page, events("So it was. [1]", cited(f"{BALANCE}#zmp-and-cop:~:text=gone%20words", "gone words")))
    ask(page, QUESTION)
    marks(page).first.click()
    expect(page.locator("#zmp-and-cop")).to_be_in_viewport()
    assert page.evaluate(LIT) == []


def test_sheet_gives_way_to_the_words(open_page: OpenPage) -> None:
    page = open_chat(open_page(viewport=PHONE), GLOSSARY)
    ask(page, QUESTION)
    marks(page).first.click()
    assert page.evaluate(LIT) == [QUOTE]
    expect(panel(page)).to_be_hidden()
    expect(page.locator("article p", has_text=FACT)).to_be_in_viewport()


def test_mark_of_another_page_opens_it_at_the_anchor(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.click()
    page.wait_for_url(f"**{GLOSSARY}#zero-moment-point*")
    expect(page.locator("article p", has_text=FACT)).to_be_in_viewport()


def test_mark_of_another_page_opens_it_at_the_words(page: Page, complaints: Complaints) -> None:
    """The anchor is far away from them, so it is not the anchor that brings the reader there."""
    complaints.allow("404")
    open_chat(page)
    words = "The criterion is sufficient for keeping the foot flat"
    url = f"{BALANCE}#centre-of-mass:~:text={words.replace(' ', '%20')}"
    scripted(page, events("It is. [1]", cited(url, words)))
    ask(page, QUESTION)
    marks(page).first.click()
    page.wait_for_url(f"**{BALANCE}#centre-of-mass*")
    expect(page.locator("article p", has_text=words)).to_be_in_viewport()


def test_mark_on_another_site_opens_the_book_beside_it(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address))
    ask(page, QUESTION)
    with page.context.expect_page() as opened:
        marks(page).first.click()
    opened.value.wait_for_url(f"{address}{GLOSSARY}#zero-moment-point*")
    expect(opened.value.locator("article p", has_text=FACT)).to_be_in_viewport()
    expect(panel(page)).to_be_visible()


def test_way_back_leads_to_the_conversation(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.click()
    page.wait_for_url(f"**{GLOSSARY}#zero-moment-point*")
    page.go_back()
    expect(panel(page)).to_be_visible()
    expect(answers(page)).to_contain_text(FACT)


def test_source_in_the_list_opens_too(page: Page) -> None:
    open_chat(page, GLOSSARY)
    turn = ask(page, QUESTION)
    turn.locator("details.sources a").first.click()
    assert page.evaluate(LIT) == [QUOTE]


def test_withheld_sentences_are_only_counted(page: Page, shelf: Any) -> None:
    truth, lie = f"{QUOTE} [Source 1]", "It was invented in 1822 by a baker named Jean. [Source 1]"
    with (
        running_llm_server() as model,
        browser.listening() as on,
        browser.serving(shelf[0], on, llm=f"{model.url}#scripted", cache_answers=0) as drafted,
    ):
        model.script(searches(), says(f"{truth} {lie}"), says("NOT FOUND"))
        open_chat(page, drafted)
        turn = ask(page, QUESTION, wait=False)
        expect(answers(page)).to_contain_text(QUOTE, timeout=60_000)
        settled(page)
        note = turn.locator("details.note")
        expect(note.locator("summary")).to_have_text(said(page, "withheld", 1))
        assert note.get_attribute("open") is None
        assert "baker" not in (turn.text_content() or "")


# Selection.

CONVEX = "Convex hull means the shape that a rubber band would take"
OFFER = "glossator-chat [part=offer]"
CHOSEN = "glossator-chat [part=panel] .quote:not([part=message] *)"


def take(page: Page, selector: str) -> str:
    """Select the text of an element, and accept the offer to ask about it."""
    text = select(page, selector)
    page.locator(OFFER).click()
    expect(field_of(page)).to_be_focused()
    return text


def take_convex(page: Page) -> None:
    page.goto(BALANCE)
    take(page, f"article p:has-text('{CONVEX}')")


def test_selecting_offers_to_ask_near_it(page: Page) -> None:
    page.goto(BALANCE)
    paragraph = page.locator("article p", has_text=CONVEX)
    paragraph.click(click_count=3)
    expect(page.locator(OFFER)).to_be_visible()
    expect(page.locator(OFFER)).to_have_text("Ask about this")
    offer, text = page.locator(OFFER).bounding_box(), paragraph.bounding_box()
    assert offer
    assert text
    assert 0 <= offer["y"] - text["y"] < text["height"] + 60
    assert text["x"] <= offer["x"] <= text["x"] + text["width"]
    page.locator("h1").click()
    expect(page.locator(OFFER)).to_be_hidden()


def test_selection_stands_in_the_panel_and_can_be_removed(page: Page) -> None:
    take_convex(page)
    expect(page.locator(CHOSEN)).to_contain_text(CONVEX)
    button(page, said(page, "removeSelection")).click()
    expect(page.locator(CHOSEN)).to_have_count(0)
    expect(field_of(page)).to_be_focused()
    asked = scripted(page, SHORT)
    ask(page, QUESTION)
    assert asked[0]["selected_text"] is None


def test_answer_from_the_selection(page: Page) -> None:
    take_convex(page)
    turn = ask(page, "What does convex hull mean?")
    expect(turn).to_contain_text("From your selection")
    expect(answers(page)).to_contain_text("rubber band")
    expect(page.locator(CHOSEN)).to_have_count(0)
    marks(page).last.click()
    (lit,) = page.evaluate(LIT)
    expect(answers(page)).to_contain_text(lit)
    expect(page.locator("article p", has_text=lit)).to_be_in_viewport()


def test_selection_that_does_not_answer_leads_to_the_whole_book(page: Page) -> None:
    take_convex(page)
    turn = ask(page, "What does the Jacobian map?")
    expect(turn).to_contain_text("Not found in your selection")
    button(page, "Search the whole book").click()
    expect(messages(page)).to_have_count(2)
    settled(page)
    expect(messages(page).last).not_to_contain_text("selection")
    expect(answers(page).last).to_contain_text("Jacobian")
    expect(marks(page).first).to_be_visible()


def test_short_selection_gets_a_hint(page: Page) -> None:
    page.goto(BALANCE)
    take(page, "#support-polygon")
    expect(panel(page)).to_contain_text(said(page, "shortSelection"))


def test_long_selection_is_cut_and_answered(page: Page, site: Site, address: str) -> None:
    text = "Geysers erupt when water boils deep underground. " + "The guide speaks of the weather today. " * 2000
    page.goto(site.add("/long", f"<p id=long>{text}</p>" + (CHAT + SCRIPT).format(address=address, attributes="")))
    assert len(take(page, "#long")) > 64_000
    expect(panel(page)).to_contain_text(said(page, "cutSelection", 64_000))
    with page.expect_request("**/chat/stream") as sent:
        ask(page, "Why do geysers erupt?")
    assert len((sent.value.post_data_json or {})["selected_text"]) == 64_000
    expect(answers(page)).to_contain_text("water boils deep underground")


def test_nothing_is_offered_for_selections_in_the_chat(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    answers(page).locator("p").first.click(click_count=3)
    later(page)
    expect(page.locator(OFFER)).to_be_hidden()
    field_of(page).fill("some words that are selected")
    field_of(page).select_text()
    later(page)
    expect(page.locator(OFFER)).to_be_hidden()


@pytest.mark.parametrize(
    "place", ["<input id=it value='several words here'>", "<textarea id=it>several words here</textarea>"]
)
def test_nothing_is_offered_for_selections_in_inputs(page: Page, site: Site, address: str, place: str) -> None:
    page.goto(site.add("/form", f"<label>{place}</label>" + (CHAT + SCRIPT).format(address=address, attributes="")))
    page.locator("#it").select_text()
    later(page)
    expect(page.locator(OFFER)).to_be_hidden()


# History.


def test_conversation_is_there_after_a_reload_and_on_the_next_page(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    page.reload()
    expect(answers(page)).to_contain_text(FACT)
    expect(panel(page)).to_be_visible()
    page.get_by_role("link", name="Glossary", exact=True).click()
    page.wait_for_url(f"**{GLOSSARY}")
    expect(panel(page)).to_be_visible()
    expect(answers(page)).to_contain_text(FACT)
    marks(page).first.click()
    assert page.evaluate(LIT) == [QUOTE]
    ask(page, "What is the centre of mass?")
    expect(messages(page)).to_have_count(2)


def test_answer_from_a_selection_is_restored_without_bare_numbers(page: Page) -> None:
    take_convex(page)
    ask(page, "What does convex hull mean?")
    page.reload()
    expect(answers(page)).to_contain_text("rubber band")
    expect(answers(page)).not_to_contain_text("[1]")


def test_closed_panel_stays_closed_and_a_sheet_covers_no_new_page(open_page: OpenPage) -> None:
    desk, phone = open_chat(open_page()), open_chat(open_page(viewport=PHONE))
    desk.keyboard.press("Escape")
    for page in (desk, phone):
        page.reload()
        expect(launcher(page)).to_be_visible()
        expect(panel(page)).to_be_hidden()


def test_new_conversation(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    button(page, "New conversation").click()
    expect(messages(page)).to_have_count(0)
    expect(field_of(page)).to_be_focused()
    page.reload()
    expect(panel(page)).to_be_visible()
    later(page)
    expect(messages(page)).to_have_count(0)
    asked = scripted(page, SHORT)
    ask(page, QUESTION)
    assert asked[0]["session_id"] is None


def test_conversation_is_deleted_for_good_once_the_reader_is_sure(page: Page, address: str) -> None:
    open_chat(page)
    ask(page, QUESTION)
    session = page.evaluate("Object.values(localStorage)[0]")
    button(page, "Delete conversation").click()
    expect(panel(page)).to_contain_text(said(page, "deleteSure"))
    button(page, "Keep it").click()
    expect(messages(page)).to_have_count(1)
    button(page, "Delete conversation").click()
    panel(page).get_by_role("status").get_by_role("button", name="Delete conversation").click()
    expect(panel(page)).to_contain_text(said(page, "deleted"))
    expect(messages(page)).to_have_count(0)
    assert httpx.get(f"{address}/history/{session}").status_code == 404


def test_conversation_deleted_while_it_answers_stays_deleted(page: Page, address: str) -> None:
    open_chat(page)
    ask(page, QUESTION)
    session = page.evaluate("Object.values(localStorage)[0]")
    held(page)
    ask(page, "Why?", wait=False)
    button(page, "Delete conversation").click()
    panel(page).get_by_role("status").get_by_role("button", name="Delete conversation").click()
    expect(panel(page)).to_contain_text(said(page, "deleted"))
    expect(messages(page)).to_have_count(0)
    assert httpx.get(f"{address}/history/{session}").status_code == 404
    page.reload()
    later(page)
    expect(messages(page)).to_have_count(0)


def test_browser_that_keeps_nothing(page: Page) -> None:
    page.add_init_script(
        "for (const kind of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, kind, { get() { throw new DOMException('no', 'SecurityError'); } });"
    )
    open_chat(page)
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    expect(panel(page)).to_contain_text(said(page, "noStorage"))
    with page.expect_request("**/chat/stream") as sent:
        ask(page, "What is the centre of mass?")
    assert (sent.value.post_data_json or {})["session_id"]
    expect(answers(page)).to_have_count(2)


@pytest.mark.parametrize(("name", "rating"), [("Helpful", "up"), ("Not helpful", "down")])
def test_feedback(page: Page, name: str, rating: str) -> None:
    open_chat(page)
    turn = ask(page, QUESTION)
    with page.expect_response("**/feedback") as heard:
        button(page, name).click()
    assert heard.value.status == 201
    assert heard.value.request.post_data_json["rating"] == rating
    expect(turn).to_contain_text(said(page, "thanks"))
    expect(button(page, "Helpful")).to_have_count(0)


# The reader's page.


def test_contents_lead_to_every_page(page: Page) -> None:
    page.goto("/")
    links = page.locator("main li a")
    expect(links).to_have_count(17)
    for address in links.evaluate_all("links => links.map(link => link.href)"):
        response = page.request.get(address)
        assert response.ok, address
    links.filter(has_text="Balance and the zero-moment point").click()
    page.wait_for_url(f"**{BALANCE}")


def test_page_of_the_book_has_anchors_neighbours_and_its_place(page: Page) -> None:
    page.goto(f"{BALANCE}#zmp-criterion")
    expect(page.locator("h3#zmp-criterion")).to_be_in_viewport()
    expect(page.locator("nav [aria-current=page]")).to_have_text("Balance and the zero-moment point")
    expect(page.locator("h1")).to_have_count(1)
    page.locator("a[rel=next]").click()
    page.wait_for_url("**/book/motion/locomotion")
    page.locator("a[rel=prev]").click()
    page.wait_for_url(f"**{BALANCE}")


def test_reader_without_scripts_gets_an_answer(open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto("/")
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("main section")).to_contain_text(FACT)
    page.locator("main sup a").first.click()
    expect(page.locator("article")).to_contain_text(FACT)


# Accessibility.

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True},
    "dark phone": {"viewport": PHONE, "color_scheme": "dark"},
}


def violations(page: Page) -> list[str]:
    """What axe finds; run from outside, since the page's own policy lets in no script but its own."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("path", ["/", BALANCE])
@pytest.mark.parametrize("look", LOOKS)
def test_everyone_can_use_the_chat(open_page: OpenPage, look: str, path: str) -> None:
    page = open_page(**LOOKS[look])
    page.goto(path)
    expect(launcher(page)).to_be_visible()
    closed = violations(page)
    launcher(page).click()
    scripted(page, events(MARKDOWN, cited(GLOSSARY, "x"), withheld=1, low_confidence=True, degraded=True))
    ask(page, QUESTION)
    marks(page).first.focus()
    assert (closed, violations(page)) == ([], [])


@pytest.mark.parametrize("look", LOOKS)
def test_everyone_can_ask_about_a_selection(open_page: OpenPage, look: str) -> None:
    page = open_page(**LOOKS[look])
    page.goto(BALANCE)
    select(page, f"article p:has-text('{CONVEX}')")
    expect(page.locator(OFFER)).to_be_visible()
    offered = violations(page)
    page.locator(OFFER).click()
    expect(page.locator(CHOSEN)).to_be_visible()
    assert (offered, violations(page)) == ([], [])


def test_everyone_can_read_what_went_wrong(page: Page, complaints: Complaints) -> None:
    complaints.allow("503")
    open_chat(page)
    page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}, headers={"Retry-After": "9"}))
    ask(page, QUESTION)
    button(page, "Delete conversation").click()
    assert violations(page) == []


@pytest.mark.parametrize("look", LOOKS)
def test_everyone_can_use_the_chat_in_urdu(open_page: OpenPage, site: Site, address: str, look: str) -> None:
    page = open_page(**LOOKS[look])
    head = '<meta name="viewport" content="width=device-width">'
    page.goto(site.add("/urdu", (CHAT + SCRIPT).format(address=address, attributes='lang="ur"'), head))
    expect(launcher(page)).to_have_text("کتاب سے پوچھیں")
    launcher(page).click()
    scripted(page, events(MARKDOWN, cited(GLOSSARY, "x")))
    ask(page, "صفر لمحہ نقطہ کیا ہے؟")
    assert violations(page) == []
