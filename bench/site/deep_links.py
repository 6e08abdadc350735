"""Opens a sample of the deep links of every kind of source in Chromium, and checks which words are highlighted.

`deep_links.py epub rst` checks some kinds only; LINKS=100 opens more of each.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pypdfium2
from playwright.sync_api import BrowserContext, sync_playwright

import glossator
from lib.books import debian_reference
from lib.common import CACHE, ROOT, unpack
from serve import server

sys.path += [str(ROOT / "tests" / "support" / name) for name in ("", "tiny")]

from highlights import Link, highlights, sampled_links
from tiny_onnx import write_model

PORT = 8898
LINKS = int(os.environ.get("LINKS", "25"))
"""Opened for each kind of source."""
SCRATCH = CACHE / "deep-links"
DATA_DIR = SCRATCH / "data"
_PAGE = re.compile(r"#page=(\d+)")


@dataclass(frozen=True)
class Source:
    """What to ingest, and with which options; without a base URL, the server shows the pages."""

    place: str | Path
    options: dict[str, Any] = field(default_factory=dict)


def sources(site: str) -> dict[str, Source]:
    """Every kind; `site` serves the files of the Debian reference."""
    reference = debian_reference()
    rust = unpack("books/rust-book.tar.gz") / "src"
    return {
        "live site": Source(f"{site}/index.html", {"allow_private": True}),
        "HTML folder": Source(CACHE / "developers-reference-html", {"base_url": site}),
        "HTML folder at /book": Source(CACHE / "developers-reference-html", {"base_url": ""}),
        "Markdown at /book": Source(rust),
        "MDX at /book": Source(unpack("books/docusaurus-docs.tar.gz"), {"base_url": ""}),
        "EPUB at /book": Source(reference / "developers-reference.epub"),
        "rst at /book": Source(unpack("books/ros2-docs-rst.tar.gz") / "source"),
        "AsciiDoc at /book": Source(unpack("books/asciidoctor-docs.tar.gz") / "docs"),
        "notebooks at /book": Source(notebooks(rust)),
        "git at /book": Source(repository(rust).as_uri(), {"ref": "main"}),
        "PDF at /book": Source(reference / "developers-reference.pdf"),
        "PDF": Source(reference / "developers-reference.pdf", {"base_url": site}),
    }


def notebooks(rust: Path) -> Path:
    """Pages of The Rust Book as notebooks: a cell for each section."""
    folder = SCRATCH / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for path in rust.glob("ch0*.md"):
        sections = re.split(r"(?m)^(?=## )", path.read_text("utf-8"))
        cells = [{"cell_type": "markdown", "metadata": {}, "source": section} for section in sections]
        book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
        (folder / f"{path.stem}.ipynb").write_text(json.dumps(book), "utf-8")
    return folder


def repository(rust: Path) -> Path:
    """A git repository with pages of The Rust Book."""
    folder = SCRATCH / "repository"
    if not folder.exists():
        (folder / "docs").mkdir(parents=True)
        for path in rust.glob("ch0*.md"):
            shutil.copy(path, folder / "docs")
        person = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
        for command in (("init", "-q", "-b", "main"), ("add", "."), (*person, "commit", "-q", "-m", "Pages")):
            subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    """The files of a folder over HTTP."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", PORT + 1), partial(Handler, directory=str(folder))) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def book_name(name: str) -> str:
    return re.sub(r"[^a-z]+", "-", name.lower()).strip("-")


def ingest(name: str, source: Source) -> list[Link]:
    """Sampled links of one source, which is a book of its own."""
    with glossator.open(DATA_DIR, book=book_name(name)) as book:
        report = book.ingest(source.place, only=True, **source.options)
        pages = book.engine.generation().manifest.documents
        print(f"{name}: {pages} pages, {report.chunks} chunks, {report.embeddings.made} embedded", flush=True)
        return sampled_links(book, LINKS, f"http://127.0.0.1:{PORT}")


def check_in_browser(name: str, links: Sequence[Link], context: BrowserContext) -> bool:
    """Open the links and print what they highlight; those without a text fragment are counted apart."""
    with_words = [link for link in links if link.opening]
    found = highlights(context, with_words)
    wrong = [(link, lit) for link, lit in zip(with_words, found, strict=True) if not lit.is_right]
    print(
        f"{name}: {len(found) - len(wrong)} of {len(found)} links highlight their words;"
        f" {len(links) - len(found)} have an anchor only (the words occur on the page more than once)",
        flush=True,
    )
    for link, lit in wrong:
        print(f"  {lit.share:.2f} of the words, {lit.elsewhere:.2f} elsewhere: {link.url}\n    {link.quote[:200]!r}")
    return not wrong


def check_pdf(name: str, path: Path, links: Sequence[Link]) -> bool:
    """Chromium without a window has no PDF viewer: compare the words with the text of the page that is named."""
    document = pypdfium2.PdfDocument(path)
    missing = [link for link in links if not _is_on_page(document, link)]
    print(f"{name}: {len(links) - len(missing)} of {len(links)} links name the page with the first words (by PDFium)")
    for link in missing:
        print(f"  {link.url}\n    {link.quote[:200]!r}")
    return not missing


def _is_on_page(document: pypdfium2.PdfDocument, link: Link) -> bool:
    named = _PAGE.search(link.url)
    text = document[int(named[1]) - 1].get_textpage().get_text_bounded() if named else ""
    return _letters(link.quote)[:40] in _letters(text)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def main() -> None:
    os.environ["GLOSSATOR_EMBEDDER"] = str(write_model(SCRATCH / "model"))  # links do not depend on vectors
    reference = debian_reference()
    site = SCRATCH / "site"
    shutil.copytree(CACHE / "developers-reference-html", site, dirs_exist_ok=True)
    shutil.copy(reference / "developers-reference.pdf", site)
    with file_server(site) as address:
        wanted = {name: each for name, each in sources(address).items() if not sys.argv[1:] or name in sys.argv[1:]}
        links = {name: ingest(name, source) for name, source in wanted.items()}
        good = check_pdf("PDF", reference / "developers-reference.pdf", links.pop("PDF")) if "PDF" in links else True
        with (
            server(DATA_DIR, PORT, rate_per_minute="0", book=book_name(next(iter(links)))),
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            context = browser.new_context(bypass_csp=True, reduced_motion="reduce")
            results = [check_in_browser(name, sampled, context) for name, sampled in links.items()]
            browser.close()
    if not (good and all(results)):
        raise SystemExit("Some links do not highlight their words.")


if __name__ == "__main__":
    main()
