"""Values: the lines of a page with their positions, in points from its lower left corner, and its outline."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of a line without a wide gap between them."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; a table's row has several cells, `page` counts from one, and `bottom` is the base of letters."""

    page: int
    cells: tuple[Cell, ...]
    top: float
    bottom: float
    size: float
    is_bold: bool = False
    is_mono: bool = False
    words: tuple[str, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def left(self) -> float:
        return self.cells[0].left

    @property
    def right(self) -> float:
        return self.cells[-1].right


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The lines of a page in reading order; `is_scanned` means that it has a picture and no text."""

    number: int
    width: float
    height: float
    lines: tuple[Line, ...]
    is_scanned: bool = False


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A bookmark: a title and the page it leads to; `depth` is 0 at the top."""

    title: str
    page: int
    depth: int


@dataclass(frozen=True, slots=True)
class PdfContent:
    """All pages of a file, its own title and its outline."""

    pages: tuple[PdfPage, ...]
    title: str = ""
    outline: tuple[OutlineEntry, ...] = ()
