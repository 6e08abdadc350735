"""The query door (seed 004): one question within five seconds, with every stage's time."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, Field
from starlette.responses import Response

from glossator.core.answers import Delta
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.serve.doors.base import EVENTS, Body, Door
from glossator.serve.doors.service import AnswerService, by_chunk, chunks_shown, dumped, milliseconds, ranks, texts
from glossator.serve.middleware.context import Context, context_of
from glossator.serve.problems import Problem

BUDGET = 5.0
"""Seconds in which this door answers."""
_CLOSING = 0.75
"""Seconds of it that are left for the book's own sentences when the language model is too slow."""


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("Query cannot be empty")
    return text.strip()


class AgentRequest(Body):
    """An incoming query."""

    query: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_filled)] = Field(
        description="User's natural language question", examples=["What is physical AI?"]
    )
    top_k: Annotated[int, Field(ge=1, le=10)] = Field(5, description="Number of document chunks to retrieve")
    include_sources: bool = Field(True, description="Whether to include source attribution in response")
    stream: bool = Field(False, description="Whether the answer comes as server-sent events")


class SourceChunk(BaseModel):
    """A retrieved document chunk with metadata and similarity score."""

    content: str = Field(min_length=1, description="Text content of the retrieved chunk")
    url: str = Field(description="Source URL of the original document; opens it at the words")
    chunk_id: str
    document_id: str
    similarity_score: float = Field(ge=0.0, le=1.0)
    position: int = Field(ge=1, description="Rank in retrieval results, from 1")


class ResponseMetadata(BaseModel):
    """Timing and counts of the request."""

    response_time_ms: float = Field(ge=0)
    chunk_count: int = Field(ge=0, description="Number of retrieved chunks")
    embedding_time_ms: float = Field(ge=0)
    retrieval_time_ms: float = Field(ge=0)
    generation_time_ms: float = Field(ge=0)


class AgentResponse(BaseModel):
    """The answer, its sources in the order of their numbers in it, and its metadata."""

    answer: str = Field(min_length=1)
    sources: list[SourceChunk]
    metadata: ResponseMetadata


class ErrorResponse(BaseModel):
    """Structured error information."""

    error: str = Field(min_length=1, description="Error type or category")
    message: str = Field(min_length=1, description="Human-readable error message")
    detail: str | None = Field(None, description="Additional debugging information, in development only")
    status_code: int = Field(ge=400, le=599, description="HTTP status code")


def _tell(problem: Problem) -> ErrorResponse:
    return ErrorResponse(
        error=problem.name, message=problem.message, detail=problem.details, status_code=problem.status
    )


DOOR = Door("query", ("/query",), ErrorResponse, _tell)


def routes(service: AnswerService) -> APIRouter:
    """Query."""
    router = DOOR.router()

    def asked(body: AgentRequest, context: Context) -> Question:
        seconds = max(0.5, BUDGET - _CLOSING - context.seconds)
        return Question(body.query, top_k=body.top_k, deadline=time.monotonic() + seconds)

    @router.post("/query", tags=["query"], response_model=AgentResponse, responses={200: {"content": EVENTS}})
    async def query(body: AgentRequest, request: Request) -> AgentResponse | Response:
        """Ask the book, and get an answer within five seconds."""
        context = context_of(request)
        if body.stream:

            def sources(result: AnswerWithReceipt) -> dict[str, Any]:
                found = _sources(result) if body.include_sources else []
                return {"sources": dumped(list(found)), "metadata": _metadata(result, context).model_dump(mode="json")}

            return await service.stream(request, DOOR, lambda _: asked(body, context), sources, text=by_chunk)
        result = await service.answer(asked(body, context))
        return AgentResponse(
            answer=by_chunk(Delta.of(result.answer)),
            sources=_sources(result) if body.include_sources else [],
            metadata=_metadata(result, context),
        )

    return router


def _sources(result: AnswerWithReceipt) -> list[SourceChunk]:
    whole, rank = texts(result), ranks(result)
    return [
        SourceChunk(
            content=whole.get(c.chunk_id, c.quote),
            url=c.url,
            chunk_id=c.chunk_id,
            document_id=c.document_id,
            similarity_score=c.score,
            position=rank.get(c.chunk_id, c.number),
        )
        for c in chunks_shown(result)
    ]


def _metadata(result: AnswerWithReceipt, context: Context) -> ResponseMetadata:
    return ResponseMetadata(
        response_time_ms=milliseconds(context),
        chunk_count=len(result.passages),
        embedding_time_ms=milliseconds(context, "embedding"),
        retrieval_time_ms=milliseconds(context, "retrieval"),
        generation_time_ms=milliseconds(context, "generation"),
    )
