"""Writes small PDFs: lines of text at given places in standard fonts, pictures, and an outline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

FONTS = {"regular": "Helvetica", "bold": "Helvetica-Bold", "mono": "Courier"}
WIDTH, HEIGHT = 600, 800


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; `y` counts from the bottom of the page."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "regular"


def paragraph(lines: Sequence[str], x: float = 72, y: float = 700, **style: object) -> list[Text]:
    """Lines one below the other, 12 points apart."""
    return [Text(x, y - 12 * n, line, **style) for n, line in enumerate(lines)]  # type: ignore[arg-type]


def write_pdf(
    path: Path,
    pages: Sequence[Sequence[Text]],
    *,
    title: str = "",
    outline: Sequence[tuple[str, int, int]] = (),
    scanned: Sequence[int] = (),
    shapes: Mapping[int, int] = MappingProxyType({}),
) -> Path:
    """A PDF; `outline` has titles, depths and pages, `scanned` the pages that have a picture, and `shapes` how many
    shapes are drawn on a page; all count from 1."""
    first_page = 7
    first_entry = first_page + 2 * len(pages)
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
    fonts = " ".join(f"/{name} {font.format(base)}" for name, base in FONTS.items())
    kids = " ".join(f"{first_page + 2 * n} 0 R" for n in range(len(pages)))
    frame = f"/Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Resources 4 0 R"
    objects = {
        1: "<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>",
        2: f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        4: f"<< /Font << {fonts} >> /XObject << /Picture 5 0 R >> >>",
        5: "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
        " /Length 1 >>\nstream\n0\nendstream",
        6: f"<< /Title ({_escape(title)}) >>",
    }
    for n, lines in enumerate(pages):
        picture = "q 500 0 0 700 50 50 cm /Picture Do Q\n" if n + 1 in scanned else ""
        drawn = "10 10 5 5 re f\n" * shapes.get(n + 1, 0)
        content = picture + drawn + "\n".join(_show(line) for line in lines)
        number = first_page + 2 * n
        objects[number] = f"<< /Type /Page {frame} /Contents {number + 1} 0 R >>"
        objects[number + 1] = f"<< /Length {len(content.encode('cp1252'))} >>\nstream\n{content}\nendstream"
    objects |= _outline(outline, first_entry, first_page)
    path.write_bytes(_file(objects))
    return path


def _show(line: Text) -> str:
    return f"BT /{line.font} {line.size} Tf {line.x} {line.y} Td ({_escape(line.text)}) Tj ET"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _outline(entries: Sequence[tuple[str, int, int]], first: int, first_page: int) -> dict[int, str]:
    """The outline: each entry with its parent, its neighbours and its first and last child."""
    parents: list[int | None] = []
    for n, (_, depth, _) in enumerate(entries):
        above = [m for m in range(n) if entries[m][1] < depth]
        parents.append(above[-1] if above else None)
    children: dict[int | None, list[int]] = {}
    for n, parent in enumerate(parents):
        children.setdefault(parent, []).append(n)
    top = children.get(None, [])
    links = f"/First {first + top[0]} 0 R /Last {first + top[-1]} 0 R /Count {len(top)}" if top else ""
    objects = {3: f"<< /Type /Outlines {links} >>"}
    for n, (title, _, page) in enumerate(entries):
        siblings, below = children[parents[n]], children.get(n, [])
        at = siblings.index(n)
        parent = parents[n]
        parts = [
            f"/Title ({_escape(title)}) /Parent {3 if parent is None else first + parent} 0 R",
            f"/Dest [{first_page + 2 * (page - 1)} 0 R /XYZ 0 {HEIGHT} 0]",
            f"/Prev {first + siblings[at - 1]} 0 R" if at else "",
            f"/Next {first + siblings[at + 1]} 0 R" if at + 1 < len(siblings) else "",
            f"/First {first + below[0]} 0 R /Last {first + below[-1]} 0 R /Count {len(below)}" if below else "",
        ]
        objects[first + n] = f"<< {' '.join(filter(None, parts))} >>"
    return objects


def _file(objects: dict[int, str]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number in sorted(objects):
        offsets[number] = len(out)
        out += f"{number} 0 obj\n{objects[number]}\nendobj\n".encode("cp1252")
    start = len(out)
    size = max(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offsets[n]:010d} 00000 n \n".encode() for n in range(1, size))
    out += f"trailer\n<< /Size {size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)
