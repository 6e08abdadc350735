"""Code that all indexes on shared servers use: the current generation, its manifest, and opening it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from glossator.core.book.manifest import Manifest, SourceRecord
from glossator.core.book.names import is_book_name
from glossator.core.errors import IndexCorrupted, IndexNotFound, IndexUnavailable, StorageError
from glossator.core.ports import DocumentStore, Generation
from glossator.core.resilience.retry import Backoff
from glossator.core.types import Document
from glossator.store.index.current_number import CurrentNumber
from glossator.store.index.manifest import manifest_from, searchable
from glossator.store.index.rollback import check_intact, no_earlier_generation

_WRITE_BACKOFF = Backoff(first_seconds=0.5, max_seconds=20.0, attempts=7)


@dataclass(frozen=True, slots=True)
class ServerTimes:
    """How long the server of an index may take.

    `read_seconds` is for one search with all its retries: a server that hangs must not hold every thread. A replaced
    generation is kept for `retention_seconds`: every process notices a switch within seconds, and no answer takes
    longer. The lease of an ingest that was killed expires after `lease_seconds`.
    """

    read_seconds: float = 10.0
    retention_seconds: float = 600.0
    lease_seconds: float = 60.0
    write_backoff: Backoff = _WRITE_BACKOFF


class SharedGenerations(ABC):
    """The generations of an index on a server that several processes share."""

    place: str

    def __init__(self) -> None:
        self._current = CurrentNumber(self._read_current)

    @abstractmethod
    def _read_current(self) -> int | None:
        """The number of the current generation, from the server."""

    @abstractmethod
    def _read_manifest(self, number: int) -> str | None:
        """The manifest of a generation as JSON."""

    @abstractmethod
    def _load(self, manifest: Manifest) -> Generation:
        """A generation, open for reading."""

    @abstractmethod
    def _previous(self) -> int | None:
        """The number of the complete generation that was replaced last."""

    @abstractmethod
    def _switch(self, number: int) -> None:
        """Make a complete generation the current one, in one step. Needs the lock."""

    def current(self) -> int | None:
        """The number of the current generation, or None before the first; at most a few seconds old."""
        return self._current.get()

    def manifest(self) -> Manifest | None:
        """The manifest of the current generation, also of one that another version built; None before the first."""
        number = self._current.refresh()
        return None if number is None else self._manifest(number)

    def latest_manifest(self) -> Manifest | None:
        """The manifest of the current generation, for the next ingest; None if it is missing or unreadable.

        A server that does not respond is an error: the index would be taken for lost, and replaced.
        """
        try:
            manifest = self.manifest()
        except IndexCorrupted:
            return None
        # Without its hash, no ingest takes a corrupted generation for up to date: the next one repairs the index.
        return manifest if manifest is None or self._is_intact(manifest) else replace(manifest, corpus_hash="")

    def is_empty(self) -> bool:
        """Whether nothing has been ingested."""
        return self._current.refresh() is None

    def fingerprint(self) -> str:
        """The fingerprint of the embedding model that built the current generation; empty if none can be read."""
        with suppress(IndexUnavailable):
            manifest = self.manifest()
            return manifest.fingerprint if manifest else ""
        return ""

    def documents_of(self, sources: Sequence[SourceRecord]) -> list[Document]:
        """The documents of some sources, from the current generation."""
        wanted = _ids(sources)
        with _lost_documents():
            store = self._current_documents() if wanted else None
            return [document for document in store.all() if document.document_id in wanted] if store else []

    def urls_of(self, sources: Sequence[SourceRecord]) -> dict[str, str]:
        """The ids of the documents of some sources, by URL."""
        wanted = _ids(sources)
        with _lost_documents():
            store = self._current_documents() if wanted else None
            entries = store.contents() if store else []
            return {entry.url: entry.document_id for entry in entries if entry.document_id in wanted}

    def _check_and_switch(self, manifest: Manifest, check: Callable[[Generation], None]) -> None:
        """Make a generation that was written the current one, if all of it is there. Needs the lock."""
        generation = self._load(manifest)
        if (count := generation.index.count()) != manifest.chunks:
            raise StorageError(
                f"{self.place} has {count} of {manifest.chunks} chunks.", "Run `glossator ingest` again."
            )
        check(generation)
        self._switch(manifest.generation)

    def _is_attempt_at(self, manifest: Manifest, text: str) -> bool:
        """Whether an unfinished generation, whose manifest this text is, was to become the same."""
        with suppress(IndexCorrupted):
            attempt = manifest_from(text, self.place)
            return replace(attempt, generation=manifest.generation, created_at=manifest.created_at) == manifest
        return False

    def _image_reader(self, given: Callable[[str], bytes | None]) -> Callable[[str], bytes | None]:
        """Reads the images that are given, and others from the current generation."""
        documents = None
        with suppress(IndexCorrupted):
            documents = self._current_documents()

        def read(name: str) -> bytes | None:
            if (content := given(name)) is not None or documents is None:
                return content
            with suppress(IndexCorrupted):
                return documents.image(name)
            return None

        return read

    def _current_documents(self) -> DocumentStore | None:
        manifest = self.manifest()
        return self._load(manifest).documents if manifest else None

    def open(self, fingerprint: str) -> Generation:
        """Open the current generation for reading with the embedder of this fingerprint."""
        number = self._current.refresh()
        if number is None:
            raise IndexNotFound(f"Nothing has been ingested in {self.place}.", "Run `glossator ingest FOLDER` first.")
        self._current.get()
        return self._load(searchable(self._manifest(number), fingerprint))

    def roll_back(self, fingerprint: str) -> Manifest:
        """Make the generation that served before the current one again; it must be one that can be searched."""
        number = self._previous()
        if number is None:
            raise no_earlier_generation()
        manifest = searchable(self._manifest(number), fingerprint)
        check_intact(self._load(manifest))
        self._switch(number)
        return manifest

    def _manifest(self, number: int) -> Manifest:
        text = self._read_manifest(number)
        if text is None:
            raise IndexCorrupted(f"The index in {self.place} is incomplete.", "Run `glossator ingest` again.")
        return manifest_from(text, self.place)

    def _is_intact(self, manifest: Manifest) -> bool:
        try:
            return self._load(manifest).index.count() == manifest.chunks
        except IndexCorrupted:
            return False


@contextmanager
def _lost_documents() -> Iterator[None]:
    try:
        yield
    except IndexCorrupted as error:
        raise IndexCorrupted(error.message, "Run `glossator ingest --only` with all sources.") from None


def book_names(indexes: Iterable[str], prefix: str) -> list[str]:
    """The names of books, from those of their indexes, which begin with a prefix."""
    found = (name.removeprefix(prefix) for name in indexes if name.startswith(prefix))
    return sorted(name for name in found if is_book_name(name))


def _ids(sources: Sequence[SourceRecord]) -> set[str]:
    return {document_id for source in sources for document_id in source.documents}
