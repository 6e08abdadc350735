"""Parses the files of a source in child processes, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType

from glossator.ingest.layouts.page import BOOK_SUFFIXES
from glossator.ingest.parsing.pool import ParserPool
from glossator.ingest.parsing.process import ParserLimits
from glossator.ingest.parsing.values import ParseContext, ParsedFile, file_from_values

_BATCH_BYTES, _BATCH_FILES = 200_000, 64
"""Of one batch: less text than this is parsed faster than a second process starts."""


class FileParser:
    """The parsed files of a source; close it to end the child processes."""

    def __init__(
        self,
        context: ParseContext,
        limits: ParserLimits = ParserLimits(),  # noqa: B008 - frozen
        parser: str = "glossator.ingest.parsing.parsers:file_response",
    ) -> None:
        self._pool = ParserPool(parser, context, file_from_values, limits)
        self._files: dict[Path, Future[ParsedFile]] = {}

    def start(self, paths: Iterable[Path]) -> None:
        """Begin to parse files, in this order."""
        for batch in _batches(path for path in dict.fromkeys(paths) if path not in self._files):
            futures = self._pool.submit([(str(path.absolute()), _text_size(path)) for path in batch])
            self._files.update(zip(batch, futures, strict=True))

    def result(self, path: Path) -> ParsedFile:
        """A parsed file, which is forgotten with this call; a SourceError if it could not be parsed."""
        self.start([path])
        return self._files.pop(path).result()

    def __enter__(self) -> FileParser:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._pool.close()


def _batches(paths: Iterable[Path]) -> Iterator[list[Path]]:
    """Files in order, in batches of limited size."""
    batch: list[Path] = []
    total = 0
    for path in paths:
        size = _size(path)
        if batch and (total + size > _BATCH_BYTES or len(batch) == _BATCH_FILES):
            yield batch
            batch, total = [], 0
        batch.append(path)
        total += size
    if batch:
        yield batch


def _text_size(path: Path) -> int | None:
    return None if path.suffix.lower() in BOOK_SUFFIXES else _size(path)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # its parser says what is wrong with it
