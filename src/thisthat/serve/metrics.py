"""Prometheus metrics. One registry per server; no globals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from thisthat.audit.log import DecisionLog, LogHealth
from thisthat.audit.watch import CheckOutcome
from thisthat.engine.statistics import EngineStatistics

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_TOKENS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


class Metrics:
    """Counters and histograms of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.requests = counter(
            "thisthat_requests", "Requests by path and status.", ["path", "status"]
        )
        self.errors = counter("thisthat_errors", "Requests that failed, by kind.", ["kind"])
        self.stages = histogram(
            "thisthat_stage_seconds",
            "Time by stage: queue, tokenise, prefill, total.",
            ["stage"],
            buckets=_SECONDS,
        )
        self.batch_size = histogram("thisthat_batch_size", "Jobs per batch.", buckets=_SIZES)
        self.batch_tokens = histogram("thisthat_batch_tokens", "Tokens per batch.", buckets=_TOKENS)
        self.tokens = counter(
            "thisthat_input_tokens",
            "Input tokens, computed or taken from the prefix cache.",
            ["from"],
        )
        self.decisions = counter("thisthat_decisions", "Answers given, by question type.", ["type"])
        self.late = counter(
            "thisthat_late_jobs", "Jobs given up at their deadline, by what set it.", ["set_by"]
        )
        self.drift_checks = counter(
            "thisthat_drift_checks",
            "Checks of the decision log for drift, by what they found: none, drift or failed.",
            ["outcome"],
        )
        self.waiting = gauge("thisthat_waiting_tokens", "Tokens waiting for a batch.")
        self.unanswered = gauge(
            "thisthat_unanswered_tokens",
            "Tokens accepted and unanswered, streams aside; --queue-tokens bounds them.",
        )
        self.expected_wait = gauge(
            "thisthat_expected_wait_seconds", "How long a request that comes now would wait."
        )
        self.in_flight = gauge("thisthat_requests_in_flight", "Requests being answered.")

        self.memory = Gauge(
            "thisthat_memory_in_flight_bytes",
            "Memory of heads, bodies, values, work and answers in flight.",
            registry=self.registry,
        )

    def watch_engine(self, statistics: Callable[[], EngineStatistics | None]) -> None:
        """Report the engine's counters, read on each scrape."""
        self.registry.register(_Collected(lambda: _engine_metrics(statistics())))

    def watch_log(self, log: DecisionLog) -> None:
        """Report the decision log's health, read on each scrape."""
        self.registry.register(_Collected(lambda: _log_metrics(log.health)))
        for outcome in get_args(CheckOutcome):
            self.drift_checks.labels(outcome)  # start at 0, so that the first one is an increase

    def page(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry)


class _Collected(Collector):
    def __init__(self, read: Callable[[], Iterator[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        return self._read()


def _engine_metrics(found: EngineStatistics | None) -> Iterator[Metric]:
    if found is None:
        return
    lookups = {"hit": found.prefixes.hits, "miss": found.prefixes.misses}
    yield _by_outcome("thisthat_prefix_cache_lookups", "Kept prefixes found or not.", lookups)
    yield GaugeMetricFamily(
        "thisthat_prefix_cache_bytes", "Bytes of kept prefixes.", value=found.prefixes.bytes
    )
    yield CounterMetricFamily("thisthat_engine_passes", "Passes of the model.", value=found.passes)
    yield CounterMetricFamily(
        "thisthat_second_readings",
        "Answers too close to call that were read again, more precisely.",
        value=found.second_readings,
    )


def _log_metrics(health: LogHealth) -> Iterator[Metric]:
    lines = {"written": health.written, "dropped": health.dropped}
    yield _by_outcome("thisthat_decision_log_lines", "Lines of the decision log.", lines)
    yield CounterMetricFamily(
        "thisthat_decision_log_failures", "Failed writes.", value=health.failures
    )
    yield GaugeMetricFamily(
        "thisthat_decision_log_waiting", "Lines not written yet.", value=health.waiting
    )


def _by_outcome(name: str, what: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, what, labels=["outcome"])
    for outcome, count in counts.items():
        family.add_metric([outcome], count)
    return family
