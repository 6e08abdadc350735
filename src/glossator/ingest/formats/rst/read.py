"""Reads a page of reStructuredText, with the rules of Sphinx for a Sphinx site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.parsers.rst.states import Inliner
from docutils.readers.standalone import Reader
from docutils.transforms import Transformer
from docutils.transforms.misc import Transitions
from docutils.transforms.references import PropagateTargets
from docutils.utils import new_document

from glossator.ingest.files import read_text
from glossator.ingest.formats.html import ExtractedPage, extract
from glossator.ingest.formats.includes import IncludeReader
from glossator.ingest.formats.plain_text import plain_paragraphs, split_at_limit
from glossator.ingest.formats.rst.page import PageScope
from glossator.ingest.formats.rst.registry import sphinx_syntax
from glossator.ingest.formats.rst.targets import LinearTargets
from glossator.ingest.formats.rst.to_html import to_html
from glossator.ingest.parsing.values import ParseContext

_SETTINGS = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "halt_level": 6,
    "report_level": 5,
    "warning_stream": "",
    "doctitle_xform": False,
    "sectsubtitle_xform": False,
    "docinfo_xform": False,
    "auto_id_prefix": "id",
    "syntax_highlight": "none",
    "line_length_limit": 1_000_000,
    "tab_width": 8,
}
"""As Sphinx has them, so that anchors agree; no file is read, and no raw HTML."""

MAX_CONSTRUCTS, CHARACTERS_PER_CONSTRUCT = 3_000, 40
"""Of a page with more constructs than the first number and one for this many characters, the rest is plain text.
Docutils takes about 0.05 milliseconds for each; of 556 pages of ROS 2, Celery and Scrapy, none has as many."""

_CONSTRUCTS = re.compile(
    r"""
    ^[^\S\n]*+(?P<slow>\.\.[ ]|-\w|--\w|/\w|:[^:\n]{1,80}:(?:[ ]|$)|=+[ ][= ]*$|\+[-=]|_`)
    | ^[^\S\n]*+\S | (?<=[-+*][ ])[-+*](?=[ ]) | (?<=[\s(])[*`|\[:](?=\S) | (?P<target>_(?=`)) | _(?![\w*`|])
    """,
    re.MULTILINE | re.VERBOSE,
)
"""What takes time to parse: lines, and the marks of inline markup. Directives, targets, options, fields and the borders
of tables take longer: they count as `SLOW_CONSTRUCT` others."""

SLOW_CONSTRUCT = 3

MAX_PARAGRAPH_MARKS = 500
"""A paragraph with more inline markup is plain text: parsing time grows with the square of it."""

MAX_MARKUP_ERRORS = 500
"""After so many, the rest of the page has no inline markup: each takes several times as long as correct markup."""

_SUBSTITUTIONS = ("version", "release")


def read_rst(path: Path, context: ParseContext) -> ExtractedPage:
    """The page at a path."""
    includes = IncludeReader(Path(context.root))
    scope = PageScope(path, Path(context.root), context.references, includes)
    notes: list[str] = []
    text, rest = split_at_limit(
        read_text(path, context.max_bytes), notes, _CONSTRUCTS, MAX_CONSTRUCTS, CHARACTERS_PER_CONSTRUCT, SLOW_CONSTRUCT
    )
    with sphinx_syntax(scope):
        document = _parse(
            _with_site_text(text, context),
            path,
            smart_quotes=context.layout == "sphinx" and context.attributes.get("smartquotes") != "False",
        )
    page = extract(f"<main>{to_html(document)}{plain_paragraphs(rest)}</main>")
    return replace(page, notes=tuple(filter(None, (*notes, *page.notes, includes.note(), *_left_out(document, scope)))))


def _inliner() -> Inliner:
    """Parses a reasonable amount of inline markup, and of errors in it; docutils does not work with a subclass."""
    inliner = Inliner()
    parse, errors = inliner.parse, 0

    def parse_limited(text: str, *context: Any) -> Any:
        nonlocal errors
        is_too_much = next(islice(_CONSTRUCTS.finditer(text), MAX_PARAGRAPH_MARKS, None), None)
        if is_too_much or errors > MAX_MARKUP_ERRORS:
            return [nodes.Text(text)], []
        parsed, messages = parse(text, *context)
        errors += len(messages)
        return parsed, messages

    setattr(inliner, "parse", parse_limited)  # noqa: B010 - a type checker allows no other way
    return inliner


def _with_site_text(text: str, context: ParseContext) -> str:
    """The text between what the site's configuration puts above and below every page."""
    if context.layout != "sphinx":
        return text
    values = [
        f".. |{name}| replace:: {context.attributes[name]}" for name in _SUBSTITUTIONS if context.attributes.get(name)
    ]
    above, below = context.attributes.get("rst_prolog", ""), context.attributes.get("rst_epilog", "")
    return "\n\n".join(filter(None, (above, text, below, "\n".join(values))))


def _parse(text: str, path: Path, *, smart_quotes: bool) -> nodes.document:
    settings = get_default_settings(Parser(), Reader())
    for name, value in {**_SETTINGS, "smart_quotes": smart_quotes}.items():
        setattr(settings, name, value)
    document = new_document(str(path), settings)
    parser = Parser(inliner=_inliner())
    parser.parse(text, document)
    transformer = Transformer(document)
    transformer.populate_from_components((Reader(parser), parser))
    # That of transitions only checks where they are; like that of targets, it takes quadratic time.
    transformer.transforms = [
        entry for entry in transformer.transforms if entry[1] not in (Transitions, PropagateTargets)
    ]
    transformer.add_transform(LinearTargets)
    transformer.apply_transforms()
    return document


def _left_out(document: nodes.document, scope: PageScope) -> Iterator[str]:
    """What of the page is not in its text."""
    if count := len(scope.generated):
        directives = "directive was" if count == 1 else "directives were"
        yield f"{count} {directives} left out: Sphinx generates their text from code."
    errors = [node for node in document.findall(nodes.system_message) if node.get("level", 0) >= 3 and len(node) > 1]
    if count := len(errors):
        lines = ", ".join(str(node.get("line", "?")) for node in errors[:5])
        constructs = "construct was" if count == 1 else "constructs were"
        yield f"{count} {constructs} left out as invalid reStructuredText (line {lines})."
