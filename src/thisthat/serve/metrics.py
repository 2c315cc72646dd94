"""Prometheus metrics. One registry per server; no globals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from thisthat.audit.log import DecisionLog
from thisthat.audit.watch import CheckOutcome
from thisthat.engine.statistics import EngineStatistics

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_TOKENS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


class Metrics:
    """Counters and histograms of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "thisthat_requests",
            "Requests by path and status.",
            ["path", "status"],
            registry=self.registry,
        )
        self.errors = Counter(
            "thisthat_errors", "Requests that failed, by kind.", ["kind"], registry=self.registry
        )
        self.stages = Histogram(
            "thisthat_stage_seconds",
            "Time by stage: queue, tokenise, prefill, total.",
            ["stage"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.batch_size = Histogram(
            "thisthat_batch_size", "Jobs per batch.", buckets=_SIZES, registry=self.registry
        )
        self.batch_tokens = Histogram(
            "thisthat_batch_tokens", "Tokens per batch.", buckets=_TOKENS, registry=self.registry
        )
        self.tokens = Counter(
            "thisthat_input_tokens",
            "Input tokens, computed or taken from the prefix cache.",
            ["from"],
            registry=self.registry,
        )
        self.decisions = Counter(
            "thisthat_decisions",
            "Answers given, by question type.",
            ["type"],
            registry=self.registry,
        )
        self.late = Counter(
            "thisthat_late_jobs",
            "Jobs given up at their deadline, by what set it.",
            ["set_by"],
            registry=self.registry,
        )
        self.drift_checks = Counter(
            "thisthat_drift_checks",
            "Checks of the decision log for drift, by what they found: none, drift or failed.",
            ["outcome"],
            registry=self.registry,
        )
        self.waiting = Gauge(
            "thisthat_waiting_tokens", "Tokens waiting for a batch.", registry=self.registry
        )
        self.unanswered = Gauge(
            "thisthat_unanswered_tokens",
            "Tokens accepted and unanswered, streams aside; --queue-tokens bounds them.",
            registry=self.registry,
        )
        self.expected_wait = Gauge(
            "thisthat_expected_wait_seconds",
            "How long a request that comes now would wait.",
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "thisthat_requests_in_flight", "Requests being answered.", registry=self.registry
        )

    def watch_engine(self, statistics: Callable[[], EngineStatistics | None]) -> None:
        """Report the engine's counters, read on each scrape."""
        self.registry.register(_EngineCollector(statistics))

    def watch_log(self, log: DecisionLog) -> None:
        """Report the decision log's health, read on each scrape."""
        self.registry.register(_LogCollector(log))
        for outcome in get_args(CheckOutcome):
            self.drift_checks.labels(outcome)  # start at 0, so that the first one is an increase

    def page(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry)


class _EngineCollector(Collector):
    def __init__(self, statistics: Callable[[], EngineStatistics | None]) -> None:
        self._statistics = statistics

    def collect(self) -> Iterator[Metric]:
        found = self._statistics()
        if found is None:
            return
        hits = CounterMetricFamily(
            "thisthat_prefix_cache_lookups", "Kept prefixes found or not.", labels=["outcome"]
        )
        hits.add_metric(["hit"], found.prefixes.hits)
        hits.add_metric(["miss"], found.prefixes.misses)
        yield hits
        yield GaugeMetricFamily(
            "thisthat_prefix_cache_bytes", "Bytes of kept prefixes.", value=found.prefixes.bytes
        )
        yield CounterMetricFamily(
            "thisthat_engine_passes", "Passes of the model.", value=found.passes
        )
        yield CounterMetricFamily(
            "thisthat_second_readings",
            "Answers too close to call that were read again, more precisely.",
            value=found.second_readings,
        )


class _LogCollector(Collector):
    def __init__(self, log: DecisionLog) -> None:
        self._log = log

    def collect(self) -> Iterator[Metric]:
        health = self._log.health
        lines = CounterMetricFamily(
            "thisthat_decision_log_lines", "Lines of the decision log.", labels=["outcome"]
        )
        lines.add_metric(["written"], health.written)
        lines.add_metric(["dropped"], health.dropped)
        yield lines
        yield CounterMetricFamily(
            "thisthat_decision_log_failures", "Failed writes.", value=health.failures
        )
        yield GaugeMetricFamily(
            "thisthat_decision_log_waiting", "Lines not written yet.", value=health.waiting
        )
