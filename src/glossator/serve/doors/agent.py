"""The agent door (contract 000): a message in a named session, answered with inline [Source N] marks."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import AfterValidator, BaseModel, Field
from starlette.responses import Response

from glossator.core.answers import Answer, Citation, Delta, Mode
from glossator.core.errors import LanguageModelUnavailable
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.text.marks import as_source_marks
from glossator.core.thresholds import Level, confidence_level
from glossator.core.types import Filters
from glossator.pipeline import conversations
from glossator.serve.doors.addresses import ServerAddress
from glossator.serve.doors.base import EVENT_STREAM_CONTENT, Door, StrictBody, VersionName
from glossator.serve.doors.service import (
    AnswerService,
    cited_sources,
    dump_models,
    idempotency_key,
    session_for,
    suggestion_list,
    with_notice,
    without_marks,
)
from glossator.serve.problems import Problem, problem_from

MAX_SOURCES = 20
SessionId = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[a-zA-Z0-9_\-]+$")]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("context_text must be null or contain non-whitespace characters")
    return text


class ChatRequest(StrictBody):
    """A message in a session; with `context_text`, it is answered from that text only."""

    message: Annotated[str, Field(min_length=1, max_length=2000)] = Field(
        description="The user's question", examples=["What is the zero-moment point in humanoid robotics?"]
    )
    session_id: SessionId = Field(
        description="Id of the session; reuse it to continue the conversation", examples=["user_123_conv_456"]
    )
    context_text: Annotated[str, Field(max_length=10_000), AfterValidator(_not_blank)] | None = Field(
        None, description="Selected text; if provided, the answer is based on it only"
    )
    stream: bool = Field(False, description="Whether to stream the answer as server-sent events")
    version: VersionName = None


class AgentCitation(BaseModel):
    """A source citation."""

    source_number: int = Field(ge=1, le=MAX_SOURCES, description="Referenced as [Source N] in the answer")
    url: str = Field(description="URL of the page; opens it at the quote")
    score: float = Field(ge=0.0, le=1.0, description="Relevance score")


class ChatResponse(BaseModel):
    """An answer with inline citations and a Sources section."""

    response: str
    session_id: str
    status: Literal["success", "guardrail_triggered", "citation_validation_failed", "error"] = "success"


class GroundedResponse(BaseModel):
    """An answer with its citations in a separate list."""

    answer: str = Field(description="Answer with inline [Source N] citations")
    sources: list[AgentCitation] = Field(max_length=MAX_SOURCES)
    confidence: Level
    retrieval_mode: Literal["full_book", "context_constrained"]


class MessageRole(StrEnum):
    """The role of a message in the history."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class ConversationMessage(BaseModel):
    """A message of a session."""

    role: MessageRole
    content: str
    timestamp: datetime
    tool_call_id: str | None = None


class SessionResponse(BaseModel):
    """A session with its messages, oldest first."""

    session_id: str
    created_at: datetime
    last_active: datetime
    messages: list[ConversationMessage]


class ErrorDetail(BaseModel):
    """An error code with its message."""

    code: str = Field(examples=["RETRIEVAL_FAILED", "INVALID_SESSION_ID", "GUARDRAIL_TRIGGERED"])
    message: str
    details: str | None = Field(None, description="Additional details, in development mode only")


class ErrorResponse(BaseModel):
    """An error response."""

    error: ErrorDetail
    session_id: str | None = Field(None, description="Session id of the request, if it has one")


def _render_error(problem: Problem) -> ErrorResponse:
    code = "RETRIEVAL_FAILED" if problem.code == "QDRANT_UNAVAILABLE" else problem.code
    return ErrorResponse(
        error=ErrorDetail(code=code, message=problem.message, details=problem.details), session_id=problem.session_id
    )


CODES = {("session_id", ""): "INVALID_SESSION_ID", ("conversation_id", ""): "INVALID_SESSION_ID"}
DOOR = Door("agent", ("/agent/chat", "/agent/session"), ErrorResponse, _render_error, CODES)


def routes(service: AnswerService) -> APIRouter:
    """Chat, chat with citations in a separate list, and sessions."""
    router = DOOR.router()

    @router.post(
        "/agent/chat", tags=["agent"], response_model=ChatResponse, responses={200: {"content": EVENT_STREAM_CONTENT}}
    )
    async def chat(body: ChatRequest, request: Request) -> ChatResponse | Response:
        """Ask; the answer ends with a list of its sources."""
        if body.stream:
            return await _stream(service, body, request, sources_in_text=True)
        try:
            result = await service.answer(request, _question(body, request, idempotency_key(request)))
        except LanguageModelUnavailable as error:
            return ChatResponse(response=problem_from(error).message, session_id=body.session_id, status="error")
        return ChatResponse(
            response=full_text(result.answer), session_id=body.session_id, status=_status(result.answer)
        )

    @router.post(
        "/agent/chat/structured",
        tags=["agent"],
        response_model=GroundedResponse,
        responses={200: {"content": EVENT_STREAM_CONTENT}},
    )
    async def chat_structured(body: ChatRequest, request: Request) -> GroundedResponse | Response:
        """Ask; the sources are returned in a separate list."""
        if body.stream:
            return await _stream(service, body, request, sources_in_text=False)
        result = await service.answer(request, _question(body, request, idempotency_key(request)))
        return _grounded(result, body.context_text)

    _session_routes(router, service)
    return router


