"""Locations of sources: a folder or file, a live site, or a git repository."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum

from glossator.core.errors import SourceError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HELPER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::")
_SCP = re.compile(r"[\w.-]+@[\w.-]+:(?!//)[^\s]+")
_USER = re.compile(r"([^/@#?]*)@")
_GIT_SCHEMES = frozenset({"ssh", "file", "git+https", "git+http", "git+ssh", "git+file"})
_FORGE = re.compile(r"https?://(?:www\.)?(?:github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)/[^/]+/[^/#?]+/?\Z")
"""Addresses of repositories that do not end with .git."""


class SourceKind(StrEnum):
    """What a source is."""

    FOLDER = "folder"
    SITE = "site"
    GIT = "git"


@dataclass(frozen=True, slots=True)
class Location:
    """A source by the real path or URL that identifies it, and the branch or tag that was named with it.

    `path` is as the user gave it, so that messages name it alike.
    """

    root: str
    ref: str | None = None
    path: str = ""

    def kind(self, ref: str | None) -> SourceKind:
        """What the source is, if this branch or tag of it is wanted; empty means the default branch."""
        if not is_url(self.root):
            return SourceKind.GIT if ref else SourceKind.FOLDER
        return SourceKind.GIT if ref is not None or is_git_url(self.root) else SourceKind.SITE


def is_url(source: str) -> bool:
    """Whether a source is not a path."""
    return bool(_URL.match(source) or _SCP.fullmatch(source))


def is_git_url(url: str) -> bool:
    """Whether a URL is one of a git repository by its form."""
    scheme = _URL.match(url)
    if scheme is None or scheme[1].lower() in _GIT_SCHEMES:
        return is_url(url)
    return bool(_FORGE.match(url)) or url.rstrip("/").endswith(".git")


def locate(source: str) -> Location:
    """The location that a user names; `URL#ref` names a branch or tag of a git repository."""
    path, source = source, source.strip()
    scheme = _URL.match(source)
    if _HELPER.match(source):
        raise SourceError(f"{source[:200]} is not a URL that can be read.", "Use https, ssh or file for git.")
    if (not scheme and not _SCP.fullmatch(source)) or os.path.exists(path):  # noqa: PTH110 - false for any bad name
        return Location(os.path.realpath(path), path=path)
    if scheme and scheme[1].lower() not in _GIT_SCHEMES | {"http", "https"}:
        raise SourceError(
            f"{source[:200]} cannot be read.", "Use http or https for a site; https, ssh or file for git."
        )
    if any(c.isspace() or not c.isprintable() for c in source):
        raise SourceError("The URL contains spaces or control characters.", "Write %20 for a space.")
    user = _USER.match(source, scheme.end()) if scheme else None
    if scheme and user and (":" in user[1] or not scheme[1].lower().endswith("ssh")):
        raise SourceError("The URL contains a user name or password.", "Remove it; git uses its credential helper.")
    url, _, fragment = source.partition("#")
    url = url[: scheme.end()].lower() + url[scheme.end() :] if scheme else url
    return Location(url, (fragment or None) if is_git_url(url) else None)
