"""Spans for OpenTelemetry, where its own variables say where they go (OTEL_EXPORTER_OTLP_ENDPOINT)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http import HTTPStatus

from starlette.types import Scope

from glossator.core.errors import SettingsError
from glossator.core.timing import trace_with

_WHERE = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
Tell = Callable[[str, int], None]
"""How a request ended: its route and its status."""
Span = Callable[[Scope], AbstractContextManager[Tell]]


def configured() -> bool:
    """Whether anybody wants spans."""
    return any(os.environ.get(name) for name in _WHERE) and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def no_span(_scope: Scope) -> AbstractContextManager[Tell]:
    """Nobody does."""
    return nullcontext(lambda _route, _status: None)


def start_tracing() -> tuple[Span, Callable[[], None]]:
    """A span for each request and each stage, sent away in the background; and what sends the last of them."""
    try:
        from opentelemetry import propagate, trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise SettingsError(
            f"{_WHERE[0]} is set, but OpenTelemetry's SDK is not installed.",
            "Install it with pip install 'glossator[otel]', or unset the variable.",
        ) from None
    name = os.environ.get("OTEL_SERVICE_NAME", "glossator")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("glossator")
    trace_with(tracer.start_as_current_span)

    @contextmanager
    def request_span(scope: Scope) -> Iterator[Tell]:
        carried = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        method, parent = scope["method"], propagate.extract(carried)
        about = {"http.request.method": method}
        with tracer.start_as_current_span(method, parent, trace.SpanKind.SERVER, about) as span:

            def tell(route: str, status: int) -> None:
                span.update_name(f"{method} {route}")
                span.set_attributes({"http.route": route, "http.response.status_code": status})
                if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    span.set_status(trace.StatusCode.ERROR)

            yield tell

    return request_span, provider.shutdown