def _question(body: ChatRequest, request: Request, name: str | None) -> Question:
    key = session_for(request, body.session_id)
    filters = Filters(version=body.version)
    return Question(body.message, body.context_text, filters, session=key, idempotency_key=name)


async def _stream(service: AnswerService, body: ChatRequest, request: Request, *, sources_in_text: bool) -> Response:
    def question(stream_id: str) -> Question:
        return _question(body, request, idempotency_key(request) or stream_id)

    def sources(result: AnswerWithReceipt) -> dict[str, Any]:
        grounded = _grounded(result, body.context_text)
        metadata = {
            "status": _status(result.answer),
            "session_id": body.session_id,
            "confidence": grounded.confidence,
            "retrieval_mode": grounded.retrieval_mode,
        }
        return {"sources": dump_models(grounded.sources), "metadata": metadata}

    def tail(result: AnswerWithReceipt) -> str:
        listed = _source_list(_citations(result.answer)) if sources_in_text else ""
        return listed + suggestion_list(result.answer)

    text = with_source_marks if body.context_text is None else without_marks
    return await service.stream(request, DOOR, question, sources, text=text, tail=tail)


def _session_routes(router: APIRouter, service: AnswerService) -> None:
    @router.get("/agent/session/{session_id}", tags=["agent"])
    async def session(session_id: Annotated[SessionId, Path()], request: Request) -> SessionResponse:
        """A session with its messages."""
        found, exchanges = await conversations.full_history(service.engine, session_for(request, session_id))
        address = ServerAddress.of(request)
        messages = [
            ConversationMessage(role=role, content=content, timestamp=exchange.timestamp)
            for exchange in exchanges
            for role, content in (
                (MessageRole.USER, exchange.question),
                (MessageRole.ASSISTANT, full_text(address.answer(exchange.answer))),
            )
        ]
        return SessionResponse(
            session_id=session_id, created_at=found.created_at, last_active=found.last_active, messages=messages
        )

    @router.delete("/agent/session/{session_id}", tags=["agent"], status_code=204)
    async def delete(session_id: Annotated[SessionId, Path()], request: Request) -> None:
        """Delete a session and everything in it."""
        await conversations.delete(service.engine, session_for(request, session_id))


def full_text(answer: Answer) -> str:
    """An answer as this door writes it: marks in the text, sources at the end."""
    return _text(answer) + _source_list(_citations(answer)) + suggestion_list(answer)


def with_source_marks(delta: Delta) -> str:
    """The text with `[Source 1]` in place of `[1]`; only sources that the contract has room for are cited."""
    return as_source_marks(with_notice(delta), MAX_SOURCES)


def _text(answer: Answer) -> str:
    """The text of an answer; the contract lists no sources for a selection, so nothing is marked."""
    return (without_marks if answer.mode is Mode.SELECTED_TEXT else with_source_marks)(Delta.of(answer))


def _citations(answer: Answer) -> list[Citation]:
    return cited_sources(answer)[:MAX_SOURCES]


def _source_list(citations: list[Citation]) -> str:
    if not citations:
        return ""
    return "\n\nSources:\n" + "\n".join(f"- [Source {c.number}] {c.url}" for c in citations)


def _status(answer: Answer) -> Literal["success", "guardrail_triggered", "citation_validation_failed", "error"]:
    """A draft without any supported sentence has failed validation, even if quotes from the book take its place.

    Questions without an answer trigger the guardrail. If a model failed and no quote answers the question, that is an
    error: it might have had an answer.
    """
    if answer.draft_rejected:
        return "citation_validation_failed"
    if not answer.abstained:
        return "success"
    return "error" if answer.degraded else "guardrail_triggered"


def _grounded(result: AnswerWithReceipt, context_text: str | None) -> GroundedResponse:
    answer = result.answer
    return GroundedResponse(
        answer=_text(answer) + suggestion_list(answer),
        sources=[AgentCitation(source_number=c.number, url=c.url, score=c.score) for c in _citations(answer)],
        confidence=confidence_level(answer.confidence),
        retrieval_mode="full_book" if context_text is None else "context_constrained",
    )
