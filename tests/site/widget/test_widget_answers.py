"""Answers in the chat: quotes unaltered, formulas typeset, sources by section, a copy button, example questions."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from answer_streams import answer_stream, cited_source
from browser import (
    BALANCE,
    CHAT,
    GLOSSARY,
    HIGHLIGHTED,
    PHONE,
    QUESTION,
    QUOTE,
    SCRIPT,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    chat_text,
    field_of,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    script_answers,
    wait_until_idle,
)
from glossator.core.text.formulas import typeset_all

pytestmark = pytest.mark.slow

STARS = "The optimum q^{*} beats every q^{*} that *args and **kwargs name, and __init__ stays `as it is`."
FORMULA = "The centre is $c = \\frac{1}{m}$ and the optimum $q^{*}$ is *not* reached."


def sources(turn: Locator) -> Locator:
    return turn.locator("details.sources")


def test_quotes_are_shown_unaltered(page: Page) -> None:
    open_chat(page)
    script_answers(page, answer_stream(f"{STARS} [1]", cited_source(GLOSSARY, STARS)))
    ask(page, QUESTION)
    expect(answers(page)).to_have_text(f"{STARS} 1")
    expect(answers(page).locator("em, strong, code")).to_have_count(0)
    marks(page).first.focus()
    expect(page.locator("glossator-chat [part=card] q")).to_have_text(STARS)


def test_cells_of_a_quoted_row_are_shown_unaltered(page: Page) -> None:
    open_chat(page)
    row = "include | **/*.md and *.mdx | Files of *both* kinds"
    script_answers(
        page,
        answer_stream(
            f"| Option | *Default* | [Use](https://x.org) |\n| --- | --- | --- |\n| {row} [1] |",
            cited_source(GLOSSARY, row),
        ),
    )
    ask(page, QUESTION)
    expect(answers(page).locator("th")).to_have_text(["Option", "*Default*", "[Use](https://x.org)"])
    expect(answers(page).locator("td")).to_have_text(["include", "**/*.md and *.mdx", "Files of *both* kinds 1"])
    expect(answers(page).locator("em, strong")).to_have_count(0)
    expect(marks(page)).to_have_count(1)


def test_only_sentences_of_a_model_have_emphasis(page: Page) -> None:
    open_chat(page)
    text = f"In *short*: it works. [1] {STARS} [2]"
    script_answers(page, answer_stream(text, cited_source(GLOSSARY, "It works."), cited_source(GLOSSARY, STARS)))
    ask(page, QUESTION)
    expect(answers(page).locator("em")).to_have_text(["short"])
    expect(answers(page)).to_contain_text(STARS)


def test_asterisks_of_a_model_that_are_no_emphasis_stay(page: Page) -> None:
    open_chat(page)
    text = "Here q^{*} beats q^{*}, T* beats S*, *args and *kwargs beat **opts and **more, and 2**n beats 3**m."
    script_answers(page, answer_stream(f"{text} [1] It is *so* and **thus**. [1]", cited_source(GLOSSARY, "It is.")))
    ask(page, QUESTION)
    expect(answers(page)).to_have_text(f"{text} 1 It is so and thus. 1")
    expect(answers(page).locator("em")).to_have_text(["so"])
    expect(answers(page).locator("strong")).to_have_text(["thus"])


def test_words_of_a_quote_within_a_sentence_of_a_model_are_not_a_quote(page: Page) -> None:
    open_chat(page)
    script_answers(page, answer_stream("An *extra* box. [1]", cited_source(GLOSSARY, "x")))
    ask(page, QUESTION)
    expect(answers(page).locator("em")).to_have_text("extra")


def test_mark_in_a_quote_is_not_a_citation(page: Page) -> None:
    open_chat(page)
    script_answers(page, answer_stream("See (7) and *this*. [1]", cited_source(GLOSSARY, "See [7] and *this*.")))
    ask(page, QUESTION)
    expect(answers(page)).to_have_text("See (7) and *this*. 1")


def test_formulas_are_typeset(page: Page) -> None:
    open_chat(page)
    formulas = typeset_all([FORMULA])
    script_answers(page, answer_stream(f"{FORMULA} [1]", cited_source(GLOSSARY, FORMULA), formulas=formulas))
    turn = ask(page, QUESTION)
    expect(answers(page).locator("math")).to_have_count(2)
    expect(answers(page).locator("math").nth(1).locator("annotation")).to_have_text("q^{*}")
    assert answers(page).locator("math").first.evaluate("node => node.namespaceURI").endswith("MathML")
    expect(answers(page)).to_contain_text("is *not* reached.")
    sources(turn).locator("summary").click()
    expect(sources(turn).locator("math").first).to_be_visible()


def test_formulas_of_the_book_are_typeset_in_answers(page: Page) -> None:
    open_chat(page)
    ask(page, "How is the centre of mass calculated from the masses of the parts?")
    page.wait_for_timeout(100)
    text = answers(page).inner_text()
    assert answers(page).locator("math").count() > 0 or "$" not in text


@pytest.mark.parametrize(
    "tree",
    [
        ["script", {}, "document.title = 'owned'"],
        ["math", {"onclick": "document.title = 'owned'", "href": "javascript:1", "style": "position: fixed"}, "x"],
        ["math", {}, ["mtext", {}, ["img", {"src": "x", "onerror": "document.title = 'owned'"}]]],
    ],
    ids=["script", "attributes", "image"],
)
def test_hostile_formula_creates_only_math(page: Page, tree: list[Any]) -> None:
    open_chat(page)
    script_answers(page, answer_stream("So $x$ is. [1]", cited_source(GLOSSARY, "y"), formulas={"$x$": tree}))
    ask(page, QUESTION)
    answers(page).click()
    assert page.title() != "owned"
    assert answers(page).locator("script, img, [onclick], [href^=javascript], [style]").count() == 0


def test_sources_are_folded_and_grouped_by_section(page: Page) -> None:
    open_chat(page)
    long = "word " * 40
    cited = (
        cited_source(f"{GLOSSARY}#a:~:text=one", "One thing."),
        cited_source(f"{BALANCE}#b:~:text=two", long, title="Other", section="Far"),
        cited_source(f"{GLOSSARY}#a:~:text=three", "Another thing."),
        cited_source(f"{GLOSSARY}#a:~:text=one", "One thing."),
    )
    script_answers(page, answer_stream("A. [1] B. [2] C. [3] D. [4]", *cited))
    turn = ask(page, QUESTION)
    listed = sources(turn)
    assert listed.get_attribute("open") is None
    expect(listed.locator("summary")).to_have_text(f"{chat_text(page, 'sources')} (2)")
    listed.locator("summary").press("Enter")
    expect(listed.locator("li a.place")).to_have_text(["Balance › Zero-moment point", "Other › Far"])
    rows = listed.locator("li p")
    expect(rows).to_have_text(["14 One thing.", "3 Another thing.", "2 " + ("word " * 20).strip() + " …"])


def test_marks_of_one_source_light_up_their_own_words(page: Page) -> None:
    open_chat(page, BALANCE)
    first, second = "Convex hull means the shape", "The criterion is sufficient for keeping the foot flat"
    source = cited_source(f"{BALANCE}#x:~:text={first.replace(' ', '%20')}", first)
    verdicts = [{"citations": [1], "status": "supported", "score": 0.9, "quote": quote} for quote in (first, second)]
    script_answers(page, answer_stream("A. [1] B. [1]", source, verdicts=verdicts))
    ask(page, QUESTION)
    marks(page).nth(1).click()
    assert page.evaluate(HIGHLIGHTED) == [second]
    marks(page).nth(0).click()
    assert page.evaluate(HIGHLIGHTED) == [first]


def test_mark_of_a_quote_with_a_superscript_highlights_words_beside_it(page: Page, site: Site, address: str) -> None:
    text = "<p>The pump runs for 10<sup>6</sup> hours.</p>" + (CHAT + SCRIPT).format(address=address, attributes="")
    url = site.add("/pump", text)
    open_chat(page, url)
    verdicts = [{"citations": [1], "status": "supported", "score": 0.9, "quote": "The pump runs for 10⁶ hours."}]
    script_answers(page, answer_stream("A. [1]", cited_source(f"{url}#:~:text=other", "Other."), verdicts=verdicts))
    ask(page, QUESTION)
    marks(page).first.click()
    assert page.evaluate(HIGHLIGHTED) == ["The pump runs for"]


def test_copy_button_copies_the_answer_with_citations(open_page: OpenPage) -> None:
    page = open_chat(open_page(permissions=["clipboard-read", "clipboard-write"]))
    script_answers(page, answer_stream("So it is. [1]", cited_source(f"{GLOSSARY}#zmp", "It is so.")))
    ask(page, QUESTION)
    button(page, chat_text(page, "copyAnswer")).click()
    expect(page.locator("glossator-chat [aria-live]")).to_have_text(chat_text(page, "copied"))
    copied: str = page.evaluate("navigator.clipboard.readText()")
    link = page.url.rstrip("/") + GLOSSARY
    assert copied == f"So it is. [1]\n\n[1] Balance › Zero-moment point: “It is so.” {link}#zmp"


def test_example_questions_can_be_asked(page: Page) -> None:
    open_chat(page)
    examples = panel(page).locator(".example")
    expect(examples).to_have_count(3)
    question = examples.first.inner_text()
    examples.first.click()
    wait_until_idle(page)
    expect(messages(page).first.locator("[part=question]")).to_have_text(question)
    expect(marks(page).first).to_be_visible()
    expect(examples).to_have_count(0)
    expect(panel(page).get_by_role("heading")).to_have_text("Physical AI: Bodies, Balance and Behaviour")


@pytest.mark.parametrize("width", [800, 1000, 1280, 1600])
@pytest.mark.parametrize("attributes", ["", "position=left", 'lang="ur"'])
def test_panel_never_covers_the_words_it_lit_up(
    open_page: OpenPage, site: Site, address: str, width: int, attributes: str
) -> None:
    page = open_page(viewport={"width": width, "height": 700})
    text = f"<p>{'Filler. ' * 300}</p><p id=words>{QUOTE}</p><p>{'Filler. ' * 300}</p>"
    url = site.add("/covered", text + (CHAT + SCRIPT).format(address=address, attributes=attributes))
    page.goto(url)
    launcher(page).click()
    expect(field_of(page)).to_be_focused()
    script_answers(page, answer_stream("So. [1]", cited_source(f"{url}#:~:text={QUOTE.replace(' ', '%20')}", QUOTE)))
    ask(page, QUESTION)
    marks(page).first.click()
    assert page.evaluate(HIGHLIGHTED) == [QUOTE]
    assert page.evaluate(
        """() => [...[...CSS.highlights.get('glossator')][0].getClientRects()].every(box => {
            const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
            return y > 0 && y < innerHeight && document.elementFromPoint(x, y).tagName !== 'GLOSSATOR-CHAT';
        })"""
    )


def test_panel_moves_aside_where_there_is_room(open_page: OpenPage, site: Site, address: str) -> None:
    page = open_page(viewport={"width": 1280, "height": 700})
    words = QUOTE[:40]
    text = f'<p id="words" align="right">{words}</p>'
    url = site.add("/aside", text + (CHAT + SCRIPT).format(address=address, attributes=""))
    open_chat(page, url)
    script_answers(
        page, answer_stream("So. [1]", cited_source(f"{url}#:~:text={QUOTE[:40].replace(' ', '%20')}", QUOTE))
    )
    page.locator("#words").evaluate(
        "node => { const range = document.createRange(); range.selectNodeContents(node); node.style.display = 'table';"
        " node.style.marginLeft = 'auto'; }"
    )
    ask(page, QUESTION)
    marks(page).first.click()
    expect(panel(page)).to_be_visible()
    box = panel(page).bounding_box()
    assert box
    assert box["x"] < 100


def test_selected_formulas_are_sent_as_tex(page: Page) -> None:
    page.goto(BALANCE)
    page.locator("article p:has(math)").first.evaluate(
        "node => { const range = document.createRange(); range.selectNodeContents(node);"
        " getSelection().removeAllRanges(); getSelection().addRange(range); }"
    )
    page.locator("glossator-chat [part=offer]").click()
    bodies = script_answers(page, answer_stream("Yes. [1]", cited_source(GLOSSARY, "yes")))
    ask(page, "What is it?")
    assert "$" in bodies[0]["selected_text"]
    assert "\n\n\n" not in bodies[0]["selected_text"]


def test_actions_of_an_answer_work_by_keyboard_on_a_phone(open_page: OpenPage) -> None:
    page = open_chat(open_page(viewport=PHONE))
    script_answers(page, answer_stream("So it is. [1]", cited_source(f"{GLOSSARY}#zmp", "It is so.")))
    turn = ask(page, QUESTION)
    sources(turn).locator("summary").focus()
    page.keyboard.press("Enter")
    expect(sources(turn).locator("li")).to_be_visible()
    page.keyboard.press("Tab")
    expect(sources(turn).locator("a.place")).to_be_focused()
