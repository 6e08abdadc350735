"""Copies the current generation from one index to another, without embedding anything again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeVar, overload

import numpy as np

from glossator.core.errors import BadInput, IndexNotFound, StorageError
from glossator.core.ports import Generation, GenerationContents, GenerationStore, Progress
from glossator.core.settings import IndexKind, Settings
from glossator.core.text.words import content_words
from glossator.core.types import Chunk
from glossator.pipeline.wiring import index_kind, make_generations

T = TypeVar("T")
_BATCH_SIZE = 512
_SAMPLES = 50
_TOLERANCE = 1e-5
"""Vectors are stored with length 1; rounding may change their last digit."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was copied, and to where."""

    source: str
    target: str
    generation: int
    documents: int
    chunks: int
    samples: int
    """Chunks that were compared, after all were counted."""


def copy_index(
    settings: Settings, target_kind: IndexKind, source_kind: IndexKind | None, progress: Progress
) -> CopyReport:
    """Copy the current generation; the target uses it once it is complete and checked.

    If a copy to a server is interrupted, the next one continues with what was written.
    """
    source_kind = source_kind or index_kind(settings)
    if source_kind == target_kind:
        raise BadInput(
            f"The index is in {target_kind!r} already.",
            "Choose another target with --to, or another source with --from.",
        )
    with (
        closing(make_generations(settings, source_kind)) as source,
        closing(make_generations(settings, target_kind)) as target,
    ):
        return _copy(source, target, progress)


def _copy(source: GenerationStore, target: GenerationStore, progress: Progress) -> CopyReport:
    before = source.manifest()
    if before is None:
        raise IndexNotFound(f"Nothing has been ingested in {source.place}.", "Run `glossator ingest FOLDER` first.")
    book = source.open(before.fingerprint)
    total = before.chunks
    contents = GenerationContents(
        documents=list(book.documents.all()),
        chunks=_StoredSequence(total, book.index.chunks),
        embeddings=_StoredSequence(total, book.index.embeddings, lambda done: progress("copy", done, total)),
        image=book.documents.image,
    )
    with target.ingest_lock():
        manifest = replace(before, generation=target.next_number())
        target.build(manifest, contents, lambda copied: _compare(book, copied))
    book.close()
    samples = len(_sampled(total))
    return CopyReport(source.place, target.place, manifest.generation, before.documents, total, samples)


class _StoredSequence(Sequence[T]):
    """Values that are read from an index when they are needed, a batch at a time."""

    def __init__(
        self, length: int, read: Callable[[Sequence[int]], list[T]], on_read: Callable[[int], None] = lambda _done: None
    ) -> None:
        self._length, self._read, self._on_read = length, read, on_read

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, int):
            return self._read([range(self._length)[place]])[0]
        numbers = range(self._length)[place]
        values = self._read(numbers)
        self._on_read(numbers.stop)
        return values

    def __iter__(self) -> Iterator[T]:
        for start in range(0, self._length, _BATCH_SIZE):
            yield from self._read(range(start, min(start + _BATCH_SIZE, self._length)))


def _compare(source: Generation, copied: Generation) -> None:
    """Compare the counts, the table of contents, and samples of everything else."""
    if copied.index.count() != source.manifest.chunks or copied.documents.contents() != source.documents.contents():
        raise _differs("its size")
    ids = _sampled(source.manifest.chunks)
    chunks = source.index.chunks(ids)
    if [_plain(chunk) for chunk in copied.index.chunks(ids)] != [_plain(chunk) for chunk in chunks]:
        raise _differs("the text of a chunk")
    for ours, theirs in zip(source.index.embeddings(ids), copied.index.embeddings(ids), strict=True):
        same = np.allclose(ours.vector, theirs.vector, atol=_TOLERANCE)
        if not same or not np.array_equal(ours.sentences, theirs.sentences):
            raise _differs("a vector")
    words = sorted({word for chunk in chunks for word in content_words(chunk.text)})
    if copied.documents.chunks_with(words) != source.documents.chunks_with(words):
        raise _differs("the count of a word")
    for document_id in dict.fromkeys(chunk.document_id for chunk in chunks):
        if copied.documents.get(document_id) != source.documents.get(document_id):
            raise _differs("a document")


def _sampled(total: int) -> list[int]:
    """Numbers from all parts of the index."""
    return sorted({total * place // _SAMPLES for place in range(_SAMPLES)}) if total else []


def _plain(chunk: Chunk) -> Chunk:
    return replace(chunk, row=-1)


def _differs(what: str) -> StorageError:
    return StorageError(f"The copy differs from the index ({what}), and is not used.", "Copy it again.")
