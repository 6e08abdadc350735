"""A vector index in Qdrant Edge: built once, then searched by any number of processes."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import qdrant_edge as qdrant
from numpy.typing import NDArray

from glossator.core.errors import IndexCorrupted, StorageError
from glossator.core.files import allocate_sparse_files
from glossator.core.types import Chunk, Embedding, Filters, Hit, QueryEmbedding
from glossator.store.index.bounded_cache import BoundedCache
from glossator.store.index.keywords import KeywordEncoder
from glossator.store.index.payload import exact_conditions, prefix_condition, to_chunk, to_payload

DENSE, WORDS = "dense", "words"
_FILTER_FIELDS = {"url": True, "path": True, "sections": False, "chapters": False, "versions": False}
"""Every field that can be filtered by, and whether it is matched by prefix."""

_VIEW_PREFIX = "glossator-view-"
_MAX_VIEW_AGE_SECONDS = 3600
"""Opening a shard takes less time than this: an older view was left by a process that was killed."""

MAX_CACHED_CHUNKS = 4096

MIN_QUANTIZED_CHUNKS = 10_000
"""From this number of chunks on, a search compares vectors of half a byte per dimension, in a seventh of the time.

The nearest are then compared exactly. Smaller books are searched exactly: there it takes a millisecond.
"""
_OVERSAMPLING = 3.0
"""How many times as many vectors as wanted are compared exactly."""


_NEVER = 10**9
_EXACT_SCORES = qdrant.SearchParams(
    quantization=qdrant.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
)


class QdrantEdgeWriter:
    """Writes a new shard; it can be read after the `with` block has ended without an error."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._keywords = KeywordEncoder()
        self._count = 0
        self._rows = [0]
        self._sentences = (folder / "sentences.f16").open("wb")
        (folder / "shard").mkdir()
        self._shard = _translate_errors(lambda: qdrant.EdgeShard.create(str(folder / "shard"), _config(dimension)))
        for field, by_prefix in _FILTER_FIELDS.items():
            index = qdrant.KeywordIndexParams(prefix=by_prefix)
            self._shard.update(qdrant.UpdateOperation.create_field_index(field, index))

    def add(self, chunks: Sequence[Chunk], embeddings: Sequence[Embedding], created_at: str) -> None:
        """Append chunks with their vectors."""
        points = []
        for chunk, embedding in zip(chunks, embeddings, strict=True):
            vectors: Any = {DENSE: embedding.vector.tolist(), WORDS: self._keywords.document(chunk)}
            points.append(qdrant.Point(self._count, vectors, to_payload(chunk, self._rows[-1], created_at)))
            self._sentences.write(embedding.sentences.tobytes())
            self._rows.append(self._rows[-1] + len(embedding.sentences))
            self._count += 1
        _translate_errors(lambda: self._shard.update(qdrant.UpdateOperation.upsert_points(points)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Close all files."""
        try:
            self._sentences.close()
            if kind is None:
                np.save(self._folder / "rows.npy", np.array(self._rows, np.int64))
                if self._count >= MIN_QUANTIZED_CHUNKS:
                    _translate_errors(self._shard.optimize)
                _translate_errors(self._shard.flush)
        finally:
            self._shard.close()


class QdrantEdgeIndex:
    """A finished shard, open for reading; closes itself when it is garbage-collected."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._keywords = KeywordEncoder()
        self._chunks: BoundedCache[int, Chunk] = BoundedCache(MAX_CACHED_CHUNKS)
        self._rows, self._sentences = _load_sentences(folder, dimension)
        with _view(folder.resolve() / "shard") as view:
            self._shard = _translate_errors(lambda: qdrant.EdgeShard.load(view, _config(dimension)), opening=True)
            segments = [path.name for path in Path(view, "segments").iterdir()]
        self._close = weakref.finalize(self, _close_view, self._shard, Path(view), segments)
        self._close.atexit = False  # a thread that is still searching must not hold up the end of the process

    def search(self, query: QueryEmbedding | None, question: str, limit: int, filters: Filters) -> list[Hit]:
        """The best by vector and the best by BM25, with their raw scores, ordered by id."""
        condition = _filter(filters)
        words = self._keywords.question(question)
        vectors = {DENSE: query.vector.tolist()} if query else {}
        if words.indices:
            vectors[WORDS] = words
        requests = [
            qdrant.QueryRequest(
                limit=limit,
                query=qdrant.Query.Nearest(vector, using=name),
                filter=condition,
                params=_EXACT_SCORES,
                with_payload=False,
            )
            for name, vector in vectors.items()
        ]
        if not requests:
            return []
        found = _translate_errors(lambda: self._shard.query_batch(qdrant.QueryBatchRequest(requests)))
        scores = {name: {point.id: point.score for point in each} for name, each in zip(vectors, found, strict=True)}
        dense, sparse = scores.get(DENSE, {}), scores.get(WORDS, {})
        return [Hit(i, dense.get(i), sparse.get(i)) for i in sorted({*dense, *sparse})]

    def chunks(self, ids: Sequence[int]) -> list[Chunk]:
        """Stored chunks, in the order asked for."""
        found = {i: chunk for i in ids if (chunk := self._chunks.get(i)) is not None}
        if missing := [i for i in ids if i not in found]:
            for record in _translate_errors(lambda: self._shard.retrieve(missing, True, False)):
                found[record.id] = self._chunks.put(record.id, to_chunk(record.payload or {}))
        return [found[i] for i in ids]

    def sentence_scores(self, ids: Sequence[int], query: QueryEmbedding) -> list[float]:
        """For each chunk, the similarity of its closest sentence to the question."""
        bounds = [(int(self._rows[i]), int(self._rows[i + 1])) for i in ids]
        rows = np.concatenate([np.arange(a, b) for a, b in bounds]) if bounds else np.zeros(0, int)
        scores = self._sentences[rows].astype(np.float32) @ query.sentence
        edges = np.cumsum([0, *(b - a for a, b in bounds)])
        return [float(scores[a:b].max()) if b > a else 0.0 for a, b in pairwise(edges)]

    def sentence_vectors(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """The sentence vectors of some chunks, in the same order."""
        return [self._sentences[c.row : c.row + len(c.sentences)].astype(np.float32) for c in chunks]

    def embeddings(self, ids: Sequence[int]) -> list[Embedding]:
        """The vectors of chunks and of their sentences."""
        found = {
            record.id: record for record in _translate_errors(lambda: self._shard.retrieve(list(ids), False, True))
        }
        return [
            Embedding(np.array(found[i].vector[DENSE], np.float32), self._sentences[self._rows[i] : self._rows[i + 1]])
            for i in ids
        ]

    def count(self) -> int:
        return int(self._shard.info().points_count)

    def close(self) -> None:
        self._close()


def _config(dimension: int) -> qdrant.EdgeConfig:
    """One search thread: a search blocks all Python threads until its last thread is done, and on busy cores eight
    threads take longer than one. No write-ahead log: an interrupted build starts over, and readers write nothing.
    No graph: at a comparable cost it finds less (decision 0018).
    """
    return qdrant.EdgeConfig(
        vectors={DENSE: qdrant.EdgeVectorParams(size=dimension, distance=qdrant.Distance.Cosine)},
        sparse_vectors={WORDS: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf)},
        hnsw_config=qdrant.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=_NEVER),
        quantization_config=qdrant.TurboQuantQuantizationConfig(bits=qdrant.TurboQuantBitSize.Bits4, always_ram=False),
        optimizers=qdrant.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=1),
        max_search_threads=1,
        wal_enabled=False,
    )


