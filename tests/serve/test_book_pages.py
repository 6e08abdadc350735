"""The pages of the book: answers, hostile text, anchors, unknown pages."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

import glossator
import tides_book
from data_dirs import write_pages
from doors import serving
from glossator.core.text.markup import ADMONITION_KINDS
from glossator.core.types import Block, BlockKind, Document
from glossator.serve.site.book import ServedBook
from glossator.serve.site.pages import book_page
from tides_book import HOSTILE, MOON, SCRIPTS

pytestmark = pytest.mark.slow

data, app, client, empty = tides_book.data, tides_book.app, tides_book.client, tides_book.empty


@pytest.mark.parametrize("path", ["/", "/?q=tides", "/book/tides"])
async def test_missing_index_is_a_friendly_page(empty: httpx.AsyncClient, path: str) -> None:
    response = await empty.get(path)
    assert response.status_code == 503
    assert response.headers["content-type"].startswith("text/html")
    assert "Nothing has been ingested yet" in response.text
    assert "secret-place" not in response.text
    assert (await empty.get("/livez")).status_code == 200


async def test_page_shows_an_answer_with_deep_links(client: httpx.AsyncClient) -> None:
    page = (await client.get("/", params={"q": MOON})).text
    assert "Tides are caused mainly by the gravity of the Moon." in page
    assert 'href="/book/tides#tides:~:text=Tides%20are%20caused' in page
    assert '<a dir="auto" href="/book/tides">Tides</a>' in page


@pytest.mark.parametrize("question", [HOSTILE, f"{MOON} {HOSTILE}"])
async def test_hostile_question_is_escaped(client: httpx.AsyncClient, question: str) -> None:
    page = (await client.get("/", params={"q": question})).text
    assert re.findall(r"<script[^>]*>|<img", page) == SCRIPTS
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&quot;&gt;&lt;img" in page


async def test_hostile_book_is_escaped(client: httpx.AsyncClient) -> None:
    for path in ("/book/evil", "/", "/?q=What+does+the+lighthouse+keeper+write%3F"):
        page = (await client.get(path)).text
        assert re.findall(r"<script[^>]*>|<img", page) == SCRIPTS
        assert "&lt;script&gt;alert(&#x27;title&#x27;)" in page
    page = (await client.get("/book/evil")).text
    for place in ("heading", "text", "code", "cell"):
        assert f"&lt;script&gt;alert('{place}')&lt;/script&gt;" in page.replace("&#x27;", "'")


async def test_page_has_the_anchors_that_citations_use(client: httpx.AsyncClient) -> None:
    page = (await client.get("/book/tides")).text
    assert '<h1 id="tides"' in page
    assert '<h2 id="spring-tides"' in page
    assert (await client.get("/book/tides/")).text == page


async def test_page_with_a_non_ascii_name_is_served(client: httpx.AsyncClient) -> None:
    assert "Coffee is served" in (await client.get("/book/caf%C3%A9")).text


@pytest.mark.parametrize("path", ["/nowhere", "/book", "/book/%00", "/../../etc/passwd", "/book/tides.md"])
async def test_unknown_page_is_404(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert response.status_code == 404
    assert "not in the book" in response.text


@pytest.mark.parametrize("path", ["/", "/book/tides", "/no/such/page"])
@pytest.mark.parametrize("method", ["POST", "HEAD", "DELETE"])
async def test_other_method_is_405_and_names_the_allowed_one(client: httpx.AsyncClient, method: str, path: str) -> None:
    response = await client.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, "GET")
    assert "Try again" not in response.text


async def test_too_long_question_is_rejected_on_the_page(client: httpx.AsyncClient) -> None:
    response = await client.get("/", params={"q": "x" * 32_001})
    assert response.status_code == 400
    assert response.headers["content-type"].startswith("text/html")
    assert "The limit is 32,000" in response.text


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("The pump runs.", "ltr"),
        ("معکوس حرکیات زاویے معلوم کرتی", "rtl"),
        ("معکوس حرکیات زاویے معلوم کرتی `arm.stop()` 40", "rtl"),
        ("The Urdu word for book is کتاب.", "ltr"),
    ],
)
async def test_page_has_the_direction_of_most_of_its_words(text: str, direction: str) -> None:
    document = Document("a.md", "/book/a", "A", ("A",), text, (Block(BlockKind.PARAGRAPH, 0, len(text)),), "")
    assert f'<article dir="{direction}">' in book_page(document, ServedBook("Book", (), ()))


FEW_SECTIONS = {
    "tides.md": "# Tides\n\nTides are caused mainly by the gravity of the Moon.",
    "bread.md": "# Bread\n\nBread is baked from flour, water and salt.",
    "pumps.md": "# Pumps\n\nPumps move water by means of a rotating wheel.",
}
REPEATED_SECTIONS = {
    name: f"{text}\n\n## Recap\n\nThis recap is a short summary of the page." for name, text in FEW_SECTIONS.items()
}
FOUR_SECTIONS = {
    "home.md": "# Home\n\n"
    + "\n\n".join(text.replace("# ", "## ") for text in FEW_SECTIONS.values())
    + "\n\n## Frogs\n\nFrogs sleep in the mud of ponds."
}


@pytest.mark.parametrize("pages", [FEW_SECTIONS, REPEATED_SECTIONS, FOUR_SECTIONS], ids=["few", "repeated", "four"])
async def test_front_page_of_a_small_book_offers_three_questions(fast_tmp_path: Path, pages: dict[str, str]) -> None:
    write_pages(fast_tmp_path / "book", pages)
    with glossator.open(fast_tmp_path / "data") as book:
        book.ingest(fast_tmp_path / "book")
    async with serving(fast_tmp_path / "data") as client:
        front = (await client.get("/")).text
    examples = re.findall(r'<a href="(/\?q=[^"]*)"', front)
    assert len(examples) == len(set(examples)) == 3


async def test_every_kind_of_admonition_has_a_label_where_the_book_gives_no_title(client: httpx.AsyncClient) -> None:
    style = (await client.get("/style.css")).text
    assert {kind for kind in ADMONITION_KINDS if f'.{kind} {{ --label: "' not in style} == set()
