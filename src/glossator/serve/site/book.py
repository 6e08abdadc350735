"""The book as this server shows it: every page at its own path below /book, wherever it is published."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from fastapi import APIRouter
from pydantic import BaseModel, Field

from glossator.core.answers import Answer
from glossator.core.book.addresses import BOOK_PATH, Mount, local_path
from glossator.core.ports import Generation
from glossator.core.types import ContentsEntry, Document
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.base import DEFAULT_DOOR
from glossator.serve.site.examples import ExampleQuestions


@dataclass(frozen=True, slots=True)
class ServedBook:
    """The name and the table of contents of a book, with the paths of its pages on this server as their URLs."""

    name: str
    contents: Sequence[ContentsEntry]
    mounts: Sequence[Mount]
    prefix: str = ""
    """What the paths of this book begin with, if the server has several."""
    version: str = ""
    """The version that the contents are of, unless it is the current one."""

    def path_of(self, url: str) -> str:
        """Where this server shows a page of the book."""
        return local_path(url, self.mounts)

    def linked(self, answer: Answer) -> Answer:
        """An answer whose links open the pages on this server."""
        citations = tuple(replace(c, url=self.path_of(c.url)) for c in answer.citations)
        return replace(
            answer,
            citations=citations,
            suggestions=tuple(replace(s, url=self.path_of(s.url)) for s in answer.suggestions),
        )


def served_book(generation: Generation, prefix: str = "", version: str = "") -> ServedBook:
    """The book of a generation, in one version: the one that is named, or the current one."""
    manifest = generation.manifest
    entries = generation.contents(version or None)
    contents = [replace(entry, url=local_path(entry.url, manifest.mounts)) for entry in entries]
    return ServedBook(manifest.name, contents, manifest.mounts, prefix, version)


def page_at(generation: Generation, prefix: str, path: str) -> tuple[ServedBook, Document | None]:
    """The page at a path of its book, and the book in the version of that page.

    The path is that of the page below /book, or the one that it has where it is published.
    """
    published, mounts = generation.documents.contents(), generation.manifest.mounts
    by_path = {_normalized(local_path(entry.url, mounts)): entry for entry in reversed(published)}
    found = by_path.get(_normalized(f"{prefix}/{_normalized(path) or BOOK_PATH}"))
    if found is None:
        found = next((entry for entry in published if _normalized(entry.url) == _normalized(path)), None)
    is_other = found is not None and not generation.manifest.is_current(found.url)
    book = served_book(generation, prefix, generation.manifest.version_of(found.url) if found and is_other else "")
    document = generation.documents.get(found.document_id) if found is not None else None
    return book, replace(document, url=book.path_of(document.url)) if document else None


class PublishedVersion(BaseModel):
    """A version of the book: pages whose URLs begin with `url` are of it, the longest beginning decides."""

    name: str
    url: str


class BookInfo(BaseModel):
    """What the widget shows of the book before the first question."""

    name: str = Field(description="Name of the book", examples=["Physical AI"])
    examples: list[str] = Field(description="Up to three questions that the book answers")
    versions: list[PublishedVersion] = Field(description="Where the versions of the book are, if it has versions")


def book_routes(engine: Engine, examples: ExampleQuestions) -> APIRouter:
    """The name of the book and example questions, for the widget."""
    router = DEFAULT_DOOR.router()

    @router.get("/widget/book", tags=["widget"])
    async def book_info() -> BookInfo:
        """The name of the book, and questions to begin with."""
        generation = await asyncio.to_thread(engine.generation)
        sources = generation.manifest.sources
        versions = [PublishedVersion(name=v.name, url=s.address + v.path) for s in sources for v in s.versions]
        return BookInfo(name=generation.manifest.name, examples=list(await examples.get()), versions=versions)

    return router


def _normalized(url: str) -> str:
    return unquote(urlsplit(url).path).strip("/")
