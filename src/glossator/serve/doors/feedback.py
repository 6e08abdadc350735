"""Feedback: a reader's rating of an answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from glossator.core.conversations import Rating
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.agent import SessionId
from glossator.serve.doors.base import DEFAULT_DOOR, StrictBody
from glossator.serve.doors.service import session_for
from glossator.serve.ops.metrics import Metrics


class FeedbackRequest(StrictBody):
    """A reader's rating of an answer."""

    receipt_id: Annotated[str, Field(min_length=1, max_length=100, pattern="^[0-9A-Za-z]+$")]
    rating: Annotated[Rating, Field(strict=False)]
    reason: Annotated[str, Field(max_length=200)] = ""
    text: Annotated[str, Field(max_length=4000)] = ""
    session_id: SessionId | None = None


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
        await engine.records.add_feedback(body.receipt_id, body.rating, body.reason, body.text, session)
        metrics.feedback.labels(body.rating).inc()
        return FeedbackResponse()

    return router
