"""Parses files in this process: for tests that read hundreds of sources, or look for errors in the parsers."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from glossator.ingest.parsing.parsers import file_response
from glossator.ingest.parsing.values import (
    ParseContext,
    ParsedFile,
    context_from_json,
    context_to_json,
    file_from_values,
)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collects no garbage within, and leaves the collector as it was found: another caller may have disabled it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class InProcessParser:
    """Has the results of a FileParser, which pass through JSON here as well, and the parsers' own errors."""

    def __init__(self, context: ParseContext) -> None:
        self._context = context_from_json(context_to_json(context))

    def start(self, paths: Iterable[Path]) -> None:
        """A file is parsed when its result is asked for."""

    def result(self, path: Path) -> ParsedFile:
        with no_garbage_collection():  # as in a child process, which has none of the objects of a test run
            return file_from_values(json.loads(file_response(str(path.absolute()), self._context)))

    def __enter__(self) -> InProcessParser:
        return self

    def __exit__(self, *_: object) -> None:
        """There is no process to end."""
