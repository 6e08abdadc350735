"""The query door (contract 004): an answer within five seconds, with the time of every stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, Field
from starlette.responses import Response

from glossator.core.answers import Delta
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.types import Filters
from glossator.serve.doors.base import EVENT_STREAM_CONTENT, Door, StrictBody, VersionName
from glossator.serve.doors.service import (
    AnswerService,
    cited_sources,
    dump_models,
    milliseconds,
    passage_ranks,
    passage_texts,
    suggestion_list,
    with_notice,
    without_marks,
)
from glossator.serve.middleware.context import RequestContext, context_of
from glossator.serve.problems import Problem

_FALLBACK_SECONDS = 0.75
"""Reserved for quoting the book if the language model is too slow."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("Query cannot be empty")
    return text.strip()


class AgentRequest(StrictBody):
    """A question."""

    query: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_not_blank)] = Field(
        description="The user's question in natural language", examples=["What is physical AI?"]
    )
    top_k: Annotated[int, Field(ge=1, le=10)] = Field(5, description="Number of chunks that each search retrieves")
    include_sources: bool = Field(True, description="Whether to return the sources, and to cite them")
    stream: bool = Field(False, description="Whether to stream the answer as server-sent events")
    version: VersionName = None


class SourceChunk(BaseModel):
    """A retrieved chunk."""

    content: str = Field(min_length=1, description="Text of the chunk")
    url: str = Field(description="URL of the document; opens it at the quote")
    chunk_id: str
    document_id: str
    similarity_score: float = Field(ge=0.0, le=1.0)
    position: int = Field(ge=1, description="Rank in the search results, from 1")


class ResponseMetadata(BaseModel):
    """Times and counts."""

    response_time_ms: float = Field(ge=0)
    chunk_count: int = Field(ge=0, description="Number of retrieved chunks")
    embedding_time_ms: float = Field(ge=0)
    retrieval_time_ms: float = Field(ge=0)
    generation_time_ms: float = Field(ge=0)


class AgentResponse(BaseModel):
    """The answer, its sources in the order of their numbers, and metadata."""

    answer: str = Field(min_length=1)
    sources: list[SourceChunk]
    metadata: ResponseMetadata


class ErrorResponse(BaseModel):
    """An error response."""

    error: str = Field(min_length=1, description="Error type")
    message: str = Field(min_length=1, description="Human-readable error message")
    detail: str | None = Field(None, description="Additional details, in development mode only")
    status_code: int = Field(ge=400, le=599, description="HTTP status code")


def _render_error(problem: Problem) -> ErrorResponse:
    return ErrorResponse(
        error=problem.name, message=problem.message, detail=problem.details, status_code=problem.status
    )


DOOR = Door("query", ("/query",), ErrorResponse, _render_error)


def routes(service: AnswerService) -> APIRouter:
    """Query."""
    router = DOOR.router()

    def build_question(body: AgentRequest, context: RequestContext) -> Question:
        seconds = service.engine.settings.query_seconds - _FALLBACK_SECONDS - context.seconds
        filters = Filters(version=body.version)
        return Question(body.query, filters=filters, top_k=body.top_k, deadline=time.monotonic() + seconds)

    @router.post(
        "/query", tags=["query"], response_model=AgentResponse, responses={200: {"content": EVENT_STREAM_CONTENT}}
    )
    async def query(body: AgentRequest, request: Request) -> AgentResponse | Response:
        """Ask the book; the answer arrives within five seconds."""
        context = context_of(request)
        if body.stream:

            def sources(result: AnswerWithReceipt) -> dict[str, Any]:
                found = _sources(result) if body.include_sources else []
                return {"sources": dump_models(found), "metadata": _metadata(result, context).model_dump(mode="json")}

            return await service.stream(
                request,
                DOOR,
                lambda _: build_question(body, context),
                sources,
                text=_text(body),
            )
        result = await service.answer(request, build_question(body, context))
        return AgentResponse(
            answer=_text(body)(Delta.of(result.answer)) + suggestion_list(result.answer),
            sources=_sources(result) if body.include_sources else [],
            metadata=_metadata(result, context),
        )

    return router


def _text(body: AgentRequest) -> Callable[[Delta], str]:
    return with_notice if body.include_sources else without_marks


def _sources(result: AnswerWithReceipt) -> list[SourceChunk]:
    texts, ranks = passage_texts(result), passage_ranks(result)
    return [
        SourceChunk(
            content=texts.get(c.chunk_id, c.quote),
            url=c.url,
            chunk_id=c.chunk_id,
            document_id=c.document_id,
            similarity_score=c.score,
            position=ranks.get(c.chunk_id, c.number),
        )
        for c in cited_sources(result.answer)
    ]


def _metadata(result: AnswerWithReceipt, context: RequestContext) -> ResponseMetadata:
    return ResponseMetadata(
        response_time_ms=milliseconds(context),
        chunk_count=len(result.passages),
        embedding_time_ms=milliseconds(context, "embedding"),
        retrieval_time_ms=milliseconds(context, "retrieval"),
        generation_time_ms=milliseconds(context, "generation"),
    )
