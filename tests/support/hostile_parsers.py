"""A parser that does what a hostile file could make one do, by the name of the file."""

from __future__ import annotations

import os
import time
from pathlib import Path

from glossator.ingest.formats.html import extract
from glossator.ingest.parsing.values import ParseContext, ParsedFile, ParsedPage


def parse(path: Path, _context: ParseContext) -> ParsedFile:
    """The file's name as its title, unless it is one of `_BEHAVIOURS`."""
    if path.stem == "write":
        path.write_bytes(b"a" * 100)
    title = _BEHAVIOURS.get(path.stem, lambda: path.stem)()
    return ParsedFile((ParsedPage(extract("<p>Words.</p>")),), str(title))


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
