"""Cache of encoded sources: the encoding of a passage does not depend on the question."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from glossator.core.inference.reading import ReadSource, SourceText

MAX_BYTES = 128 * 2**20
"""About 120 parts of passages, each of which would take 20 ms of a core to read again."""


class ReadCache:
    """Sources by their text, up to a number of bytes; those used last stay."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._read: OrderedDict[SourceText, ReadSource] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, source: SourceText) -> ReadSource | None:
        with self._lock:
            if source in self._read:
                self._read.move_to_end(source)
            return self._read.get(source)

    def put(self, source: SourceText, read: ReadSource) -> None:
        with self._lock:
            if source in self._read:
                return
            self._read[source] = read
            self._bytes += _size(read)
            while self._bytes > self._max_bytes:
                _, dropped = self._read.popitem(last=False)
                self._bytes -= _size(dropped)


def _size(read: ReadSource) -> int:
    return read.keys_values.nbytes + read.sentences.nbytes
