"""Reads an EPUB: a page for each document of its spine, with its title in the table of contents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glossator.core.errors import SourceError
from glossator.ingest.files import check_size
from glossator.ingest.formats.epub.archive import EpubArchive, open_archive
from glossator.ingest.formats.epub.package import EpubEntry, EpubPackage, read_package
from glossator.ingest.formats.html import extract
from glossator.ingest.formats.nodes import VOID_TAGS
from glossator.ingest.parsing.values import ParsedFile, ParsedPage

_EMPTY_ELEMENT = re.compile(r"<([a-zA-Z][\w:.-]*)((?:\s[^<>]*?)?)/>")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_DECLARED_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]{1,40})[\"']")
_MAX_NAMES, _MAX_NAME_LENGTH = 5, 200


def read_epub(path: Path, max_bytes: int) -> ParsedFile:
    """The pages of a book; one that has no text or cannot be read is named in the notes."""
    check_size(path, max_bytes)
    archive = open_archive(path)
    with archive.file:
        package = read_package(archive)
        pages: list[ParsedPage] = []
        empty: list[str] = []
        failed: list[str] = []
        for name in package.documents:
            try:
                page = _page(archive, package, name)
            except SourceError as error:
                failed.append(str(error))
                continue
            if page.page.text.strip():
                pages.append(page)
            else:
                empty.append(posixpath.basename(name))
    if not pages:
        raise SourceError(failed[0] if failed else "the EPUB has no text.")
    notes = [f"documents without text were skipped: {_names(empty)}."] if empty else []
    notes += [f"left out: {reason}" for reason in failed]
    if package.outside:
        are = "is" if len(package.outside) == 1 else "are"
        notes.append(f"left out: {_names(package.outside)} {are} outside the EPUB.")
    return ParsedFile(tuple(pages), package.title, tuple(notes))


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(name[:_MAX_NAME_LENGTH] for name in names[:_MAX_NAMES]) + more


def _page(archive: EpubArchive, package: EpubPackage, name: str) -> ParsedPage:
    if name in package.encrypted:
        raise SourceError(f"{name} is encrypted (DRM).", "Use a copy without DRM.")
    entry = package.contents.get(name, EpubEntry(""))
    page = extract(_as_html(_decode(archive.read(name), name)))
    path = posixpath.relpath(name, package.folder or ".")
    return ParsedPage(
        replace(page, title=entry.title or page.title), name if path.startswith("..") else path, entry.chapters
    )


def _decode(data: bytes, name: str) -> str:
    """XML is UTF-8 or UTF-16, unless it declares another encoding."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        declared = _DECLARED_ENCODING.match(data.lstrip(b"\xef\xbb\xbf \r\n"))
        encoding = declared[1].decode("ascii") if declared else "utf-8-sig"
    try:
        text = data.decode("utf-8-sig" if encoding.lower() == "utf-8" else encoding)
        return text.replace("\x00", "")
    except (UnicodeError, LookupError):
        raise SourceError(f"{name} is not {encoding} text.", "Save it as UTF-8.") from None


def _as_html(text: str) -> str:
    """XHTML for an HTML parser, to which an empty element such as `<title/>` has no end.

    It starts at the root element: an HTML parser takes the end of a document type with declarations for text.
    """
    text = text[max(0, text.find("<html")) :]
    text = _CDATA.sub(lambda match: match[1].replace("&", "&amp;").replace("<", "&lt;"), text)
    return _EMPTY_ELEMENT.sub(
        lambda tag: tag[0] if tag[1].lower() in VOID_TAGS else f"<{tag[1]}{tag[2]}></{tag[1]}>", text
    )
