"""Deep links of every kind of source in a browser: the page opens at the quoted words, and highlights them."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from playwright.sync_api import Browser

from browser import bound_socket, serving
from glossator.core.settings import load_settings
from glossator.facade import Book
from glossator.pipeline.wiring import wire
from highlights import Link, highlights, sampled_links
from site_server import running_site
from tiny_onnx import write_model
from tiny_pdf import paragraph, write_pdf

pytestmark = pytest.mark.slow

FILLER = [f"Buoy number {n} drifts past the pier and is hauled in again." for n in range(60)]
"""Enough to scroll the quoted words out of the window, unless the link opens the page there."""
TEXT = "\n\n".join(FILLER)
PAGES = {
    "markdown/tides.md": f"# Tides\n\n{TEXT}\n\n## Spring\n\nThe *largest* tides follow a `full` moon.\n",
    "html/tides.html": f"<h1>Tides</h1>{''.join(f'<p>{line}</p>' for line in FILLER)}"
    '<h2 id="spring">Spring</h2><p>The <em>largest</em>\ntides follow a <code>full</code> moon.</p>',
    "rst/tides.rst": f"Tides\n=====\n\n{TEXT}\n\nSpring\n------\n\nThe *largest* tides follow a ``full`` moon.\n",
    "asciidoc/tides.adoc": f"= Tides\n\n{TEXT}\n\n== Spring\n\nThe _largest_ tides follow a `full` moon.\n",
    "notebook/tides.ipynb": json.dumps(
        {
            "nbformat": 4,
            "metadata": {},
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": f"# Tides\n\n{TEXT}"},
                {"cell_type": "markdown", "metadata": {}, "source": "## Spring\n\nThe *largest* tides follow a moon."},
            ],
        }
    ),
}
EPUB = {
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
    "book.opf": '<package><manifest><item id="one" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="one"/></spine></package>',
    "one.xhtml": f"<html><body>{PAGES['html/tides.html']}</body></html>",
}
LIVE, REPOSITORY, PDF = "live site", "repository", "tides.pdf"
PLACES = sorted({Path(name).parts[0] for name in PAGES} | {LIVE, REPOSITORY, PDF, "tides.epub"})


def write_sources(folder: Path) -> None:
    """A source of every kind; the text of one that is a PDF is on its second page."""
    for name, text in PAGES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    with zipfile.ZipFile(folder / "tides.epub", "w") as archive:
        for name, text in EPUB.items():
            archive.writestr(name, text)
    write_pdf(folder / PDF, [paragraph(FILLER[:50]), paragraph(FILLER[50:])])
    repository = folder / REPOSITORY
    repository.mkdir()
    (repository / "low.md").write_text(PAGES["markdown/tides.md"], "utf-8")
    person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*person, "commit", "-q", "-m", "Tides"]):
        subprocess.run(["git", "-C", repository, *command], check=True)


def opened(folder: Path, name: str) -> Book:
    """A book with a small model, as links do not depend on vectors."""
    label = re.sub(r"\W", "-", name)
    return Book(wire(load_settings(data_dir=folder / "data", book=label, embedder=str(folder / "model"))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    write_sources(folder)
    write_model(folder / "model")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A server with a book for each source."""
    with running_site() as site, bound_socket() as on:
        site.page("/low/", f"<main>{PAGES['html/tides.html']}</main>")
        for place in PLACES:
            source = {LIVE: f"{site.url}/low/", REPOSITORY: (folder / REPOSITORY).as_uri()}.get(place, folder / place)
            with opened(folder, place) as book:
                book.ingest(source, allow_private=place == LIVE, ref="HEAD" if place == REPOSITORY else None)
        with serving(folder / "data", on, embedder=str(folder / "model")) as running:
            yield running


@pytest.mark.parametrize("place", PLACES)
def test_link_opens_the_page_at_the_quoted_words(chromium: Browser, folder: Path, address: str, place: str) -> None:
    with opened(folder, place) as book:
        links = sampled_links(book, 3, address)
    context = chromium.new_context(bypass_csp=True, reduced_motion="reduce")
    assert len(links) == 3
    assert all(link.opening for link in links)
    assert [(link, lit) for link, lit in zip(links, highlights(context, links), strict=True) if not lit.is_right] == []
    context.close()


def test_other_words_are_seen_not_to_be_the_quote(chromium: Browser, folder: Path, address: str) -> None:
    with opened(folder, "markdown") as book:
        one, other = sampled_links(book, 2, address)
    context = chromium.new_context(bypass_csp=True, reduced_motion="reduce")
    wrong = [Link(one.url, other.quote), Link(other.url.partition(":~")[0], other.quote)]
    assert not any(lit.is_right for lit in highlights(context, wrong))
    context.close()


def test_link_into_a_published_pdf_names_the_page_of_the_words(folder: Path) -> None:
    with opened(folder, "published") as book:
        book.ingest(folder / PDF, base_url="https://tides.example")
        links = sampled_links(book, 20)
    pages = [page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(folder / PDF)]
    for link in links:
        beginning, _, rest = link.url.partition("#page=")
        assert beginning == "https://tides.example/tides.pdf"
        assert link.quote in pages[int(rest.partition(":")[0]) - 1]
    assert {link.url.partition(":~")[0][-1] for link in links} == {"1", "2"}
