"""XML of an EPUB's package, without entities: a file that declares one is rejected before any is expanded."""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from glossator.core.errors import SourceError

MAX_ELEMENTS, MAX_DEPTH = 200_000, 100


def parse_xml(data: bytes, name: str) -> Element:
    """The root element; names of tags are without their namespace."""
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = elements = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth, elements = depth + 1, elements + 1
        if depth > MAX_DEPTH or elements > MAX_ELEMENTS:
            raise SourceError(f"{name} in the EPUB has too many elements.", "Split the book.")
        builder.start(_local(tag), {_local(key): value for key, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_local(tag))

    def entity(*_: object) -> None:
        raise SourceError(f"{name} in the EPUB declares XML entities, which are not allowed.", "Remove them.")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, LookupError, ValueError, AssertionError):
        raise SourceError(f"{name} in the EPUB is not valid XML.", "Check that it is not damaged.") from None


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def text_of(element: Element | None) -> str:
    """All text of an element on one line."""
    return " ".join("".join(element.itertext()).split()) if element is not None else ""
