"""Blocks of AsciiDoc as HTML: sections, paragraphs, delimited blocks, admonitions and images."""

from __future__ import annotations

import re
from html import escape

from glossator.ingest.formats.asciidoc.lines import LIST_ITEM, TERM, LineReader, Style
from glossator.ingest.formats.asciidoc.lists import read_list
from glossator.ingest.formats.asciidoc.preprocess import attribute_entry, replace_attributes, set_attribute
from glossator.ingest.formats.asciidoc.tables import table

MAX_DEPTH = 30
"""Of blocks in blocks; deeper ones are paragraphs."""

ADMONITIONS = ("NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION")
_SECTION = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+=+)?")
_ATTRIBUTE_LINE = re.compile(r"\[(?![\[\s])(.*)\]|\[\]")
_ANCHOR_LINE = re.compile(r"\[\[([\w:.-]+)(?:,.*)?\]\]")
_TITLE_LINE = re.compile(r"\.(?![\s.])(.+)")
_DELIMITER = re.compile(r"-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|[|,:!]={3,}|`{3,}[\w+#.-]*")
_ADMONITION = re.compile(rf"({'|'.join(ADMONITIONS)}):[ \t]+(.*)")
_MACRO = re.compile(r"(image|video|audio|toc|gist)::([^\[\]]*)\[(.*)\]")
_BREAK = re.compile(r"'{3,}|<{3,}|-{3}|\*{3}")
_ID = re.compile(r"#([\w:.-]+)|(?:\A|,)\s*id=\"?([\w:.-]+)")
_INLINE_ID = re.compile(r"\s*\[\[([\w:.-]+)(?:,.*)?\]\]\Z")
_CALLOUTS = re.compile(
    r"(?<![ \t])[ \t]*+(?:(?:(?://|#|--|;;)[ \t]*+)?(?:<[\d.]{1,5}>[ \t]*+){1,20}|<!--[\d.]{1,5}-->)$"
)
_VERBATIM = frozenset({"source", "listing", "literal", "verse"})


