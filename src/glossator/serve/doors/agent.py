"""The agent door (seed 000): a message in a named session, answered with inline [Source N] marks."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import AfterValidator, BaseModel, Field
from starlette.responses import Response

from glossator.core.answers import Answer, Citation, Delta, Mode
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.thresholds import Level, confidence_level
from glossator.pipeline import conversations
from glossator.serve.doors.base import EVENTS, Body, Door
from glossator.serve.doors.service import AnswerService, as_source_marks, dumped, idempotency_key, key_for, shown
from glossator.serve.problems import Problem

MOST_SOURCES = 20
SESSION = r"^[a-zA-Z0-9_\-]+$"
SessionId = Annotated[str, Field(min_length=1, max_length=200, pattern=SESSION)]
"""A name that is safe everywhere."""


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("context_text must be None or contain non-whitespace content")
    return text


class ChatRequest(Body):
    """A message, in a session; with `context_text` it is answered from that text alone."""

    message: Annotated[str, Field(min_length=1, max_length=2000)] = Field(
        description="User's question", examples=["What is the zero-moment point in humanoid robotics?"]
    )
    session_id: SessionId = Field(
        description="Unique session identifier for conversation continuity", examples=["user_123_conv_456"]
    )
    context_text: Annotated[str, Field(max_length=10_000), AfterValidator(_said)] | None = Field(
        None, description="Selected text of the book; when provided, the answer is based solely on it"
    )
    stream: bool = Field(False, description="Whether the answer comes as server-sent events")


class AgentCitation(BaseModel):
    """A single source citation."""

    source_number: int = Field(ge=1, le=MOST_SOURCES, description="Referenced as [Source N] in the answer")
    url: str = Field(description="URL of the page; opens it at the words")
    score: float = Field(ge=0.0, le=1.0, description="Relevance score")


class ChatResponse(BaseModel):
    """An answer with inline citations and a Sources section."""

    response: str
    session_id: str
    status: Literal["success", "guardrail_triggered", "citation_validation_failed", "error"] = "success"


class GroundedResponse(BaseModel):
    """An answer with its citations beside it."""

    answer: str = Field(description="Answer with inline [Source N] citations")
    sources: list[AgentCitation] = Field(max_length=MOST_SOURCES)
    confidence: Level
    retrieval_mode: Literal["full_book", "context_constrained"]


class MessageRole(StrEnum):
    """Message role in conversation history."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class ConversationMessage(BaseModel):
    """A single message in conversation history."""

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
    """Detailed error information."""

    code: str = Field(examples=["RETRIEVAL_FAILED", "INVALID_SESSION_ID", "GUARDRAIL_TRIGGERED"])
    message: str
    details: str | None = Field(None, description="For debugging, in development only")


class ErrorResponse(BaseModel):
    """Standard error response wrapper."""

    error: ErrorDetail
    session_id: str | None = Field(None, description="Session ID from request if available")


def _tell(problem: Problem) -> ErrorResponse:
    code = "RETRIEVAL_FAILED" if problem.code == "QDRANT_UNAVAILABLE" else problem.code
    return ErrorResponse(
        error=ErrorDetail(code=code, message=problem.message, details=problem.details), session_id=problem.session_id
    )


CODES = {("session_id", ""): "INVALID_SESSION_ID", ("conversation_id", ""): "INVALID_SESSION_ID"}
DOOR = Door("agent", ("/agent/chat", "/agent/session"), ErrorResponse, _tell, CODES)


