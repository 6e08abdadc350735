"""Reads the text layer of a PDF with PDFium: words with their boxes and fonts, in lines."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from glossator.core.errors import SourceError
from glossator.ingest.formats.pdf.lines import Cell, Line, OutlineEntry, PdfContent, PdfPage

MAX_PAGES, MAX_PAGE_CHARACTERS, MAX_OUTLINE = 10_000, 100_000, 20_000
_MAX_OBJECTS = 500
_MIN_SHAPES = 50
"""A page with so many shapes and no text has drawn letters; a blank one may have a frame or a few lines."""
_WIDE_GAP = 1.8
"""A gap of so many times the font's size is between two columns or cells."""
_MONOSPACED = re.compile(r"mono|courier|consol|typewriter|menlo|code|(?:^|\+)[a-z\d]{0,6}tt\d*(?:-|$)")
"""Names of fonts, among them those of TeX, which do not say it otherwise."""
_BOLD = ("bold", "black", "heavy", "semibold", "demi")
_REPLACED = str.maketrans(
    {
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "ft",
        "ﬆ": "st",
        "\u00a0": " ",
        "\u00ad": "-",
        "\x02": "-",
        "\ufffe": "-",
    }
)
_EXPONENTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_HYPHENS = frozenset({0x2, 0xFFFE})
"""How PDFium gives a hyphen at the end of a line."""
_LINE_ENDS = _HYPHENS | {10, 13}
_BREAKS = _LINE_ENDS | {0, 9, 32, 0xA0, 0x3000, 0x200B}


@dataclass(frozen=True, slots=True)
class _Font:
    is_bold: bool
    is_mono: bool


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    left: float
    right: float
    base: float
    size: float
    font: _Font


@dataclass(frozen=True, slots=True)
class _TextObject:
    """What all characters that are drawn together have in common."""

    base: float
    size: float
    font: _Font


@dataclass(slots=True)
class _TextPage:
    """The text of one page, with the fonts of the file that were seen so far."""

    handle: Any
    fonts: dict[int, _Font]
    objects: dict[int, _TextObject] = field(default_factory=dict)
    box: Any = field(default_factory=pdfium.FS_RECTF)

    def words(self) -> Iterator[list[_Word]]:
        """The words of each line, in the order of the file."""
        codes = self._codes(min(pdfium.FPDFText_CountChars(self.handle), MAX_PAGE_CHARACTERS))
        line: list[_Word] = []
        start = 0
        for index, code in enumerate([*codes, 10]):
            if code not in _BREAKS:
                continue
            end = index + (code in _HYPHENS)  # it belongs to the word, and ends the line
            if end > start:
                line.append(self._word(codes, start, end))
            start = index + 1
            if code in _LINE_ENDS and line:
                yield line
                line = []

    def _codes(self, count: int) -> list[int]:
        """The characters; one by one if they are not as many as their codes, so that each is at its own index."""
        buffer = (ctypes.c_ushort * (count + 1))()
        written = pdfium.FPDFText_GetText(self.handle, 0, count, buffer)
        codes = list(buffer[:count])
        if written == count + 1 and not any(0xD800 <= code < 0xE000 for code in codes):
            return codes
        return [pdfium.FPDFText_GetUnicode(self.handle, index) for index in range(count)]

    def _word(self, codes: list[int], start: int, end: int) -> _Word:
        text = "".join(map(chr, codes[start:end])).translate(_REPLACED)
        pdfium.FPDFText_GetLooseCharBox(self.handle, start, self.box)
        left, right = self.box.left, self.box.right
        if end - 1 > start:
            pdfium.FPDFText_GetLooseCharBox(self.handle, end - 1, self.box)
            left, right = min(left, self.box.left), max(right, self.box.right)
        drawn = self._text_object(start)
        text = self._raised(text, start, end, drawn) if text[-1].isdecimal() else text
        return _Word(text, left, right, drawn.base, drawn.size, drawn.font)

    def _raised(self, text: str, start: int, end: int, drawn: _TextObject) -> str:
        """A word without the small raised number of a footnote at its end; after a number it is an exponent."""
        first = end
        while first > start + 1 and self._is_raised(self._text_object(first - 1), drawn):
            first -= 1
        word, number = text[: first - start], text[first - start :]
        if not number.isdecimal():
            return text
        return word + number.translate(_EXPONENTS) if word[-1].isdecimal() else word

    @staticmethod
    def _is_raised(last: _TextObject, drawn: _TextObject) -> bool:
        return last.size < 0.85 * drawn.size and last.base > drawn.base + 0.1 * drawn.size

    def _text_object(self, index: int) -> _TextObject:
        found = pdfium.FPDFText_GetTextObject(self.handle, index)
        address = ctypes.addressof(found.contents) if found else 0
        if address not in self.objects or not address:
            self.objects[address] = self._described(index, found)
        return self.objects[address]

    def _described(self, index: int, found: Any) -> _TextObject:
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(self.handle, index, matrix)
        scale = math.hypot(matrix.b, matrix.d) or 1.0
        size = float(round(pdfium.FPDFText_GetFontSize(self.handle, index) * scale, 1))
        return _TextObject(matrix.f, size, self._font(pdfium.FPDFTextObj_GetFont(found) if found else None))

    def _font(self, font: Any) -> _Font:
        address = ctypes.addressof(font.contents) if font else 0
        if address not in self.fonts:
            self.fonts[address] = _describe(font) if font else _Font(False, False)
        return self.fonts[address]


