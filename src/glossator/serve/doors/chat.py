"""The chat door (contract 002), the main one: sessions, selections, filters, streams, history."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import UUID4, AfterValidator, BaseModel, Field
from starlette.responses import Response

from glossator.core.answers import MAX_SNIPPET_CHARACTERS, UNAVAILABLE_NOTICE, Answer, Citation, Mode
from glossator.core.conversations import Exchange, SessionKey
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.text.formulas import typeset_all
from glossator.core.types import Filters
from glossator.serve.doors.addresses import ServerAddress
from glossator.serve.doors.base import EVENT_STREAM_CONTENT, Door, NoneIfBlank, StrictBody, VersionName
from glossator.serve.doors.service import (
    AnswerService,
    cited_sources,
    dump_models,
    has_low_confidence,
    idempotency_key,
    milliseconds,
    session_for,
    suggestion_list,
)
from glossator.serve.middleware.context import RequestContext, context_of
from glossator.serve.problems import Problem

MAX_HISTORY = 100


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("Query cannot be empty or whitespace only")
    return text.strip()


def _url_prefix(text: str) -> str:
    """The beginning of a URL or of a path."""
    scheme = urlsplit(text).scheme
    if not text.strip() or any(c.isspace() for c in text) or scheme not in ("", "http", "https", "file"):
        raise ValueError("source_url_prefix must be the beginning of a URL or of a path")
    return text


class MetadataFilter(StrictBody):
    """Optional filters for retrieval; a passage must match all of them."""

    source_url_prefix: Annotated[
        Annotated[str, Field(max_length=2000), AfterValidator(_url_prefix)] | None, NoneIfBlank
    ] = Field(None, description="Filter results to URLs starting with this prefix", examples=["/docs/module1"])
    section: Annotated[Annotated[str, Field(max_length=500)] | None, NoneIfBlank] = Field(
        None, description="Filter results to specific section name (exact match)", examples=["Inverse Kinematics"]
    )
    version: VersionName = None


class ChatRequest(StrictBody):
    """A question, optionally in a session, about a selection, or with filters."""

    query: Annotated[str, Field(min_length=1, max_length=32_000), AfterValidator(_not_blank)] = Field(
        description="Natural language question about the book", examples=["What is inverse kinematics?"]
    )
    selected_text: Annotated[Annotated[str, Field(max_length=64_000)] | None, NoneIfBlank] = Field(
        None, description="If provided, the answer is grounded in this text only"
    )
    session_id: Annotated[Annotated[UUID4, Field(strict=False)] | None, NoneIfBlank] = Field(
        None, description="Session id for conversation history; generated if not provided"
    )
    filters: MetadataFilter | None = Field(None, description="Optional filters for retrieval")

    @property
    def named_session(self) -> str | None:
        return str(self.session_id) if self.session_id else None


class SourceCitation(BaseModel):
    """A citation of a passage of the book."""

    source_url: str = Field(description="Full URL of the book section; opens the page at the quote")
    title: str = Field(description="Title of the document or chapter")
    section: str = Field(description="Section heading")
    chunk_position: int = Field(ge=0, description="Position of the chunk in the document")
    similarity_score: float = Field(ge=0.0, le=1.0, description="Calibrated similarity score")
    snippet: str = Field(max_length=MAX_SNIPPET_CHARACTERS, description="First 200 characters of the chunk")


class SelectedTextCitation(BaseModel):
    """The citation of an answer about a selection."""

    source_type: Literal["selected_text"] = "selected_text"
    selection_length: int = Field(ge=0, description="Length of the selection in characters")
    snippet: str = Field(max_length=MAX_SNIPPET_CHARACTERS, description="First 200 characters of the selection")
    relevance_note: str = Field(description="How the selection relates to the answer")


class SelectionInHistory(SelectedTextCitation, SourceCitation):
    """The same citation in a history, whose contract has passages only: as a passage without a URL."""


class ResponseMetadata(BaseModel):
    """Metadata about the response."""

    query_time_ms: float = Field(ge=0, description="Total processing time in milliseconds")
    retrieval_count: int = Field(ge=0, description="Number of chunks retrieved")
    mode: Mode
    low_confidence: bool = Field(
        default=False, description="True if the best passage scored at least 0.3 and less than 0.5"
    )
    request_id: UUID = Field(description="UUID v4 of the request, for tracing")


class ChatResponse(BaseModel):
    """Complete response to a chat request."""

    answer: str | None = Field(None, description="The answer; null if no language model is available")
    fallback_message: str | None = Field(None, description="Quotes from the book, if the answer is null")
    sources: list[SourceCitation | SelectedTextCitation] = Field(default_factory=list)
    metadata: ResponseMetadata
    session_id: UUID


class ErrorResponse(BaseModel):
    """Structured error response."""

    error_code: str = Field(description="Machine-readable error code", examples=["EMPTY_QUERY"])
    message: str = Field(description="Human-readable error message", examples=["Query cannot be empty"])
    request_id: UUID = Field(description="UUID v4 of the request, for tracing")
    details: dict[str, Any] | None = Field(None, description="Additional details, in development mode only")


class HistoryEntry(BaseModel):
    """Single conversation turn."""

    timestamp: datetime
    query: str
    response: str
    sources: list[SourceCitation | SelectionInHistory]
    metadata: dict[str, Any] | None = Field(
        None, description="Quotes, verdicts and other metadata, as in a stream; only with `details=true`"
    )


class ConversationHistoryResponse(BaseModel):
    """Conversation history for a session."""

    session_id: UUID
    entries: list[HistoryEntry] = Field(description="Conversation history, oldest first")
    total_entries: int = Field(ge=0, description="Total number of entries")


def _render_error(problem: Problem) -> ErrorResponse:
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
    _render_error,
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
    """Ask, stream an answer, and read the history."""
    router = DOOR.router()

    def build_question(request: Request, body: ChatRequest, key: SessionKey, name: str | None) -> Question:
        filters = ServerAddress.of(request).filters(Filters(**body.filters.model_dump()) if body.filters else Filters())
        return Question(body.query, body.selected_text, filters, session=key, idempotency_key=name)

    @router.post("/chat", tags=["chat"])
    async def chat(body: ChatRequest, request: Request) -> ChatResponse:
        """Ask the book; the answer is checked, cited and stored in the session."""
        name = idempotency_key(request)
        key = session_for(request, body.named_session, name)
        result = await service.answer(request, build_question(request, body, key, name))
        answer, unavailable = result.answer, result.answer.mode is Mode.RETRIEVAL_ONLY
        return ChatResponse(
            answer=None if unavailable else answer.text + suggestion_list(answer),
            fallback_message=_fallback(answer),
            sources=_sources(result, body.selected_text),
            metadata=_metadata(result, context_of(request)),
            session_id=UUID(key.name),
        )

    @router.post(
        "/chat/stream", tags=["chat"], response_class=Response, responses={200: {"content": EVENT_STREAM_CONTENT}}
    )
    async def chat_stream(body: ChatRequest, request: Request) -> Response:
        """The same as a stream of events: `delta`, `sources`, `done`, or `error`."""
        given, address = idempotency_key(request), ServerAddress.of(request)
        context = context_of(request)

        def question(stream_id: str) -> Question:
            name = given or stream_id
            return build_question(request, body, session_for(request, body.named_session, name), name)

        def sources(result: AnswerWithReceipt) -> dict[str, Any]:
            metadata = _metadata(result, context).model_dump(mode="json") | stream_metadata(result.answer, address)
            return {"sources": dump_models(_sources(result, body.selected_text)), "metadata": metadata}

        return await service.stream(request, DOOR, question, sources)

    _history_route(router, service)
    return router


def _history_route(router: APIRouter, service: AnswerService) -> None:
    @router.get("/history/{session_id}", tags=["chat"], response_model_exclude_none=True)
    async def history(
        session_id: UUID4,
        request: Request,
        limit: Annotated[int, Query(ge=1, le=MAX_HISTORY)] = MAX_HISTORY,
        details: Annotated[
            bool, Query(description="Include quotes, verdicts and the other metadata of a stream")
        ] = False,
    ) -> ConversationHistoryResponse:
        """The latest exchanges of a session, oldest first."""
        found = await service.engine.records.history(session_for(request, str(session_id)), limit)
        address = ServerAddress.of(request)
        exchanges = [replace(exchange, answer=address.answer(exchange.answer)) for exchange in found.exchanges]
        entries = [
            HistoryEntry(
                timestamp=exchange.timestamp,
                query=exchange.question,
                response=exchange.answer.text + suggestion_list(exchange.answer),
                sources=[*_citations(exchange.answer), *_selection_in_history(exchange)],
                metadata=_history_metadata(exchange, address) if details else None,
            )
            for exchange in exchanges
        ]
        return ConversationHistoryResponse(session_id=session_id, entries=entries, total_entries=found.total)


def _history_metadata(exchange: Exchange, address: ServerAddress) -> dict[str, Any]:
    answer = exchange.answer
    return stream_metadata(answer, address) | {"mode": answer.mode, "selected_text": exchange.selection}


def stream_metadata(answer: Answer, address: ServerAddress) -> dict[str, Any]:
    """Metadata beyond the contract, for pages that show verdicts, quotes and suggestions."""
    return {
        "session_id": answer.session_id,
        "server_url": address.base,
        "receipt_id": answer.receipt_id,
        "stored": answer.stored,
        "degraded": answer.degraded,
        "keywords_only": answer.keywords_only,
        "abstained": answer.abstained,
        "confidence": answer.confidence,
        "fallback_message": _fallback(answer),
        "withheld": len(answer.unsupported_claims),
        "suggestions": [asdict(suggestion) for suggestion in answer.suggestions],
        "citations": [{"number": c.number, "quote": c.quote, "start": c.start, "end": c.end} for c in answer.citations],
        "verdicts": [
            {
                "citations": s.citations,
                "status": s.verdict.status,
                "score": s.verdict.score,
                "quote": s.verdict.evidence.quote if s.verdict.evidence else "",
            }
            for s in answer.sentences
            if s.verdict
        ],
        "formulas": typeset_all((answer.text, *_quotes(answer))),
    }


def _quotes(answer: Answer) -> list[str]:
    evidence = [s.verdict.evidence.quote for s in answer.sentences if s.verdict and s.verdict.evidence]
    return [*(citation.quote for citation in answer.citations), *evidence]


def _fallback(answer: Answer) -> str | None:
    return f"{UNAVAILABLE_NOTICE} {answer.text}" if answer.mode is Mode.RETRIEVAL_ONLY else None


def _sources(result: AnswerWithReceipt, selection: str | None) -> list[SourceCitation | SelectedTextCitation]:
    if selection is None:
        return [*_citations(result.answer), *_uncited(result)]
    return [_selection(result.answer, selection)] if result.answer.citations else []


def _selection(answer: Answer, selection: str) -> SelectedTextCitation:
    return SelectedTextCitation(
        selection_length=len(selection),
        snippet=selection[:MAX_SNIPPET_CHARACTERS],
        relevance_note=answer.selection_note,
    )


def _selection_in_history(exchange: Exchange) -> list[SelectionInHistory]:
    """The selection as the source of an answer about it: the whole one, or as much as another service stored of it."""
    if exchange.answer.mode is not Mode.SELECTED_TEXT:
        return []
    return [
        SelectionInHistory(
            **_selection(exchange.answer, exchange.selection or c.quote).model_dump(),
            **_citation(c).model_dump(exclude={"snippet"}),
        )
        for c in exchange.answer.citations
    ]


def _uncited(result: AnswerWithReceipt) -> list[SourceCitation]:
    """The other passages found, if no language model was available: after those cited, so that `[n]` is the n-th."""
    if result.answer.mode is not Mode.RETRIEVAL_ONLY:
        return []
    cited = {citation.chunk_id for citation in result.answer.citations}
    return [
        SourceCitation(
            source_url=passage.section_link,
            title=passage.title,
            section=passage.section,
            chunk_position=passage.position,
            similarity_score=passage.score,
            snippet=passage.text[:MAX_SNIPPET_CHARACTERS],
        )
        for passage in result.passages
        if passage.chunk_id not in cited
    ]


def _citations(answer: Answer) -> list[SourceCitation]:
    return [_citation(c) for c in cited_sources(answer)]


def _citation(cited: Citation) -> SourceCitation:
    return SourceCitation(
        source_url=cited.url,
        title=cited.title,
        section=cited.section,
        chunk_position=cited.position,
        similarity_score=cited.score,
        snippet=(cited.snippet or cited.quote)[:MAX_SNIPPET_CHARACTERS],
    )


def _metadata(result: AnswerWithReceipt, context: RequestContext) -> ResponseMetadata:
    return ResponseMetadata(
        query_time_ms=milliseconds(context),
        retrieval_count=len(result.receipt.passages),
        mode=result.answer.mode,
        low_confidence=has_low_confidence(result),
        request_id=UUID(context.request_id),
    )
