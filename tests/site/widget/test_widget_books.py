"""The chat of books that are published elsewhere or nowhere: its name, and where its citations lead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

import glossator
from answer_streams import answer_stream, cited_source
from browser import (
    OpenPage,
    Site,
    ask,
    bound_socket,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    script_answers,
    serving,
)
from commands import quick_folder

pytestmark = pytest.mark.slow

QUESTION = "What does the beam of the lighthouse search?"
PAGE = "# Search\n\nThe beam of the lighthouse searches the sea for ships every night.\n"


def served(folder: Path, site: Site, base_url: str) -> Iterator[str]:
    (folder / "book").mkdir()
    (folder / "book" / "search.md").write_text(PAGE, "utf-8")
    with glossator.open(folder / "data") as book:
        book.ingest(folder / "book", base_url=base_url, name='The "lighthouse" <b>')
    with bound_socket() as on, serving(folder / "data", on, cors_origins=site.url) as address:
        yield address


@pytest.fixture(scope="module")
def published(site: Site) -> Iterator[str]:
    with quick_folder() as folder:
        yield from served(folder, site, "https://lighthouse.example")


@pytest.fixture(scope="module")
def unpublished(site: Site) -> Iterator[str]:
    with quick_folder() as folder:
        yield from served(folder, site, "")


def test_citation_of_a_published_book_opens_the_page_of_this_server(open_page: OpenPage, published: str) -> None:
    page = open_chat(open_page(base_url=published))
    ask(page, QUESTION)
    marks(page).first.click()
    page.wait_for_url(f"{published}/book/search*")
    expect(page.locator("main h1")).to_have_text("Search")


def test_citation_of_an_unpublished_book_opens_the_server_from_another_site(
    open_page: OpenPage, unpublished: str, site: Site
) -> None:
    script = f'<script type="module" src="{unpublished}/widget.js"></script><glossator-chat></glossator-chat>'
    page = open_chat(open_page(), site.add("/unpublished", script))
    ask(page, QUESTION)
    href = marks(page).first.get_attribute("href")
    assert href is not None
    assert href.startswith(f"{unpublished}/book/search#search")
    assert page.request.get(href).ok


def test_citation_opens_the_server_where_a_proxy_shows_it(open_page: OpenPage, unpublished: str) -> None:
    inner = "http://inner.example:9"
    source, near = cited_source(f"{inner}/book/search#search", "yes"), {"title": "Search", "section": "Search"}
    stream = answer_stream(
        "Yes. [1]", source, server_url=inner, suggestions=[near | {"url": f"{inner}/book/search#near"}]
    )
    page = open_chat(open_page(base_url=unpublished))
    script_answers(page, stream)
    ask(page, QUESTION)
    assert (marks(page).first.get_attribute("href") or "").startswith(f"{unpublished}/book/search#search")
    expect(panel(page).locator("a.place").last).to_have_attribute("href", f"{unpublished}/book/search#near")


@pytest.mark.parametrize("value", ["", "true"])
def test_local_attribute_keeps_the_path_on_the_site_of_the_page(
    value: str, open_page: OpenPage, published: str, site: Site
) -> None:
    script = f'<script type="module" src="{published}/widget.js"></script>'
    chat = f'<glossator-chat local="{value}"></glossator-chat>'
    page = open_chat(open_page(), site.add("/mirror", script + chat))
    ask(page, QUESTION)
    assert (marks(page).first.get_attribute("href") or "").startswith(f"{site.url}/search#search")


def test_chat_shows_the_name_of_the_book(open_page: OpenPage, unpublished: str) -> None:
    page = open_page(base_url=unpublished)
    page.goto("/")
    expect(launcher(page)).to_have_text("Ask the book")
    expect(page).to_have_title('The "lighthouse" <b>')
    expect(page.locator("main h1").first).to_have_text('The "lighthouse" <b>')
    launcher(page).click()
    expect(panel(page).locator("h2")).to_have_text('The "lighthouse" <b>')
    assert messages(page).count() == 0


@pytest.fixture(scope="module")
def versioned(site: Site) -> Iterator[str]:
    """The book `lights` in two versions, published on the site that the widget stands on."""
    with quick_folder() as folder:
        for version, oil in (("2.0", "whale oil"), ("1.0", "rapeseed oil")):
            (folder / "book" / version).mkdir(parents=True)
            text = f"# Lamp\n\nThe lamp of the lighthouse is fed with {oil}.\n"
            (folder / "book" / version / "lamp.md").write_text(text, "utf-8")
        with glossator.open(folder / "data", book="lights") as book:
            book.ingest(folder / "book", base_url=f"{site.url}/lights")
        with bound_socket() as on, serving(folder / "data", on, cors_origins=site.url) as address:
            yield f"{address}/books/lights"


@pytest.mark.parametrize(("version", "oil"), [("2.0", "whale"), ("1.0", "rapeseed")])
def test_chat_asks_the_book_it_was_loaded_from_in_the_version_of_its_page(
    version: str, oil: str, open_page: OpenPage, versioned: str, site: Site
) -> None:
    script = f'<script type="module" src="{versioned}/widget.js"></script><glossator-chat></glossator-chat>'
    elsewhere, here = site.add("/elsewhere", script), site.add(f"/lights/{version}/lamp", script)
    for path, expected in ((elsewhere, "whale"), (here, oil)):
        page = open_chat(open_page(), path)
        assert expected in (ask(page, "What is the lamp of the lighthouse fed with?").text_content() or "")
    server = versioned.removesuffix("/books/lights")
    page = open_chat(open_page(base_url=server), f"/books/lights/book/{version}/lamp")
    assert oil in (ask(page, "What is the lamp of the lighthouse fed with?").text_content() or "")
    marks(page).first.click()
    expect(page).to_have_url(re.compile(rf"{server}/books/lights/book/{version}/lamp"))
