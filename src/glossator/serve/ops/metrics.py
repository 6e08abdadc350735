"""What is counted, for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from glossator.core.answers import Answer
from glossator.core.errors import IndexProblem
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.timing import Times
from glossator.pipeline.wiring import Engine

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_STATES = {"closed": 0, "half_open": 1, "open": 2}
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Where several workers keep their counts together."""


class Metrics:
    """The counts of one process, or of all workers where they share a folder."""

    def __init__(self, engine: Engine) -> None:
        registry = CollectorRegistry()
        self.requests = Counter(
            "glossator_requests", "Requests by route and status.", ("method", "route", "status"), registry=registry
        )
        self.seconds = Histogram(
            "glossator_request_seconds", "Time of a request.", ("route",), buckets=_SECONDS, registry=registry
        )
        self.stages = Histogram(
            "glossator_stage_seconds", "Time of a stage of an answer.", ("stage",), buckets=_SECONDS, registry=registry
        )
        self.running = Gauge(
            "glossator_requests_running", "Requests being served.", registry=registry, multiprocess_mode="livesum"
        )
        self.answers = Counter("glossator_answers", "Answers by mode.", ("mode",), registry=registry)
        self.abstentions = Counter("glossator_abstentions", "Questions that were not answered.", registry=registry)
        self.verdicts = Counter("glossator_verdicts", "Checked sentences by verdict.", ("status",), registry=registry)
        self.feedback = Counter("glossator_feedback", "What readers said of answers.", ("rating",), registry=registry)
        self.cache = Counter("glossator_cache", "Answers from memory and others.", ("found",), registry=registry)
        self.tokens = Counter("glossator_tokens", "Tokens of the language model.", ("kind",), registry=registry)
        self.breaker = Gauge(
            "glossator_breaker",
            "0 closed, 1 half open, 2 open: then nobody asks it. Of several workers, the worst.",
            ("model",),
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._engine = engine
        self._lock = Lock()
        self._counted: dict[str, int] = {}
        self._registry = registry
        if shared := os.environ.get(SHARED):
            self._registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
            _forget_the_dead(Path(shared))
        self._registry.register(_Index(engine))
        self._look_inside()

    def request(self, method: str, route: str, status: int, seconds: float, times: Times) -> None:
        """One request, when it is over."""
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
        for name, spent in times.items():
            self.stages.labels(name).observe(spent)
        self._look_inside()

    def _look_inside(self) -> None:
        """Add what the engine has counted since the last look."""
        engine, (read, written) = self._engine, self._engine.tokens
        with self._lock:
            self._add(self.cache, "hit", engine.cache.hits)
            self._add(self.cache, "miss", engine.cache.misses)
            if not engine.model_states:
                return
            self._add(self.tokens, "input", read)
            self._add(self.tokens, "output", written)
            for label, state in engine.model_states.items():
                self.breaker.labels(label).set(_STATES.get(state, 2))

    def _add(self, counter: Counter, label: str, number: int) -> None:
        counter.labels(label).inc(number - self._counted.get(label, 0))
        self._counted[label] = number

    def answered(self, told: AnswerWithReceipt) -> None:
        """One answer."""
        answer: Answer = told.answer
        self.answers.labels(answer.mode).inc()
        if answer.abstained:
            self.abstentions.inc()
        for sentence in answer.sentences:
            if sentence.verdict:
                self.verdicts.labels(sentence.verdict.status).inc()
        for claim in answer.unsupported_claims:
            self.verdicts.labels(claim.verdict.status).inc()

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        self._look_inside()
        return generate_latest(self._registry)


class _Index(Collector):
    """The generation on the disk, which is the same for all workers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        try:
            current = self._engine.generations.current() or 0
        except IndexProblem:
            current = 0
        yield GaugeMetricFamily("glossator_index_generation", "The generation that answers; 0: none does.", current)


def _forget_the_dead(folder: Path) -> None:
    """A worker that was killed serves nothing any more, and its breakers are nobody's."""
    for pid in {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*_*.db")}:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