def routes(service: AnswerService) -> APIRouter:
    """Chat, chat with the citations beside the answer, and the session."""
    router = DOOR.router()

    def asked(body: ChatRequest, request: Request, name: str | None) -> Question:
        key = key_for(request, body.session_id)
        return Question(body.message, body.context_text, session=key, idempotency_key=name)

    async def streamed(body: ChatRequest, request: Request, *, listed: bool) -> Response:
        def question(stream_id: str) -> Question:
            return asked(body, request, idempotency_key(request) or stream_id)

        def sources(result: AnswerWithReceipt) -> dict[str, Any]:
            about = {"status": _status(result.answer), "session_id": body.session_id}
            grounded = _grounded(result, body.context_text)
            more = {"confidence": grounded.confidence, "retrieval_mode": grounded.retrieval_mode}
            return {"sources": dumped(list(grounded.sources)), "metadata": about | more}

        def tail(result: AnswerWithReceipt) -> str:
            return _section(_cited(result.answer)) if listed else ""

        return await service.stream(request, DOOR, question, sources, text=as_source_marks, tail=tail)

    @router.post("/agent/chat", tags=["agent"], response_model=ChatResponse, responses={200: {"content": EVENTS}})
    async def chat(body: ChatRequest, request: Request) -> ChatResponse | Response:
        """Ask; the answer lists its sources at its end."""
        if body.stream:
            return await streamed(body, request, listed=True)
        result = await service.answer(asked(body, request, idempotency_key(request)))
        return ChatResponse(response=written(result.answer), session_id=body.session_id, status=_status(result.answer))

    @router.post(
        "/agent/chat/structured", tags=["agent"], response_model=GroundedResponse, responses={200: {"content": EVENTS}}
    )
    async def chat_structured(body: ChatRequest, request: Request) -> GroundedResponse | Response:
        """Ask; the sources stand beside the answer."""
        if body.stream:
            return await streamed(body, request, listed=False)
        result = await service.answer(asked(body, request, idempotency_key(request)))
        return _grounded(result, body.context_text)

    _session_routes(router, service)
    return router


def _session_routes(router: APIRouter, service: AnswerService) -> None:
    @router.get("/agent/session/{session_id}", tags=["agent"])
    async def session(session_id: Annotated[SessionId, Path()], request: Request) -> SessionResponse:
        """A session and what was said in it."""
        found, exchanges = await conversations.whole_history(service.engine, key_for(request, session_id))
        messages = [
            ConversationMessage(role=role, content=content, timestamp=exchange.timestamp)
            for exchange in exchanges
            for role, content in (
                (MessageRole.USER, exchange.question),
                (MessageRole.ASSISTANT, written(exchange.answer)),
            )
        ]
        return SessionResponse(
            session_id=session_id, created_at=found.created_at, last_active=found.last_active, messages=messages
        )

    @router.delete("/agent/session/{session_id}", tags=["agent"], status_code=204)
    async def delete(session_id: Annotated[SessionId, Path()], request: Request) -> None:
        """Forget a session and everything in it."""
        await conversations.delete(service.engine, key_for(request, session_id))


def written(answer: Answer) -> str:
    """An answer as this door writes it: marks in the text, sources at its end."""
    return as_source_marks(Delta.of(answer)) + _section(_cited(answer))


def _cited(answer: Answer) -> list[Citation]:
    return [citation for citation in answer.citations if citation.url]


def _section(citations: list[Citation]) -> str:
    if not citations:
        return ""
    return "\n\nSources:\n" + "\n".join(f"- [Source {c.number}] {c.url}" for c in citations)


def _status(answer: Answer) -> Literal["success", "guardrail_triggered", "citation_validation_failed", "error"]:
    """Off-topic questions trigger the guardrail; a draft of which nothing stood has failed validation."""
    if not answer.abstained or answer.mode is Mode.SELECTED_TEXT:
        return "success"
    return "citation_validation_failed" if answer.unsupported_claims else "guardrail_triggered"


def _grounded(result: AnswerWithReceipt, context_text: str | None) -> GroundedResponse:
    answer = result.answer
    citations = [] if context_text is not None else shown(result)[:MOST_SOURCES]
    return GroundedResponse(
        answer=as_source_marks(Delta.of(answer)),
        sources=[AgentCitation(source_number=c.number, url=c.url, score=c.score) for c in citations],
        confidence=confidence_level(0.0 if answer.abstained else answer.confidence),
        retrieval_mode="full_book" if context_text is None else "context_constrained",
    )
