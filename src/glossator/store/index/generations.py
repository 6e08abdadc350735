"""Generations in the data directory: the next is built next to the current one, then a pointer is switched."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from glossator.core.book.manifest import Manifest, SourceRecord
from glossator.core.book.names import BOOKS_FOLDER, is_book_name
from glossator.core.errors import (
    IndexCorrupted,
    IndexNotFound,
    IndexUnavailable,
    IngestRunning,
    StorageError,
)
from glossator.core.files import file_lock, make_private_folder, storage_errors, sync, sync_tree, write_atomically
from glossator.core.ports import Generation, GenerationContents, no_check
from glossator.core.types import Document
from glossator.store.index.documents import SqliteDocuments, write_documents
from glossator.store.index.manifest import dump_manifest, parse_manifest, read_manifest, searchable
from glossator.store.index.qdrant_index import QdrantEdgeIndex, QdrantEdgeWriter
from glossator.store.index.rollback import check_intact, no_earlier_generation

_BYTES_PER_CHUNK = 32_000
_MIN_FREE_BYTES = 48_000_000
"""Free space that a build needs: writing a shard to a full disk would kill the process."""
_BATCH_SIZE = 512


class Generations:
    """The generations in a data directory."""

    place = "Qdrant Edge in the data directory"

    def __init__(self, data_dir: Path) -> None:
        self.root = data_dir

    def current(self) -> int | None:
        """The number of the current generation, or None before the first."""
        return next(iter(self._numbers()), None)

    def _numbers(self) -> list[int]:
        """The number of the current generation, then that of the one before it, if there was one."""
        try:
            return [int(line) for line in (self.root / "CURRENT").read_text("ascii").splitlines() or [""]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a number"
            raise IndexCorrupted(
                f"{self.root / 'CURRENT'} cannot be read ({reason}).",
                "Check its permissions, or run `glossator ingest` again.",
            ) from None

    def manifest(self) -> Manifest | None:
        """The manifest of the current generation, also of one that another version built; None before the first."""
        number = self.current()
        return None if number is None else parse_manifest(self._folder(number))

    def latest_manifest(self) -> Manifest | None:
        """The manifest of the current generation, for the next ingest; None if it is missing or unreadable."""
        try:
            manifest = self.manifest()
        except IndexUnavailable:
            return None
        # Without its hash, no ingest takes a corrupted generation for up to date: the next one repairs the index.
        return manifest if manifest is None or self._is_intact(manifest) else replace(manifest, corpus_hash="")

    def is_empty(self) -> bool:
        """Whether nothing has been ingested."""
        return not (self.root / "CURRENT").exists()

    def books(self) -> list[str]:
        """The names of the books in this data directory."""
        found = (file.parent.name for file in (self.root / BOOKS_FOLDER).glob("*/CURRENT"))
        return sorted(name for name in found if is_book_name(name))

    def fingerprint(self) -> str:
        """The fingerprint of the embedding model that built the current generation; empty if none can be read."""
        with suppress(IndexUnavailable):
            number = self.current()
            return read_manifest(self._folder(number)).fingerprint if number is not None else ""
        return ""

    def next_number(self) -> int:
        """A number higher than that of any generation on disk."""
        folders = (self.root / "generations").glob("[0-9]*")
        return max((int(folder.name) for folder in folders if folder.name.isdigit()), default=0) + 1

    def documents_of(self, sources: Sequence[SourceRecord]) -> list[Document]:
        """The documents of some sources, from the current generation."""
        wanted = {document_id for source in sources for document_id in source.documents}
        store = self._open_documents() if wanted else None
        return [document for document in store.all() if document.document_id in wanted] if store else []

    def urls_of(self, sources: Sequence[SourceRecord]) -> dict[str, str]:
        """The ids of the documents of some sources, by URL."""
        wanted = {document_id for source in sources for document_id in source.documents}
        store = self._open_documents() if wanted else None
        return (
            {entry.url: entry.document_id for entry in store.contents() if entry.document_id in wanted} if store else {}
        )

    def _open_documents(self) -> SqliteDocuments | None:
        number = self.current()
        if number is None:
            return None
        try:
            return SqliteDocuments(self._folder(number) / "documents.sqlite")
        except IndexCorrupted as error:
            raise IndexCorrupted(error.message, "Run `glossator ingest --only` with all sources.") from None

    def open(self, fingerprint: str) -> Generation:
        """Open the current generation for reading with the embedder of this fingerprint."""
        for _ in range(3):
            number = self.current()
            if number is None:
                raise IndexNotFound(
                    f"Nothing has been ingested in {self.root}.", "Run `glossator ingest FOLDER` first."
                )
            try:
                return self._open(number, fingerprint)
            except IndexCorrupted:
                if self.current() == number:
                    raise
        raise IndexCorrupted("The index was replaced several times while it was being opened.", "Try again.")

    def _open(self, number: int, fingerprint: str) -> Generation:
        folder = self._folder(number)
        return _load(folder, searchable(parse_manifest(folder), fingerprint))

    def _is_intact(self, manifest: Manifest) -> bool:
        try:
            return _load(self._folder(manifest.generation), manifest).index.count() == manifest.chunks
        except (IndexUnavailable, StorageError):
            return False

    @contextmanager
    def ingest_lock(self) -> Iterator[None]:
        """Hold the lock that lets one process ingest at a time."""
        with storage_errors(self.root):
            make_private_folder(self.root)
            (self.root / "generations").mkdir(exist_ok=True)
        busy = IngestRunning(f"Another ingest is writing to {self.root}.", "Wait until it has finished.")
        with file_lock(self.root / "ingest.lock", busy):
            yield

    def build(
        self, manifest: Manifest, contents: GenerationContents, check: Callable[[Generation], None] = no_check
    ) -> None:
        """Write a generation next to the others, then make it the current one."""
        self._check_free_space(len(contents.chunks))
        previous = None
        with suppress(IndexCorrupted):
            previous = self.current()
        with _write_errors(self.root):
            for leftover in (self.root / "generations").glob(".building-*"):
                shutil.rmtree(leftover, ignore_errors=True)
            folder = self.root / "generations" / f".building-{manifest.generation}"
            folder.mkdir()
            try:
                self._write(folder, manifest, contents)
                if check is not no_check:
                    check(_load(folder, manifest))
                self._publish(folder, manifest.generation, previous)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._delete_old(manifest.generation, previous)

    def _write(self, folder: Path, manifest: Manifest, contents: GenerationContents) -> None:
        chunks, embeddings = contents.chunks, contents.embeddings
        with QdrantEdgeWriter(folder, manifest.dimension) as writer:
            for start in range(0, len(chunks), _BATCH_SIZE):
                self._check_free_space(len(chunks) - start)
                batch = slice(start, start + _BATCH_SIZE)
                writer.add(chunks[batch], embeddings[batch], manifest.created_at)
        write_documents(folder / "documents.sqlite", contents, self._image_reader(contents.image))
        (folder / "manifest.json").write_text(dump_manifest(manifest), "utf-8")

    def _image_reader(self, given: Callable[[str], bytes | None]) -> Callable[[str], bytes | None]:
        """Reads the images that are given, and others from the current generation."""
        store: SqliteDocuments | None = None
        with suppress(IndexCorrupted):
            number = self.current()
            store = SqliteDocuments(self._folder(number) / "documents.sqlite") if number is not None else None

        def read(name: str) -> bytes | None:
            if (content := given(name)) is not None:
                return content
            with suppress(sqlite3.Error):
                return store.image(name) if store else None
            return None

        return read

    def roll_back(self, fingerprint: str) -> Manifest:
        """Make the generation that served before the current one again; it must be one that can be searched."""
        current, *earlier = self._numbers() or [0]
        if not earlier or not self._folder(earlier[0]).exists():
            raise no_earlier_generation()
        generation = self._open(earlier[0], fingerprint)
        check_intact(generation)
        with _write_errors(self.root):
            self._switch(earlier[0], current)
        return generation.manifest

    def _publish(self, folder: Path, number: int, previous: int | None) -> None:
        sync_tree(folder)
        target = self._folder(number)
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
        sync(target.parent)
        self._switch(number, previous)

    def _switch(self, number: int, previous: int | None) -> None:
        """One file names both generations, so that they change together."""
        lines = [f"{each}\n" for each in (number, previous) if each is not None]
        write_atomically(self.root / "CURRENT", "".join(lines).encode("ascii"))

    def _delete_old(self, current: int, previous: int | None) -> None:
        """Delete all but the current and the previous generation, which `roll_back` returns to."""
        for folder in (self.root / "generations").iterdir():
            if folder.name.isdigit() and int(folder.name) not in (current, previous):
                shutil.rmtree(folder, ignore_errors=True)

    def clear(self) -> None:
        """Delete the index: nothing is left to search."""
        with _write_errors(self.root):
            (self.root / "CURRENT").unlink(missing_ok=True)
            sync(self.root)
            last = self.next_number() - 1
            for folder in (self.root / "generations").iterdir():
                shutil.rmtree(folder, ignore_errors=True)
            if last:
                self._folder(last).mkdir(exist_ok=True)  # a number never means two generations

    def drop_all(self) -> None:
        """Delete everything that this index has in the data directory."""
        with _write_errors(self.root):
            (self.root / "CURRENT").unlink(missing_ok=True)
            shutil.rmtree(self.root / "generations", ignore_errors=True)

    def close(self) -> None:
        """Nothing is open: each generation holds its own files."""

    def _folder(self, number: int) -> Path:
        return self.root / "generations" / f"{number:06d}"

    def _check_free_space(self, chunks: int) -> None:
        with suppress(OSError):
            free = shutil.disk_usage(self.root).free
            if free < _MIN_FREE_BYTES + chunks * _BYTES_PER_CHUNK:
                raise StorageError(
                    f"The disk of {self.root} is nearly full ({free / 1e6:.0f} MB free).",
                    "Free disk space and retry.",
                )


def _load(folder: Path, manifest: Manifest) -> Generation:
    return Generation(
        manifest, QdrantEdgeIndex(folder, manifest.dimension), SqliteDocuments(folder / "documents.sqlite")
    )


@contextmanager
def _write_errors(root: Path) -> Iterator[None]:
    """Turn a failed write of a file or of SQLite into an error that says what to do."""
    try:
        with storage_errors(root):
            yield
    except sqlite3.Error as error:
        raise StorageError(f"{root} cannot be written ({error}).", "Free disk space, or check the disk.") from None
