"""OpenTelemetry spans, if asked for and installed; otherwise nothing at all.

A span per request and one per stage: tokenise, queue, prefill. They report how much was asked and
what answered, never what was asked. The usual OTEL_ variables configure the exporter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

from thisthat.errors import MissingExtraError

_ASKED = ("request_id", "format", "questions", "states", "tokens", "cached_tokens")
_TOLD = (*_ASKED, "batch_size", "checkpoint", "version", "lambda")
"""The facts a span may report; never the state."""


class Span:
    """A span that is open, or none."""

    def __init__(self, span: Any = None) -> None:
        """``span`` is OpenTelemetry's; None accepts everything and does nothing."""
        self._span = span

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Add the facts a span may report, as ``thisthat.…`` attributes."""
        if self._span is not None:
            self._span.set_attributes(_attributes(facts))

    def answered(self, method: str, route: str, status: int, error: str | None) -> None:
        """Record the response status, in OpenTelemetry's names for HTTP."""
        if self._span is None:
            return
        self._span.update_name(f"{method} {route}")
        self._span.set_attributes(
            {
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
                **({} if error is None else {"error.type": error}),
            }
        )
        if status >= 500:
            self._span.set_status(import_module("opentelemetry.trace").StatusCode.ERROR)


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

    def request(self, headers: list[tuple[bytes, bytes]]) -> AbstractContextManager[Span]:
        """A span around a request, in the client's trace if the headers name one."""
        if self._tracer is None:
            return self.stage("request")
        kind = import_module("opentelemetry.trace").SpanKind.SERVER
        extract = import_module("opentelemetry.propagate").extract
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        return self.stage("request", context=extract(carrier), kind=kind)

    @contextmanager
    def stage(self, name: str, **details: Any) -> Iterator[Span]:
        """A span around a stage of the request, with ``details`` for OpenTelemetry."""
        if self._tracer is None:
            yield Span()
            return
        # Exceptions are not recorded: their texts may quote what a client sent.
        details |= {"record_exception": False, "set_status_on_exception": False}
        with self._tracer.start_as_current_span(name, **details) as span:
            yield Span(span)

    def stages(self, stages: Mapping[str, tuple[float, float]], facts: Mapping[str, Any]) -> None:
        """Spans for finished stages: name to (start, end) in monotonic seconds."""
        if self._tracer is None:
            return
        epoch = time.time() - time.monotonic()
        for name, (start, end) in stages.items():
            span = self._tracer.start_span(
                name, start_time=int((epoch + start) * 1e9), attributes=_attributes(facts)
            )
            span.end(end_time=int((epoch + end) * 1e9))


def _attributes(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {f"thisthat.{name}": facts[name] for name in _TOLD if name in facts}
