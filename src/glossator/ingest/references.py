"""Resolves links and images of a page to the pages and files of its source."""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

from glossator.core.text.markup import MEDIA_PATH, Resolve
from glossator.ingest.layouts.page import SiteLayout, SourcePage

MAX_IMAGE_BYTES, MAX_IMAGES_BYTES = 5_000_000, 200_000_000
"""Larger images, and images of a source beyond this size together, are shown as their alternative text."""
MAX_LINK_CHARACTERS = 2_000

_SIGNATURES = (
    ("png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("jpg", re.compile(rb"\xff\xd8\xff")),
    ("gif", re.compile(rb"GIF8[79]a")),
    ("webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("avif", re.compile(rb"....ftypavi[fs]", re.DOTALL)),
    (
        "svg",
        re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|<\?xml[^>]*>|<!--(?:(?!-->).)*-->|<!DOCTYPE[^>]*>)*+<svg[\s>]", re.DOTALL),
    ),
)
_STATIC_FOLDERS = ("static", "docs", "src", "public", "")
"""Where site generators look for a file whose address begins with a slash."""
_SITE_ROOT = re.compile(r"@site/(?:static/)?")


@dataclass(slots=True)
class SourceImages:
    """The images that the pages of a source show, by the name under which they are served."""

    root: Path
    files: dict[str, Path] = field(default_factory=dict)
    bytes: int = 0
    _names: dict[Path, str | None] = field(default_factory=dict)

    def name(self, path: Path) -> str | None:
        """The name of an image file; None if it is outside the source, too large, or no image."""
        if path not in self._names:
            self._names[path] = self._add(path)
        return self._names[path]

    def _add(self, path: Path) -> str | None:
        try:
            real = path.resolve(strict=True)
            parts = real.relative_to(self.root.resolve()).parts
            if any(part.startswith(".") for part in parts) or not real.is_file():
                return None
            if real.stat().st_size > MAX_IMAGE_BYTES:
                return None
            content = real.read_bytes()
        except (OSError, ValueError, RuntimeError):
            return None
        kind = next((kind for kind, signature in _SIGNATURES if signature.match(content)), None)
        name = f"{hashlib.sha256(content).hexdigest()[:32]}.{kind}"
        if kind is None or (name not in self.files and self.bytes + len(content) > MAX_IMAGES_BYTES):
            return None
        if name not in self.files:
            self.files[name] = real
            self.bytes += len(content)
        return name


@dataclass(frozen=True)
class SourceReferences:
    """Resolves the links and images of the pages of one source; `base_url` is empty if it is published nowhere."""

    layout: SiteLayout
    base_url: str
    images: SourceImages

    def of_page(self, page: SourcePage) -> Resolve:
        """What the links and images of a page refer to."""

        def resolve(tag: str, value: str) -> str | None:
            try:
                if len(value) > MAX_LINK_CHARACTERS:
                    return None
                return self._image(page, value) if tag == "img" else self._link(page, value)
            except ValueError:
                return None

        return resolve

    def _link(self, page: SourcePage, value: str) -> str | None:
        """The same URL; for a page of the source its address relative to this page; None if there is no such page."""
        parts = urlsplit(value.strip())
        if parts.scheme or parts.netloc:
            return value.strip()
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        if not parts.path:
            return fragment or None
        target = self._page(page, unquote(parts.path))
        if target is not None:
            return relative_address(page.route, target.route) + fragment
        return urljoin(f"{self.base_url.rstrip('/')}/{quote(page.route.lstrip('/'))}", value) if self.base_url else None

    def _page(self, page: SourcePage, path: str) -> SourcePage | None:
        """The page that a link names by its file or by its address."""
        by_file = self._pages_by_file.get(_absolute(page.path.parent, path))
        return by_file or self._pages_by_route.get(_route(urljoin(f"/{page.route.lstrip('/')}", path)))

    def _image(self, page: SourcePage, value: str) -> str | None:
        """The address of an image that is a file of the source."""
        parts = urlsplit(_SITE_ROOT.sub("/", value.strip()))
        if parts.scheme or parts.netloc or not parts.path:
            return None
        path = unquote(parts.path)
        folders = [self.layout.root / name for name in _STATIC_FOLDERS] if path.startswith("/") else [page.path.parent]
        names = (self.images.name(Path(_absolute(folder, path.lstrip("/")))) for folder in folders)
        name = next(filter(None, names), None)
        return MEDIA_PATH + name if name else None

    @cached_property
    def _pages_by_file(self) -> dict[str, SourcePage]:
        return {posixpath.abspath(page.path): page for page in self.layout.pages}

    @cached_property
    def _pages_by_route(self) -> dict[str, SourcePage]:
        return {_route(f"/{page.route.lstrip('/')}"): page for page in self.layout.pages}


def _absolute(folder: Path, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.abspath(folder), path))


def _route(path: str) -> str:
    """A route without what site generators add to it or leave out."""
    return re.sub(r"(?:/index)?(?:\.html?)?/*$", "", path)


def relative_address(page: str, target: str) -> str:
    """The address of a page relative to another page, both as routes."""
    start, end = f"/{page.lstrip('/')}", f"/{target.lstrip('/')}"
    slash = "/" if end.endswith("/") else ""
    return quote(posixpath.relpath(end, posixpath.dirname(start)) + slash)
