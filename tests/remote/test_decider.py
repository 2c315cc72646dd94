from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.path_engine import path_decider
from tests.serve.support import QUESTIONS, on_loopback, opened, service_for
from thisthat.decide.conditions import Conditions
from thisthat.decide.decider import Decider
from thisthat.errors import AlreadyClosedError, InvalidInputError, ServerError
from thisthat.questions import Boolean, Decision, Option, Question, Source
from thisthat.questions_json import questions_from_json
from thisthat.remote import decider as remote
from thisthat.remote.conditions_header import conditions_header
from thisthat.remote.decider import RemoteDecider
from thisthat.remote.server import RemoteServer

SCHEMA: dict[str, Question] = {
    **questions_from_json(QUESTIONS),
    "sure": Boolean("Is it sure?", abstain=True),
}
STATES: list[Any] = ["The parcel never came.", {"days": 12, "text": "é😀"}, ["a", 1.5, None], ""]
ASKED = {"q": Boolean("Is it?")}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with on_loopback(service_for(also_lambdas=(0.25,))) as found:
        yield found


def at(address: str, **how: Any) -> RemoteDecider:
    return RemoteDecider(RemoteServer(address, timeout=20), **how)


def comparable(decision: Decision) -> Decision:
    """A decision without what differs from run to run."""
    return replace(decision, seconds=0.0, usage=replace(decision.usage, cached_tokens=0))


def same(given: list[Decision], expected: list[Decision]) -> None:
    assert [comparable(each) for each in given] == [comparable(each) for each in expected]


WAYS: list[dict[str, Any]] = [
    {},
    {"layout": "schema-first"},
    {"packing": "together"},
    {"order": "average"},
]


@pytest.mark.parametrize("ways", WAYS, ids=str)
def test_decisions_and_conditions_are_the_librarys(address: str, ways: dict[str, Any]) -> None:
    there, here = at(address), path_decider()
    same(there.decide_many(STATES, SCHEMA, **ways), here.decide_many(STATES, SCHEMA, **ways))
    assert there.conditions(**ways) == here.conditions(**ways)


def test_each_state_is_answered_or_says_what_is_wrong(address: str) -> None:
    states: list[Any] = ["fine", 7, "long " * 4000, "a NUL \0", "last"]
    found = at(address).decide_each(states, SCHEMA)
    assert [isinstance(each, InvalidInputError) for each in found] == [0, 1, 1, 1, 0]
    assert "tokens" in str(found[2])
    answered = [each for each in found if isinstance(each, Decision)]
    same(answered, path_decider().decide_many(["fine", "last"], SCHEMA))


def test_a_loaded_lambda_is_asked_for(address: str) -> None:
    there = at(address, lam=0.25)
    (decision,) = there.decide_many(["s"], ASKED)
    assert decision.source.lam == there.conditions().lam == 0.25


