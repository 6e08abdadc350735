"""The grounded door (contract 001): answers with the result of their grounding check, with or without a session."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field, model_validator
from starlette.responses import Response

from glossator.core.answers import Answer, Delta, Mode
from glossator.core.conversations import MAX_CONTEXT_MESSAGES, ContextMode, Exchange, Session, SessionState
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.thresholds import MEDIUM
from glossator.core.types import Filters
from glossator.pipeline import conversations
from glossator.serve.doors.addresses import ServerAddress
from glossator.serve.doors.agent import CODES, ErrorResponse, SessionId
from glossator.serve.doors.agent import DOOR as AGENT
from glossator.serve.doors.base import EVENT_STREAM_CONTENT, Door, NoneIfBlank, StrictBody, VersionName
from glossator.serve.doors.service import (
    AnswerService,
    cited_sources,
    dump_models,
    idempotency_key,
    session_for,
    suggestion_list,
    with_notice,
)
from glossator.serve.doors.streams import cut_after_citation

MAX_RESPONSE = 10_000
USER_CONTEXT = "user_context"


class QueryFilters(StrictBody):
    """Metadata filters; a passage must match all of them."""

    chapter: Annotated[Annotated[str, Field(max_length=500)] | None, NoneIfBlank] = None
    section: Annotated[Annotated[str, Field(max_length=500)] | None, NoneIfBlank] = None
    version: VersionName = None


class AgentRequest(StrictBody):
    """A question with optional context, filters and conversation."""

    query_text: Annotated[str, Field(min_length=1, max_length=1000)] = Field(description="The user's question")
    context_mode: Literal["retrieval_pipeline", "user_provided"] = Field(
        "retrieval_pipeline", description="Whether to answer from the book or from `user_context`"
    )
    user_context: Annotated[Annotated[str, Field(max_length=64_000)] | None, NoneIfBlank] = Field(
        None, description="The text to answer from if `context_mode` is `user_provided`"
    )
    filters: QueryFilters | None = Field(None, description="Metadata filters for retrieval")
    conversation_id: Annotated[SessionId | None, NoneIfBlank] = Field(
        None, description="Id of the conversation to continue"
    )
    thread_id: Annotated[SessionId | None, NoneIfBlank] = Field(
        None, description="Alias of `conversation_id`, as the Assistants API calls it"
    )
    stream: bool = Field(False, description="Whether to stream the answer as server-sent events")

    @model_validator(mode="after")
    def _check_context(self) -> Self:
        if self.context_mode == "user_provided" and self.user_context is None:
            raise ValueError("user_context is required when context_mode is user_provided")
        if self.conversation_id and self.thread_id and self.conversation_id != self.thread_id:
            raise ValueError("conversation_id and thread_id differ; send only one of them")
        return self

    @property
    def conversation(self) -> str | None:
        return self.conversation_id or self.thread_id

    @property
    def context(self) -> str | None:
        return self.user_context if self.context_mode == "user_provided" else None


class GroundedSource(BaseModel):
    """A source of the response."""

    content_id: str = Field(description="Id of the chunk")
    source_url: str
    chapter: str
    section: str | None = None


class GroundingValidation(BaseModel):
    """Whether every claim of the draft is supported; unsupported claims are not in the response."""

    is_fully_grounded: bool
    is_fully_ground: bool = Field(description="Same as `is_fully_grounded`, as the contract spells it")
    unsupported_claims: list[str]


class AgentResponse(BaseModel):
    """The response with its sources and the result of the grounding check."""

    response_text: str = Field(min_length=1, max_length=MAX_RESPONSE)
    sources: list[GroundedSource]
    confidence_score: float = Field(ge=0, le=1)
    grounding_validation: GroundingValidation
    conversation_id: str
    timestamp: datetime
    state: Literal["delivered", "flagged"] = Field(description="`flagged` if it failed validation")


class HistoryMessage(BaseModel):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    content: str
    timestamp: datetime
    sources: list[GroundedSource] = Field(
        default_factory=list, description="Sources of the answer; `[n]` in its content cites the n-th"
    )


class ConversationSession(BaseModel):
    """A conversation; `openai_thread_id` is its own id, because the SDK has no threads."""

    session_id: str
    openai_thread_id: str
    created_at: datetime
    last_interaction: datetime
    user_id: str | None
    context_mode: ContextMode
    active_filters: dict[str, str] | None
    conversation_history: list[HistoryMessage] = Field(max_length=MAX_CONTEXT_MESSAGES)
    state: SessionState


DOOR = Door("grounded", ("/agent/query",), ErrorResponse, AGENT.render_error, CODES)


def routes(service: AnswerService) -> APIRouter:
    """Query, query in a session, and sessions."""
    router = DOOR.router()
    responses: dict[int | str, dict[str, Any]] = {200: {"content": EVENT_STREAM_CONTENT}}

    @router.post("/agent/query", tags=["grounded"], response_model=AgentResponse, responses=responses)
    @router.post("/agent/query/session", tags=["grounded"], response_model=AgentResponse, responses=responses)
    async def query(body: AgentRequest, request: Request) -> AgentResponse | Response:
        """Ask in a conversation; without an id, a new one is created."""
        filters = Filters(**body.filters.model_dump()) if body.filters else Filters()

        def question(name: str | None) -> Question:
            key = session_for(request, body.conversation, name)
            return Question(body.query_text, body.context, filters, session=key, idempotency_key=name)

        if body.stream:

            def sources(result: AnswerWithReceipt) -> dict[str, Any]:
                response = _response(result)
                metadata = response.model_dump(mode="json", exclude={"response_text", "sources"})
                return {"sources": dump_models(response.sources), "metadata": metadata}

            return await service.stream(
                request,
                DOOR,
                lambda name: question(idempotency_key(request) or name),
                sources,
                text=with_notice,
                max_characters=MAX_RESPONSE,
            )
        return _response(await service.answer(request, question(idempotency_key(request))))

    _session_routes(router, service)
    return router


def _session_routes(router: APIRouter, service: AnswerService) -> None:
    async def load_session(request: Request, session_id: str) -> ConversationSession:
        found, exchanges = await conversations.full_history(service.engine, session_for(request, session_id))
        return _session(found, exchanges, ServerAddress.of(request))

    @router.get("/agent/query/session/{session_id}", tags=["grounded"])
    async def session(session_id: Annotated[SessionId, Path()], request: Request) -> ConversationSession:
        """A conversation with its messages."""
        return await load_session(request, session_id)

    @router.delete("/agent/query/session/{session_id}", tags=["grounded"], status_code=204)
    async def delete(session_id: Annotated[SessionId, Path()], request: Request) -> None:
        """Delete a conversation and everything in it."""
        await conversations.delete(service.engine, session_for(request, session_id))

    @router.post("/agent/query/session/{session_id}/reset", tags=["grounded"])
    async def reset(session_id: Annotated[SessionId, Path()], request: Request) -> ConversationSession:
        """Clear a conversation; its id stays valid."""
        await conversations.reset(service.engine, session_for(request, session_id))
        return await load_session(request, session_id)


def _response(result: AnswerWithReceipt) -> AgentResponse:
    answer = result.answer
    unsupported = list(dict.fromkeys(claim.text for claim in answer.unsupported_claims))
    flagged = bool(unsupported) or answer.confidence < MEDIUM
    return AgentResponse(
        response_text=_text(answer),
        sources=_sources(answer),
        confidence_score=answer.confidence,
        grounding_validation=GroundingValidation(
            is_fully_grounded=not unsupported, is_fully_ground=not unsupported, unsupported_claims=unsupported
        ),
        conversation_id=answer.session_id,
        timestamp=datetime.now(UTC),
        state="flagged" if flagged else "delivered",
    )


def _text(answer: Answer) -> str:
    """The text, cut after its last citation if it is longer than the contract allows."""
    return cut_after_citation(with_notice(Delta.of(answer)) + suggestion_list(answer), MAX_RESPONSE)


def _sources(answer: Answer) -> list[GroundedSource]:
    if answer.mode is Mode.SELECTED_TEXT:
        return [] if answer.abstained else [GroundedSource(content_id=USER_CONTEXT, source_url="", chapter="")]
    return [
        GroundedSource(content_id=c.chunk_id, source_url=c.url, chapter=c.title, section=c.section or None)
        for c in cited_sources(answer)
    ]


def _session(session: Session, exchanges: list[Exchange], address: ServerAddress) -> ConversationSession:
    messages = [
        message
        for exchange in exchanges
        for message in (
            HistoryMessage(role="user", content=exchange.question, timestamp=exchange.timestamp),
            HistoryMessage(
                role="assistant",
                content=_text(address.answer(exchange.answer)),
                timestamp=exchange.timestamp,
                sources=_sources(address.answer(exchange.answer)),
            ),
        )
    ]
    return ConversationSession(
        session_id=session.key.name,
        openai_thread_id=session.key.name,
        created_at=session.created_at,
        last_interaction=session.last_active,
        user_id=session.key.user_id,
        context_mode=session.context_mode,
        active_filters=session.active_filters or None,
        conversation_history=messages[-MAX_CONTEXT_MESSAGES:],
        state=session.state,
    )
