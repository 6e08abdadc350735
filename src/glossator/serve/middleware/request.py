"""Around every request: an id, a log line, its measures, headers that keep browsers safe, and an answer to errors."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glossator.core.errors import GlossatorError
from glossator.core.timing import watch
from glossator.serve.doors.base import SESSION, Door, door_of, with_request
from glossator.serve.doors.streams import event
from glossator.serve.middleware.context import Context, context_of, current_id
from glossator.serve.ops.metrics import Metrics
from glossator.serve.ops.tracing import Span, no_span
from glossator.serve.problems import Problem, http_problem, invalid, problem_of
from glossator.serve.site.pages import problem_page

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src data:;"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_CLOSING = 1.0
"""Seconds in which a stream that failed may still say so."""
_log = logging.getLogger("glossator.requests")


class Serving:
    """The outermost layer: whatever happens within, the response has an id, and the log one line."""

    def __init__(self, app: ASGIApp, metrics: Metrics, span: Span = no_span) -> None:
        self.app = app
        self.metrics = metrics
        self.span = span

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = Context(times=watch())
        context.put(scope)
        before = current_id.set(context.request_id)
        status = 0

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = context.request_id
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        self.metrics.running.inc()
        try:
            with self.span(scope) as tell:
                try:
                    await self.app(scope, receive, send_marked)
                finally:
                    tell(_template(scope), status)
        finally:
            self.metrics.running.dec()
            route = _template(scope)
            self.metrics.request(scope["method"], route, status, context.seconds, context.times)
            _log.info(
                "%s %s %s",
                scope["method"],
                route,
                status,
                extra={
                    "method": scope["method"],
                    "route": route,
                    "status": status,
                    "ms": round(1000 * context.seconds, 1),
                    "caller": context.caller.name,
                    "problem": context.problem,
                },
            )
            current_id.reset(before)


def _template(scope: Scope) -> str:
    """The route's own path, never what a client wrote: logs and measures must not grow with what clients invent."""
    route = scope.get("route")
    return str(getattr(route, "path", None) or "other")


class Catching:
    """Every error below becomes an answer in the shape of the door it was meant for."""

    def __init__(self, app: ASGIApp, doors: Sequence[Door], *, dev: bool) -> None:
        self.app = app
        self.doors = doors
        self.dev = dev

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun: Message | None = None

        async def send_noting(message: Message) -> None:
            nonlocal begun
            begun = message if message["type"] == "http.response.start" else begun
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        except ClientDisconnect:  # nobody is there to be answered, and nothing is wrong
            return
        except Exception as error:
            if begun is not None and not _is_stream(begun):
                raise
            response = answer(Request(scope, receive), error, self.doors, dev=self.dev)
            if begun is None:
                await response(scope, receive, send)
                return
            # One who does not read is not waited for.
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING):
                    body = event("error", json.loads(bytes(response.body))).encode()
                    await send({"type": "http.response.body", "body": body, "more_body": False})


def _is_stream(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/event-stream")


def answer(request: Request, error: Exception, doors: Sequence[Door], *, dev: bool) -> Response:
    """An error as its door tells it; a fault of ours is logged with all that is known of it."""
    context, door = context_of(request), door_of(request.url.path, doors)
    problem = with_request(as_problem(error, door), context.request_id, dev=dev, session_id=request.scope.get(SESSION))
    context.problem = problem.code
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        known = isinstance(error, GlossatorError)  # whose own words may name a place on the disk
        what = f"{type(error).__name__}: {problem.message}" if known else type(error).__name__
        _log.error("%s", what, exc_info=None if known else error)
    if getattr(request.scope.get("route"), "response_class", None) is HTMLResponse:
        return HTMLResponse(problem_page(problem.message), problem.status)
    response = door.answer(problem)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


def as_problem(error: Exception, door: Door) -> Problem:
    """What is wrong, whoever noticed it."""
    if isinstance(error, RequestValidationError):
        return invalid(list(error.errors()), door.codes)
    if isinstance(error, HTTPException):
        return http_problem(error.status_code)
    return problem_of(error)