@contextmanager
def _view(shard: Path) -> Iterator[str]:
    """A temporary folder through which one reader opens a finished shard.

    Qdrant Edge opens every file for writing, and writes its configuration. The segments of a finished shard never
    change, so each reader opens a folder of its own with a link to them (or a copy, where they are read-only or cannot
    be linked): any number of processes can read one generation at the same time. Once the shard is open the folder is
    no longer needed, and is removed.
    """
    try:
        _remove_stale_views()
        with tempfile.TemporaryDirectory(prefix=_VIEW_PREFIX, ignore_cleanup_errors=True) as view:
            Path(view, "edge_config.json").write_bytes(bytes(4096))  # Qdrant Edge takes a full disk for a broken index
            Path(view, "edge_config.json").unlink()
            _link_or_copy(shard, Path(view, "segments"))
            yield view
    except OSError as error:
        if not (shard / "segments").is_dir():
            raise _corrupted(error) from None
        raise StorageError(
            f"A temporary folder cannot be created ({error.strerror}).", "Set TMPDIR to a folder with free space."
        ) from None


def _close_view(shard: qdrant.EdgeShard, view: Path, segments: Sequence[str]) -> None:
    """Close a shard that was opened through a view.

    It writes the state of each segment, which is unchanged, to the view. If its folders were missing, it would look up
    where in the program that error occurred, which takes longer than a search.
    """
    folder = view / "segments"
    with suppress(OSError):
        for path in (view, folder, *(folder / name for name in segments)):
            path.mkdir(mode=0o700)
    shard.close()
    shutil.rmtree(view, ignore_errors=True)


