"""Feedback: users rate answers, and operators list the ratings."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from glossator.core.conversations import Rating
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.agent import SessionId
from glossator.serve.doors.base import DEFAULT_DOOR, NoneIfBlank, StrictBody
from glossator.serve.doors.service import session_for
from glossator.serve.middleware.context import context_of
from glossator.serve.ops.metrics import Metrics

MAX_LISTED = 1000
"""Feedback in one response."""


class FeedbackRequest(StrictBody):
    """A user's rating of an answer."""

    receipt_id: Annotated[str, Field(min_length=1, max_length=100, pattern="^[0-9A-Za-z]+$")]
    rating: Annotated[Rating, Field(strict=False)]
    reason: Annotated[str, Field(max_length=200)] = ""
    text: Annotated[str, Field(max_length=4000)] = ""
    session_id: Annotated[SessionId | None, NoneIfBlank] = None


class FeedbackEntry(BaseModel):
    """Feedback on an answer, with its question."""

    receipt_id: str
    rating: Rating
    reason: str
    text: str
    created_at: datetime
    question: str
    session: str | None = Field(description="Conversation of the answer; null if it has none")


class FeedbackList(BaseModel):
    """Users' feedback."""

    feedback: list[FeedbackEntry] = Field(description="Most recent first")


class FeedbackResponse(BaseModel):
    """Confirms that the feedback was stored."""

    status: str = "stored"


def routes(engine: Engine, metrics: Metrics) -> APIRouter:
    """Feedback."""
    router = DEFAULT_DOOR.router()

    @router.post("/feedback", tags=["feedback"], status_code=201)
    async def feedback(body: FeedbackRequest, request: Request) -> FeedbackResponse:
        """Rate an answer by its receipt id; a second rating in the same session replaces the first."""
        session = session_for(request, body.session_id) if body.session_id else None
        user_id = context_of(request).caller.user_id
        await engine.records.add_feedback(body.receipt_id, body.rating, body.reason, body.text, session, user_id)
        metrics.feedback.labels(body.rating).inc()
        return FeedbackResponse()

    @router.get("/feedback", tags=["feedback"])
    async def list_feedback(limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 100) -> FeedbackList:
        """Users' feedback, most recent first; needs the scope `admin`."""
        found = await engine.records.feedback(limit)
        return FeedbackList(feedback=[FeedbackEntry.model_validate(asdict(each)) for each in found])

    return router
