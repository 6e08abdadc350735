"""What is counted, for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from glossator.core.receipts import Told
from glossator.core.stages import Times
from glossator.core.types import Answer
from glossator.parts import Parts

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_STATES = {"closed": 0, "half_open": 1, "open": 2}
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Where several workers keep their counts together."""


class Metrics:
    """The counts of one process, or of all workers where they share a folder."""

    def __init__(self, parts: Parts) -> None:
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
        self._registry = registry
        if os.environ.get(SHARED):
            self._registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(_Inside(parts))

    def request(self, method: str, route: str, status: int, seconds: float, times: Times) -> None:
        """One request, when it is over."""
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
        for name, spent in times.items():
            self.stages.labels(name).observe(spent)

    def answered(self, told: Told) -> None:
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
        return generate_latest(self._registry)


class _Inside(Collector):
    """What the parts know by themselves, read when it is asked for."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        parts = self._parts
        cache = CounterMetricFamily("glossator_cache", "Answers from memory and others.", labels=("found",))
        cache.add_metric(("hit",), parts.cache.hits)
        cache.add_metric(("miss",), parts.cache.misses)
        yield cache
        yield GaugeMetricFamily(
            "glossator_index_generation", "The generation that answers.", parts.generations.current() or 0
        )
        drafter = parts.drafter
        if drafter is None:
            return
        breaker = GaugeMetricFamily(
            "glossator_breaker", "0 closed, 1 half open, 2 open: then nobody asks it.", labels=("model",)
        )
        for link in drafter.links:
            breaker.add_metric((link.label,), _STATES.get(link.breaker.state, 2))
        yield breaker
        tokens = CounterMetricFamily("glossator_tokens", "Tokens of the language model.", labels=("kind",))
        tokens.add_metric(("input",), drafter.usage.input_tokens)
        tokens.add_metric(("output",), drafter.usage.output_tokens)
        yield tokens
