"""Index generations: the next is built beside the current one, and a pointer is switched in one step."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from glossator.core.errors import IndexDamaged, IndexMismatch, IndexProblem, IngestRunning, NoIndex, StorageProblem
from glossator.core.types import Chunk, Document, Embedding
from glossator.store.index.documents import DocumentShelf, write_documents
from glossator.store.index.qdrant_index import EdgeIndex, EdgeWriter

FORMAT = 1
_BYTES_PER_CHUNK = 32_000
_BYTES_AT_LEAST = 48_000_000
"""Room that a build wants before it starts: a shard written to a full disk would kill the process."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One ingested source: where it is, how it was read, and its documents' hashes."""

    root: str
    layout: str
    base_url: str | None
    documents: dict[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation holds and what made it."""

    generation: int
    format: int
    fingerprint: str
    chunker: int
    corpus_hash: str
    dimension: int
    chunks: int
    created_at: str
    sources: tuple[SourceRecord, ...]

    @property
    def documents(self) -> int:
        return sum(len(source.documents) for source in self.sources)


@dataclass(frozen=True, slots=True)
class Generation:
    """An open generation."""

    manifest: Manifest
    index: EdgeIndex
    documents: DocumentShelf

    def page_text(self, document_id: str) -> str:
        """A document's whole text."""
        return self.documents.text(document_id)

    def close(self) -> None:
        self.index.close()
        self.documents.close()


class Generations:
    """The generations in a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.root = data_dir

    def current(self) -> int | None:
        """The number of the generation that serves, or None before the first."""
        try:
            return int((self.root / "CURRENT").read_text("ascii"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it names no generation"
            raise IndexDamaged(
                f"{self.root / 'CURRENT'} cannot be read ({reason}).",
                "Check its permissions, or run `glossator ingest` again.",
            ) from None

    def latest(self) -> Manifest | None:
        """The current generation's manifest for the next ingest; None if there is none that can be read."""
        try:
            number = self.current()
            manifest = _read_manifest(self._folder(number)) if number is not None else None
        except IndexProblem:
            return None
        # Without its hash no ingest takes a damaged generation for up to date: running it again mends the index.
        return manifest if manifest is None or self._opens(manifest) else replace(manifest, corpus_hash="")

    def next_number(self) -> int:
        """A number that no generation on disk has."""
        folders = (self.root / "generations").glob("[0-9]*")
        return max((int(folder.name) for folder in folders if folder.name.isdigit()), default=0) + 1

    def documents_of(self, sources: Sequence[SourceRecord]) -> list[Document]:
        """The documents of some sources, from the current generation."""
        wanted = {document_id for source in sources for document_id in source.documents}
        number = self.current() if wanted else None
        if number is None:
            return []
        try:
            shelf = DocumentShelf(self._folder(number) / "documents.sqlite")
        except IndexDamaged as error:
            raise IndexDamaged(error.message, "Run `glossator ingest --only` and name every source.") from None
        return [document for document in shelf.all() if document.document_id in wanted]

    def open(self, fingerprint: str) -> Generation:
        """Open the current generation for reading with the embedder of this fingerprint."""
        for _ in range(3):
            number = self.current()
            if number is None:
                raise NoIndex(f"Nothing has been ingested in {self.root}.", "Run `glossator ingest FOLDER` first.")
            try:
                return self._open(number, fingerprint)
            except IndexDamaged:
                if self.current() == number:
                    raise
        raise IndexDamaged("The index changes faster than it can be opened.", "Try again.")

    def _open(self, number: int, fingerprint: str) -> Generation:
        manifest = _read_manifest(self._folder(number))
        if manifest.fingerprint != fingerprint:
            raise IndexMismatch(
                f"The index was made with {manifest.fingerprint}, but {fingerprint} is configured.",
                "Run `glossator ingest` again, or set GLOSSATOR_EMBEDDER back.",
            )
        return self._opened(manifest)

    def _opened(self, manifest: Manifest) -> Generation:
        folder = self._folder(manifest.generation)
        return Generation(manifest, EdgeIndex(folder, manifest.dimension), DocumentShelf(folder / "documents.sqlite"))

    def _opens(self, manifest: Manifest) -> bool:
        try:
            return self._opened(manifest).index.count() == manifest.chunks
        except (IndexProblem, StorageProblem):
            return False

    @contextmanager
    def ingesting(self) -> Iterator[None]:
        """Hold the one ingest lock; a killed process lets go of it by dying."""
        with _writable(self.root):
            (self.root / "generations").mkdir(parents=True, exist_ok=True)
            lock = (self.root / "ingest.lock").open("w")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise IngestRunning(f"Another ingest is writing to {self.root}.", "Wait for it to end.") from None
            yield

    def build(
        self,
        manifest: Manifest,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        embeddings: Sequence[Embedding],
    ) -> None:
        """Write a generation beside the others, then make it the current one."""
        self._need_room(len(chunks))
        previous = None
        with suppress(IndexDamaged):
            previous = self.current()
        with _writable(self.root):
            for leftover in (self.root / "generations").glob(".building-*"):
                shutil.rmtree(leftover, ignore_errors=True)
            folder = self.root / "generations" / f".building-{manifest.generation}"
            folder.mkdir()
            try:
                self._write(folder, manifest, documents, chunks, embeddings)
                self._publish(folder, manifest.generation)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._keep_only(manifest.generation, previous)

    def _write(
        self,
        folder: Path,
        manifest: Manifest,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        embeddings: Sequence[Embedding],
    ) -> None:
        with EdgeWriter(folder, manifest.dimension) as writer:
            for start in range(0, len(chunks), 512):
                self._need_room(len(chunks) - start)
                writer.add(chunks[start : start + 512], embeddings[start : start + 512], manifest.created_at)
        write_documents(folder / "documents.sqlite", documents, chunks)
        (folder / "manifest.json").write_text(json.dumps(asdict(manifest), indent=1), "utf-8")

    def _publish(self, folder: Path, number: int) -> None:
        _sync_tree(folder)
        target = self._folder(number)
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
        _sync(target.parent)
        pointer = self.root / "CURRENT.next"
        pointer.write_text(f"{number}\n", "ascii")
        _sync(pointer)
        pointer.replace(self.root / "CURRENT")
        _sync(self.root)

    def _keep_only(self, current: int, previous: int | None) -> None:
        """Keep the generation before, for readers that have not moved on yet."""
        for folder in (self.root / "generations").iterdir():
            if folder.name.isdigit() and int(folder.name) not in (current, previous):
                shutil.rmtree(folder, ignore_errors=True)

    def _folder(self, number: int) -> Path:
        return self.root / "generations" / f"{number:06d}"

    def _need_room(self, chunks: int) -> None:
        with suppress(OSError):
            free = shutil.disk_usage(self.root).free
            if free < _BYTES_AT_LEAST + chunks * _BYTES_PER_CHUNK:
                raise StorageProblem(
                    f"The disk of {self.root} is nearly full ({free / 1e6:.0f} MB free).",
                    "Free some space and run it again.",
                )


def now() -> str:
    """This moment, for a manifest."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read_manifest(folder: Path) -> Manifest:
    try:
        values = json.loads((folder / "manifest.json").read_text("utf-8"))
        sources = tuple(SourceRecord(**source) for source in values.pop("sources"))
        manifest = Manifest(**values, sources=sources)
    except (OSError, ValueError, TypeError, KeyError):
        raise IndexDamaged(f"The index in {folder} is incomplete.", "Run `glossator ingest` again.") from None
    if manifest.format != FORMAT:
        raise IndexMismatch("The index was made by another version of Glossator.", "Run `glossator ingest` again.")
    return manifest


@contextmanager
def _writable(root: Path) -> Iterator[None]:
    """A failed write becomes one clear line."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageProblem(f"{root} cannot be written ({error}).", "Free some space, or check its disk.") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageProblem(f"The disk of {root} is full.", "Free some space and run it again.") from None
        reason = error.strerror or type(error).__name__
        raise StorageProblem(f"{root} cannot be written ({reason}).", "Choose another --data-dir.") from None


def _sync_tree(folder: Path) -> None:
    for path in folder.rglob("*"):
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
