"""Resolves references of a page: other pages, included files and images, in a folder or in Antora modules."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FAMILIES = {
    "partial": "partials",
    "example": "examples",
    "image": "images",
    "attachment": "attachments",
    "page": "pages",
}
_RESOURCE = re.compile(r"(?:(?P<scope>[^$]*):)?(?:(?P<family>partial|example|image|attachment|page)\$)?(?P<path>[^$]*)")
_MODULE = re.compile(r"(?P<above>.*?)modules/(?P<module>[^/]+)/")


@dataclass(frozen=True, slots=True)
class Places:
    """Where a page is, and the titles of the pages that it may name."""

    page: Path
    root: Path
    titles: Mapping[str, tuple[str, str]]
    is_antora: bool = False

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.page.relative_to(self.root).as_posix())

    def included(self, target: str) -> Path:
        """The file that an include names."""
        return self.root / self._path(target, "pages")

    def image(self, target: str, folder: str) -> str:
        """The address of an image, relative to the page; `folder` is the one that the page names for images."""
        if "://" in target or not self.is_antora:
            return posixpath.join(folder, target)
        return self._relative(self._path(target, "images"))

    def page_link(self, target: str) -> tuple[str, str]:
        """The address and the title of a page; the title is empty if it is not known."""
        path, _, anchor = target.partition("#")
        name = path if path.endswith((".adoc", ".asciidoc", ".html")) else f"{path}.adoc"
        file = self._path(name, "pages")
        title, _ = self.titles.get(file, ("", ""))
        return self._relative(file) + (f"#{anchor}" if anchor else ""), title

    def _relative(self, file: str) -> str:
        return posixpath.relpath(file, self.folder or ".")

    def _path(self, target: str, family: str) -> str:
        """The path of a file below the root."""
        match = _RESOURCE.fullmatch(target) if self.is_antora else None
        own = _MODULE.match(f"{self.folder}/")
        if match is None or own is None or (match["scope"] is None and match["family"] is None and family == "pages"):
            return posixpath.normpath(posixpath.join(self.folder, target))
        module = (match["scope"] or own["module"]).rpartition(":")[2]
        kind = _FAMILIES.get(match["family"] or "", family)
        base = f"{own['above']}modules/{module}/{kind}"
        if match["family"] is None and match["scope"] is None and family == "images":
            base = f"{own['above']}modules/{own['module']}/images"
        return posixpath.normpath(posixpath.join(base, match["path"]))
