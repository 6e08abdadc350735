"""What every program may ask of the book: passages, feedback on answers, and a page for language models."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse, Response

from glossator import pipeline
from glossator.core.conversations import Rating
from glossator.core.question import Question
from glossator.core.types import Filters
from glossator.core.validation import MAX_QUESTION, MAX_TOP_K
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.agent import SessionId
from glossator.serve.doors.base import PLAIN, Body
from glossator.serve.doors.service import key_for
from glossator.serve.ops.metrics import Metrics
from glossator.store.index.documents import Entry


class FilterModel(Body):
    """Restrictions on a search; all that are given must hold."""

    source_url_prefix: Annotated[str | None, Field(max_length=2000)] = None
    section: Annotated[str | None, Field(max_length=500)] = None
    chapter: Annotated[str | None, Field(max_length=500)] = None


class SearchQuery(BaseModel):
    """The parameters of GET /search."""

    model_config = {"extra": "forbid"}
    q: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K)] = 5
    source_url_prefix: Annotated[str | None, Field(max_length=2000)] = None
    section: Annotated[str | None, Field(max_length=500)] = None
    chapter: Annotated[str | None, Field(max_length=500)] = None


class SearchRequest(Body):
    """The body of POST /search."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K)] = 5
    filters: FilterModel = Field(default_factory=FilterModel)


class PassageModel(BaseModel):
    """A passage of the book; `score` is calibrated to 0-1, offsets are the document's characters."""

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


class SearchResponse(BaseModel):
    """Passages, best first."""

    query: str
    results: list[PassageModel]
    generation: int
    time_ms: float


class FeedbackRequest(Body):
    """What a reader says of an answer."""

    receipt_id: Annotated[str, Field(min_length=1, max_length=100, pattern="^[0-9A-Za-z]+$")]
    rating: Annotated[Rating, Field(strict=False)]
    reason: Annotated[str, Field(max_length=200)] = ""
    text: Annotated[str, Field(max_length=4000)] = ""
    session_id: SessionId | None = None


class FeedbackResponse(BaseModel):
    """That it was heard."""

    status: str = "stored"


class _Markdown(PlainTextResponse):
    media_type = "text/markdown"


def routes(engine: Engine, metrics: Metrics) -> APIRouter:
    """Search, feedback, and the contents."""
    router = PLAIN.router()

    async def run(question: str, top_k: int, filters: Filters) -> SearchResponse:
        started = time.perf_counter()
        found = await pipeline.search(engine, Question(question, filters=filters, top_k=top_k))
        results = [PassageModel(**asdict(passage)) for passage in found.passages]
        spent = round(1000 * (time.perf_counter() - started), 2)
        return SearchResponse(query=question, results=results, generation=found.generation, time_ms=spent)

    @router.get("/search", tags=["search"])
    async def search(query: Annotated[SearchQuery, Query()]) -> SearchResponse:
        """The passages nearest to a question."""
        return await run(query.q, query.top_k, Filters(query.source_url_prefix, query.section, query.chapter))

    @router.post("/search", tags=["search"])
    async def search_with_filters(body: SearchRequest) -> SearchResponse:
        """The passages nearest to a question, with filters."""
        return await run(body.query, body.top_k, Filters(**body.filters.model_dump()))

    @router.post("/feedback", tags=["feedback"], status_code=201)
    async def feedback(body: FeedbackRequest, request: Request) -> FeedbackResponse:
        """Thumbs up or down for an answer, by its receipt; said again in a session, it replaces the first."""
        key = key_for(request, body.session_id) if body.session_id else None
        await engine.records.give_feedback(body.receipt_id, body.rating, body.reason, body.text, key)
        metrics.feedback.labels(body.rating).inc()
        return FeedbackResponse()

    @router.get("/llms.txt", tags=["search"], response_class=_Markdown)
    async def llms() -> Response:
        """The contents of the book with their addresses, for programs that read before they ask."""
        entries = await asyncio.to_thread(engine.contents)
        return _Markdown(_contents(entries))

    return router


def _contents(entries: list[Entry]) -> str:
    lines = ["# The book", "", "> Ask it at POST /ask, search it at GET /search?q=…, or over MCP at /mcp.", ""]
    chapter: tuple[str, ...] | None = None
    for entry in entries:
        if entry.chapters[:-1] != chapter:
            chapter = entry.chapters[:-1]
            lines += ["", f"## {_plain(' › '.join(chapter))}", ""] if chapter else []
        lines.append(f"- [{_plain(entry.title)}](<{_plain(entry.url)}>)")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Delta that cannot end the link or the line they stand in."""
    return " ".join(text.split()).translate(str.maketrans("[]<>", "()()"))
