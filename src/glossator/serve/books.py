"""The books of a server: one at `/`, the others below `/books`, each opened on first use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from glossator.core.book.manifest import Manifest
from glossator.core.book.names import is_book_name
from glossator.core.errors import BookNotFound, IndexCorrupted
from glossator.pipeline.conversations import (
    CLEAN_UP_INTERVAL_SECONDS,
    EVICTION_INTERVAL_SECONDS,
    STORING_SECONDS,
    clean_up,
    evict_deleted_answers,
    repeat,
)
from glossator.pipeline.wiring import Engine, make_generations
from glossator.serve.doors.base import DEFAULT_DOOR
from glossator.serve.doors.service import AnswerService
from glossator.serve.doors.streams import Streams
from glossator.serve.mcp.server import McpEndpoint
from glossator.serve.site.examples import ExampleQuestions


@dataclass(frozen=True, slots=True)
class OpenBook:
    """What the server has of one book; nothing of it is shared with another book but the models of its engine."""

    engine: Engine
    streams: Streams
    service: AnswerService
    mcp: McpEndpoint
    examples: ExampleQuestions
    router: APIRouter
    api_routes: list[APIRoute]
    _periodic: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        """Start the work that is repeated while the server runs."""
        evict = partial(evict_deleted_answers, min_age_seconds=STORING_SECONDS)
        self._periodic.append(asyncio.create_task(repeat(clean_up, self.engine, CLEAN_UP_INTERVAL_SECONDS)))
        self._periodic.append(asyncio.create_task(repeat(evict, self.engine, EVICTION_INTERVAL_SECONDS)))

    async def close(self) -> None:
        """Stop everything and close all files and connections."""
        for task in self._periodic:
            task.cancel()
        await asyncio.gather(*self._periodic, return_exceptions=True)
        self._periodic.clear()
        await self.streams.close()
        await self.mcp.close()
        await self.engine.close()


class Books:
    """The open books; `open_book` makes one from its engine."""

    def __init__(self, default: OpenBook, open_book: Callable[[Engine], OpenBook]) -> None:
        self.default = default
        self._open_book = open_book
        self._open = {default.engine.settings.book: default}
        self._opening = asyncio.Lock()

    async def get(self, name: str) -> OpenBook:
        """The book with this name."""
        if name not in self._open:
            await self._try_to_open(name)
        book = self._open.get(name)
        if book is not None and book is not self.default and book.engine.generations.current() is None:
            await self._forget(name)
            book = None
        if book is None:
            raise BookNotFound(
                f"There is no book {name[:40]!r} on this server.",
                "GET /books lists them; names have 1 to 32 lower-case letters, digits and hyphens.",
            )
        return book

    async def router_of(self, name: str) -> APIRouter:
        """The routes of the book with this name."""
        return (await self.get(name)).router

    async def _try_to_open(self, name: str) -> None:
        """Open a book, if there is one: names that clients invent must leave nothing behind."""
        if not is_book_name(name):
            return
        async with self._opening:
            if name in self._open:
                return
            engine = self.default.engine.for_book(name)
            if await asyncio.to_thread(engine.generations.current) is None:
                engine.generations.close()
                return
            self._open[name] = self._open_book(engine)
            self._open[name].start()

    async def _forget(self, name: str) -> None:
        """Close a book that was deleted: its files and tables are gone, and another may get its name."""
        async with self._opening:
            if (book := self._open.pop(name, None)) is not None:
                await book.close()

    async def manifests(self) -> dict[str, Manifest]:
        """The manifest of every book in which something has been ingested, by name."""
        names = await asyncio.to_thread(self._names)
        found: dict[str, Manifest] = {}
        for name in dict.fromkeys((self.default.engine.settings.book, *names)):
            with suppress(BookNotFound, IndexCorrupted):  # deleted, or broken: the others are still there
                book = await self.get(name)
                manifest = await asyncio.to_thread(book.engine.generations.manifest)
                found |= {name: manifest} if manifest else {}
        return found

    def _names(self) -> list[str]:
        settings = self.default.engine.settings
        if not settings.book:
            return self.default.engine.generations.books()
        beside = make_generations(settings.for_book(""))
        try:
            return beside.books()
        finally:
            beside.close()

    async def close(self) -> None:
        """Close all books; the default one can be started again."""
        opened, self._open = self._open, {self.default.engine.settings.book: self.default}
        for book in opened.values():
            await book.close()


class BookEntry(BaseModel):
    """One book of the server."""

    name: str = Field(description="Name of the book; empty for the unnamed book")
    title: str = Field(description="Title of the book")
    path: str = Field(description="Every route of the API exists below this path for the book")
    default: bool = Field(description="Whether routes without a book name use this one")
    documents: int = Field(description="Number of pages")
    chunks: int = Field(description="Number of passages in the index")
    generation: int = Field(description="Generation of the index; increases with each ingest that changes it")
    versions: list[str] = Field(description="Versions of the book, the current one first; empty if it has none")
    languages: list[str] = Field(description="ISO 639 codes of the languages detected in its text")
    updated: str = Field(description="Time of the last ingest that changed it")


class BookList(BaseModel):
    """The books of the server."""

    books: list[BookEntry]


def list_routes(books: Books) -> APIRouter:
    """The list of books."""
    router = DEFAULT_DOOR.router()

    @router.get("/books", tags=["search"])
    async def list_books() -> BookList:
        """The books of this server; ask one of them below its path."""
        found = await books.manifests()
        return BookList(books=[_entry(name, manifest, books) for name, manifest in found.items()])

    return router


def _entry(name: str, manifest: Manifest, books: Books) -> BookEntry:
    settings = books.default.engine.settings
    return BookEntry(
        name=name,
        title=manifest.name,
        path=f"{settings.for_book(name).book_prefix}/",
        default=name == settings.book,
        documents=manifest.documents,
        chunks=manifest.chunks,
        generation=manifest.generation,
        versions=[version.name for version in manifest.versions],
        languages=list(manifest.languages),
        updated=manifest.created_at,
    )
