"""What a client and a server say about when a request must have begun, and what comes of it."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.lab.train.tiny import write_checkpoint
from tests.serve.support import REQUEST, GatedEngine, get, held, on_loopback, post, service_for
from thisthat.decide.opening import open_decider
from thisthat.serve.problems import Problem
from thisthat.serve.scheduling.deadline import MOST_MS, READ_TIMEOUT, SERVER, TIMEOUT, read_deadline
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

QUESTION = [{"type": "predicate", "instructions": "Is it?"}]
SCHEMA = {"schema": {"properties": {"a": {"enum": ["x", "y"]}}}}
DECISIONS: dict[str, Any] = {"model": "default", "input": "state", "questions": QUESTION}
CHAT: dict[str, Any] = {
    "model": "default",
    "messages": [{"role": "user", "content": "Which?"}],
    "response_format": {"type": "json_schema", "json_schema": SCHEMA},
}
DECIDE: dict[str, Any] = {"states": ["a", "b"], "questions": {"q": "Is it?"}}
BODIES = {
    "/v1/systemone": REQUEST,
    "/v1/decide": DECIDE,
    "/v1/decisions": DECISIONS,
    "/v1/chat/completions": CHAT,
}


@pytest.mark.parametrize(
    ("headers", "seconds", "set_by"),
    [
        ({}, 60, SERVER),
        ({TIMEOUT: "250"}, 0.25, TIMEOUT),
        ({TIMEOUT: "1"}, 0.001, TIMEOUT),
        ({TIMEOUT: str(MOST_MS)}, 60, SERVER),
        ({READ_TIMEOUT: "2.5"}, 2.5, READ_TIMEOUT),
        ({READ_TIMEOUT: "600"}, 60, SERVER),
        ({READ_TIMEOUT: "inf"}, 60, SERVER),
        ({READ_TIMEOUT: "3", TIMEOUT: "5000"}, 3, READ_TIMEOUT),
        ({READ_TIMEOUT: "3", TIMEOUT: "2000"}, 2, TIMEOUT),
    ],
)
def test_the_earliest_of_all_holds(headers: dict[str, str], seconds: float, set_by: str) -> None:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    found = read_deadline(sent, 60.0, now=1000.0)
    assert (found.seconds, found.set_by) == (seconds, set_by)
    assert math.isclose(found.at, 1000.0 + seconds)


WRONG = [
    *((TIMEOUT, value) for value in ("", "0", "-5", "1.5", "soon", "1e3", "٣", str(MOST_MS + 1))),
    *((READ_TIMEOUT, value) for value in ("", "0", "-1", "nan", "soon")),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_is_no_time_is_named_with_its_limits(name: str, value: str) -> None:
    with pytest.raises(Problem) as caught:
        read_deadline([(name.encode(), value.encode())], 60.0, now=0.0)
    assert caught.value.status == 422
    assert f"{name}: is " in caught.value.message
    assert (f"from 1 to {MOST_MS}" if name == TIMEOUT else "above 0") in caught.value.message


@pytest.mark.parametrize("path", BODIES)
def test_every_format_refuses_it_in_its_own_shape(path: str) -> None:
    answered = post(service_for(), path, BODIES[path], headers={TIMEOUT: "soon"})
    openai = path in ("/v1/decisions", "/v1/chat/completions")
    assert answered.status_code == (400 if openai else 422)
    if openai:
        assert answered.json()["error"]["param"] == TIMEOUT
    else:
        assert answered.json()["detail"][0]["loc"] == ["header", TIMEOUT]


@pytest.mark.parametrize("path", BODIES)
def test_a_request_with_time_enough_is_answered(path: str) -> None:
    answered = post(service_for(), path, BODIES[path], headers={TIMEOUT: "60000"})
    assert answered.status_code == 200


@contextmanager
def busy(**settings: Any) -> Iterator[tuple[str, GatedEngine]]:
    """A server whose engine is at work on a request until the test lets it go.

    Where the machine stalls, that request may miss a short deadline itself: then another server.
    """
    while True:
        with held(**settings) as (address, _, engine), ThreadPoolExecutor(1) as threads:
            first: Future[httpx.Response] = threads.submit(
                httpx.post, f"{address}/v1/systemone", json=REQUEST, timeout=20
            )
            while not (entered := engine.entered.acquire(timeout=0.05)) and not first.done():
                pass
            if not entered:
                continue
            yield address, engine
            engine.open()
            assert first.result().status_code == 200
            return


def counts(address: str) -> str:
    return httpx.get(f"{address}/metrics").text


@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/decisions", "/v1/chat/completions"])
@pytest.mark.parametrize(
    ("settings", "headers", "says"),
    [
        ({}, {TIMEOUT: "200"}, f"within 0.2 seconds, see {TIMEOUT}"),
        ({}, {READ_TIMEOUT: "0.2"}, f"within 0.2 seconds, see {READ_TIMEOUT}"),
        ({"deadline_seconds": 0.2}, {}, "within 0.2 seconds, which is the server's limit"),
        ({"deadline_seconds": 0.2}, {TIMEOUT: "9000"}, "which is the server's limit"),
    ],
)
def test_a_request_that_has_not_begun_by_then_is_told_to_retry(
    path: str, settings: dict[str, Any], headers: dict[str, str], says: str
) -> None:
    with busy(**settings) as (address, engine):
        late = httpx.post(f"{address}{path}", json=BODIES[path], headers=headers, timeout=20)
        assert late.status_code == 503
        error = late.json()["error"]
        assert says in error["message"]
        assert (late.json().get("code") or error["code"]) == "deadline"
        assert int(late.headers["retry-after-ms"]) >= 50
        assert int(late.headers["retry-after"]) >= 1
        page = counts(address)
        assert 'thisthat_errors_total{kind="deadline"} 1.0' in page
        set_by = next(iter(headers)) if says.endswith(tuple(headers)) else SERVER
        assert f'thisthat_late_jobs_total{{set_by="{set_by}"}} 1.0' in page
    assert len(engine.rows) == 1


def test_states_of_a_stream_that_have_not_begun_by_then_are_lines_that_say_so() -> None:
    with busy() as (address, _):
        many = {**DECIDE, "states": [f"state {number}" for number in range(50)]}
        late = httpx.post(f"{address}/v1/decide", json=many, headers={TIMEOUT: "200"}, timeout=20)
        assert late.status_code == 200
        lines = [json.loads(line) for line in late.text.splitlines()]
        assert [line["index"] for line in lines] == list(range(50))
        assert {line["error"]["code"] for line in lines} == {"deadline"}
        assert f"within 0.2 seconds, see {TIMEOUT}" in lines[-1]["error"]["message"]
        assert f'thisthat_late_jobs_total{{set_by="{TIMEOUT}"}} 50.0' in counts(address)


@pytest.mark.parametrize(
    ("settings", "headers"),
    [({"deadline_seconds": 0.1}, {}), ({}, {READ_TIMEOUT: "0.1"})],
)
def test_what_a_client_asks_for_all_states_holds_beside_a_shorter_limit_for_one(
    settings: dict[str, Any], headers: dict[str, str]
) -> None:
    with busy(**settings) as (address, _):
        asked = {TIMEOUT: "300", **headers}
        late = httpx.post(f"{address}/v1/decide", json=DECIDE, headers=asked, timeout=20)
        lines = [json.loads(line) for line in late.text.splitlines()]
        assert [line["error"]["message"] for line in lines] == [
            f"not begun within 0.3 seconds, see {TIMEOUT}"
        ] * 2


def test_no_state_stands_still_longer_than_the_server_allows() -> None:
    with busy(deadline_seconds=0.05) as (address, _):
        asked = {TIMEOUT: str(MOST_MS)}
        late = httpx.post(f"{address}/v1/decide", json=DECIDE, headers=asked, timeout=20)
        lines = [json.loads(line) for line in late.text.splitlines()]
        assert {line["error"]["message"] for line in lines} == {
            "not begun within 1.6 seconds, which is the server's limit"
        }


def test_a_stream_is_no_subject_of_the_time_between_two_reads() -> None:
    answered = post(service_for(), "/v1/decide", DECIDE, headers={READ_TIMEOUT: "0.000001"})
    assert [json.loads(line)["index"] for line in answered.text.splitlines()] == [0, 1]
    assert "error" not in answered.text


def test_the_openai_library_says_how_long_it_waits() -> None:
    sent: list[str] = []

    def look(request: Any) -> None:
        sent.append(request.headers[READ_TIMEOUT])

    with on_loopback(service_for()) as address:
        client = OpenAI(base_url=f"{address}/v1", api_key="any", timeout=7.5)
        client._client.event_hooks = {"request": [look]}
        client.decisions.create(model="default", input="state", questions=QUESTION)  # type: ignore[arg-type]
    assert sent == ["7.5"]


def test_the_document_describes_the_header_where_something_is_decided() -> None:
    document = get(service_for(), "/openapi.json").json()
    for path, operations in document["paths"].items():
        names = [each["name"] for each in operations.get("post", {}).get("parameters", ())]
        assert names == ([TIMEOUT] if path in BODIES else [])


def test_a_real_engine_drops_what_it_has_not_begun(tmp_path: Path) -> None:
    settings = Settings(port=0, checkpoint=str(write_checkpoint(tmp_path / "model")))
    service = Service(settings, lambda ref, lam: open_decider(ref, lam=lam, engine="onnx"))
    asked = {"state": "x" * 60, "questions": {"q": "Is it?"}}
    with on_loopback(service) as address, ThreadPoolExecutor(8) as threads:

        def ask(_: int) -> httpx.Response:
            headers = {TIMEOUT: "2"}
            return httpx.post(f"{address}/v1/systemone", json=asked, headers=headers, timeout=60)

        late: list[httpx.Response] = []
        for _ in range(100):
            late += [each for each in threads.map(ask, range(64)) if each.status_code != 200]
            if late:
                break
        assert {(each.status_code, each.json()["code"]) for each in late} == {(503, "deadline")}
        patient = httpx.post(f"{address}/v1/systemone", json=asked, timeout=60)
        assert patient.status_code == 200
