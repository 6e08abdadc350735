"""Roles of Sphinx: the visible text of each, and the page that it refers to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from docutils import nodes
from docutils.utils import unescape

from glossator.ingest.formats.rst.page import current_page

RoleFunction = Callable[..., tuple[list[nodes.Node], list[Any]]]

_TITLED = re.compile(r"(.+?)\s*(?<!\\)<([^<>]*)>", re.DOTALL)
_BRACES = re.compile(r"(?<!\\)[{}]")
_ACCELERATOR = re.compile(r"&(?=\S)")
_ABBREVIATION = re.compile(r"(.*?)\s*\(([^()]*)\)", re.DOTALL)
_CALLABLES = frozenset({"func", "meth", "function", "method"})
_LITERALS = frozenset("file samp command makevar option envvar token program regexp mimetype newsgroup keyword".split())
_PLAIN = frozenset("term any numref keyword eq cite guilabel menuselection dfn download issue".split())


def find_role(name: str, own: Callable[[], RoleFunction | None]) -> RoleFunction:
    """The role of a name; of an unknown one, its text remains."""
    lower = name.lower()
    if lower in ("ref", "doc", "numref", "any", "std:ref", "std:doc"):
        return _reference
    known = _ROLES.get(lower)
    if known is not None:
        return known
    return own() or _other


def _titled(text: str) -> tuple[str, str]:
    """The title and the target of `title <target>`; the title is empty if there is only a target."""
    plain = unescape(text, restore_backslashes=False)
    match = _TITLED.fullmatch(plain)
    return (match[1], match[2].strip()) if match else ("", plain.strip())


def _reference(name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[Any]]:
    """A link to a page or a label, with the title of what it leads to."""
    title, target = _titled(text)
    found = _page(target) if name.lower().endswith("doc") else _label(target)
    if found is None:
        return [nodes.inline(raw, title or target.rpartition("/")[2].lstrip("!~"))], []
    shown = title or found[0]
    return [nodes.reference(raw, shown, refuri=_address(found[1]))], []


def _page(target: str) -> tuple[str, str] | None:
    page = current_page()
    path = target if target.startswith("/") else posixpath.join("/", posixpath.dirname(page.name), target)
    name = posixpath.normpath(path).lstrip("/")
    return page.references.get(f"doc:{name}") or page.references.get(f"doc:{posixpath.splitext(name)[0]}")


def _label(target: str) -> tuple[str, str] | None:
    return current_page().references.get(f"ref:{' '.join(target.lower().split())}")


def _address(target: str) -> str:
    """A file of the source and an anchor, relative to the page."""
    file, _, anchor = target.partition("#")
    relative = posixpath.relpath(file, posixpath.dirname(current_page().name) or ".")
    return quote(relative) + (f"#{quote(anchor)}" if anchor else "")


def _other(name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[Any]]:
    """The text of a role: code for those of a programming language."""
    title, target = _titled(text)
    short = name.lower().rpartition(":")[2]
    shown = title or target.removeprefix("!")
    if not title and target.startswith("~"):
        shown = re.split(r"[.:/]", target)[-1].lstrip("~")
    if short in _PLAIN:
        return [nodes.inline(raw, shown)], []
    if not title and short in _CALLABLES and not shown.endswith(")"):
        shown += "()"
    return [nodes.literal(raw, shown)], []


def _literal(name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[Any]]:
    plain = unescape(text, restore_backslashes=False)
    return [nodes.literal(raw, _BRACES.sub("", plain) if name.lower() in ("file", "samp") else plain)], []


def _menu(_name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[Any]]:
    plain = unescape(text, restore_backslashes=False).replace("-->", "‣")
    return [nodes.inline(raw, _ACCELERATOR.sub("", plain))], []


def _abbreviation(_name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[Any]]:
    plain = unescape(text, restore_backslashes=False)
    match = _ABBREVIATION.fullmatch(plain)
    return [nodes.abbreviation(raw, match[1] if match else plain)], []


def _dropped(_name: str, _raw: str, _text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[Any]]:
    return [], []


def _index_entry(_name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[Any]]:
    title, target = _titled(text)
    return [nodes.inline(raw, title or target)], []


_ROLES: dict[str, RoleFunction] = {
    **dict.fromkeys(_LITERALS, _literal),
    **dict.fromkeys(("menuselection", "guilabel"), _menu),
    **dict.fromkeys(("abbr", "abbreviation"), _abbreviation),
    **dict.fromkeys(("raw", "hidden"), _dropped),
    "index": _index_entry,
}
