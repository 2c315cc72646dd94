"""Spans of a request and its stages: what they say, what they never say."""

import logging
from typing import Any

import pytest

from tests.serve.support import QUESTIONS, REQUEST, get, log_lines, opened, post
from thisthat.decide.decider import Decider
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings
from thisthat.serve.traces import Traces

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
export = pytest.importorskip("opentelemetry.sdk.trace.export")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")

SOURCE = {"thisthat.checkpoint": "paths", "thisthat.version": "1", "thisthat.lambda": 0.5}
MANY: dict[str, Any] = {
    "states": [f"The parcel never came, {number} days now." for number in range(3)],
    "questions": {"q": "Is it?"},
}
CHAT: dict[str, Any] = {
    "model": "default",
    "messages": [
        {"role": "user", "content": "The parcel never came."},
        {"role": "user", "content": "Which?"},
    ],
    "response_format": {
        "type": "json_schema",
        "json_schema": {"schema": {"properties": {"a": {"enum": ["x", "y"]}}}},
    },
}


class Traced:
    """A service whose spans are kept in memory."""

    def __init__(self, **settings: Any) -> None:
        provider, self._kept = sdk.TracerProvider(), memory.InMemorySpanExporter()
        provider.add_span_processor(export.SimpleSpanProcessor(self._kept))
        traces = Traces(provider.get_tracer("test"))
        self.service = Service(Settings(**settings), opened, traces)
        self.service.checkpoints.load("default", None)

    def named(self, name: str) -> list[Any]:
        return [span for span in self._kept.get_finished_spans() if span.name == name]

    def text(self) -> str:
        return "".join(span.to_json() for span in self._kept.get_finished_spans())


def test_a_request_and_its_stages_are_spans_with_what_was_asked_and_what_answered() -> None:
    traced = Traced()
    answered = post(traced.service, "/v1/systemone", REQUEST)
    (request,) = traced.named("POST /v1/systemone")
    usage = answered.json()["usage"]
    asked = {
        "thisthat.request_id": answered.headers["x-request-id"],
        "thisthat.states": 1,
        "thisthat.questions": len(QUESTIONS),
        "thisthat.tokens": usage["input_tokens"],
    }
    ran = {**SOURCE, "thisthat.batch_size": 1, "thisthat.cached_tokens": usage["cached_tokens"]}
    assert request.attributes == {
        **asked,
        **ran,
        "thisthat.format": "systemone",
        "http.request.method": "POST",
        "http.route": "/v1/systemone",
        "http.response.status_code": 200,
    }
    assert request.kind is trace.SpanKind.SERVER
    (tokenise,), (queue,), (prefill,) = map(traced.named, ("tokenise", "queue", "prefill"))
    assert tokenise.attributes == asked
    assert queue.attributes == prefill.attributes == {**asked, **ran}
    for stage in (tokenise, queue, prefill):
        assert stage.parent.span_id == request.context.span_id
    moments = [request.start_time, tokenise.start_time, tokenise.end_time]
    moments += [prefill.start_time, prefill.end_time, request.end_time]
    assert moments == sorted(moments)
    assert queue.end_time == prefill.start_time


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/v1/chat/completions", CHAT, "chat/completions"),
        ("/v1/decide", MANY, "decide"),
    ],
)
def test_every_format_has_its_name(path: str, body: Any, named: str) -> None:
    traced = Traced()
    post(traced.service, path, body)
    (request,) = traced.named(f"POST {path}")
    assert request.attributes["thisthat.format"] == named


@pytest.mark.parametrize("more", [{}, {"explain": True}, {"wide": "in-rounds"}])
def test_many_states_are_spans_of_one_request(more: dict[str, Any]) -> None:
    traced = Traced()
    answered = post(traced.service, "/v1/decide", {**MANY, **more})
    (request,) = traced.named("POST /v1/decide")
    told = request.attributes
    assert (told["thisthat.states"], told["thisthat.questions"]) == (3, 1)
    assert told["thisthat.tokens"] > 0
    assert SOURCE.items() <= told.items()
    assert len(traced.named("queue")) == len(traced.named("prefill")) == 3
    for name in ("tokenise", "queue", "prefill"):
        for stage in traced.named(name):
            assert stage.parent.span_id == request.context.span_id
            assert stage.attributes["thisthat.request_id"] == answered.headers["x-request-id"]
    tokenised = traced.named("tokenise")
    assert {each.attributes["thisthat.states"] for each in tokenised} == ({1} if more else {3})


def test_no_span_has_the_state_or_what_an_error_says_of_it(monkeypatch: Any) -> None:
    traced = Traced(log_states=True)

    def fail(self: Decider, state: Any, *_: Any) -> None:
        raise ZeroDivisionError(f"about {state}")

    for path, body in (("/v1/systemone", REQUEST), ("/v1/decide", MANY)):
        post(traced.service, path, body)
    post(traced.service, "/v1/systemone", {**REQUEST, "questions": {"never came": {}}})
    monkeypatch.setattr(Decider, "begin_many", fail)
    assert post(traced.service, "/v1/systemone", REQUEST).status_code == 500
    assert "never came" not in traced.text()
    last = traced.named("POST /v1/systemone")[-1]
    assert last.attributes["error.type"] == "internal"
    assert last.status.status_code is trace.StatusCode.ERROR
    assert not last.events


def test_a_refusal_is_no_failure_of_the_server() -> None:
    traced = Traced()
    post(traced.service, "/v1/systemone", {**REQUEST, "model": "nobody"})
    get(traced.service, "/v1/models/nobody")
    (posted,), (listed,) = map(traced.named, ("POST /v1/systemone", "GET /v1/models/{name}"))
    for span in (posted, listed):
        assert span.attributes["http.response.status_code"] == 404
        assert span.attributes["error.type"] == "model_not_found"
        assert span.status.status_code is trace.StatusCode.UNSET


def test_a_span_joins_the_trace_of_its_client() -> None:
    traced = Traced()
    theirs = {"traceparent": f"00-{7:032x}-{9:016x}-01"}
    post(traced.service, "/v1/systemone", REQUEST, headers=theirs)
    (request,) = traced.named("POST /v1/systemone")
    assert (request.context.trace_id, request.parent.span_id) == (7, 9)


def test_complaints_about_sending_spans_are_lines_of_the_log() -> None:
    with log_lines() as lines:
        logging.getLogger("opentelemetry.exporter.otlp").warning("no answer from %s", "there")
    assert [(line["level"], line["message"]) for line in lines] == [
        ("warning", "no answer from there")
    ]
