"""Indexes for the contract tests: every implementation, with small generations to build in each."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

import numpy as np
from qdrant_client import QdrantClient

from commands import quick_folder
from glossator.core.book.manifest import FORMAT, Manifest, SourceRecord
from glossator.core.ports import Generation, GenerationContents, GenerationStore, no_check
from glossator.core.types import Chunk, Document, Embedding, QueryEmbedding, Span
from glossator.store.index.generations import Generations
from glossator.store.index.postgres.generations import PostgresGenerations
from glossator.store.index.qdrant.generations import QdrantGenerations
from glossator.store.index.qdrant.server import QdrantOptions, QdrantServer
from glossator.store.index.shared import ServerTimes
from postgres import running_postgres
from qdrant_stand_in import running_stand_in

MakeStore = Callable[[str], GenerationStore]
"""Opens the index of a name, each time as another process would."""
DIMENSION = 4
FINGERPRINT = "test:4"


def kinds() -> tuple[str, ...]:
    """The implementations to test: all that run here, or the servers that the environment names."""
    given = {"postgres": "GLOSSATOR_TEST_DATABASE_URL", "qdrant": "GLOSSATOR_TEST_QDRANT_URL"}
    named = tuple(kind for kind, variable in given.items() if os.environ.get(variable))
    return named or ("embedded", "postgres", "qdrant in process", "qdrant over HTTP")


@contextmanager
def opened_kind(kind: str) -> Iterator[MakeStore]:
    """Opens indexes of one kind; what they stored is deleted at the end."""
    prefix = f"test_{secrets.token_hex(4)}"
    with _opener(kind) as opener, ExitStack() as at_end:
        names: set[str] = set()

        def open_store(name: str) -> GenerationStore:
            store = opener(f"{prefix}_{name}")
            at_end.callback(store.close)
            if name not in names and not isinstance(store, Generations):
                names.add(name)
                at_end.callback(store.drop_all)  # type: ignore[attr-defined]
            return store

        yield open_store


@contextmanager
def _opener(kind: str) -> Iterator[MakeStore]:
    """Opens an index by its full name."""
    if kind == "embedded":
        with quick_folder() as folder:
            yield lambda name: Generations(folder / name)
    elif kind == "postgres" and (url := os.environ.get("GLOSSATOR_TEST_DATABASE_URL")):
        yield lambda name: PostgresGenerations(url, name)
    elif kind == "postgres":
        with running_postgres(durable=False) as server:
            yield lambda name: PostgresGenerations(server.url(), name)
    elif kind == "qdrant":
        url, key = os.environ["GLOSSATOR_TEST_QDRANT_URL"], os.environ.get("GLOSSATOR_TEST_QDRANT_API_KEY", "")
        yield lambda name: qdrant_store(url, name, key)
    elif kind == "qdrant in process":
        client = OneAtATime(QdrantClient(":memory:"))
        yield lambda name: QdrantGenerations(QdrantServer(QdrantOptions("", name=name), client))  # type: ignore[arg-type]
    else:
        with running_stand_in() as stand_in:
            yield lambda name: qdrant_store(stand_in.url, name)


def qdrant_store(url: str, name: str, key: str = "", times: ServerTimes | None = None) -> QdrantGenerations:
    return QdrantGenerations(QdrantServer(QdrantOptions(url, key, name), times=times))


class OneAtATime:
    """The client's in-process engine, which threads must take turns to use."""

    def __init__(self, client: QdrantClient) -> None:
        self._client, self._lock = client, Lock()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*arguments: Any, **options: Any) -> Any:
            with self._lock, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that payload indexes have no effect here
                return method(*arguments, **options)

        return call


def axis(number: int) -> np.ndarray:
    return np.eye(DIMENSION, dtype=np.float32)[number % DIMENSION]


def query(number: int) -> QueryEmbedding:
    return QueryEmbedding(axis(number), axis(number))


def embedding(number: int, item: Chunk) -> Embedding:
    """The chunk and its first sentence point along one axis, its second sentence along the next."""
    rows = [axis(number), axis(number + 1)][: len(item.sentences)]
    return Embedding(axis(number), np.array(rows, np.float16).reshape(len(rows), DIMENSION))


def page(number: int, version: str) -> Document:
    """A page of one sentence, with an image."""
    text = f"Page {number} is of version {version}."
    return Document(
        document_id=f"{number}.md",
        url=f"https://example.org/{number}",
        title=f"Page {number}",
        chapters=("Pages",),
        text=text,
        blocks=(),
        content_hash=f"{number}-{version}",
        html=f"<p>{text}</p>",
        images=(f"{number}.png",),
    )


def chunk_of(document: Document) -> Chunk:
    """The whole page as one chunk."""
    text, title = document.text, document.title
    place = (document.document_id, document.url, title, document.chapters, title, (title,))
    return Chunk(f"{document.document_id}#0", *place, "", 0, 0, len(text), text, (Span(0, len(text)),))


def manifest(number: int, chunks: int, *, dimension: int = DIMENSION, version: str = "") -> Manifest:
    source = SourceRecord("/book", "plain", None, {f"{n}.md": f"{n}-{version}" for n in range(chunks)}, "Book")
    return Manifest(number, FORMAT, FINGERPRINT, 1, version, dimension, chunks, "2026-01-01T00:00:00+00:00", (source,))


def contents(pages: int, version: str) -> GenerationContents:
    documents = [page(number, version) for number in range(pages)]
    chunks = [chunk_of(document) for document in documents]
    vectors = [embedding(number, item) for number, item in enumerate(chunks)]
    return GenerationContents(documents, chunks, vectors, lambda name: f"{name} {version}".encode())


def ingest(store: GenerationStore, version: str, pages: int = 8, check: Callable[[Generation], None] = no_check) -> int:
    """Build a generation whose every page names its version; its number."""
    with store.ingest_lock():
        number = store.next_number()
        store.build(manifest(number, pages, version=version), contents(pages, version), check)
    return number


def index_chunks(store: GenerationStore, chunks: Sequence[Chunk]) -> Generation:
    """Build a generation of these chunks, and open it."""
    vectors = [embedding(number, item) for number, item in enumerate(chunks)]
    with store.ingest_lock():
        number = store.next_number()
        store.build(manifest(number, len(chunks)), GenerationContents([], chunks, vectors))
    return store.open(FINGERPRINT)
