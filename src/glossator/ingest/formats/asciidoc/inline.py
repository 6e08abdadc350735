"""Inline markup of AsciiDoc as HTML: formatting, links, references, macros and typographic signs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from glossator.ingest.formats.asciidoc.places import Places
from glossator.ingest.formats.asciidoc.preprocess import Attributes, replace_attributes

MAX_MARKS, CHARACTERS_PER_MARK = 2_000, 20
"""Of a page with more inline markup than the first number and one for this many characters, the rest is plain text:
each takes its time. Pages of a book have one for 36 characters and more."""

_MARK = re.compile(r"[*_`#^~+]\S|&lt;&lt;|\(\(|[a-z]:\S")
_STASH = re.compile("\x00(\\d+)\x00")
_REFERENCE_TITLE = re.compile("\x01([^\x01]*)\x01")
_PASS = re.compile(
    r"\+\+\+(.+?)\+\+\+|pass:[a-z,]{0,20}\[(.{0,500}?)(?<!\\)\]|(?<!\w)\+(\S(?:[^+]*?\S)?)\+(?!\w)", re.DOTALL
)
_CODE = re.compile(r"``(.+?)``|(?<![\w\"'`\\])`(\S|\S.{0,500}?\S)`(?![\w\"'`])", re.DOTALL)
_CURVED = re.compile(r"(?<!\w)\"`(\S.{0,500}?)`\"|(?<!\w)'`(\S.{0,500}?)`'", re.DOTALL)
_MARKS = (
    ("**", re.compile(r"(?:\[[^\[\]\n]*\])?\*\*(.+?)\*\*", re.DOTALL), "strong"),
    ("*", re.compile(r"(?:\[[^\[\]\n]*\])?(?<![\w\\*])\*(\S|\S.*?\S)\*(?!\w)", re.DOTALL), "strong"),
    ("__", re.compile(r"(?:\[[^\[\]\n]*\])?__(.+?)__", re.DOTALL), "em"),
    ("_", re.compile(r"(?:\[[^\[\]\n]*\])?(?<![\w\\/:])_(\S|\S.*?\S)_(?!\w)", re.DOTALL), "em"),
    ("##", re.compile(r"(?:\[[^\[\]\n]*\])?##(.+?)##", re.DOTALL), "mark"),
    ("#", re.compile(r"(?:\[[^\[\]\n]*\])?(?<![\w\\&#])#(\S|\S.*?\S)#(?!\w)", re.DOTALL), "mark"),
    ("^", re.compile(r"\^([^\s^]+)\^"), "sup"),
    ("~", re.compile(r"~([^\s~]+)~"), "sub"),
)
_LAST_CLOSING = {mark: re.compile(rf".*\S{re.escape(mark)}(?!\w)", re.DOTALL) for mark in "*_#"}
"""The text up to the last mark that can close. What opens after it is never closed, and would be searched in vain."""
_TEXT = r"\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]"
_MACRO = re.compile(
    rf"\\?(?<!\w)(?P<name>xref|link|mailto|image|icon|kbd|btn|menu|footnote|footnoteref|stem|latexmath|asciimath|anchor|indexterm2?):(?P<target>[^\s\[:][^\[\n]{{0,500}}?)?{_TEXT}"
)
_URL = re.compile(
    rf"(?P<escape>\\?)(?P<url>(?:https?|ftp|irc)://[^\s\[\]<>\x00\"]*[^\s.,;:!?)\[\]<>\x00\"'])(?:{_TEXT})?"
)
_ANGLE = re.compile(r"&lt;&lt;([^\s,&][^,&]*?)(?:,\s*(.{1,300}?))?&gt;&gt;", re.DOTALL)
_ANCHOR = re.compile(r"\[\[([\w:.-]+)(?:,[^\]]*)?\]\]")
_INDEX = re.compile(r"\(\(\((.{1,200}?)\)\)\)|\(\((.{1,200}?)\)\)")
_SIGNS = (
    (re.compile(r"(?<=\w)'(?=[^\W\d_])"), "’"),
    (re.compile(r"\.\.\."), "…"),
    (re.compile(r"(?<=\S) -- (?=\S)"), " — "),
    (re.compile(r"(?<=\w)--(?=\w)"), "—"),
    (re.compile(r"\(C\)"), "©"),
    (re.compile(r"\(R\)"), "®"),
    (re.compile(r"\(TM\)"), "™"),
    (re.compile(r"-&gt;"), "→"),
    (re.compile(r"=&gt;"), "⇒"),
)
_ESCAPED = re.compile(r"\\(?=[*_`#^~\[{<'\"+(-])")
_ROLE = re.compile(r"\[[^\[\]\n]*\]\Z")


@dataclass(slots=True)
class Inline:
    """Converts inline markup; `titles` are those of the page's own sections, by their ids, once they are known.

    `remaining_marks` is how much markup the page may still have; below zero, some of it was read as plain text.
    """

    places: Places
    attributes: Attributes
    remaining_marks: int
    titles: dict[str, str] = field(default_factory=dict)

    def html(self, text: str) -> str:
        """A paragraph's text as HTML."""
        text = escape(text.replace("\x00", "").replace("\x01", ""), quote=False)
        self.remaining_marks -= len(_MARK.findall(text))
        if self.remaining_marks < 0:
            return text
        kept: list[str] = []

        def keep(html: str) -> str:
            kept.append(html)
            return f"\x00{len(kept) - 1}\x00"

        text = _PASS.sub(lambda m: keep(next(g for g in m.groups() if g is not None)), text)
        text = replace_attributes(text, self.attributes)
        text = _CURVED.sub(lambda m: f"“{m[1]}”" if m[1] else f"‘{m[2]}’", text)
        text = _CODE.sub(lambda m: keep(f"<code>{self._code(m[1] or m[2])}</code>"), text)
        text = self._links(text, keep)
        for mark, pattern, tag in _MARKS:
            closing = _LAST_CLOSING[mark].match(text) if mark in _LAST_CLOSING else None
            end = closing.end() if closing else 0 if mark in _LAST_CLOSING else len(text)
            text = pattern.sub(rf"<{tag}>\1</{tag}>", text[:end]) + text[end:]
        for pattern, sign in _SIGNS:
            text = pattern.sub(sign, text)
        return self._restore(_ESCAPED.sub("", text), kept)

    def plain(self, text: str) -> str:
        """The text of a title without markup."""
        return re.sub(r"<[^>]*>", "", self.html(text))

    def finish(self, html: str) -> str:
        """The page with the titles of its own sections in references to them."""
        return _REFERENCE_TITLE.sub(lambda m: escape(self.titles.get(m[1], f"[{m[1]}]"), quote=False), html)

    def _code(self, text: str) -> str:
        return replace_attributes(text.replace("\\", "") if text.startswith("\\") else text, self.attributes)

    def _restore(self, text: str, kept: list[str]) -> str:
        for _ in range(5):  # what is kept may hold what was kept before
            text = _STASH.sub(lambda m: kept[int(m[1])], text)
        return text

    def _links(self, text: str, keep: Callable[[str], str]) -> str:
        text = _MACRO.sub(lambda m: self._macro(m, keep), text)
        text = _ANGLE.sub(lambda m: self._reference(m[1].lstrip("#"), m[2] or "", keep), text)
        text = _URL.sub(lambda m: self._url(m, keep), text)
        text = _ANCHOR.sub(lambda m: keep(f'<a id="{m[1]}"></a>'), text)
        return _INDEX.sub(lambda m: m[2] or "", text)

    def _macro(self, match: re.Match[str], keep: Callable[[str], str]) -> str:
        name, target, text = match["name"], match["target"] or "", match[3] or ""
        if match[0].startswith("\\"):
            return match[0][1:]
        text = text.replace("\\]", "]")
        if name == "xref":
            return self._reference(target, text, keep)
        if name in ("link", "mailto"):
            address = f"mailto:{target}" if name == "mailto" else target
            return keep(f'<a href="{_attribute(address)}">{self._label(text) or target}</a>')
        if name == "image":
            return keep(self.image(target, text))
        return self._small_macro(name, target, text, keep)

    def _small_macro(self, name: str, target: str, text: str, keep: Callable[[str], str]) -> str:
        if name in ("kbd", "btn"):
            return keep(f"<kbd>{text}</kbd>" if name == "kbd" else f"<b>{text}</b>")
        if name == "menu":
            return keep(" › ".join(filter(None, (target, *re.split(r"\s*(?:&gt;|,)\s*", text)))))
        if name in ("stem", "latexmath", "asciimath"):
            return keep(f'<span class="math inline">{text}</span>')
        if name == "anchor":
            return keep(f'<a id="{_attribute(target)}"></a>')
        if name == "footnote":
            return f" ({text})" if text else ""
        return text if name == "indexterm2" else ""

    def _url(self, match: re.Match[str], keep: Callable[[str], str]) -> str:
        if match["escape"]:
            return keep(match["url"]) + (f"[{match[3]}]" if match[3] else "")
        label = self._label(match[3] or "") or match["url"]
        return keep(f'<a href="{_attribute(match["url"])}">{label}</a>')

    def _label(self, text: str) -> str:
        """The text of a link, without what follows it in the brackets."""
        label = re.split(r",\s*(?:role|window|opts|rel|title|id)=", text)[0].removesuffix("^").strip('"')
        return _ROLE.sub("", label) if label.startswith("[") else label

    def _reference(self, target: str, text: str, keep: Callable[[str], str]) -> str:
        """A link to a section of this page or to another page, with its title if it has no text."""
        label = self._label(text)
        if target.startswith("#") or not re.search(r"\.\w+(?:#|$)|#|:|/|\$", target):
            anchor = target.lstrip("#")
            return keep(f'<a href="#{_attribute(anchor)}">') + (label or keep(f"\x01{anchor}\x01")) + keep("</a>")
        address, title = self.places.page_link(target)
        shown = label or escape(
            title or re.sub(r"\.\w+(?=#|$)", "", target.rpartition("/")[2].rpartition(":")[2]), quote=False
        )
        return keep(f'<a href="{_attribute(address)}">') + shown + keep("</a>")

    def image(self, target: str, text: str) -> str:
        """An image with its alternative text."""
        alternative = text.partition(",")[0].strip('"') if "=" not in text.partition(",")[0] else ""
        named = re.search(r"alt=\"?([^\",\]]+)", text)
        source = self.places.image(target, self.attributes.get("imagesdir", ""))
        return f'<img src="{_attribute(source)}" alt="{_attribute(named[1] if named else alternative)}">'


def _attribute(value: str) -> str:
    return value.replace('"', "&quot;").replace("<", "&lt;")
