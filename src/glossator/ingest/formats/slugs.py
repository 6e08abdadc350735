"""Heading ids, by the rule of each site generator."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

Slugify = Callable[[str, dict[str, int]], str]
"""The id for a heading's text; the ids given so far are counted in the dictionary."""

_SLUG_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"})
_NUMBERED = re.compile(r"(.*)_(\d{1,9})")


def github_slug(text: str, seen: dict[str, int]) -> str:
    """Docusaurus: the rule of github-slugger, with -1, -2 for duplicates."""
    base = "".join(c for c in text.strip().lower() if c in " -_" or unicodedata.category(c) in _SLUG_CATEGORIES)
    base = base.replace(" ", "-")
    return _unique(base, seen)


def mdbook_slug(text: str, seen: dict[str, int]) -> str:
    """mdBook: letters, digits, - and _ are retained, white space becomes a dash."""
    base = "".join("-" if c.isspace() else c.lower() for c in text.strip() if c.isalnum() or c in "_-" or c.isspace())
    return _unique(base, seen)


def notebook_slug(text: str, seen: dict[str, int]) -> str:
    """Jupyter: the text of the heading, with dashes for spaces."""
    return _unique(text.strip().replace(" ", "-"), seen)


def docutils_id(text: str) -> str:
    """The id that docutils makes of a name; empty if the name has no letters of ASCII."""
    ascii_text = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", ascii_text))


def docutils_slug(text: str, seen: dict[str, int]) -> str:
    """Sphinx, also for Markdown: letters and digits of ASCII; duplicates and other scripts are numbered."""
    number = 1
    candidate = docutils_id(text) or "id1"
    while candidate in seen:
        candidate = f"id{number}"
        number += 1
    seen[candidate] = 0
    return candidate


def mkdocs_slug(text: str, seen: dict[str, int]) -> str:
    """MkDocs: the ASCII rule of Python-Markdown."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _unique_mkdocs(_joined(ascii_text, r"[-\s]+").lower(), seen)


def mkdocs_unicode_slug(text: str, seen: dict[str, int]) -> str:
    """MkDocs with `slugify_unicode` of Python-Markdown."""
    return _unique_mkdocs(_joined(text, r"[-\s]+").lower(), seen)


def pymdownx_slug(case: str) -> Slugify:
    """MkDocs with `pymdownx.slugs.slugify`, as Material for MkDocs recommends."""
    fold = {"lower": str.lower, "fold": str.casefold, "lower-ascii": _lower_ascii}.get(case, str)

    def slug(text: str, seen: dict[str, int]) -> str:
        return _unique_mkdocs(_joined(fold(unicodedata.normalize("NFC", text).strip()), " "), seen)

    return slug


def _lower_ascii(text: str) -> str:
    return re.sub("[A-Z]+", lambda letters: letters[0].lower(), text)


def _joined(text: str, gap: str) -> str:
    """Words joined by dashes."""
    return re.sub(gap, "-", re.sub(r"[^\w\s-]", "", text).strip())


def _unique_mkdocs(base: str, seen: dict[str, int]) -> str:
    """Python-Markdown: `a_1` follows `a`, `a_2` follows `a_1`, and an empty id becomes `_1`."""
    if base and base not in seen:
        seen[base] = 0
        return base
    numbered = _NUMBERED.fullmatch(base)
    stem, number = (numbered[1], int(numbered[2]) + 1) if numbered else (base, 1)
    taken = []
    while (candidate := f"{stem}_{number}") in seen:
        taken.append(candidate)
        number = max(number + 1, seen[candidate])
    seen.update(dict.fromkeys([*taken, candidate], number + 1))
    return candidate


def _unique(base: str, seen: dict[str, int]) -> str:
    """`a-1` follows `a`."""
    candidate, number = base, 1
    while candidate in seen:
        number = max(number, seen[base])
        candidate = f"{base}-{number}"
        seen[base] = number + 1
        number += 1
    seen[candidate] = 1
    return candidate
