"""Citations and selections in a real browser: from an answer to the words, and from words to an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import browser
from browser import (
    BALANCE,
    CHAT,
    CHOSEN,
    CONVEX,
    FACT,
    GLOSSARY,
    LIT,
    OFFER,
    PHONE,
    QUESTION,
    QUOTE,
    SCRIPT,
    SHORT,
    Complaints,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    cited,
    embedded,
    events,
    field_of,
    later,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    said,
    scripted,
    settled,
    take,
    take_convex,
)
from llm_server import running_llm_server, says, searches

# Citations.

CARD = "glossator-chat [part=card]"
PLACE = "Glossary › Zero-moment point"


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


@pytest.fixture(scope="module")
def drafted(shelf: Any) -> Iterator[str]:
    """The address of a server whose language model says something true, and a lie."""
    truth, lie = f"{QUOTE} [Source 1]", "It was invented in 1822 by a baker named Jean. [Source 1]"
    with running_llm_server() as model, browser.listening() as on:
        model.script(searches(), says(f"{truth} {lie}"), says("NOT FOUND"))
        with browser.serving(shelf[0], on, llm=f"{model.url}#scripted", cache_answers=0) as address:
            yield address


def test_withheld_sentences_are_only_counted(page: Page, drafted: str) -> None:
    open_chat(page, drafted)
    turn = ask(page, QUESTION, wait=False)
    expect(answers(page)).to_contain_text(QUOTE, timeout=60_000)
    settled(page)
    note = turn.locator("details.note")
    expect(note.locator("summary")).to_have_text(said(page, "withheld", 1))
    assert note.get_attribute("open") is None
    assert "baker" not in (turn.text_content() or "")


# Selection.


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