def _link_or_copy(shard: Path, target: Path) -> None:
    if all(os.access(path, os.W_OK) for path in shard.rglob("*")):
        with suppress(OSError):  # Windows lets only some users make links; a disk in memory may be full
            allocate_sparse_files(shard / "segments")
            target.symlink_to(shard / "segments", target_is_directory=True)
            return
    _copy_folder(shard / "segments", target)
    allocate_sparse_files(target)


def _remove_stale_views() -> None:
    """Remove the views of processes that were killed while they opened a shard."""
    for view in Path(tempfile.gettempdir()).glob(f"{_VIEW_PREFIX}*"):
        with suppress(OSError):
            if view.stat().st_mtime < time.time() - _MAX_VIEW_AGE_SECONDS:
                shutil.rmtree(view)


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a tree, keeping files sparse: those of Qdrant Edge are mostly holes."""
    target.mkdir()
    for path in source.iterdir():
        copy = target / path.name
        if path.is_dir():
            _copy_folder(path, copy)
        else:
            _copy_file(path, copy)


def _copy_file(source: Path, target: Path) -> None:
    if not hasattr(os, "SEEK_DATA"):
        shutil.copyfile(source, target)
        return
    size = source.stat().st_size
    with source.open("rb") as old, target.open("wb") as new:
        new.truncate(size)
        position = 0
        while position < size:
            try:
                position = os.lseek(old.fileno(), position, os.SEEK_DATA)
            except OSError:  # only a hole remains
                return
            end = os.lseek(old.fileno(), position, os.SEEK_HOLE)
            while position < end:
                block = os.pread(old.fileno(), min(end - position, 1 << 20), position)
                position += os.pwrite(new.fileno(), block, position)


def _load_sentences(folder: Path, dimension: int) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    """The row at which each chunk's sentence vectors begin, and all vectors."""
    try:
        rows = np.load(folder / "rows.npy")
        path = folder / "sentences.f16"
        flat = np.memmap(path, np.float16, "r") if path.stat().st_size else np.zeros(0, np.float16)
        return rows, np.asarray(flat).reshape(int(rows[-1]), dimension)  # slices of a memmap cost ten times as much
    except (OSError, ValueError) as error:
        raise _corrupted(error) from None


def _corrupted(error: Exception) -> IndexCorrupted:
    return IndexCorrupted(f"The index is incomplete ({error}).", "Run `glossator ingest` again.")


def _filter(filters: Filters) -> qdrant.Filter | None:
    """All conditions must hold."""
    conditions: list[Any] = []
    if starts := prefix_condition(filters):
        conditions.append(qdrant.FieldCondition(starts[0], match=qdrant.MatchPrefix(starts[1])))
    conditions += [
        qdrant.FieldCondition(field, match=qdrant.MatchValue(value)) for field, value in exact_conditions(filters)
    ]
    return qdrant.Filter(must=conditions) if conditions else None


def _translate_errors(action: Any, *, opening: bool = False) -> Any:
    """Run an action of Qdrant Edge, which raises bare exceptions, and raise ours instead."""
    try:
        return action()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        if opening:
            raise IndexCorrupted("The index cannot be opened.", "Run `glossator ingest` again.") from error
        raise StorageError(f"The index cannot be used ({error}).", "Check disk space and permissions.") from error
