"""The chat door (seed 002), the canonical one: sessions, selections, filters, streams, history."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import UUID4, AfterValidator, BaseModel, Field
from starlette.responses import Response

from glossator.core.answers import SNIPPET, UNAVAILABLE, Answer, Mode
from glossator.core.conversations import SessionKey
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.types import Filters
from glossator.serve.doors.base import EVENTS, Body, Door
from glossator.serve.doors.service import AnswerService, dumped, idempotency_key, is_low, key_for, milliseconds, shown
from glossator.serve.middleware.context import Context, context_of
from glossator.serve.problems import Problem

MAX_HISTORY = 100


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("Query cannot be empty or whitespace only")
    return text.strip()


def _prefix(text: str) -> str:
    """The beginning of an address: of a path, or of a whole one."""
    engine = urlsplit(text)
    if (
        not text.strip()
        or any(c.isspace() for c in text)
        or (engine.scheme and engine.scheme not in ("http", "https", "file"))
    ):
        raise ValueError("source_url_prefix must be the beginning of a URL or of a path")
    return text


class MetadataFilter(Body):
    """Optional filters for retrieval; all that are given must hold."""

    source_url_prefix: Annotated[str, Field(max_length=2000), AfterValidator(_prefix)] | None = Field(
        None, description="Filter results to URLs starting with this prefix", examples=["/docs/module1"]
    )
    section: Annotated[str, Field(max_length=500)] | None = Field(
        None, description="Filter results to specific section name (exact match)", examples=["Inverse Kinematics"]
    )


class ChatRequest(Body):
    """Input for the chat door."""

    query: Annotated[str, Field(min_length=1, max_length=32_000), AfterValidator(_filled)] = Field(
        description="Natural language question about the book", examples=["What is inverse kinematics?"]
    )
    selected_text: Annotated[str, Field(max_length=64_000)] | None = Field(
        None, description="If provided, answer is grounded only in this text"
    )
    session_id: Annotated[UUID4, Field(strict=False)] | None = Field(
        None, description="Session ID for conversation history. Generated if not provided."
    )
    filters: MetadataFilter | None = Field(None, description="Optional filters for retrieval")

    @property
    def named_session(self) -> str | None:
        return str(self.session_id) if self.session_id else None


class SourceCitation(BaseModel):
    """Citation of a passage of the book."""

    source_url: str = Field(description="Full URL to the book section; opens the page at the words")
    title: str = Field(description="Document/chapter title")
    section: str = Field(description="Section or heading name")
    chunk_position: int = Field(ge=0, description="Position of chunk within document")
    similarity_score: float = Field(ge=0.0, le=1.0, description="Calibrated similarity")
    snippet: str = Field(max_length=SNIPPET, description="First 200 chars of the chunk for preview")


class SelectedTextCitation(BaseModel):
    """Citation for selected-text answers."""

    source_type: Literal["selected_text"] = "selected_text"
    selection_length: int = Field(ge=0, description="Character count of provided selection")
    snippet: str = Field(max_length=SNIPPET, description="First 200 chars of selection for preview")
    relevance_note: str = Field(description="How the selection relates to the answer")


class ResponseMetadata(BaseModel):
    """Metadata about the response."""

    query_time_ms: float = Field(ge=0, description="Total processing time in milliseconds")
    retrieval_count: int = Field(ge=0, description="Number of chunks retrieved")
    mode: Mode
    low_confidence: bool = Field(default=False, description="True if best results had scores 0.3-0.5")
    request_id: UUID = Field(description="UUID v4 for request tracing")


class ChatResponse(BaseModel):
    """Complete response to a chat request."""

    answer: str | None = Field(None, description="The answer. Null if the language model is unavailable.")
    fallback_message: str | None = Field(None, description="Message when answer is null (graceful degradation)")
    sources: list[SourceCitation | SelectedTextCitation] = Field(default_factory=list)
    metadata: ResponseMetadata
    session_id: UUID


class ErrorResponse(BaseModel):
    """Structured error response."""

    error_code: str = Field(description="Machine-readable error code", examples=["EMPTY_QUERY"])
    message: str = Field(description="Human-readable error description", examples=["Query cannot be empty"])
    request_id: UUID = Field(description="UUID v4 for request tracing")
    details: dict[str, Any] | None = Field(None, description="Additional error context, in development only")


class HistoryEntry(BaseModel):
    """Single conversation turn."""

    timestamp: datetime
    query: str
    response: str
    sources: list[SourceCitation]
    metadata: dict[str, Any] | None = Field(
        None, description="What a stream tells about an answer, where `details` asks for it"
    )


class ConversationHistoryResponse(BaseModel):
    """Conversation history for a session."""

    session_id: UUID
    entries: list[HistoryEntry] = Field(description="Conversation history, oldest first")
    total_entries: int = Field(ge=0, description="Total number of entries")


def _tell(problem: Problem) -> ErrorResponse:
    return ErrorResponse(
        error_code=problem.code,
        message=problem.message,
        request_id=UUID(problem.request_id),
        details={"reason": problem.details} if problem.details else None,
    )


DOOR = Door(
    "chat",
    ("/chat", "/history", "/health"),
    ErrorResponse,
    _tell,
    {
        ("query", "string_too_long"): "QUERY_TOO_LONG",
        ("query", "string_too_short"): "EMPTY_QUERY",
        ("query", "value_error"): "EMPTY_QUERY",
        ("query", "missing"): "EMPTY_QUERY",
        ("selected_text", "string_too_long"): "SELECTION_TOO_LONG",
        ("session_id", ""): "INVALID_SESSION_ID",
    },
)


def routes(service: AnswerService) -> APIRouter:
    """Ask, ask with a stream, and read the history."""
    router = DOOR.router()

    def asked(body: ChatRequest, key: SessionKey, name: str | None) -> Question:
        given = body.filters
        filters = Filters(given.source_url_prefix, given.section) if given else Filters()
        return Question(body.query, body.selected_text, filters, session=key, idempotency_key=name)

    @router.post("/chat", tags=["chat"])
    async def chat(body: ChatRequest, request: Request) -> ChatResponse:
        """Ask the book; the answer is cited, checked and remembered."""
        name = idempotency_key(request)
        key = key_for(request, body.named_session, name)
        result = await service.answer(asked(body, key, name))
        answer, unavailable = result.answer, result.answer.mode is Mode.RETRIEVAL_ONLY
        return ChatResponse(
            answer=None if unavailable else answer.text,
            fallback_message=_fallback(answer),
            sources=_sources(result, body.selected_text),
            metadata=_metadata(result, context_of(request)),
            session_id=UUID(key.name),
        )

    @router.post("/chat/stream", tags=["chat"], response_class=Response, responses={200: {"content": EVENTS}})
    async def chat_stream(body: ChatRequest, request: Request) -> Response:
        """The same as it is written: events `delta`, `sources`, `done`, or `error`."""
        given = idempotency_key(request)
        context = context_of(request)

        def question(stream_id: str) -> Question:
            name = given or stream_id
            return asked(body, key_for(request, body.named_session, name), name)

        def sources(result: AnswerWithReceipt) -> dict[str, Any]:
            metadata = _metadata(result, context).model_dump(mode="json") | more_about(result.answer)
            return {"sources": dumped(list(_sources(result, body.selected_text))), "metadata": metadata}

        return await service.stream(request, DOOR, question, sources)

    _history_route(router, service)
    return router


def _history_route(router: APIRouter, service: AnswerService) -> None:
    @router.get("/history/{session_id}", tags=["chat"], response_model_exclude_none=True)
    async def history(
        session_id: UUID4,
        request: Request,
        limit: Annotated[int, Query(ge=1, le=MAX_HISTORY)] = MAX_HISTORY,
        details: Annotated[bool, Query(description="Quotes, verdicts and the rest of what a stream tells")] = False,
    ) -> ConversationHistoryResponse:
        """The latest exchanges of a session, oldest first."""
        found = await service.engine.records.history(key_for(request, str(session_id)), limit)
        entries = [
            HistoryEntry(
                timestamp=exchange.timestamp,
                query=exchange.question,
                response=exchange.answer.text,
                sources=_cited(exchange.answer),
                metadata=more_about(exchange.answer) | {"mode": exchange.answer.mode} if details else None,
            )
            for exchange in found.exchanges
        ]
        return ConversationHistoryResponse(session_id=session_id, entries=entries, total_entries=found.total)


def more_about(answer: Answer) -> dict[str, Any]:
    """What a stream tells beyond the contract, for a page that shows verdicts, quotes and where else to look."""
    return {
        "session_id": answer.session_id,
        "receipt_id": answer.receipt_id,
        "stored": answer.stored,
        "degraded": answer.degraded,
        "abstained": answer.abstained,
        "confidence": answer.confidence,
        "fallback_message": _fallback(answer),
        "withheld": len(answer.unsupported_claims),
        "suggestions": [asdict(suggestion) for suggestion in answer.suggestions],
        "citations": [{"number": c.number, "quote": c.quote, "start": c.start, "end": c.end} for c in answer.citations],
        "verdicts": [
            {"citations": s.citations, "status": s.verdict.status, "score": s.verdict.score}
            for s in answer.sentences
            if s.verdict
        ],
    }


def _fallback(answer: Answer) -> str | None:
    return f"{UNAVAILABLE} {answer.text}" if answer.mode is Mode.RETRIEVAL_ONLY else None


def _sources(result: AnswerWithReceipt, selection: str | None) -> list[SourceCitation | SelectedTextCitation]:
    if selection is None:
        return list(_cited(result.answer, result))
    count = len(result.answer.sentences)
    if not count:
        return []
    note = f"{count} {'sentence of the answer rests' if count == 1 else 'sentences of the answer rest'} on it alone."
    return [SelectedTextCitation(selection_length=len(selection), snippet=selection[:SNIPPET], relevance_note=note)]


def _cited(answer: Answer, result: AnswerWithReceipt | None = None) -> list[SourceCitation]:
    citations = shown(result) if result else [citation for citation in answer.citations if citation.url]
    return [
        SourceCitation(
            source_url=c.url,
            title=c.title,
            section=c.section,
            chunk_position=c.position,
            similarity_score=c.score,
            snippet=c.snippet,
        )
        for c in citations
    ]


def _metadata(result: AnswerWithReceipt, context: Context) -> ResponseMetadata:
    return ResponseMetadata(
        query_time_ms=milliseconds(context),
        retrieval_count=len(result.receipt.passages),
        mode=result.answer.mode,
        low_confidence=is_low(result),
        request_id=UUID(context.request_id),
    )
