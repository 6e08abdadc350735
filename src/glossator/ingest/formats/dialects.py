"""Markdown dialects: how each site generator reads Markdown."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from glossator.ingest.formats.slugs import (
    Slugify,
    docutils_slug,
    github_slug,
    mdbook_slug,
    mkdocs_slug,
    mkdocs_unicode_slug,
    pymdownx_slug,
)

_MKDOCS_MARKS = {
    "pymdownx.caret": (("^^", "ins"), ("^", "sup")),
    "pymdownx.tilde": (("~", "sub"),),
    "pymdownx.mark": (("==", "mark"),),
    "pymdownx.keys": (("++", "kbd"),),
}
"""Marks that are text unless the site enables the extension that defines them."""

_MKDOCS_SLUGS = {
    "markdown.extensions.toc.slugify_unicode:": mkdocs_unicode_slug,
    **{f"pymdownx.slugs.slugify:{case}": pymdownx_slug(case) for case in ("", "lower", "lower-ascii", "fold")},
}
"""Functions for heading ids that a site may choose, with their option."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The rules of one site generator.

    `marks` pairs a mark around text with its HTML tag; `emoji` and `macros` tell whether the generator replaces
    `:name:` and `{{ name }}`, `shortcodes` whether only `{{< name >}}` and `{% name %}`, `attribute_lists` whether
    `{#id .class}` may be more than a heading's id, `pictures_in_ids` whether the names of emoji and images count for
    heading ids, `reserves_ids` whether an id that an author chose is given to no other heading, `title_ids` whether
    headings of the first level have ids, and `contents_marks` whether `[TOC]` stands for the contents of the page.
    `tex` has the backslashes before the brackets of a formula, if the generator typesets such.
    `generates_reference`: `::: name` stands for documentation generated from code. `admonish`: code blocks in that
    language are admonitions.
    """

    slugify: Slugify = github_slug
    marks: tuple[tuple[str, str], ...] = (("~", "s"),)
    emoji: bool = False
    macros: bool = False
    shortcodes: bool = False
    attribute_lists: bool = True
    definition_lists: bool = True
    indented_code: bool = True
    hides_rust_lines: bool = False
    pictures_in_ids: bool = False
    reserves_ids: bool = False
    title_ids: bool = True
    contents_marks: bool = False
    tex: str = ""
    generates_reference: bool = False
    admonish: bool = False


MDX = Dialect(
    emoji=True,
    attribute_lists=False,
    definition_lists=False,
    indented_code=False,
    pictures_in_ids=True,
    title_ids=False,
)
_PLAIN = Dialect(contents_marks=True, shortcodes=True, tex="\\\\")
"""Folders without a known generator: what Hugo and Jekyll replace is no text, as nobody else writes it."""
_DIALECTS = {
    "docusaurus": replace(MDX, indented_code=True),
    "sphinx": Dialect(docutils_slug),
    "mdbook": Dialect(mdbook_slug, hides_rust_lines=True, admonish=True, tex="\\\\"),
}


def dialect_of(layout: str, extensions: Container[str] = ()) -> Dialect:
    """The dialect of Markdown files in a site with this layout and these extensions."""
    if layout != "mkdocs":
        return _DIALECTS.get(layout, _PLAIN)
    return Dialect(
        next((slug for name, slug in _MKDOCS_SLUGS.items() if name in extensions), mkdocs_slug),
        tuple(mark for extension, marks in _MKDOCS_MARKS.items() if extension in extensions for mark in marks),
        emoji="pymdownx.emoji" in extensions,
        macros="macros" in extensions,
        reserves_ids=True,
        contents_marks=True,
        tex="\\" if "pymdownx.arithmatex" in extensions else "",
        generates_reference="mkdocstrings" in extensions,
    )
