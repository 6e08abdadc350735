"""Sources become documents: find the pages, read each one, say why any was left out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

from glossator.core.errors import SourceError
from glossator.core.types import Block, BlockKind, Document, Skip
from glossator.ingest.files import read_text, well_formed
from glossator.ingest.formats.dialects import admonitions, alerts, hide_rust_lines, mkdocs_blocks
from glossator.ingest.formats.html import Extracted, extract
from glossator.ingest.formats.includes import Included, expand, mdx_to_markdown
from glossator.ingest.formats.markdown import (
    Slug,
    github_slug,
    mdbook_slug,
    mkdocs_slug,
    scalar,
    split_front_matter,
    to_html,
)
from glossator.ingest.layouts import layout_of, plain
from glossator.ingest.layouts.page import HTML, MARKDOWN, READABLE, Layout, Page

READER_VERSION = 2
"""Raised whenever the same file would give other text, so that old documents are read anew."""

_SLUGS: dict[str, Slug] = {"mdbook": mdbook_slug, "mkdocs": mkdocs_slug}


@dataclass(frozen=True, slots=True)
class Book:
    """What a source holds: its documents in reading order, and what was left out."""

    layout: str
    documents: tuple[Document, ...]
    skipped: tuple[Skip, ...]


def read_source(source: str, base_url: str | None, max_bytes: int) -> Book:
    """Read every page of a folder, or one file."""
    path = _existing(source)
    layout = plain.single(path) if path.is_file() else layout_of(path)
    documents: list[Document] = []
    skipped: list[Skip] = []
    for page in layout.pages:
        try:
            documents.append(_document(page, layout, base_url, max_bytes))
        except SourceError as error:
            skipped.append(Skip(well_formed(str(page.path)), str(error)))
    if not documents:
        raise SourceError(*_nothing_found(source, skipped))
    return Book(layout.name, tuple(_distinct(documents, skipped)), tuple(skipped))


def _existing(source: str) -> Path:
    if re.match(r"^[a-z]+://", source):
        raise SourceError(f"{source} is an address.", "Give a folder or a file: download or build the site first.")
    path = Path(source)
    try:
        if path.is_dir() or path.is_file():
            return path
    except (OSError, ValueError):
        pass
    raise SourceError(f"{source} does not exist.", "Give a folder or file with Markdown, MDX, HTML or text.")


def _nothing_found(source: str, skipped: list[Skip]) -> tuple[str, str]:
    if skipped:
        return f"{skipped[0].path}: {skipped[0].reason}", f"({len(skipped)} left out.)" if len(skipped) > 1 else ""
    kinds = " ".join(sorted(READABLE))
    return f"{source} holds nothing to read.", f"Give a folder or file with one of: {kinds}."


def _distinct(documents: list[Document], skipped: list[Skip]) -> Iterator[Document]:
    """Two pages cannot stand at one address: the first keeps it."""
    seen: dict[str, str] = {}
    for document in documents:
        if document.url in seen:
            skipped.append(Skip(document.document_id, f"it has the same address as {seen[document.url]}."))
        else:
            seen[document.url] = document.document_id
            yield document


def _document(page: Page, layout: Layout, base_url: str | None, max_bytes: int) -> Document:
    if well_formed(str(page.path)) != str(page.path):
        raise SourceError("its name is not UTF-8.", "Rename it.")
    text = read_text(page.path, max_bytes)
    extracted = _extract(text, page, layout)
    if not extracted.text.strip():
        raise SourceError("it has no text.")
    title = page.title or extracted.title or page.fallback_title or page.path.stem
    url = _url(page, layout.base_url if base_url is None else base_url)
    identity = "\x00".join((str(READER_VERSION), url, title, *page.chapters, extracted.text, repr(extracted.blocks)))
    return Document(
        document_id=page.document_id,
        url=url,
        title=title,
        chapters=(*page.chapters, title),
        text=extracted.text,
        blocks=extracted.blocks,
        content_hash=hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _extract(text: str, page: Page, layout: Layout) -> Extracted:
    suffix = page.path.suffix.lower()
    if suffix in HTML:
        return extract(text)
    if suffix not in MARKDOWN:
        return _plain_text(text)
    front, body = split_front_matter(text)
    files = Included(layout.root)
    if _is_mdx(suffix, front, layout):
        html = to_html(mdx_to_markdown(body, page.path, files), github_slug, indented_code=False)
    else:
        html = to_html(_markdown(body, page.path, layout.name, files), _SLUGS.get(layout.name, github_slug))
    extracted = extract(f"<main>{html}</main>")
    title = scalar(front.get("title")) or extracted.title
    return Extracted(title, extracted.text, extracted.blocks)


def _is_mdx(suffix: str, front: dict[str, Any], layout: Layout) -> bool:
    """By its name; in Docusaurus also by the site's or the page's own word."""
    if layout.name == "docusaurus" and front.get("format") in ("md", "mdx"):
        return bool(front["format"] == "mdx")
    return suffix == ".mdx" or layout.mdx


def _markdown(text: str, path: Path, layout: str, files: Included) -> str:
    """Plain Markdown, without the marks of its dialect that a reader never sees as such."""
    if layout == "mdbook":
        text = hide_rust_lines(expand(text, path, files))
    if layout == "mkdocs":
        text = mkdocs_blocks(text)
    return admonitions(alerts(text))


def _plain_text(text: str) -> Extracted:
    """Paragraphs are what blank lines part; the first line of a text is its title if it stands alone."""
    blocks: list[Block] = []
    parts: list[str] = []
    length = 0
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        words = " ".join(paragraph.split())
        if not words:
            continue
        lead = "\n\n" if parts else ""
        blocks.append(Block(BlockKind.PARAGRAPH, length + len(lead), length + len(lead) + len(words)))
        parts.append(lead + words)
        length += len(lead) + len(words)
    first = parts[0] if parts else ""
    title = first if len(first) <= 80 and not first.endswith((".", "!", "?", ":")) else ""
    return Extracted(title, "".join(parts), tuple(blocks))


def _url(page: Page, base_url: str) -> str:
    """The page's address; without a base, the file's own."""
    if not base_url:
        return page.path.resolve().as_uri()
    return urljoin(base_url.rstrip("/") + "/", quote(page.route.lstrip("/"), safe="/-._~"))
