"""The ask door (contract 003): one question, one answer, and the time of retrieval and generation."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
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
    passage_texts,
    suggestion_list,
    with_notice,
)
from glossator.serve.middleware.context import RequestContext, context_of
from glossator.serve.problems import Problem

MAX_CONTENT = 500


class AskRequest(StrictBody):
    """A question."""

    question: Annotated[str, Field(min_length=1, max_length=32_000)] = Field(
        description="Natural language question about the book"
    )
    top_k: Annotated[int, Field(ge=1, le=20)] = Field(5, description="Number of chunks that each search retrieves")
    stream: bool = Field(False, description="Whether to stream the answer as server-sent events")
    version: VersionName = None


class Source(BaseModel):
    """A source of the answer."""

    url: str = Field(description="URL of the source page; opens it at the quote")
    content: str = Field(max_length=MAX_CONTENT, description="Beginning of the source chunk")
    score: float = Field(ge=0.0, le=1.0, description="Relevance score")
    position: int = Field(ge=0, description="Position of the chunk in the document")


class AskResponse(BaseModel):
    """A grounded answer with its sources."""

    question: str = Field(description="The question")
    answer: str = Field(description="The answer; `[n]` cites the n-th source")
    sources: list[Source] = Field(default_factory=list, description="The sources that the answer cites")
    retrieval_time_ms: int = Field(ge=0, description="Time spent on retrieval")
    generation_time_ms: int = Field(ge=0, description="Time spent on generation")


class ErrorResponse(BaseModel):
    """An error response."""

    error: str = Field(description="Error type")
    message: str = Field(description="Human-readable error message")
    details: dict[str, Any] | None = Field(None, description="Additional details, in development mode only")


def _render_error(problem: Problem) -> ErrorResponse:
    details = {"reason": problem.details} if problem.details else None
    return ErrorResponse(error=problem.name, message=problem.message, details=details)


DOOR = Door("ask", ("/ask",), ErrorResponse, _render_error)


def routes(service: AnswerService) -> APIRouter:
    """Ask."""
    router = DOOR.router()

    def build_question(body: AskRequest) -> Question:
        return Question(body.question, filters=Filters(version=body.version), top_k=body.top_k)

    @router.post("/ask", tags=["ask"], response_model=AskResponse, responses={200: {"content": EVENT_STREAM_CONTENT}})
    async def ask(body: AskRequest, request: Request) -> AskResponse | Response:
        """Ask the book."""
        context = context_of(request)
        if body.stream:

            def sources(result: AnswerWithReceipt) -> dict[str, Any]:
                return {"sources": dump_models(_sources(result)), "metadata": _times(context)}

            return await service.stream(
                request,
                DOOR,
                lambda _: build_question(body),
                sources,
                text=with_notice,
                or_error=True,
            )
        result = await service.answer(request, build_question(body), or_error=True)
        return AskResponse(
            question=body.question,
            answer=with_notice(Delta.of(result.answer)) + suggestion_list(result.answer),
            sources=_sources(result),
            **_times(context),
        )

    return router


def _sources(result: AnswerWithReceipt) -> list[Source]:
    texts = passage_texts(result)
    return [
        Source(url=c.url, content=texts.get(c.chunk_id, c.quote)[:MAX_CONTENT], score=c.score, position=c.position)
        for c in cited_sources(result.answer)
    ]


def _times(context: RequestContext) -> dict[str, int]:
    return {
        "retrieval_time_ms": round(milliseconds(context, "embedding", "retrieval")),
        "generation_time_ms": round(milliseconds(context, "generation")),
    }
