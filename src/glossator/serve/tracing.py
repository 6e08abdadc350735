"""Spans for OpenTelemetry, where its own variables say where they go (OTEL_EXPORTER_OTLP_ENDPOINT)."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from starlette.types import Scope

from glossator.core.errors import SettingsError
from glossator.core.stages import trace_with

_WHERE = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
Span = Callable[[Scope], AbstractContextManager[Any]]


def configured() -> bool:
    """Whether anybody wants spans."""
    return any(os.environ.get(name) for name in _WHERE) and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def no_span(_scope: Scope) -> AbstractContextManager[Any]:
    """Nobody does."""
    return nullcontext()


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

    def request_span(scope: Scope) -> AbstractContextManager[Any]:
        carried = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        attributes = {"http.request.method": scope["method"]}
        return tracer.start_as_current_span(
            scope["method"], context=propagate.extract(carried), kind=trace.SpanKind.SERVER, attributes=attributes
        )

    return request_span, provider.shutdown
