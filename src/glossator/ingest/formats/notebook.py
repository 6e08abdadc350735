"""Jupyter notebooks: cells of Markdown and code, with the text of their outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from typing import Any

from glossator.core.errors import SourceError
from glossator.ingest.formats.dialects import Dialect, dialect_of
from glossator.ingest.formats.html import ExtractedPage, extract
from glossator.ingest.formats.markdown import to_html
from glossator.ingest.formats.slugs import notebook_slug

MAX_OUTPUT_CHARACTERS = 2_000
"""Of the outputs of one cell; the rest is data rather than text."""

_CELL_END = "\n\n<!-- -->\n\n"
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_OBJECT = re.compile(r"<[\w.]+(?: [^<>]*)?(?: at 0x[\da-f]+)?>|\[?<matplotlib.*", re.DOTALL)
_DIALECT = Dialect(notebook_slug)
_ATTACHMENT = re.compile(r"\(attachment:[^)\s]*\)")


def read_notebook(text: str, layout: str) -> ExtractedPage:
    """The page of a notebook; Sphinx gives its headings the ids of its own pages."""
    notebook = _load(text)
    cells = notebook.get("cells")
    if not isinstance(cells, list):  # format 3 has worksheets
        sheets = notebook.get("worksheets")
        cells = (
            [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells", [])]
            if isinstance(sheets, list)
            else []
        )
    language = _language(notebook)
    notes: list[str] = []
    dialect = dialect_of(layout) if layout == "sphinx" else _DIALECT
    parts = [_cell(cell, language, notes) for cell in cells if isinstance(cell, dict)]
    markdown = _CELL_END.join(filter(None, parts))
    page = extract(f"<main>{to_html(markdown, dialect, notes)}</main>")
    return replace(page, notes=tuple(dict.fromkeys((*notes, *page.notes))))


def _load(text: str) -> dict[str, Any]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        raise SourceError("the notebook is not valid JSON.", "Save it again in Jupyter.") from None
    if not isinstance(notebook, dict):
        raise SourceError("this is not a notebook.", "Save it again in Jupyter.")
    return notebook


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    info = metadata.get("language_info") or metadata.get("kernelspec") if isinstance(metadata, dict) else None
    name = (info.get("name") or info.get("language")) if isinstance(info, dict) else None
    found = re.match(r"[a-zA-Z+#]+", name) if isinstance(name, str) else None
    return found[0].lower() if found else "python"


def _cell(cell: dict[str, Any], language: str, notes: list[str]) -> str:
    """A cell as Markdown; raw cells are for converters, and a hidden one is not shown."""
    metadata = cell.get("metadata")
    tags = metadata.get("tags", []) if isinstance(metadata, dict) else []
    if isinstance(tags, list) and {"remove-cell", "remove_cell", "hide-cell"} & {t for t in tags if isinstance(t, str)}:
        return ""
    source = _text(cell.get("source") if "source" in cell else cell.get("input"))
    kind = cell.get("cell_type")
    if kind == "markdown":
        return _ATTACHMENT.sub("()", source)
    if kind == "heading":
        level = cell.get("level")
        return "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1) + f" {source}"
    if kind != "code" or not source.strip():
        return ""
    outputs = _outputs(cell.get("outputs"), notes)
    return _pre(source, language) + (f"\n\n{_pre(outputs, '')}" if outputs else "")


def _pre(text: str, language: str) -> str:
    """Code as HTML on one line each, which no rule of Markdown changes."""
    name = f' class="language-{language}"' if language else ""
    return f"<pre><code{name}>{escape(text.rstrip(), quote=False)}</code></pre>".replace("\n\n", "\n\u200b\n")


def _outputs(outputs: Any, notes: list[str]) -> str:
    """The text of a cell's outputs; pictures and widgets have none, and warnings are not part of the book."""
    found = [text for output in outputs if (text := _output(output))] if isinstance(outputs, list) else []
    text = "\n".join(found)
    if len(text) > MAX_OUTPUT_CHARACTERS:
        notes.append(f"outputs were cut after {MAX_OUTPUT_CHARACTERS:,} characters.")
        text = text[:MAX_OUTPUT_CHARACTERS].rpartition("\n")[0] or text[:MAX_OUTPUT_CHARACTERS]
    return text


def _output(output: Any) -> str:
    if not isinstance(output, dict) or output.get("name") == "stderr" or output.get("stream") == "stderr":
        return ""
    data = output.get("data")
    if output.get("output_type") == "error" or output.get("output_type") == "pyerr":
        text = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    elif isinstance(data, dict):
        text = _text(data.get("text/plain"))
    else:
        text = _text(output.get("text"))
    plain = _ANSI.sub("", text).strip("\n")
    return "" if _OBJECT.fullmatch(plain.strip()) else plain


def _text(value: Any) -> str:
    """Text that notebooks hold as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(_pieces(value))
    return value if isinstance(value, str) else ""


def _pieces(values: list[Any]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))
