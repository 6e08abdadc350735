"""The outermost middleware: request ids, log lines, metrics, tracing and security headers."""

from __future__ import annotations

import logging
from http import HTTPMethod

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glossator.core.timing import collect_stage_times, current_request_id
from glossator.serve.middleware.context import RequestContext
from glossator.serve.ops.metrics import Metrics
from glossator.serve.ops.tracing import RequestTracer, no_tracing

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:;"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_METHODS = frozenset(HTTPMethod)
_log = logging.getLogger("glossator.requests")


class RequestMiddleware:
    """Gives every response an id and security headers, and logs and measures every request, whatever happens."""

    def __init__(self, app: ASGIApp, metrics: Metrics, trace: RequestTracer = no_tracing) -> None:
        self.app = app
        self.metrics = metrics
        self.trace = trace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = RequestContext(times=collect_stage_times())
        context.attach(scope)
        token = current_request_id.set(context.request_id)
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, context.request_id)
            await send(message)

        self.metrics.running.inc()
        try:
            with self.trace(scope) as end_span:
                try:
                    await self.app(scope, receive, send_with_headers)
                finally:
                    end_span(_route(scope), status)
        finally:
            self.metrics.running.dec()
            self._record(scope, context, status)
            current_request_id.reset(token)

    def _record(self, scope: Scope, context: RequestContext, status: int) -> None:
        method, route = _method(scope), _route(scope)
        self.metrics.record_request(method, route, status, context.seconds, context.times)
        fields = {
            "method": method,
            "route": route,
            "status": status,
            "ms": round(1000 * context.seconds, 1),
            "caller": context.caller.name,
            "problem": context.error_code,
        }
        _log.info("%s %s %s", method, route, status, extra=fields)


def _add_headers(start: Message, request_id: str) -> None:
    headers = MutableHeaders(scope=start)
    headers["X-Request-ID"] = request_id
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)


def _method(scope: Scope) -> str:
    """The method, if HTTP has it: logs and metrics must not grow with methods that clients invent, either."""
    return scope["method"] if scope["method"] in _METHODS else "other"


def _route(scope: Scope) -> str:
    """The path of the route, not of the request: logs and metrics must not grow with paths that clients invent."""
    return str(getattr(scope.get("route"), "path", None) or "other")
