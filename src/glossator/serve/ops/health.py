"""Whether the server is well: each thing it needs is tried, in its own time, at most once a second."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, PlainTextResponse, Response

from glossator import __version__, pipeline
from glossator.core.errors import GlossatorError, LanguageModelDown
from glossator.core.question import Question
from glossator.core.timing import watch
from glossator.core.types import Retrieved
from glossator.pipeline.wiring import Engine
from glossator.serve.doors.base import PLAIN, with_request
from glossator.serve.middleware.context import context_of
from glossator.serve.ops.metrics import Metrics
from glossator.serve.problems import Problem, problem_of

PROBE_SECONDS = 2.0
"""Time that one probe has: a dead dependency must not make health hang."""
KEPT_SECONDS = 1.0
_log = logging.getLogger(__name__)
_UNKNOWN = "It does not answer in time."


@dataclass(frozen=True, slots=True)
class Found:
    """What a probe found out."""

    name: str
    milliseconds: float
    problem: Problem | None = None
    details: dict[str, Any] | None = None

    @property
    def well(self) -> bool:
        return self.problem is None

    @property
    def error(self) -> str | None:
        return self.problem.message if self.problem else None


class Health:
    """The latest findings, made anew when they are older than a second; whoever asks meanwhile waits for the same."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._found: tuple[float, dict[str, Found]] | None = None
        self._lock = asyncio.Lock()
        self._searching: asyncio.Task[Retrieved] | None = None

    async def look(self) -> dict[str, Found]:
        """How each thing is."""
        async with self._lock:
            if self._found is None or time.monotonic() - self._found[0] > KEPT_SECONDS:
                probes = {"index": self._index, "records": self._records, "language_model": self._language_model}
                found = await asyncio.gather(*(_probe(name, probe) for name, probe in probes.items()))
                self._found = time.monotonic(), {item.name: item for item in found}
            return self._found[1]

    @property
    def models(self) -> dict[str, str]:
        """How the breaker of each language model stands."""
        return self._engine.model_states

    async def _index(self) -> dict[str, Any]:
        """One search at a time: each that hangs keeps a thread, and there are not many."""
        if self._searching is None or self._searching.done():
            self._searching = asyncio.create_task(pipeline.search(self._engine, Question("ready", top_k=1)))
            self._searching.add_done_callback(lambda task: task.cancelled() or task.exception())
        return {"generation": (await asyncio.shield(self._searching)).generation}

    async def _records(self) -> dict[str, Any]:
        return {"revision": await self._engine.records.database.revision()}

    async def _language_model(self) -> dict[str, Any]:
        """No call is made for this: the breakers know how the last ones went."""
        states = self.models
        if states and "closed" not in states.values():
            raise LanguageModelDown("Every language model is left alone for a while.")
        return {"models": states} if states else {"models": {}, "answers": "the book's own sentences"}


async def _probe(name: str, probe: Callable[[], Awaitable[dict[str, Any]]]) -> Found:
    started = time.perf_counter()
    problem = details = None
    watch()  # its times are no answer's
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            details = await probe()
    except TimeoutError:
        problem = Problem(503, "SERVICE_UNAVAILABLE", _UNKNOWN, retry_after=5)
    except Exception as error:
        problem = problem_of(error)
        if not isinstance(error, GlossatorError):
            _log.error("%s", type(error).__name__, exc_info=error)
    return Found(name, round(1000 * (time.perf_counter() - started), 2), problem, details)


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


def routes(health: Health, metrics: Metrics) -> APIRouter:
    """Alive, ready, healthy, and measured."""
    router = PLAIN.router()

    @router.get("/livez", tags=["operations"], response_class=PlainTextResponse)
    async def livez() -> str:
        """Whether the process answers."""
        return "ok"

    @router.get("/readyz", tags=["operations"])
    async def readyz(request: Request) -> Response:
        """Whether questions can be answered."""
        found = await health.look()
        index, records = found["index"], found["records"]
        if index.problem is not None:
            context_of(request).problem = index.problem.code
            return PLAIN.answer(with_request(index.problem, context_of(request).request_id, dev=False))
        state: dict[str, Any] = {
            "status": "ready",
            "generation": (index.details or {})["generation"],
            "records": "ok" if records.well else "down",
        }
        return JSONResponse(state | ({"language_models": health.models} if health.models else {}))

    @router.get("/health", tags=["chat"], response_model=HealthResponse, responses={503: {"model": HealthResponse}})
    async def whole_health() -> Response:
        """How the server and everything it needs are: degraded answers still, unavailable does not."""
        found = await health.look()
        status = _overall(found)
        body = HealthResponse(
            status=status,
            timestamp=datetime.now(UTC),
            services={name: _service(item) for name, item in found.items()},
            version=__version__,
            dependencies={name: _dependency(item) for name, item in found.items()},
        )
        return JSONResponse(body.model_dump(mode="json"), 503 if status == "unavailable" else 200)

    @router.get(
        "/ask/health", tags=["ask"], response_model=AskHealthResponse, responses={503: {"model": AskHealthResponse}}
    )
    async def ask_health() -> Response:
        """The same as the ask door tells it."""
        found = await health.look()
        status = _overall(found)
        body = AskHealthResponse(
            status="unhealthy" if status == "unavailable" else status,
            dependencies={name: _dependency(item) for name, item in found.items()},
        )
        return JSONResponse(body.model_dump(mode="json"), 503 if status == "unavailable" else 200)

    @router.get("/metrics", tags=["operations"], response_class=PlainTextResponse)
    async def measured() -> Response:
        """Counts and times, for Prometheus."""
        return Response(await asyncio.to_thread(metrics.text), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def _overall(found: dict[str, Found]) -> Literal["healthy", "degraded", "unavailable"]:
    if not found["index"].well:
        return "unavailable"
    return "healthy" if all(item.well for item in found.values()) else "degraded"


def _service(found: Found) -> ServiceStatus:
    lost: Literal["degraded", "unavailable"] = "unavailable"
    return ServiceStatus(
        name=found.name, status="healthy" if found.well else lost, latency_ms=found.milliseconds, error=found.error
    )


def _dependency(found: Found) -> DependencyHealth:
    if not found.well:
        return DependencyHealth(status="error", details={"error": found.error})
    connected = found.name != "language_model"
    return DependencyHealth(status="connected" if connected else "configured", details=found.details)
