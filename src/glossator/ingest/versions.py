"""Versions of a book: versions that a generator publishes side by side belong to one source.

Docusaurus keeps them in `versioned_docs` (its layout knows), mike (MkDocs) lists them in `versions.json` of the built
site, and Sphinx sites have a folder for each, such as `en/1.2/` and `en/stable/`. On a built or live Docusaurus site,
the current version is outside the folders of the others: `docs/page` beside `docs/1.2/page`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from glossator.core.book.versions import VERSION_NAME, BookVersion
from glossator.core.errors import SourceError
from glossator.core.types import SkippedFile
from glossator.ingest.files import peek
from glossator.ingest.layouts.page import SiteLayout, SourcePage, listed_versions

_RELEASE = re.compile(r"v?(\d+(?:\.\d+){0,3})(?:\.x)?")
_DOTTED = re.compile(r"v?\d+(?:\.\d+){1,3}(?:[.-]?(?:x|a|b|rc|dev|post|alpha|beta)[\w.]*)?|v\d+")
_MOVING = ("stable", "latest", "main", "master", "dev", "next", "nightly")
_ABOVE = re.compile(r"docs|[a-z]{2}(?:[-_][A-Za-z]{2,4})?")
"""Folders that may have versions in them: the docs of a Docusaurus site, and languages."""
_FRONT = ("", "index.html", "index.htm")
_REDIRECT = re.compile(r"""http-equiv=["']?refresh["']? content=["'][^"']*url=([^/"']+)/""", re.IGNORECASE)
_MIN_SHARED = 0.3
"""Share of a version's pages that other versions must have, too: chapters may be numbered like versions."""

_Folders = dict[str, dict[str, set[str]]]
"""The pages of each folder that may be a version, by its name and the folder above it."""


def with_versions(site: SiteLayout, chosen: Sequence[str]) -> SiteLayout:
    """The layout with its versions; those that the user has chosen come first."""
    if site.versions:
        return replace(site, versions=chosen_first(site.versions, chosen))
    if site.name == "plain" and (published := _published_by_mike(site)):
        return _without_copies(replace(site, versions=chosen_first(published, chosen)))
    return replace(site, versions=find_versions([p.route for p in site.pages], chosen, detect=site.name == "plain"))


def find_versions(routes: Sequence[str], chosen: Sequence[str] = (), *, detect: bool = True) -> tuple[BookVersion, ...]:
    """The versions in the paths of pages, the current one first: chosen by name, or detected."""
    found: list[BookVersion] = []
    current: list[BookVersion] = []
    for above, names in _folders(routes).items():
        outside = _outside(routes, above, names)
        are_versions = detect and _are_versions(names, outside)
        found += [
            BookVersion(name, f"{above}{name}/")
            for name in sorted(names, key=_order)
            if name in chosen or (are_versions and _is_version_name(name))
        ]
        if are_versions and _is_one_more_version(outside, names):
            unused = next(name for name in ("latest", "released", "front") if name not in names)
            current.append(BookVersion(unused, above))
    return chosen_first((*current, *sorted(found, key=lambda version: _order(version.name))), chosen)


def chosen_first(versions: Sequence[BookVersion], chosen: Sequence[str]) -> tuple[BookVersion, ...]:
    """The versions with those that the user has chosen first."""
    known = {name for version in versions for name in version.names}
    for name in chosen:
        if name not in known:
            names = ", ".join(dict.fromkeys(version.name for version in versions)) or "none"
            raise SourceError(f"The source has no version {name!r}.", f"Those found are: {names}.")
    first = [version for name in chosen for version in versions if name in version.names]
    return tuple(dict.fromkeys((*first, *versions)))


def _folders(routes: Iterable[str]) -> _Folders:
    """Folders at the top, those below the name of a language, and those in the docs."""
    found: _Folders = {}
    for route in routes:
        parts = route.split("/")
        for depth in (0, 1):
            may_have_versions = depth == 0 or _ABOVE.fullmatch(parts[0])
            if len(parts) > depth + 1 and may_have_versions and VERSION_NAME.fullmatch(parts[depth]):
                above = "".join(f"{part}/" for part in parts[:depth])
                pages = found.setdefault(above, {}).setdefault(parts[depth], set())
                pages.add("/".join(parts[depth + 1 :]))
    return found


def _is_version_name(name: str) -> bool:
    return bool(name in _MOVING or _DOTTED.fullmatch(name) or _RELEASE.fullmatch(name))


def _outside(routes: Iterable[str], above: str, names: Iterable[str]) -> set[str]:
    """The pages beside the folders that may be versions."""
    versions = {name for name in names if _is_version_name(name)}
    below = {route.removeprefix(above) for route in routes if route.startswith(above)}
    return {route for route in below if route.partition("/")[0] not in versions}


def _are_versions(folders: dict[str, set[str]], outside: set[str]) -> bool:
    """Whether folders are versions: by their names, and because most of the book is in them, page by page alike."""
    versions = {name: routes for name, routes in folders.items() if _is_version_name(name)}
    if not any(_DOTTED.fullmatch(name) or name in ("stable", "latest") for name in versions):
        return False
    if _is_one_more_version(outside, versions):
        return True
    if len(versions) < 2 or sum(map(len, versions.values())) < len(outside):
        return False
    current, *others = sorted(versions, key=_order)
    shared = versions[current] & {route for name in others for route in versions[name]}
    return len(shared) >= max(1, _MIN_SHARED * len(versions[current]))


def _is_one_more_version(outside: set[str], folders: dict[str, set[str]]) -> bool:
    """Whether the pages beside the folders are one more version: the folders have many of them, too."""
    pages = outside.difference(_FRONT)
    shared = pages & {route for name, routes in folders.items() if _is_version_name(name) for route in routes}
    return len(shared) >= max(1, _MIN_SHARED * len(pages))


def _order(name: str) -> tuple[int, list[int], str]:
    """The current version first: `stable`, then releases from the newest, then what changes or is not released."""
    release = _RELEASE.fullmatch(name)
    if name == "stable":
        return 0, [], name
    if release:
        return 1, [-int(number) for number in release[1].split(".")], name
    return (2 if name == "latest" else 3), [], name


def _published_by_mike(site: SiteLayout) -> tuple[BookVersion, ...]:
    """The versions that mike lists, with pages; the one that the front page leads to comes first."""
    folders = {page.route.partition("/")[0] for page in site.pages}
    front = next((page for page in site.pages if page.route == "index.html"), None)
    default = (redirect_of(peek(front.path)) if front else "") or "latest"
    return tuple(v for v in mike_versions(listed_versions(site.root), default) if v.name in folders)


def redirect_of(html: str) -> str:
    """The folder that a page redirects to; empty if it is a real page."""
    found = _REDIRECT.search(html)
    return found[1] if found else ""


def mike_versions(entries: object, default: str) -> tuple[BookVersion, ...]:
    """The versions in the list of mike, the one with the default name first."""
    found = _listed(entries if isinstance(entries, list) else [])
    return tuple(sorted(found, key=lambda version: default not in version.names))


def _without_copies(site: SiteLayout) -> SiteLayout:
    """The layout without the folders that are other names of versions, and without the redirect to one of them."""
    folders = {page: page.route.partition("/")[0] for page in site.pages}
    names = {version.name for version in site.versions}
    aliases = {alias: version.name for version in site.versions for alias in version.aliases if alias not in names}
    copies = [
        SkippedFile(str(site.root / alias), f"it is another name of version {name}.")
        for alias, name in aliases.items()
        if alias in folders.values()
    ]
    pages = tuple(page for page in site.pages if folders[page] not in aliases and not _is_redirect(page))
    return replace(site, pages=pages, unused=(*site.unused, *copies))


def _listed(entries: Sequence[Any]) -> Iterator[BookVersion]:
    for entry in entries:
        name = entry.get("version") if isinstance(entry, dict) else None
        if isinstance(name, str) and VERSION_NAME.fullmatch(name):
            aliases = entry.get("aliases")
            named = [a for a in aliases if isinstance(a, str)] if isinstance(aliases, list) else []
            yield BookVersion(name, f"{name}/", tuple(alias for alias in named if VERSION_NAME.fullmatch(alias)))


def _is_redirect(page: SourcePage) -> bool:
    return page.route == "index.html" and bool(redirect_of(peek(page.path)))
