"""A parser that does what a hostile file could make one do, by the name of the file."""

from __future__ import annotations

import os
import time
from pathlib import Path

from glossator.ingest.formats.html import extract
from glossator.ingest.parsing.parsers import file_response
from glossator.ingest.parsing.values import ParseContext, ParsedFile, ParsedPage, file_to_json
from glossator.ingest.site.content import page_response


def parse(name: str, _context: ParseContext) -> str:
    """The file's name as its title, unless it is one of `_BEHAVIOURS`."""
    path = Path(name)
    if path.stem == "write":
        path.write_bytes(b"a" * 100)
    title = _BEHAVIOURS.get(path.stem, lambda: path.stem)()
    return file_to_json(ParsedFile((ParsedPage(extract("<p>Words.</p>")),), str(title)))


def parse_process(_name: str, _context: ParseContext) -> str:
    """The id of the process as the title."""
    return file_to_json(ParsedFile((), str(os.getpid())))


def parse_page(name: str, context: ParseContext) -> str:
    """The page as it is parsed elsewhere, unless its name is one of `_BEHAVIOURS`."""
    _BEHAVIOURS.get(Path(name).stem, str)()
    return file_response(name, context)


def parse_site_page(item: tuple[str, str, str, str], context: ParseContext) -> str:
    """The page as it is parsed elsewhere, unless its URL ends in the name of one of `_BEHAVIOURS`."""
    _BEHAVIOURS.get(item[0].rpartition("/")[2], str)()
    return page_response(item, context)


def _busy() -> None:
    while True:
        pass


def _nested() -> None:
    _nested()


_BEHAVIOURS = {
    "crash": lambda: os.kill(os.getpid(), 11),
    "exit": lambda: os._exit(0),
    "busy": _busy,
    "sleep": lambda: time.sleep(600),
    "memory": lambda: len(bytearray(2_000_000_000)),
    "much": lambda: "a" * 200_000,
    "bug": lambda: 1 // 0,
    "nested": _nested,
    "environment": lambda: os.write(1, b"printed") and " ".join(os.environ),
    "process": os.getpid,
}
