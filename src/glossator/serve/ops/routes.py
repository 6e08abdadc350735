"""Routes for operators: liveness, readiness, health and metrics."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, PlainTextResponse, Response

from glossator import __version__
from glossator.serve.doors.base import DEFAULT_DOOR, with_request
from glossator.serve.middleware.context import context_of
from glossator.serve.ops.health import HealthChecker, ProbeResult
from glossator.serve.ops.metrics import Metrics

OverallStatus = Literal["healthy", "degraded", "unavailable"]
_PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class ServiceStatus(BaseModel):
    """Status of a dependent service."""

    name: str
    status: Literal["healthy", "degraded", "unavailable"]
    latency_ms: float | None = None
    error: str | None = None


class DependencyHealth(BaseModel):
    """Health status of a single dependency."""

    status: Literal["connected", "configured", "error"]
    details: dict[str, Any] | None = None


class HealthResponse(BaseModel):
    """Health check response; `dependencies` is what another contract calls `services`."""

    status: Literal["healthy", "degraded", "unavailable"]
    timestamp: datetime
    services: dict[str, ServiceStatus]
    version: str = Field(description="API version")
    dependencies: dict[str, DependencyHealth]


class AskHealthResponse(BaseModel):
    """Service health check response."""

    status: Literal["healthy", "degraded", "unhealthy"]
    dependencies: dict[str, DependencyHealth]


def health_routes(health: HealthChecker) -> APIRouter:
    """Liveness, readiness, and the health of each dependency."""
    router = DEFAULT_DOOR.router()

    @router.get("/livez", tags=["operations"], response_class=PlainTextResponse)
    async def livez() -> str:
        """Whether the process responds."""
        return "ok"

    @router.get("/readyz", tags=["operations"])
    async def readyz(request: Request) -> Response:
        """Whether questions can be answered."""
        return _ready_response(request, await health.check(), health)

    @router.get("/health", tags=["chat"], response_model=HealthResponse, responses={503: {"model": HealthResponse}})
    async def whole_health() -> Response:
        """Health of the server and its dependencies: `degraded` still answers questions, `unavailable` does not."""
        results = await health.check()
        return _health_response(_health(results), results)

    @router.get(
        "/ask/health", tags=["ask"], response_model=AskHealthResponse, responses={503: {"model": AskHealthResponse}}
    )
    async def ask_health() -> Response:
        """The same in the shape of the ask contract."""
        results = await health.check()
        return _health_response(_ask_health(results), results)

    return router


def metrics_routes(metrics: Metrics) -> APIRouter:
    """Metrics in Prometheus text format."""
    router = DEFAULT_DOOR.router()

    @router.get("/metrics", tags=["operations"], response_class=PlainTextResponse)
    async def measured() -> Response:
        """Metrics in Prometheus text format."""
        return Response(await asyncio.to_thread(metrics.render), media_type=_PROMETHEUS_TEXT)

    return router


def _ready_response(request: Request, results: dict[str, ProbeResult], health: HealthChecker) -> Response:
    index, records = results["index"], results["records"]
    if index.problem is not None:
        context = context_of(request)
        context.error_code = index.problem.code
        return DEFAULT_DOOR.error_response(with_request(index.problem, context.request_id, dev=False))
    state: dict[str, Any] = {
        "status": "ready",
        "generation": (index.details or {})["generation"],
        "records": "ok" if records.healthy else "down",
    }
    models = {"embedder": health.embedder, "language_models": health.language_models, "reader": health.reader}
    return JSONResponse(state | {name: found for name, found in models.items() if found})


def _health(results: dict[str, ProbeResult]) -> HealthResponse:
    return HealthResponse(
        status=_overall(results),
        timestamp=datetime.now(UTC),
        services={name: _service(result) for name, result in results.items()},
        version=__version__,
        dependencies={name: _dependency(result) for name, result in results.items()},
    )


def _ask_health(results: dict[str, ProbeResult]) -> AskHealthResponse:
    status = _overall(results)
    return AskHealthResponse(
        status="unhealthy" if status == "unavailable" else status,
        dependencies={name: _dependency(result) for name, result in results.items()},
    )


def _health_response(body: BaseModel, results: dict[str, ProbeResult]) -> Response:
    status = HTTPStatus.SERVICE_UNAVAILABLE if _overall(results) == "unavailable" else HTTPStatus.OK
    return JSONResponse(body.model_dump(mode="json"), status)


def _overall(results: dict[str, ProbeResult]) -> OverallStatus:
    if not results["index"].healthy:
        return "unavailable"
    return "healthy" if all(result.error is None for result in results.values()) else "degraded"


def _service(result: ProbeResult) -> ServiceStatus:
    status: OverallStatus = "degraded" if result.degraded else "healthy"
    return ServiceStatus(
        name=result.name,
        status=status if result.healthy else "unavailable",
        latency_ms=result.milliseconds,
        error=result.error,
    )


def _dependency(result: ProbeResult) -> DependencyHealth:
    if not result.healthy:
        return DependencyHealth(status="error", details={"error": result.error})
    connected = result.name != "language_model"
    return DependencyHealth(status="connected" if connected else "configured", details=result.details)