def test_many_states_go_in_parts_and_progress_is_told(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOST_STATES", 7)
    states = [f"state {number}" for number in range(20)]
    told: list[tuple[int, int]] = []
    there = at(address)
    found = there.decide_many(states, ASKED, progress=lambda *each: told.append(each))
    same(found, path_decider().decide_many(states, ASKED))
    assert told == [(done, 20) for done in range(1, 21)]
    monkeypatch.setattr(remote, "MOST_BYTES", 30)
    same(there.decide_many(states, ASKED), found)


def test_pairs_with_equal_questions_share_a_stream(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted: list[int] = []
    post = RemoteServer.post

    def counted(self: RemoteServer, path: str, body: Any, *rest: Any) -> Any:
        posted.append(len(body["states"]))
        return post(self, path, body, *rest)

    monkeypatch.setattr(RemoteServer, "post", counted)
    pairs = [(f"s{n}", {"q": Boolean("Is it?" if n % 3 else "Was it?")}) for n in range(9)]
    same(at(address).decide_pairs(pairs), path_decider().decide_pairs(pairs))
    assert posted == [3, 6]


def test_nothing_asked_is_nothing_answered(address: str) -> None:
    there = at(address)
    assert there.decide_many([], ASKED) == []
    with pytest.raises(ServerError, match="nothing has been asked this way yet"):
        there.conditions()


@pytest.mark.parametrize("bad", ["x" * 5000, "a\0b", {"a": ["\ud800"]}])
@pytest.mark.parametrize("before", [[], ["fine"]])
def test_a_state_that_cannot_be_used_is_named_as_the_library_does(
    address: str, bad: Any, before: list[Any]
) -> None:
    with pytest.raises(InvalidInputError) as expected:
        path_decider().decide_many([*before, bad], ASKED)
    with pytest.raises(InvalidInputError) as raised:
        at(address).decide_many([*before, bad], ASKED)
    assert str(raised.value) == str(expected.value)


def test_a_question_that_json_cannot_hold_is_named(address: str) -> None:
    described = {"q": Boolean("Is it?", abstain=Option("neither", "no sign of it"))}
    with pytest.raises(InvalidInputError, match=r"questions\.q\.abstain\.description: cannot be"):
        at(address).decide_many(["s"], described)


def test_what_the_server_refuses_is_told(address: str) -> None:
    with pytest.raises(ServerError, match=r"HTTP 404 for 1 state: .*'other'.* known are paths"):
        at(address, model="other").decide_many(["s"], ASKED)
    with pytest.raises(InvalidInputError, match=r"lambda: 0\.7 is not loaded; loaded are"):
        at(address, lam=0.7).decide_many(["s"], ASKED)


def test_a_state_that_the_server_refuses_keeps_its_number(address: str) -> None:
    states = ["fine", "x" * 600_000, "fine too"]
    with pytest.raises(InvalidInputError, match=r"states\[1\].state: has more than \d+ characters"):
        at(address).decide_many(states, ASKED)
    first, bad, last = at(address).decide_each(states, ASKED)
    assert isinstance(bad, InvalidInputError)
    assert bad.field == "state"
    assert isinstance(first, Decision)
    assert isinstance(last, Decision)


def test_only_our_servers_name_fields() -> None:
    foreign = b'{"detail": [{"loc": ["body", "x"], "msg": "is missing", "type": "missing"}]}'
    with (
        scripted(lambda _: (422, {}, foreign)) as (address, _),
        pytest.raises(ServerError, match=r"HTTP 422 for 1 state: .*is missing"),
    ):
        at(address).decide_many(["s"], ASKED)


def test_one_text_is_not_many_states() -> None:
    one: Any = "fine"
    for decider in (at("http://127.0.0.1:9"), path_decider()):
        for call in (decider.decide_many, decider.decide_each):
            with pytest.raises(InvalidInputError, match="states: is one text; give a list"):
                call(one, ASKED)
    with pytest.raises(InvalidInputError, match="states: is one object; give a list"):
        path_decider().decide_many({"text": "fine"}, ASKED)


def test_after_closing_nothing_can_be_asked(address: str) -> None:
    client = at(address)
    unit = client.for_unit("customer-1")
    client.close()
    for one in (client, unit):
        for call in (
            lambda one=one: one.ask("s", "Is it?"),
            lambda one=one: asyncio.run(one.ask_async("s", "Is it?")),
            lambda one=one: one.record([]),
        ):
            with pytest.raises(
                AlreadyClosedError, match=r"this client was closed; thisthat.connect"
            ):
                call()
    client.close()


def test_options_that_exclude_each_other_are_refused_as_the_library_does(address: str) -> None:
    with pytest.raises(InvalidInputError, match='order: "average" needs packing "apart"'):
        at(address).decide_many(["s"], ASKED, order="average", packing="together")


def test_keys_are_sent_and_asked_for() -> None:
    with on_loopback(service_for(keys=("secret",))) as address:
        with pytest.raises(
            ServerError, match=r"HTTP 401 .*THISTHAT_ENDPOINT_KEY or `key=`"
        ) as raised:
            RemoteDecider(RemoteServer(address, "wrong-key")).decide_many(["s"], ASKED)
        assert "wrong-key" not in str(raised.value)
        assert len(RemoteDecider(RemoteServer(address, "secret")).decide_many(["s"], ASKED)) == 1


def test_a_rate_limit_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOST_STATES", 1)
    states = [f"state {number}" for number in range(54)]
    with on_loopback(service_for(requests_per_minute=300)) as address:
        same(at(address).decide_many(states, ASKED), path_decider().decide_many(states, ASKED))


def test_a_server_that_is_away_is_told() -> None:
    away = r"http://127\.0\.0\.1:9/v1/decide: no answer to "
    with pytest.raises(ServerError, match=away + "1 state:"):
        at("http://127.0.0.1:9").decide_many(["s"], ASKED)
    with pytest.raises(ServerError, match=away + "2 states:"):
        at("http://127.0.0.1:9").decide_many(["s", "t"], ASKED)


def test_a_setting_that_is_not_known_is_named() -> None:
    options: Any = {"pakking": "apart"}
    with pytest.raises(TypeError, match="'pakking' is not a setting of a decision; did you mean"):
        at("http://127.0.0.1:9").ask("s", "Is it?", **options)


def test_a_checkpoint_that_changes_in_between_is_told() -> None:
    service = service_for()
    with on_loopback(service) as address:
        there = at(address)
        there.decide_many(["s"], ASKED)
        service.checkpoints.load("another", None)
        with pytest.raises(
            ServerError,
            match=r"something else: checkpoint is another.*; connect again; beside",
        ):
            there.decide_many(["s"], ASKED)


Reply = Callable[[dict[str, Any]], tuple[int, dict[str, str], bytes]]


@contextmanager
def scripted(*replies: Reply) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that gives these replies, the last one for ever; and what it was asked."""
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(body)
            status, headers, text = replies[min(len(seen), len(replies)) - 1](body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", seen
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


HEADER = conditions_header(path_decider().conditions())


def lines(body: dict[str, Any], decider: Decider | None = None) -> list[bytes]:
    decisions = (decider or path_decider()).decide_many(body["states"], ASKED)
    return [
        json.dumps({"index": number, **each.as_dict()}).encode() + b"\n"
        for number, each in enumerate(decisions)
    ]


def whole(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, HEADER, b"".join(lines(body))


def cut_in_a_line(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, HEADER, b"".join(lines(body))[:-40]


def ended_early(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, HEADER, lines(body)[0]


def busy_in_the_middle(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    first, *rest = lines(body)
    error = {"code": "overloaded", "field": None, "message": "too much to do"}
    return 200, HEADER, first + json.dumps({"index": 1, "error": error}).encode() + b"\n" + rest[-1]


def busy(_: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 503, {"retry-after-ms": "1"}, b"full"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "pause", lambda _: 0.0)


@pytest.mark.parametrize(
    ("first", "again"),
    [(cut_in_a_line, 1), (ended_early, 2), (busy_in_the_middle, 1), (busy, 3)],
)
def test_only_what_a_stream_left_out_is_asked_again(first: Reply, again: int) -> None:
    states = ["a", "b", "c"]
    with scripted(first, whole) as (address, seen):
        same(at(address).decide_many(states, ASKED), path_decider().decide_many(states, ASKED))
    assert [len(body["states"]) for body in seen] == [3, again]


def nothing(_: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, HEADER, b""


def no_header(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, b"".join(lines(body))


def other_shape(_: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, HEADER, b'{"index": 0, "answers": {}}\n'


def other_place(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, HEADER, lines(body)[0].replace(b'"index": 0', b'"index": -1')


def bad_header(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, {"x-thisthat-conditions": "{}"}, b"".join(lines(body))


@pytest.mark.parametrize(
    ("reply", "message", "times"),
    [
        (nothing, "the connection broke, or nothing came .*; no answer to 2 states", 4),
        (no_header, "x-thisthat-conditions: is missing", 1),
        (bad_header, "x-thisthat-conditions: cannot be read: Field required", 1),
        (other_shape, "a line has an unexpected shape", 1),
        (other_place, "a line has an unexpected shape", 1),
    ],
)
def test_what_a_server_does_wrong_is_told(reply: Reply, message: str, times: int) -> None:
    with scripted(reply) as (address, seen), pytest.raises(ServerError, match=message):
        at(address).decide_many(["a", "b"], ASKED)
    assert len(seen) == times


def test_conditions_come_whole_with_names_that_headers_cannot_hold() -> None:
    def named(ref: str, lam: float | None) -> Decider:
        decider = opened(ref, lam)
        decider.source = Source("mödel\n1", "1", 0.1 + 0.2, "ab" * 32)
        return decider

    with on_loopback(service_for(named)) as address:
        there = at(address)
        there.decide_many(["s"], ASKED)
        told = there.conditions()
    assert isinstance(told, Conditions)
    assert (told.checkpoint, told.lam, told.weights) == ("mödel\n1", 0.1 + 0.2, "ab" * 32)
