"""Turns every exception into an error response, in the shape of the door that the request was for."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glossator.core.errors import GlossatorError
from glossator.serve.doors.base import SESSION_SCOPE_KEY, Door, door_for, with_request
from glossator.serve.doors.streams import event
from glossator.serve.middleware.books import book_prefix
from glossator.serve.middleware.context import context_of
from glossator.serve.problems import Problem
from glossator.serve.site.pages import problem_page

_ERROR_EVENT_TIMEOUT_SECONDS = 1.0
"""For the error event of a failed stream: a client that does not read must not hold it open."""
_log = logging.getLogger("glossator.requests")


class ErrorMiddleware:
    """Answers every error; a stream that has begun ends with an error event instead."""

    def __init__(self, app: ASGIApp, doors: Sequence[Door], *, dev: bool) -> None:
        self.app = app
        self.doors = doors
        self.dev = dev

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start: Message | None = None

        async def send_and_note_start(message: Message) -> None:
            nonlocal start
            start = message if message["type"] == "http.response.start" else start
            await send(message)

        try:
            await self.app(scope, receive, send_and_note_start)
        except ClientDisconnect:  # nobody is left to answer, and nothing is wrong
            return
        except Exception as error:
            if start is not None and not _is_event_stream(start):
                raise
            response = error_response(Request(scope, receive), error, self.doors, dev=self.dev)
            if start is None:
                await response(scope, receive, send)
            else:
                await _send_error_event(response, send)


def _is_event_stream(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/event-stream")


async def _send_error_event(response: Response, send: Send) -> None:
    body = event("error", json.loads(bytes(response.body))).encode()
    with suppress(TimeoutError):
        async with asyncio.timeout(_ERROR_EVENT_TIMEOUT_SECONDS):
            await send({"type": "http.response.body", "body": body, "more_body": False})


def error_response(request: Request, error: Exception, doors: Sequence[Door], *, dev: bool) -> Response:
    """The response to an error: a page for pages, otherwise in the shape of the door."""
    context, door = context_of(request), door_for(request.url.path, doors)
    session_id = request.scope.get(SESSION_SCOPE_KEY)
    problem = with_request(door.problem_from(error), context.request_id, dev=dev, session_id=session_id)
    context.error_code = problem.code
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log_error(error, problem)
    if getattr(request.scope.get("route"), "response_class", None) is HTMLResponse:
        return HTMLResponse(problem_page(problem.message, book_prefix(request.scope)), problem.status)
    response = door.error_response(problem)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


def _log_error(error: Exception, problem: Problem) -> None:
    """Our own errors are logged with their public message, as their text may name a path; others with a traceback."""
    if isinstance(error, GlossatorError):
        _log.error("%s: %s", type(error).__name__, problem.message)
    else:
        _log.error("%s", type(error).__name__, exc_info=error)
