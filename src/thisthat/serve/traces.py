"""OpenTelemetry spans, when asked for and installed; otherwise nothing at all.

The exporter is configured with the usual OTEL_ variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from thisthat.errors import MissingExtraError


class Traces:
    """Makes a span per request and one per stage."""

    def __init__(self, tracer: Any = None) -> None:
        """``tracer`` is an OpenTelemetry tracer; None makes no spans."""
        self._tracer = tracer

    @classmethod
    def configured(cls, wanted: bool) -> Traces:
        """Spans through the global provider. Raises MissingExtraError without the packages."""
        if not wanted:
            return cls()
        try:
            trace = import_module("opentelemetry.trace")
            sdk = import_module("opentelemetry.sdk.trace")
            export = import_module("opentelemetry.sdk.trace.export")
            otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        except ImportError as error:
            raise MissingExtraError("--traces", "traces") from error
        provider = sdk.TracerProvider()
        provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
        return cls(trace.get_tracer("thisthat"))

    @contextmanager
    def span(self, name: str, **attributes: Any) -> Iterator[None]:
        """A span around what happens inside."""
        if self._tracer is None:
            yield
            return
        with self._tracer.start_as_current_span(name, attributes=attributes):
            yield

    def stages(self, stages: Mapping[str, tuple[float, float]]) -> None:
        """Spans for stages that are over: name to (start, end) in seconds since the epoch."""
        if self._tracer is None:
            return
        for name, (start, end) in stages.items():
            span = self._tracer.start_span(name, start_time=int(start * 1e9))
            span.end(end_time=int(end * 1e9))
