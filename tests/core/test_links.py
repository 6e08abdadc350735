"""Deep links: the first match that a browser finds on the page is the quote."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import glossator
from glossator.core.text.links import deep_link, text_fragment
from glossator.core.text.sentences import split_sentences


def folded(text: str) -> list[tuple[str, int]]:
    """Characters as a browser compares them, each with its offset."""
    plain = ((c, offset) for offset, one in enumerate(text) for c in unicodedata.normalize("NFKD", one).casefold())
    return [(c, offset) for c, offset in plain if unicodedata.combining(c) == 0]


def find(page: str, words: str, after: int = 0) -> tuple[int, int] | None:
    """The first match between word boundaries, as the text fragment specification defines it."""
    there, wanted = folded(page), "".join(c for c, _ in folded(words))
    text = "".join(c for c, _ in there)
    for match in re.finditer(f"(?={re.escape(wanted)})", text):
        start, end = match.start(), match.start() + len(wanted)
        bounded = not (start and text[start - 1].isalnum()) and not (end < len(text) and text[end].isalnum())
        if bounded and there[start][1] >= after:
            return there[start][1], there[end - 1][1] + 1
    return None


def selected_range(page: str, directive: str) -> tuple[int, int]:
    """The range that a browser would select for `prefix-,start,end`."""
    assert re.fullmatch(r"(?:[\w%!'()*.~;:@/?$+]|-,|,)+", directive, re.ASCII)
    prefix, _, rest = directive.rpartition("-,")
    start, _, end = rest.partition(",")
    words = f"{unquote(prefix)} {unquote(start)}" if prefix else unquote(start)
    found = find(page, words)
    assert found is not None
    begin = found[0] + (len(unquote(prefix)) + 1 if prefix else 0)
    if not end:
        return begin, found[1]
    last = find(page, unquote(end), found[1])
    assert last is not None
    return begin, last[1]


WORDS = st.sampled_from(
    "the robot walks Robot résumé RESUME cafe\u0301 a-b, A&B 50% x.y (so) چلتا ہے وہ straße 東京".split()
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=40).map(lambda words: " ".join(words) + ".")
PAGES = st.lists(st.one_of(SENTENCES, st.just("The robot walks.")), min_size=1, max_size=12).map(" ".join)


@given(PAGES, st.data())
def test_fragment_opens_the_page_at_the_quote(page: str, data: st.DataObject) -> None:
    span = data.draw(st.sampled_from(split_sentences(page)))
    if directive := text_fragment(page, span.start, span.end):
        start, end = selected_range(page, directive)
        assert start == span.start
        assert end <= span.end


@given(st.lists(st.text("abcdefgh", min_size=3, max_size=8), min_size=5, max_size=60, unique=True))
def test_unique_words_always_get_a_fragment(words: list[str]) -> None:
    page = f"Opening words. {' '.join(words)}. Closing words."
    start = len("Opening words. ")
    directive = text_fragment(page, start, start + len(" ".join(words)) + 1)
    assert selected_range(page, directive)[0] == start


def test_reserved_characters_are_encoded() -> None:
    page = "A well-known, R&D-led 100% claim #1."
    assert text_fragment(page, 0, len(page)) == "A%20well%2Dknown%2C%20R%26D%2Dled%20100%25%20claim%20%231."


def test_long_quote_is_matched_by_its_first_and_last_words() -> None:
    page = "Zero. " + " ".join(f"word{n}" for n in range(40)) + ". End."
    fragment = text_fragment(page, 6, len(page) - 5)
    assert fragment == "word0%20word1%20word2%20word3,word36%20word37%20word38%20word39."


def test_repeated_sentence_gets_the_words_before_it_as_prefix() -> None:
    page = "At first it fails. At last it fails."
    start = page.rindex("it fails")
    assert text_fragment(page, start, len(page)) == "last-,it%20fails."


def test_repeated_paragraph_gets_the_end_of_the_block_above_as_prefix() -> None:
    page = "Motors\n\nCheck it first.\n\nNew brakes\n\nCheck it first."
    start = page.rindex("Check")
    assert text_fragment(page, start, len(page)) == "brakes-,Check%20it%20first."


def test_ambiguous_quote_links_to_its_section() -> None:
    page = "It fails.\n\nIt fails.\n\nIt fails."
    assert deep_link("https://x.org/p", "why not", page, 22, 31) == "https://x.org/p#why%20not"
    assert deep_link("https://x.org/p", "", page, 22, 31) == "https://x.org/p"


def test_matching_ignores_accents_and_case() -> None:
    page = "RÉSUMÉS ARE SHORT. Resumes are short."
    start = page.index("Resumes")
    assert text_fragment(page, start, len(page)) == "SHORT.-,Resumes%20are%20short."


def test_fragment_excludes_formulas() -> None:
    page = r"The angle $\alpha_1$ of the long arm grows with $t$. More."
    assert text_fragment(page, 0, page.index(" More")) == "of%20the%20long%20arm%20grows%20with"
    assert text_fragment("$x^2$", 0, 5) == ""


@pytest.mark.parametrize(
    ("page", "fragment"),
    [
        ("The pump runs for 10⁶ hours.", "The%20pump%20runs%20for"),
        ("The tank of the old house stores H₂O at 10⁻³ bar.", "The%20tank%20of%20the%20old%20house%20stores"),
        ("It grows as x^(k+1) in every year after that.", "in%20every%20year%20after%20that."),
        ("Here x_k is the state of the robot.", "is%20the%20state%20of%20the%20robot."),
        ("Set max_retries or max_n_tries first.", "Set%20max_retries%20or%20max_n_tries%20first."),
        ("10⁶", ""),
    ],
)
def test_fragment_excludes_superscripts_and_subscripts(page: str, fragment: str) -> None:
    assert text_fragment(page, 0, len(page)) == fragment


def test_row_is_matched_by_its_longest_cell() -> None:
    page = "a | b | c\nport | 80 | The port of the server."
    assert text_fragment(page, 10, len(page)) == "The%20port%20of%20the%20server."


def test_row_with_an_empty_last_cell_is_matched_by_its_longest_cell() -> None:
    page = "port | The port of the server. | \nhost | The host. | "
    assert text_fragment(page, 0, page.index(" | \n")) == "The%20port%20of%20the%20server."


def test_repeated_cell_gets_the_words_of_the_cell_before_it_as_prefix() -> None:
    page = "port | 80 | See below.\nhost | 81 | See below."
    assert text_fragment(page, page.index("host"), len(page)) == "81-,See%20below."


def test_prices_are_not_formulas() -> None:
    page = "It costs $5 here and $6 there."
    assert text_fragment(page, 0, len(page)) == "It%20costs%20$5%20here%20and%20$6%20there."


def test_urdu_is_encoded() -> None:
    page = "روبوٹ چلتا ہے۔"
    link = deep_link("https://x.org/p", "تعارف", page, 0, len(page))
    assert link.isascii()
    assert unquote(link) == f"https://x.org/p#تعارف:~:text={page}"


def test_every_citation_opens_the_page_at_its_quote(small_book: Path, tmp_path: Path) -> None:
    with glossator.open(tmp_path / "data") as book:
        book.ingest(small_book, base_url="https://x.org")
        citations = book.ask("What are tides caused by?").citations
        texts = {document.document_id: document.text for document in book.documents()}
    assert citations
    for citation in citations:
        directive = citation.url.partition(":~:text=")[2]
        assert selected_range(texts[citation.document_id], directive)[0] == citation.start
