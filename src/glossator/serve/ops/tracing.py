"""OpenTelemetry tracing, enabled by OpenTelemetry's own environment variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http import HTTPStatus

from starlette.types import Scope

from glossator.core.extras import require
from glossator.core.timing import set_span_factory

_ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
EndSpan = Callable[[str, int], None]
"""Records the route and the status of a finished request."""
RequestTracer = Callable[[Scope], AbstractContextManager[EndSpan]]


def tracing_enabled() -> bool:
    """Whether an endpoint for spans is configured."""
    configured = any(os.environ.get(name) for name in _ENDPOINT_VARIABLES)
    return configured and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def require_tracing() -> None:
    """Refuse tracing if its packages are not installed."""
    require("otel", f"The OpenTelemetry SDK ({_ENDPOINT_VARIABLES[0]})")


def no_tracing(_scope: Scope) -> AbstractContextManager[EndSpan]:
    """A tracer that records nothing."""
    return nullcontext(lambda _route, _status: None)


def start_tracing() -> tuple[RequestTracer, Callable[[], None]]:
    """A tracer that exports a span for each request and stage in the background; and a function that flushes them."""
    require_tracing()
    from opentelemetry import propagate, trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = os.environ.get("OTEL_SERVICE_NAME", "glossator")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("glossator")
    set_span_factory(tracer.start_as_current_span)

    @contextmanager
    def trace_request(scope: Scope) -> Iterator[EndSpan]:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        method, parent = scope["method"][:20], propagate.extract(headers)
        attributes = {"http.request.method": method}
        with tracer.start_as_current_span(method, parent, trace.SpanKind.SERVER, attributes) as span:

            def end_span(route: str, status: int) -> None:
                span.update_name(f"{method} {route}")
                span.set_attributes({"http.route": route, "http.response.status_code": status})
                if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    span.set_status(trace.StatusCode.ERROR)

            yield end_span

    return trace_request, provider.shutdown
