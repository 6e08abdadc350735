"""Metrics for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from glossator.core.errors import IndexUnavailable
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.timing import StageTimes
from glossator.pipeline.wiring import Engine

MULTIPROCESS_DIR_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where several workers share their counts; set before prometheus_client is imported."""
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BREAKER_STATES = {"closed": 0, "half_open": 1, "open": 2}


class Metrics:
    """The metrics of one process, or of all workers if they share a folder."""

    def __init__(self, engine: Engine) -> None:
        registry = CollectorRegistry()
        self.requests = Counter(
            "glossator_requests", "Requests by route and status.", ("method", "route", "status"), registry=registry
        )
        self.seconds = Histogram(
            "glossator_request_seconds", "Request duration in seconds.", ("route",), buckets=_BUCKETS, registry=registry
        )
        self.stages = Histogram(
            "glossator_stage_seconds",
            "Duration of each stage of an answer in seconds.",
            ("stage",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self.running = Gauge(
            "glossator_requests_running", "Requests in progress.", registry=registry, multiprocess_mode="livesum"
        )
        self.answers = Counter("glossator_answers", "Answers by mode.", ("mode",), registry=registry)
        self.abstentions = Counter("glossator_abstentions", "Questions without an answer.", registry=registry)
        self.unstored = Counter(
            "glossator_unstored_answers", "Answers without a receipt: the database was down.", registry=registry
        )
        self.verdicts = Counter("glossator_verdicts", "Checked sentences by verdict.", ("status",), registry=registry)
        self.feedback = Counter("glossator_feedback", "Feedback by rating.", ("rating",), registry=registry)
        self.cache = Counter("glossator_cache", "Answer cache lookups by result.", ("found",), registry=registry)
        self.tokens = Counter("glossator_tokens", "Language model tokens by kind.", ("kind",), registry=registry)
        self.breaker = Gauge(
            "glossator_breaker",
            "Circuit breaker of each remote model: 0 closed, 1 half-open, 2 open; the highest of all workers.",
            ("model",),
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._engine = engine
        self._engines: list[Engine] = []
        self._lock = Lock()
        self._last_totals: dict[str, int] = {}
        self._registry = registry
        if folder := os.environ.get(MULTIPROCESS_DIR_VARIABLE):
            self._registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
            _remove_dead_workers(Path(folder))
        self._registry.register(_GenerationCollector(self._engines))
        self._update_from_engine()

    def watch(self, engine: Engine) -> None:
        """Include the generation and the cache of a book; the models are those of the default book."""
        self._engines.append(engine)

    def record_request(self, method: str, route: str, status: int, seconds: float, times: StageTimes) -> None:
        """Count a finished request and its stages."""
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
        for name, stage_seconds in times.items():
            self.stages.labels(name).observe(stage_seconds)
        self._update_from_engine()

    def record_answer(self, result: AnswerWithReceipt) -> None:
        """Count an answer and its verdicts, once for all repetitions of a request."""
        if result.repeated:
            return
        answer = result.answer
        self.answers.labels(answer.mode).inc()
        if answer.abstained:
            self.abstentions.inc()
        if not answer.receipt_id:
            self.unstored.inc()
        for sentence in answer.sentences:
            if sentence.verdict:
                self.verdicts.labels(sentence.verdict.status).inc()
        for claim in answer.unsupported_claims:
            self.verdicts.labels(claim.verdict.status).inc()

    def render(self) -> bytes:
        """All metrics in Prometheus text format."""
        self._update_from_engine()
        return generate_latest(self._registry)

    def _update_from_engine(self) -> None:
        """Add what the engine has counted since the last update."""
        engine, (input_tokens, output_tokens) = self._engine, self._engine.token_usage
        with self._lock:
            self._set_total(self.cache, "hit", sum(each.cache.hits for each in self._engines))
            self._set_total(self.cache, "miss", sum(each.cache.misses for each in self._engines))
            if state := engine.embedder_state:
                self.breaker.labels("embedder").set(_BREAKER_STATES[state])
            if not engine.model_states:
                return
            self._set_total(self.tokens, "input", input_tokens)
            self._set_total(self.tokens, "output", output_tokens)
            for label, state in engine.model_states.items():
                self.breaker.labels(label).set(_BREAKER_STATES.get(state, 2))

    def _set_total(self, counter: Counter, label: str, total: int) -> None:
        counter.labels(label).inc(total - self._last_totals.get(label, 0))
        self._last_totals[label] = total


class _GenerationCollector(Collector):
    """Reads the current generation of each open book, which is the same for all workers."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = engines

    def collect(self) -> Iterator[Metric]:
        help_text = "Current index generation of each book; 0 if there is none."
        family = GaugeMetricFamily("glossator_index_generation", help_text, labels=("book",))
        for engine in tuple(self._engines):
            try:
                current = engine.generations.current() or 0
            except IndexUnavailable:
                current = 0
            family.add_metric((engine.settings.book,) if engine.settings.book else (), current)
        yield family


def _remove_dead_workers(folder: Path) -> None:
    """Drop the gauges of workers that were killed: their requests and circuit breakers are gone."""
    if os.name == "nt":  # there, os.kill(pid, 0) would send Ctrl+C
        return
    for pid in {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*_*.db")}:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
