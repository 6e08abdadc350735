"""The lines of an AsciiDoc page, and what the readers of blocks, lists and tables share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from glossator.ingest.formats.asciidoc.inline import Inline

_STYLE = re.compile(r"\A[\w-]*")
LIST_ITEM = re.compile(
    r"[ \t]*(?P<marker>\*{1,6}|-|\.{1,6}|\d{1,4}\.|[a-zA-Z]\.|&lt;\d+&gt;|<[\d.]{1,3}>)[ \t]+(?P<text>\S.*)"
)
TERM = re.compile(r"[ \t]*(?P<text>\S.*?)(?P<marker>:{2,4}|;;)(?:[ \t]+(?P<rest>\S.*))?")


@dataclass(slots=True)
class Style:
    """The attributes, anchor and title in the lines above a block."""

    attributes: str = ""
    anchor: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        found = _STYLE.match(self.attributes)
        return found[0] if found else ""

    @property
    def language(self) -> str:
        parts = [part.strip() for part in self.attributes.split(",")]
        if len(parts) < 2 or self.name not in ("source", "", "listing"):
            return ""
        return parts[1].strip('"') if re.fullmatch(r"\"?[\w+#.-]+\"?", parts[1]) else ""


@dataclass(slots=True)
class LineReader(ABC):
    """A position in the lines of a page; with `is_in_item`, a list item ends a paragraph."""

    lines: list[str]
    inline: Inline
    new_id: Callable[[str], str]
    depth: int = 0
    position: int = 0
    is_in_item: bool = False
    out: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        return self.lines[self.position] if self.position < len(self.lines) else ""

    def skip_blank(self) -> None:
        while self.position < len(self.lines) and not self.line.strip():
            self.position += 1

    def text(self, lines: list[str]) -> str:
        """The lines of a paragraph as HTML; ` +` at the end of one is a line break."""
        joined = "\n".join(line.strip() for line in lines)
        return re.sub(r" \+\n", "<br>", self.inline.html(joined)).removesuffix(" +")

    @abstractmethod
    def block(self) -> None:
        """Read the next block, with the lines above it that set its style."""

    @abstractmethod
    def nested(self, lines: list[str]) -> str:
        """The HTML of lines inside a block."""
