"""Parses pages of Markdown and MDX by the rules of their site generator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from glossator.ingest.formats.dialects import MDX, dialect_of
from glossator.ingest.formats.html import ExtractedPage, extract
from glossator.ingest.formats.includes import IncludeReader, expand_includes, expand_snippets, mdx_to_markdown
from glossator.ingest.formats.markdown import scalar, split_front_matter, to_html
from glossator.ingest.formats.rst.myst import myst_to_markdown
from glossator.ingest.parsing.values import ParseContext


def parse_markdown(text: str, path: Path, context: ParseContext) -> ExtractedPage:
    """A page of Markdown or MDX, with the files that it includes."""
    front, body = split_front_matter(text)
    includes = IncludeReader(Path(context.root), Path(context.snippets) if context.snippets else None)
    notes: list[str] = []
    if context.layout == "sphinx":
        html = to_html(myst_to_markdown(body, context.references), dialect_of(context.layout), notes)
    elif _is_mdx(path.suffix.lower(), front, context):
        html = to_html(mdx_to_markdown(body, path, includes), MDX, notes)
    else:
        expand = expand_includes if context.layout == "mdbook" else expand_snippets
        html = to_html(expand(body, path, includes), dialect_of(context.layout, context.extensions), notes)
    extracted = extract(f"<main>{html}</main>")
    title = scalar(front.get("title")) or extracted.title
    return replace(extracted, title=title, notes=tuple(filter(None, (*notes, *extracted.notes, includes.note()))))


def _is_mdx(suffix: str, front: dict[str, Any], context: ParseContext) -> bool:
    """By the file name; in Docusaurus also by the settings of the site or the page."""
    if context.layout == "docusaurus" and front.get("format") in ("md", "mdx"):
        return bool(front["format"] == "mdx")
    return suffix == ".mdx" or context.mdx
