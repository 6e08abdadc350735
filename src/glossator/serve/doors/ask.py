"""The ask door (seed 003): one question, one answer, and how long each half took."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from glossator.core.answers import Delta
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.serve.doors.base import EVENTS, Body, Door
from glossator.serve.doors.service import AnswerService, by_chunk, chunks_shown, dumped, milliseconds, texts
from glossator.serve.middleware.context import Context, context_of
from glossator.serve.problems import Problem

CONTENT = 500


class AskRequest(Body):
    """Request to ask a question."""

    question: Annotated[str, Field(min_length=1, max_length=32_000)] = Field(
        description="Natural language question about the book content"
    )
    top_k: Annotated[int, Field(ge=1, le=20)] = Field(5, description="Number of context chunks to retrieve")
    stream: bool = Field(False, description="Whether the answer comes as server-sent events")


class Source(BaseModel):
    """A source citation from the book content."""

    url: str = Field(description="URL of the source page; opens it at the words")
    content: str = Field(max_length=CONTENT, description="Content snippet from the source")
    score: float = Field(ge=0.0, le=1.0, description="Relevance score")
    position: int = Field(ge=0, description="Chunk position in document")


class AskResponse(BaseModel):
    """Response containing the grounded answer and sources."""

    question: str = Field(description="The original question asked")
    answer: str = Field(description="Answer grounded in sources")
    sources: list[Source] = Field(default_factory=list, description="List of source citations used")
    retrieval_time_ms: int = Field(ge=0, description="Time taken to retrieve context")
    generation_time_ms: int = Field(ge=0, description="Time taken to generate answer")


class ErrorResponse(BaseModel):
    """Error response for failed requests."""

    error: str = Field(description="Error type")
    message: str = Field(description="Human-readable error message")
    details: dict[str, Any] | None = Field(None, description="Additional error details, in development only")


def _tell(problem: Problem) -> ErrorResponse:
    details = {"reason": problem.details} if problem.details else None
    return ErrorResponse(error=problem.name, message=problem.message, details=details)


DOOR = Door("ask", ("/ask",), ErrorResponse, _tell)


def routes(service: AnswerService) -> APIRouter:
    """Ask."""
    router = DOOR.router()

    def asked(body: AskRequest) -> Question:
        return Question(body.question, top_k=body.top_k)

    @router.post("/ask", tags=["ask"], response_model=AskResponse, responses={200: {"content": EVENTS}})
    async def ask(body: AskRequest, request: Request) -> AskResponse | Response:
        """Ask the book."""
        context = context_of(request)
        if body.stream:

            def sources(result: AnswerWithReceipt) -> dict[str, Any]:
                return {"sources": dumped(list(_sources(result))), "metadata": _times(context)}

            return await service.stream(request, DOOR, lambda _: asked(body), sources, text=by_chunk)
        result = await service.answer(asked(body))
        return AskResponse(
            question=body.question,
            answer=by_chunk(Delta.of(result.answer)),
            sources=_sources(result),
            **_times(context),
        )

    return router


def _sources(result: AnswerWithReceipt) -> list[Source]:
    whole = texts(result)
    return [
        Source(url=c.url, content=whole.get(c.chunk_id, c.quote)[:CONTENT], score=c.score, position=c.position)
        for c in chunks_shown(result)
    ]


def _times(context: Context) -> dict[str, int]:
    return {
        "retrieval_time_ms": round(milliseconds(context, "embedding", "retrieval")),
        "generation_time_ms": round(milliseconds(context, "generation")),
    }
