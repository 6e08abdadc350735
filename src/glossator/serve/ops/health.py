"""Health checks: each dependency is probed with a timeout, and the results are cached for a moment."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from glossator import pipeline
from glossator.core.answers import KEYWORDS_NOTICE
from glossator.core.errors import GlossatorError, LanguageModelUnavailable
from glossator.core.question import Question
from glossator.core.resilience.breaker import BreakerState
from glossator.core.timing import collect_stage_times
from glossator.core.types import RetrievalResult
from glossator.pipeline.wiring import Engine, reader_problem
from glossator.serve.problems import Problem, problem_from

PROBE_TIMEOUT_SECONDS = 2.0
CACHE_SECONDS = 1.0
_RETRY_AFTER_SECONDS = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The state of one dependency."""

    name: str
    milliseconds: float
    problem: Problem | None = None
    details: dict[str, Any] | None = None

    @property
    def healthy(self) -> bool:
        return self.problem is None

    @property
    def degraded(self) -> bool:
        """Whether it works, but one of several language models, or the embedding model, does not."""
        models: dict[str, str] = (self.details or {}).get("models", {})
        return any(state != BreakerState.CLOSED for state in models.values())

    @property
    def error(self) -> str | None:
        if self.problem:
            return self.problem.message
        if not self.degraded:
            return None
        return KEYWORDS_NOTICE if self.name == "index" else "Some of the language models are unavailable."


class HealthChecker:
    """Probes the dependencies of the server; concurrent requests share one round of probes."""

    def __init__(
        self,
        engine: Engine,
        *,
        probe_timeout_seconds: float = PROBE_TIMEOUT_SECONDS,
        cache_seconds: float = CACHE_SECONDS,
    ) -> None:
        self._engine = engine
        self._probe_timeout_seconds = probe_timeout_seconds
        self._cache_seconds = cache_seconds
        self._results: dict[str, ProbeResult] = {}
        self._expires = 0.0
        self._lock = asyncio.Lock()
        self._search: asyncio.Task[RetrievalResult] | None = None

    async def check(self) -> dict[str, ProbeResult]:
        """The state of each dependency, by name."""
        async with self._lock:
            if not self._results or time.monotonic() > self._expires:
                probes = {"index": self._index, "records": self._records, "language_model": self._language_model}
                results = await asyncio.gather(*(self._run(name, probe) for name, probe in probes.items()))
                self._results = {result.name: result for result in results}
                self._expires = time.monotonic() + self._cache_seconds
            return self._results

    @property
    def language_models(self) -> dict[str, str]:
        """The state of each language model's circuit breaker."""
        return self._engine.model_states

    @property
    def embedder(self) -> str | None:
        """The state of the circuit breaker of a remote embedding model."""
        return self._engine.embedder_state

    @property
    def reader(self) -> str | None:
        """Why the reader model cannot be used, if it is enabled."""
        problem = reader_problem(self._engine.settings)
        return problem.message if problem else None

    async def _run(self, name: str, probe: Callable[[], Awaitable[dict[str, Any]]]) -> ProbeResult:
        started = time.perf_counter()
        problem = details = None
        collect_stage_times()  # keeps the probe's stages out of the metrics of answers
        try:
            async with asyncio.timeout(self._probe_timeout_seconds):
                details = await probe()
        except TimeoutError:
            problem = Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "SERVICE_UNAVAILABLE",
                "Timed out.",
                retry_after=_RETRY_AFTER_SECONDS,
            )
        except Exception as error:
            problem = problem_from(error)
            if not isinstance(error, GlossatorError):
                _log.error("%s", type(error).__name__, exc_info=error)
        return ProbeResult(name, round(1000 * (time.perf_counter() - started), 2), problem, details)

    async def _index(self) -> dict[str, Any]:
        """One search at a time: a hanging search occupies a thread, and threads are few."""
        if self._search is None or self._search.done():
            self._search = asyncio.create_task(pipeline.search(self._engine, Question("ready", top_k=1)))
            self._search.add_done_callback(lambda task: task.cancelled() or task.exception())
        found = await asyncio.shield(self._search)
        details: dict[str, Any] = {"generation": found.generation}
        return details if found.query else details | {"models": {"embedder": "unavailable"}}

    async def _records(self) -> dict[str, Any]:
        return {"revision": await self._engine.records.database.revision()}

    async def _language_model(self) -> dict[str, Any]:
        """Makes no call: the circuit breakers know how the last calls went."""
        states = self.language_models
        if states and "closed" not in states.values():
            raise LanguageModelUnavailable("The circuit breaker of every language model is open.")
        return {"models": states} if states else {"models": {}, "answers": "the book's own sentences"}
