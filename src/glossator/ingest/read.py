"""Sources become documents: find the pages, read each one, say why any was left out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urljoin

from glossator.core.errors import SourceError
from glossator.core.types import Block, BlockKind, Document, Skip
from glossator.ingest.extract import Extracted, extract
from glossator.ingest.layouts import layout_of, plain
from glossator.ingest.layouts.page import HTML, MARKDOWN, READABLE, Layout, Page
from glossator.ingest.markdown import Slug, github_slug, mdbook_slug, mkdocs_slug, split_front_matter, to_html
from glossator.ingest.mdx import admonitions, to_markdown

READER_VERSION = 1
"""Raised whenever the same file would give other text, so that old documents are read anew."""

_PARTIAL_BYTES = 1_000_000
_SLUGS: dict[str, Slug] = {"mdbook": mdbook_slug, "mkdocs": mkdocs_slug}
_INCLUDE = re.compile(r"^[ \t]*\{\{#(?:rustdoc_)?(?:include|playground|title)[^}]*\}\}[ \t]*$", re.MULTILINE)
_MKDOCS_MARK = re.compile(r"^([ \t]*)(?:!!!|\?\?\?\+?|===)[ \t]*([\w -]*?)[ \t]*(?:\"([^\"]*)\")?[ \t]*$")
_ALERT = re.compile(r"^(>[ \t]*)\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*$", re.MULTILINE)


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
    skipped = [Skip(str(p), reason) for p, reason in layout.skipped]
    for page in layout.pages:
        try:
            documents.append(_document(page, layout, base_url, max_bytes))
        except SourceError as error:
            skipped.append(Skip(str(page.path), str(error)))
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
    text = _read_text(page.path, max_bytes)
    extracted = _extract(text, page, layout.name)
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


def _read_text(path: Path, max_bytes: int) -> str:
    try:
        size = path.stat().st_size
        if size > max_bytes:
            limit = f"{max_bytes / 1e6:.0f} MB"
            raise SourceError(
                f"it has {size / 1e6:.0f} MB, more than the limit of {limit}.",
                "Split it, or raise GLOSSATOR_MAX_FILE_MB.",
            )
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"it cannot be read ({error.strerror}).", "Check its permissions.") from None
    if b"\x00" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError("it is a binary file, not text.")
    try:
        return data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8").replace("\x00", "")
    except UnicodeDecodeError as error:
        raise SourceError(f"it is not UTF-8 text (byte {error.start}).", "Save it as UTF-8.") from None


def _extract(text: str, page: Page, layout: str) -> Extracted:
    suffix = page.path.suffix.lower()
    if suffix in HTML:
        return extract(text)
    if suffix not in MARKDOWN:
        return _plain_text(text)
    front, body = split_front_matter(text)
    if suffix == ".mdx" or layout == "docusaurus":
        html = to_html(to_markdown(body, _partials(page.path)), github_slug, indented_code=False)
    else:
        html = to_html(_dialect(body, layout), _SLUGS.get(layout, github_slug))
    extracted = extract(f"<main>{html}</main>")
    title = str(front.get("title") or "") or extracted.title
    return Extracted(title, extracted.text, extracted.blocks)


def _partials(path: Path) -> Callable[[str], str]:
    """Reads Markdown files that a page imports from its own folder or a neighbouring one."""

    def read(target: str) -> str:
        file = path.parent / target
        if not target.startswith(".") or not file.resolve().is_relative_to(path.parent.parent.resolve()):
            return ""
        try:
            return split_front_matter(_read_text(file, _PARTIAL_BYTES))[1]
        except SourceError:
            return ""

    return read


def _dialect(text: str, layout: str) -> str:
    """Marks of Markdown dialects that a reader never sees as such."""
    text = _ALERT.sub(r"\1", text)
    if layout == "mdbook":
        text = _INCLUDE.sub("", text)
    return _mkdocs_blocks(text) if layout == "mkdocs" else admonitions(text)


def _mkdocs_blocks(text: str) -> str:
    """`!!! note "Title"` and `=== "Tab"`: their titles as text, their indented bodies moved out."""
    out: list[str] = []
    depth = 0
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        if line.strip() and indent < 4 * depth:
            depth = indent // 4
        if mark := _MKDOCS_MARK.match(line):
            depth = indent // 4 + 1
            out += ["", mark[3] or "", ""]
        else:
            out.append(line[4 * depth :] if indent >= 4 * depth else line)
    return "\n".join(out)


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
    return urljoin(base_url.rstrip("/") + "/", quote(page.route.lstrip("/"), safe="/%-._~"))