class BlockReader(LineReader):
    """Writes the blocks of a page, or of a part of it, as HTML."""

    __slots__ = ()

    def html(self) -> str:
        """All blocks of the lines."""
        while self.position < len(self.lines):
            self.block()
        return "".join(self.out)

    def nested(self, lines: list[str]) -> str:
        """The HTML of lines inside a block."""
        if self.depth >= MAX_DEPTH:
            return f"<p>{self.inline.html(' '.join(lines))}</p>"
        return BlockReader(lines, self.inline, self.new_id, self.depth + 1).html()

    def block(self) -> None:
        """Read the next block, with the lines above it that set its style."""
        style = self._style()
        if self.position >= len(self.lines):
            return
        line = self.line
        section = _SECTION.fullmatch(line)
        if section and style.name not in ("source", "listing"):
            self._section(section, style)
        elif _DELIMITER.fullmatch(line):
            self._delimited(line, style)
        elif LIST_ITEM.fullmatch(line) or (TERM.fullmatch(line) and "://" not in line.split("::")[0]):
            self._list(style)
        else:
            self._other(line, style)

    def _style(self) -> Style:
        style = Style()
        while self.position < len(self.lines):
            line = self.line.strip()
            entry = attribute_entry(self.line)
            anchor, attributes, title = (
                _ANCHOR_LINE.fullmatch(line),
                _ATTRIBUTE_LINE.fullmatch(line),
                _TITLE_LINE.fullmatch(line),
            )
            if entry:
                set_attribute(self.inline.attributes, entry)
            elif anchor:
                style.anchor = anchor[1]
            elif attributes:
                style.attributes = attributes[1] or ""
                found = _ID.search(style.attributes)
                style.anchor = (found[1] or found[2]) if found else style.anchor
            elif title:
                style.title = title[1]
            elif line and not (line.startswith("//") and not line.startswith("////")):
                break
            self.position += 1
        return style

    def _section(self, section: re.Match[str], style: Style) -> None:
        self.position += 1
        inner = _INLINE_ID.search(section[2])
        title = self.inline.html(_INLINE_ID.sub("", section[2]))
        plain = re.sub(r"<[^>]*>", "", title)
        anchor = style.anchor or (inner[1] if inner else "") or self.new_id(plain)
        self.inline.titles.setdefault(anchor, plain)
        level = min(len(section[1]), 6)
        self.out.append(f'<h{level} id="{escape(anchor)}">{title}</h{level}>')

    def _title(self, style: Style) -> None:
        if style.title:
            self.out.append(f"<p><strong>{self.inline.html(style.title)}</strong></p>")
        if style.anchor:
            self.inline.titles.setdefault(style.anchor, self.inline.plain(style.title) or style.anchor)

    def _delimited(self, line: str, style: Style) -> None:
        """A block between two lines of signs."""
        fence = line[: len(line) - len(line.lstrip("`"))] if line.startswith("`") else line
        self.position += 1
        body = []
        while self.position < len(self.lines) and self.line.rstrip() != fence:
            body.append(self.lines[self.position])
            self.position += 1
        self.position += 1
        kind = line[:2] if line == "--" else line[0]
        if kind != "/":
            self._write_delimited(kind, body, style, line)

    def _write_delimited(self, kind: str, body: list[str], style: Style, line: str) -> None:
        is_math = style.name in ("stem", "latexmath", "asciimath")
        if line.endswith("===") and kind in "|,:!":
            self.out.append(table(body, style, self, kind))
        elif is_math:
            self.out.append(f'<div class="math block">{escape(chr(10).join(body), quote=False)}</div>')
        elif kind in ("-", ".", "`") or (kind == "--" and style.name in _VERBATIM):
            self._title(style)
            self._code(body, style, line.lstrip("`") if kind == "`" else style.language)
        elif style.name in ADMONITIONS:
            self._admonition(style.name, self.nested(body), style)
        elif kind != "+":
            self._title(style)
            tag = "blockquote" if kind == "_" or style.name in ("quote", "verse") else "div"
            self.out.append(f"<{tag}>{self.nested(body)}{self._attribution(style)}</{tag}>")

    def _attribution(self, style: Style) -> str:
        parts = [part.strip().strip('"') for part in style.attributes.split(",")[1:]]
        named = [part for part in parts if part and "=" not in part]
        return f"<p>{self.inline.html(', '.join(named))}</p>" if style.name in ("quote", "verse") and named else ""

    def _code(self, body: list[str], style: Style, language: str) -> None:
        code = "\n".join(_CALLOUTS.sub("", line) for line in body)
        if "attributes" in style.attributes or "subs=" in style.attributes:
            code = replace_attributes(code, self.inline.attributes)
        name = f' class="language-{escape(language)}"' if language else ""
        self.out.append(f"<pre><code{name}>{escape(code, quote=False)}</code></pre>")

    def _admonition(self, kind: str, html: str, style: Style) -> None:
        title = self.inline.html(style.title) if style.title else kind.capitalize()
        self.out.append(f'<div class="admonition {kind.lower()}"><p class="admonition-title">{title}</p>{html}</div>')

    def _list(self, style: Style) -> None:
        self._title(style)
        self.out.append(read_list(self, ()))

    def _other(self, line: str, style: Style) -> None:
        macro, admonition = _MACRO.fullmatch(line), _ADMONITION.match(line)
        if macro:
            self.position += 1
            self._macro(macro, style)
        elif _BREAK.fullmatch(line):
            self.position += 1
            self.out.append("<hr>")
        elif admonition:
            text = " ".join([admonition[2], *self.paragraph()[1:]])
            self._admonition(admonition[1], f"<p>{self.inline.html(text)}</p>", style)
        else:
            self._paragraph(line, style)

    def _macro(self, macro: re.Match[str], style: Style) -> None:
        if macro[1] == "image":
            caption = f"<figcaption>{self.inline.html(style.title)}</figcaption>" if style.title else ""
            self.out.append(f"<figure>{self.inline.image(macro[2], macro[3])}{caption}</figure>")

    def _paragraph(self, line: str, style: Style) -> None:
        is_literal = line[:1] in " \t" or style.name in _VERBATIM or (not style.name and style.language)
        lines = self.paragraph()
        self._title(style)
        if is_literal:
            indent = min(len(each) - len(each.lstrip()) for each in lines)
            self._code([each[indent:] for each in lines], style, style.language)
        elif style.name in ADMONITIONS:
            self._admonition(style.name, f"<p>{self.inline.html(' '.join(lines))}</p>", Style())
        else:
            self.out.append(f"<p>{self.text(lines)}</p>")

    def paragraph(self) -> list[str]:
        """The lines up to a blank line or another block."""
        first = self.position
        self.position += 1
        while self.position < len(self.lines):
            line = self.line
            if not line.strip() or _DELIMITER.fullmatch(line) or line == "+" or _ATTRIBUTE_LINE.fullmatch(line):
                break
            if self.is_in_item and LIST_ITEM.fullmatch(line):
                break
            self.position += 1
        return [line for line in self.lines[first : self.position] if not line.startswith("//")]
