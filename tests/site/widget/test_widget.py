"""The chat element on pages: embedding, attributes, languages, layout."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

import browser
from answer_streams import MARKDOWN, answer_stream, cited_source
from browser import (
    CHAT,
    FACT,
    GLOSSARY,
    PHONE,
    QUESTION,
    SCRIPT,
    ConsoleErrors,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    chat_text,
    embedded,
    field_of,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    script_answers,
    wait_for_timers,
)

pytestmark = pytest.mark.slow


def test_another_site_embeds_the_chat_with_one_script_and_one_element(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address))
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    assert (marks(page).first.get_attribute("href") or "").startswith(f"{address}{GLOSSARY}#zero-moment-point")
    expect(marks(page).first).to_have_attribute("target", "_blank")


def test_an_origin_that_is_not_allowed_sees_an_error(page: Page, address: str, console_errors: ConsoleErrors) -> None:
    console_errors.allow("CORS|ERR_FAILED")
    with browser.running_site() as stranger:
        open_chat(page, embedded(stranger, address))
        turn = ask(page, QUESTION)
        expect(turn).to_contain_text(chat_text(page, "unreachable"))
        expect(button(page, "Try again")).to_be_enabled()


def test_the_chat_adds_no_global_names(page: Page, site: Site, address: str) -> None:
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
def test_theme_overrides_the_system_preference(
    open_page: OpenPage, site: Site, address: str, theme: str, scheme: str
) -> None:
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


def test_the_chat_works_under_a_strict_policy(page: Page, site: Site, address: str) -> None:
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


def test_moving_the_element_keeps_the_conversation(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    page.locator("glossator-chat").evaluate("node => document.body.prepend(node)")
    wait_for_timers(page)
    expect(messages(page)).to_have_count(1)
    expect(answers(page)).to_contain_text(FACT)


def test_strings_that_load_late_keep_the_question(page: Page, site: Site, address: str) -> None:
    late = browser.HeldRequests(page)
    page.route("**/ur.js", late.hold)
    open_chat(page, embedded(site, address, 'lang="ur"'))
    field_of(page).fill("half a question")
    late.routes.pop().continue_()
    expect(button(page, "بھیجیں")).to_be_visible()
    expect(field_of(page)).to_have_value("half a question")
    expect(field_of(page)).to_be_focused()


def test_direction_follows_the_text(page: Page) -> None:
    open_chat(page)
    script_answers(page, answer_stream("صفر لمحہ نقطہ زمین پر ہے۔"))
    turn = ask(page, "صفر لمحہ نقطہ کیا ہے؟")
    expect(turn.locator("[part=question]")).to_have_css("direction", "rtl")
    expect(turn.locator("[part=answer] p")).to_have_css("direction", "rtl")
    expect(field_of(page)).to_have_attribute("dir", "auto")
    expect(panel(page)).to_have_css("direction", "ltr")


def test_urdu_strings_and_direction(page: Page, site: Site, address: str) -> None:
    page.goto(embedded(site, address, 'lang="ur"'))
    expect(launcher(page)).to_have_text("کتاب سے پوچھیں")
    launcher(page).click()
    expect(panel(page)).to_have_css("direction", "rtl")
    expect(button(page, "بھیجیں")).to_be_visible()
    box = panel(page).bounding_box()
    assert box
    assert box["x"] < 100


def test_adding_a_language(page: Page, site: Site, address: str) -> None:
    page.goto(embedded(site, address))
    page.evaluate("customElements.get('glossator-chat').strings.fr = { title: 'Demander au livre', send: 'Envoyer' }")
    page.locator("glossator-chat").evaluate("node => node.lang = 'fr-CA'")
    expect(launcher(page)).to_have_text("Demander au livre")
    launcher(page).click()
    expect(button(page, "Envoyer")).to_be_visible()
    expect(button(page, "Close")).to_be_visible()


def test_panel_floats_on_desktops_and_fills_phones(open_page: OpenPage) -> None:
    wide, narrow = open_chat(open_page()), open_chat(open_page(viewport=PHONE))
    box = panel(wide).bounding_box()
    assert box
    assert box["width"] < 500
    assert panel(narrow).bounding_box() == {"x": 0, "y": 0, **PHONE}


@pytest.mark.parametrize(("width", "is_sheet"), [(767, True), (768, False)])
def test_panel_fills_the_screen_below_768_pixels(open_page: OpenPage, width: int, is_sheet: bool) -> None:
    page = open_chat(open_page(viewport={"width": width, "height": 800}))
    box = panel(page).bounding_box()
    assert box
    assert (box["width"] == width) is is_sheet


@pytest.mark.parametrize("viewport", [{"width": 320, "height": 480}, PHONE, browser.DESKTOP])
def test_nothing_overflows_the_panel(open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_chat(open_page(viewport=viewport))
    wide = f"{'x' * 300} [a link](https://example.org/{'y' * 300})\n\n```\n{'z' * 300}\n```\n\n" + MARKDOWN
    script_answers(
        page, answer_stream(wide + "\n| " + "| wide column " * 12 + "\n" + "|---" * 13, cited_source(GLOSSARY, "x"))
    )
    ask(page, "w" * 300)
    log = page.locator("glossator-chat [part=log]")
    assert log.evaluate("node => node.scrollWidth <= node.clientWidth")
    for control in (field_of(page), button(page, "Send"), button(page, "Close")):
        expect(control).to_be_in_viewport(ratio=1)
