"""Search, and a table of contents for language models."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse, Response

from glossator import pipeline
from glossator.core.question import Question
from glossator.core.types import ContentsEntry, Filters
from glossator.core.validation import MAX_QUESTION_LENGTH, MAX_TOP_K
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.addresses import ServerAddress
from glossator.serve.doors.base import DEFAULT_DOOR, NoneIfBlank, StrictBody, VersionName

_UrlPrefix = Annotated[Annotated[str, Field(max_length=2000)] | None, NoneIfBlank]
_Heading = Annotated[Annotated[str, Field(max_length=500)] | None, NoneIfBlank]


class FilterModel(StrictBody):
    """Filters on a search; a passage must match all of them."""

    source_url_prefix: _UrlPrefix = Field(default=None, description="Only pages whose URL or path begins with this")
    section: _Heading = Field(default=None, description="Only sections with exactly this heading")
    chapter: _Heading = Field(default=None, description="Only the chapter with exactly this title")
    version: VersionName = None


class SearchQuery(BaseModel):
    """The parameters of GET /search."""

    model_config = {"extra": "forbid"}
    q: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_LENGTH)]
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K)] = 5
    source_url_prefix: _UrlPrefix = None
    section: _Heading = None
    chapter: _Heading = None
    version: VersionName = None


class SearchRequest(StrictBody):
    """The body of POST /search."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_LENGTH)]
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K)] = 5
    filters: FilterModel = Field(default_factory=FilterModel)


class PassageModel(BaseModel):
    """A passage of the book; `score` is calibrated to 0-1, `start` and `end` are character offsets in the document."""

    chunk_id: str
    document_id: str
    url: str
    title: str
    section: str
    heading_path: list[str]
    anchor: str
    position: int
    start: int
    end: int
    text: str
    score: float
    version: str = Field("", description="Version of the book that the page belongs to, if it has versions")
    created_at: float = Field(description="Time of the ingest that made the index, in seconds since 1970")


class SearchResponse(BaseModel):
    """Passages, best first."""

    query: str
    results: list[PassageModel]
    total: int = Field(ge=0, description="Number of results")
    collection: str = Field(description="Name of the generation that was searched, `generation-N`")
    generation: int
    time_ms: int = Field(ge=0, description="Time spent on the search")


class _Markdown(PlainTextResponse):
    media_type = "text/markdown"


def routes(engine: Engine) -> APIRouter:
    """Search and the table of contents."""
    router = DEFAULT_DOOR.router()

    async def run(request: Request, question: str, top_k: int, filters: Filters) -> SearchResponse:
        started, address = time.perf_counter(), ServerAddress.of(request)
        found = await pipeline.search(engine, Question(question, filters=address.filters(filters), top_k=top_k))
        book = engine.generation_if_open()
        if book is None:
            book = await asyncio.to_thread(engine.generation)
        created_at = datetime.fromisoformat(book.manifest.created_at).timestamp()
        passages = map(address.passage, found.passages)
        results = [PassageModel(**asdict(passage), created_at=created_at) for passage in passages]
        elapsed = round(1000 * (time.perf_counter() - started))
        return SearchResponse(
            query=question,
            results=results,
            total=len(results),
            collection=f"generation-{found.generation}",
            generation=found.generation,
            time_ms=elapsed,
        )

    @router.get("/search", tags=["search"])
    async def search(query: Annotated[SearchQuery, Query()], request: Request) -> SearchResponse:
        """The passages most relevant to a question."""
        filters = Filters(query.source_url_prefix, query.section, query.chapter, query.version)
        return await run(request, query.q, query.top_k, filters)

    @router.post("/search", tags=["search"])
    async def search_with_filters(body: SearchRequest, request: Request) -> SearchResponse:
        """The passages most relevant to a question, with filters."""
        return await run(request, body.query, body.top_k, Filters(**body.filters.model_dump()))

    @router.get("/llms.txt", tags=["search"], response_class=_Markdown)
    async def llms(request: Request) -> Response:
        """The table of contents with URLs, in Markdown, for language models."""
        generation = await asyncio.to_thread(engine.generation)
        address = ServerAddress.of(request)
        entries = [replace(e, url=address.url(e.url)) for e in await asyncio.to_thread(generation.contents)]
        return _Markdown(_as_markdown(generation.manifest.name, entries, engine.settings.book_prefix))

    return router


def _as_markdown(name: str, entries: list[ContentsEntry], prefix: str) -> str:
    doors = f"> Ask it at POST {prefix}/ask, search it at GET {prefix}/search?q=…, or over MCP at {prefix}/mcp."
    lines = [f"# {_escape(name)}", "", doors, ""]
    chapter: tuple[str, ...] | None = None
    for entry in entries:
        if entry.chapters[:-1] != chapter:
            chapter = entry.chapters[:-1]
            lines += ["", f"## {_escape(' › '.join(chapter))}", ""] if chapter else []
        lines.append(f"- [{_escape(entry.title)}](<{_escape(entry.url)}>)")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    """Text that cannot break out of its Markdown link or line."""
    return " ".join(text.split()).translate(str.maketrans("[]<>", "()()"))
