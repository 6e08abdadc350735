"""Citations and selections in a real browser: from an answer to the words, and from words to an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import browser
from answer_streams import SHORT_ANSWER, answer_stream, cited_source
from browser import (
    BALANCE,
    CHAT,
    CHOSEN_TEXT,
    CONVEX,
    FACT,
    GLOSSARY,
    HIGHLIGHTED,
    OFFER,
    PHONE,
    QUESTION,
    QUOTE,
    SCRIPT,
    ConsoleErrors,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    chat_text,
    choose_convex_paragraph,
    choose_text,
    embedded,
    field_of,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    script_answers,
    wait_for_timers,
    wait_until_idle,
)
from llm_server import running_llm_server, says, searches

pytestmark = pytest.mark.slow

# Citations.

CARD = "glossator-chat [part=card]"
SOURCE_LABEL = "Glossary › Zero-moment point"
SCORE = 95
"""The relevance of that passage, in per cent."""


def expect_card(page: Page) -> None:
    card = page.locator(CARD)
    expect(card).to_be_visible()
    expect(card.locator("q")).to_have_text(QUOTE)
    for words in (SOURCE_LABEL, chat_text(page, "score", SCORE), chat_text(page, "supported")):
        expect(card).to_contain_text(words)


def test_card_opens_on_hover(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.hover()
    expect_card(page)
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
    wait_for_timers(page)
    expect_card(page)
    panel(page).get_by_role("heading").hover()
    expect(page.locator(CARD)).to_be_hidden()


def test_card_opens_on_focus_and_escape_closes_it(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.focus()
    expect_card(page)
    spoken = f"{SOURCE_LABEL} {QUOTE} {chat_text(page, 'score', SCORE)} · {chat_text(page, 'supported')}"
    expect(marks(page).first).to_have_accessible_description(spoken)
    page.keyboard.press("Escape")
    expect(page.locator(CARD)).to_be_hidden()
    expect(panel(page)).to_be_visible()


def test_card_opens_on_tap_and_links_to_the_source(open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    page.goto("/")
    launcher(page).tap()
    ask(page, QUESTION)
    marks(page).first.tap()
    expect_card(page)
    page.locator(CARD).tap()
    page.wait_for_url(f"**{GLOSSARY}#zero-moment-point*")


def test_card_stays_on_the_screen(open_page: OpenPage) -> None:
    page = open_chat(open_page(viewport=PHONE))
    script_answers(page, answer_stream("Word " * 11 + "word. [1]", cited_source(GLOSSARY, "long " * 80)))
    ask(page, QUESTION)
    marks(page).first.focus()
    box = page.locator(CARD).bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= PHONE["height"]


def test_unsupported_sentence_is_flagged(page: Page) -> None:
    open_chat(page)
    flagged = [{"citations": [1], "status": "unsupported", "score": 0.1}]
    script_answers(page, answer_stream("Maybe. [1]", cited_source(GLOSSARY, "maybe"), verdicts=flagged))
    ask(page, QUESTION)
    marks(page).first.focus()
    expect(page.locator(CARD)).to_contain_text(chat_text(page, "flagged"))


def test_citation_of_this_page_scrolls_to_the_quote_and_highlights_it(page: Page) -> None:
    open_chat(page, GLOSSARY)
    ask(page, QUESTION)
    marks(page).first.click()
    assert page.evaluate(HIGHLIGHTED) == [QUOTE]
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
def test_quote_is_found_across_markup(page: Page, site: Site, address: str, directive: str, quote: str) -> None:
    text = (
        "<p>Before.</p><p>The <em>zero</em>-moment\n   <b>point</b> lies on the ground.</p>\n"
        "<p>The robot stands while it stays inside it.</p>"
    )
    url = site.add("/words", text + (CHAT + SCRIPT).format(address=address, attributes=""))
    open_chat(page, url)
    script_answers(page, answer_stream("So it is. [1]", cited_source(f"{url}#somewhere:~:text={directive}", quote)))
    ask(page, QUESTION)
    marks(page).first.click()
    assert [" ".join(lit.split()) for lit in page.evaluate(HIGHLIGHTED)] == [quote]


def test_citation_of_missing_words_scrolls_to_the_anchor(page: Page) -> None:
    open_chat(page, BALANCE)
    script_answers(
        page, answer_stream("So it was. [1]", cited_source(f"{BALANCE}#zmp-and-cop:~:text=gone%20words", "gone words"))
    )
    ask(page, QUESTION)
    marks(page).first.click()
    expect(page.locator("#zmp-and-cop")).to_be_in_viewport()
    assert page.evaluate(HIGHLIGHTED) == []


def test_panel_closes_on_phones_to_show_the_quote(open_page: OpenPage) -> None:
    page = open_chat(open_page(viewport=PHONE), GLOSSARY)
    ask(page, QUESTION)
    marks(page).first.click()
    assert page.evaluate(HIGHLIGHTED) == [QUOTE]
    expect(panel(page)).to_be_hidden()
    expect(page.locator("article p", has_text=FACT)).to_be_in_viewport()


def test_citation_of_another_page_opens_it_at_the_anchor(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.click()
    page.wait_for_url(f"**{GLOSSARY}#zero-moment-point*")
    expect(page.locator("article p", has_text=FACT)).to_be_in_viewport()


def test_citation_of_another_page_opens_it_at_the_quote(page: Page, console_errors: ConsoleErrors) -> None:
    """The anchor is far from the quote, so that scrolling to the anchor would not show it."""
    console_errors.allow("404")
    open_chat(page)
    words = "The criterion is sufficient for keeping the foot flat"
    url = f"{BALANCE}#centre-of-mass:~:text={words.replace(' ', '%20')}"
    script_answers(page, answer_stream("It is. [1]", cited_source(url, words)))
    ask(page, QUESTION)
    marks(page).first.click()
    page.wait_for_url(f"**{BALANCE}#centre-of-mass*")
    expect(page.locator("article p", has_text=words)).to_be_in_viewport()


def test_citation_on_another_site_opens_a_new_tab(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address))
    ask(page, QUESTION)
    with page.context.expect_page() as opened:
        marks(page).first.click()
    opened.value.wait_for_url(f"{address}{GLOSSARY}#zero-moment-point*")
    expect(opened.value.locator("article p", has_text=FACT)).to_be_in_viewport()
    expect(panel(page)).to_be_visible()


def test_going_back_restores_the_conversation(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    marks(page).first.click()
    page.wait_for_url(f"**{GLOSSARY}#zero-moment-point*")
    page.go_back()
    expect(panel(page)).to_be_visible()
    expect(answers(page)).to_contain_text(FACT)


def test_source_in_the_list_is_a_link(page: Page) -> None:
    open_chat(page, GLOSSARY)
    turn = ask(page, QUESTION)
    turn.locator("details.sources summary").click()
    turn.locator("details.sources a").first.click()
    assert page.evaluate(HIGHLIGHTED) == [QUOTE]


@pytest.fixture(scope="module")
def drafted(sample_book: Any) -> Iterator[str]:
    """A server whose language model writes one supported and one unsupported sentence."""
    truth, lie = f"{QUOTE} [Source 1]", "It was invented in 1822 by a baker named Jean. [Source 1]"
    with running_llm_server() as model, browser.bound_socket() as on:
        model.script(searches(), says(f"{truth} {lie}"), says("NOT FOUND"))
        with browser.serving(sample_book[0], on, llm=f"{model.url}#scripted", cache_answers=0) as address:
            yield address


def test_withheld_sentences_are_only_counted(page: Page, drafted: str) -> None:
    open_chat(page, drafted)
    turn = ask(page, QUESTION, wait=False)
    expect(answers(page)).to_contain_text(QUOTE, timeout=60_000)
    wait_until_idle(page)
    note = turn.locator("details.note")
    expect(note.locator("summary")).to_have_text(chat_text(page, "withheld", 1))
    assert note.get_attribute("open") is None
    assert "baker" not in (turn.text_content() or "")


# Selection.


def test_selecting_text_shows_an_offer_near_it(page: Page) -> None:
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


def test_selection_is_shown_in_the_panel_and_can_be_removed(page: Page) -> None:
    choose_convex_paragraph(page)
    expect(page.locator(CHOSEN_TEXT)).to_contain_text(CONVEX)
    button(page, chat_text(page, "removeSelection")).click()
    expect(page.locator(CHOSEN_TEXT)).to_have_count(0)
    expect(field_of(page)).to_be_focused()
    asked = script_answers(page, SHORT_ANSWER)
    ask(page, QUESTION)
    assert asked[0]["selected_text"] is None


def test_answer_from_the_selection(page: Page) -> None:
    choose_convex_paragraph(page)
    turn = ask(page, "What does convex hull mean?")
    expect(turn).to_contain_text("From your selection")
    expect(answers(page)).to_contain_text("rubber band")
    expect(page.locator(CHOSEN_TEXT)).to_have_count(0)
    marks(page).last.click()
    (lit,) = page.evaluate(HIGHLIGHTED)
    expect(answers(page)).to_contain_text(lit)
    expect(page.locator("article p", has_text=lit)).to_be_in_viewport()


def test_unanswered_selection_offers_to_search_the_whole_book(page: Page) -> None:
    choose_convex_paragraph(page)
    turn = ask(page, "What does the Jacobian map?")
    expect(turn).to_contain_text("Not found in your selection")
    button(page, "Search the whole book").click()
    expect(messages(page)).to_have_count(2)
    wait_until_idle(page)
    expect(messages(page).last).not_to_contain_text("selection")
    expect(answers(page).last).to_contain_text("Jacobian")
    expect(marks(page).first).to_be_visible()


def test_short_selection_gets_a_hint(page: Page) -> None:
    page.goto(BALANCE)
    choose_text(page, "#support-polygon")
    expect(panel(page)).to_contain_text(chat_text(page, "shortSelection"))


def test_long_selection_is_truncated_and_answered(page: Page, site: Site, address: str) -> None:
    text = "Geysers erupt when water boils deep underground. " + "The guide speaks of the weather today. " * 2000
    page.goto(site.add("/long", f"<p id=long>{text}</p>" + (CHAT + SCRIPT).format(address=address, attributes="")))
    assert len(choose_text(page, "#long")) > 64_000
    expect(panel(page)).to_contain_text(chat_text(page, "cutSelection", 64_000))
    with page.expect_request("**/chat/stream") as sent:
        ask(page, "Why do geysers erupt?")
    assert len((sent.value.post_data_json or {})["selected_text"]) == 64_000
    expect(answers(page)).to_contain_text("water boils deep underground")


def test_no_offer_for_selections_in_the_chat(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    answers(page).locator("p").first.click(click_count=3)
    wait_for_timers(page)
    expect(page.locator(OFFER)).to_be_hidden()
    field_of(page).fill("some words that are selected")
    field_of(page).select_text()
    wait_for_timers(page)
    expect(page.locator(OFFER)).to_be_hidden()


@pytest.mark.parametrize(
    "place", ["<input id=it value='several words here'>", "<textarea id=it>several words here</textarea>"]
)
def test_no_offer_for_selections_in_inputs(page: Page, site: Site, address: str, place: str) -> None:
    page.goto(site.add("/form", f"<label>{place}</label>" + (CHAT + SCRIPT).format(address=address, attributes="")))
    page.locator("#it").select_text()
    wait_for_timers(page)
    expect(page.locator(OFFER)).to_be_hidden()