def _describe(font: Any) -> _Font:
    buffer = ctypes.create_string_buffer(200)
    length = pdfium.FPDFFont_GetBaseFontName(font, buffer, len(buffer))
    name = buffer.raw[: max(0, min(length, len(buffer)) - 1)].decode("utf-8", "replace").lower()
    flags = pdfium.FPDFFont_GetFlags(font)
    is_bold = any(word in name for word in _BOLD) or pdfium.FPDFFont_GetWeight(font) >= 600
    return _Font(is_bold, bool(_MONOSPACED.search(name)) or (flags > 0 and bool(flags & 1)))


def read_content(path: Path) -> PdfContent:
    """The pages of a file; a SourceError if it is encrypted or damaged."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise SourceError("the PDF is encrypted with a password.", "Save a copy without it.") from None
        raise SourceError("the file is damaged, or not a PDF.", "Open it in a viewer and save it again.") from None
    try:
        if len(document) > MAX_PAGES:
            raise SourceError(f"the PDF has more than {MAX_PAGES:,} pages.", "Split it.")
        fonts: dict[int, _Font] = {}
        pages = tuple(_page(document, index, fonts) for index in range(len(document)))
        return PdfContent(pages, document.get_metadata_value("Title").strip(), tuple(_outline(document)))
    finally:
        document.close()


def _page(document: pypdfium2.PdfDocument, index: int, fonts: dict[int, _Font]) -> PdfPage:
    number = index + 1
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return PdfPage(number, 0, 0, (), is_scanned=True)
    try:
        width, height = page.get_size()
        text_page = page.get_textpage()
        lines = tuple(_line(number, words) for words in _joined(_TextPage(text_page.raw, fonts).words()))
        text_page.close()
        return PdfPage(number, width, height, lines, is_scanned=not lines and _has_picture(page))
    except pypdfium2.PdfiumError:
        return PdfPage(number, 0, 0, (), is_scanned=True)
    finally:
        page.close()


def _joined(lines: Iterable[list[_Word]]) -> list[list[_Word]]:
    """Lines of words; PDFium begins a new line after a raised number, though the text goes on beside it."""
    joined: list[list[_Word]] = []
    for words in lines:
        last, first = joined[-1][-1] if joined else None, words[0]
        beside = last is not None and -first.size < first.left - last.right < _WIDE_GAP * first.size
        if beside and last is not None and abs(last.base - first.base) < 0.2 * first.size:
            joined[-1] += words
        else:
            joined.append(words)
    return joined


def _line(number: int, words: list[_Word]) -> Line:
    longest = max(words, key=lambda word: len(word.text))
    size = longest.size
    cells: list[list[_Word]] = [[words[0]]]
    for before, word in pairwise(words):
        gap = word.left - before.right
        if gap > _WIDE_GAP * max(size, 1) or gap < -_WIDE_GAP * max(size, 1):
            cells.append([])
        cells[-1].append(word)
    return Line(
        number,
        tuple(Cell(" ".join(w.text for w in cell), cell[0].left, cell[-1].right) for cell in cells),
        longest.base + size,
        longest.base,
        size,
        all(word.font.is_bold for word in words),
        all(word.font.is_mono for word in words),
        tuple(word.text for word in words),
    )


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    """Whether a page shows an image, or letters that are drawn as shapes."""
    count = min(pdfium.FPDFPage_CountObjects(page.raw), _MAX_OBJECTS)
    kinds = [pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page.raw, index)) for index in range(count)]
    is_drawn = kinds.count(pdfium.FPDF_PAGEOBJ_PATH) >= _MIN_SHAPES
    return is_drawn or pdfium.FPDF_PAGEOBJ_IMAGE in kinds or pdfium.FPDF_PAGEOBJ_FORM in kinds


def _outline(document: pypdfium2.PdfDocument) -> Iterator[OutlineEntry]:
    try:
        for number, bookmark in enumerate(document.get_toc(max_depth=6)):
            destination = bookmark.get_dest()
            page = destination.get_index() if destination is not None else None
            if number >= MAX_OUTLINE:
                return
            if page is not None and page >= 0:
                yield OutlineEntry(" ".join(bookmark.get_title().split()), page + 1, bookmark.level)
    except pypdfium2.PdfiumError:
        return
