"""``thisthat.connect`` against a real server: the library's calls, the library's answers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

import thisthat
from tests.path_engine import path_decider
from tests.remote.test_decider import SCHEMA, STATES, Reply, comparable, same, scripted, whole
from tests.serve.support import on_loopback, opened, service_for
from thisthat.audit.beside import CLIENT_REQUESTS
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import open_store
from thisthat.calibrate.fit_policy import fit_policy
from thisthat.decide.asking import Asks
from thisthat.decide.decider import Decider
from thisthat.decide.target import parse_target
from thisthat.environment import ENDPOINT_KEY
from thisthat.errors import InvalidInputError
from thisthat.items.labels import LabelledStates
from thisthat.remote.decider import RemoteDecider
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings


class Triage:
    lost: Annotated[bool, "Is a parcel lost?"]
    queue: Annotated[Literal["billing", "shipping"], "Which team?"]
    anger: Annotated[int, thisthat.Scale("calm", "annoyed", "furious")]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with on_loopback(service_for()) as found:
        yield found


@pytest.fixture
def there(address: str) -> Iterator[RemoteDecider]:
    with thisthat.connect(address) as found:
        yield found


def test_it_has_every_call_that_the_library_shares() -> None:
    shared = {name for name in vars(Asks) if not name.startswith("_")}
    assert shared >= {"ask", "decide", "decide_many", "decide_pairs", "decide_many_async"}
    assert issubclass(Decider, Asks)
    assert issubclass(RemoteDecider, Asks)
    assert {"decide_each", "conditions", "close"} <= set(vars(RemoteDecider)) & set(vars(Decider))


def test_one_question_of_each_kind(there: RemoteDecider) -> None:
    here, state = path_decider(), STATES[1]
    assert there.ask(state, "Is it?") == here.ask(state, "Is it?")
    for question in SCHEMA.values():
        assert there.ask(state, question) == here.ask(state, question)  # type: ignore[call-overload]
    with pytest.raises(thisthat.InvalidInputError, match="explain: is for decide"):
        there.ask(state, "Is it?", explain=True)


def test_a_class_of_questions_comes_back_as_its_instance(there: RemoteDecider) -> None:
    far, near = there.decide(STATES[0], Triage), path_decider().decide(STATES[0], Triage)
    assert vars(far.value) == vars(near.value)
    assert far.answers == near.answers
    assert [each.value.queue for each in there.decide_many(STATES, Triage)] == [
        each.value.queue for each in path_decider().decide_many(STATES, Triage)
    ]


def test_evidence_comes_along(there: RemoteDecider) -> None:
    state = "The parcel never came. I wait. It is blue."
    far = there.decide(state, SCHEMA, explain=True)
    near = path_decider().decide(state, SCHEMA, explain=True)
    assert far.evidence == near.evidence
    assert far.evidence


def test_policies_are_applied_by_the_server(there: RemoteDecider) -> None:
    here = path_decider()
    states = [f"state {number}" for number in range(60)]
    right = [
        {name: list(a.probabilities).index(a.best_name) for name, a in decision.answers.items()}
        for decision in here.decide_many(states, SCHEMA)
    ]
    labelled = LabelledStates(SCHEMA, states, right)
    policy = fit_policy(there, labelled, parse_target("error<=0.2"))
    assert policy == fit_policy(here, labelled, parse_target("error<=0.2"))
    far = there.decide(STATES[0], SCHEMA, policy=policy)
    near = here.decide(STATES[0], SCHEMA, policy=policy)
    assert far.answers == near.answers
    assert {name: a.outcome for name, a in far.answers.items()} == {
        name: a.outcome for name, a in near.answers.items()
    }
    other = {"q": thisthat.Boolean("Something else?")}
    told = []
    for decider in (here, there):
        with pytest.raises(
            InvalidInputError, match="policy: was fitted for something else"
        ) as refused:
            decider.decide(STATES[0], other, policy=policy)
        told.append(str(refused.value))
    assert told[0] == told[1]
    outcome = there.decide(STATES[0], SCHEMA, policy=policy.force())["queue"].outcome
    assert outcome is not None


def test_a_request_id_reaches_the_servers_log(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    service = Service(Settings(port=0, allowed_hosts=("*",)), opened, log=DecisionLog(str(path)))
    with on_loopback(service) as address:
        thisthat.connect(address).ask("s", "Is it?", request_id="order-7")
    found = list(open_store(path).rows(CLIENT_REQUESTS, {"client": "order-7"}))
    assert len(found) == 1


def test_calls_of_an_event_loop_run_at_once(there: RemoteDecider) -> None:
    states = [f"state {number}" for number in range(40)]

    async def all_of_them() -> tuple[list[Any], Any, Any]:
        answers = await asyncio.gather(*(there.ask_async(state, "Is it?") for state in states))
        typed = await there.decide_async(STATES[0], Triage)
        return answers, typed, await there.decide_many_async(states, SCHEMA)

    answers, typed, many = asyncio.run(all_of_them())
    here = path_decider()
    assert answers == [here.ask(state, "Is it?") for state in states]
    assert typed.value.queue in ("billing", "shipping")
    same(many, here.decide_many(states, SCHEMA))


def test_a_busy_server_is_waited_for() -> None:
    def busy(_: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        return 429, {"retry-after-ms": "1"}, b"slower"

    with scripted(busy, busy, whole) as (address, seen):
        answer = thisthat.connect(address).decide("s", {"q": "Is it?"})
    assert len(seen) == 3
    assert comparable(replace(answer)) == comparable(path_decider().decide("s", {"q": "Is it?"}))


def test_a_server_with_few_streams_answers_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_LONGEST_WAIT", "_LATER_WAIT"):
        monkeypatch.setattr(f"thisthat.remote.server.{name}", 0.02)
    service = service_for()
    service.settings = replace(service.settings, bulk_streams=1)
    states = [f"state {number}" for number in range(24)]

    async def all_of_them(decider: RemoteDecider) -> list[Any]:
        return await asyncio.gather(*(decider.ask_async(state, "Is it?") for state in states))

    with on_loopback(service) as address, thisthat.connect(address) as decider:
        answers = asyncio.run(all_of_them(decider))
    assert answers == [path_decider().ask(state, "Is it?") for state in states]


class Clock:
    """Time that passes only in sleep."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_busy_server_that_says_when_is_asked_until_the_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def busy(headers: dict[str, str]) -> Reply:
        return lambda _: (503, headers, b"full")

    monkeypatch.setattr("thisthat.remote.server.time", Clock())
    for headers, timeout, tries in (
        ({"retry-after-ms": "100"}, 0.2, 4),
        ({"retry-after-ms": "100"}, 1.5, 7),  # after 0.1, 0.2, 0.3, then every half second
        ({"retry-after": "5"}, 31, 7),
        ({"retry-after": "60"}, 31, 4),
        ({}, 60, 4),
    ):
        with scripted(busy(headers)) as (address, seen):
            decider = thisthat.connect(address, timeout=timeout)
            with pytest.raises(thisthat.ServerError, match="HTTP 503 for 1 state: full"):
                decider.ask("s", "Is it?")
        assert len(seen) == tries


def test_the_key_is_given_or_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENDPOINT_KEY, raising=False)
    with on_loopback(service_for(keys=("secret",))) as address:
        with pytest.raises(thisthat.ServerError, match="HTTP 401"):
            thisthat.connect(address).ask("s", "Is it?")
        assert thisthat.connect(address, key="secret").ask("s", "Is it?") >= 0
        monkeypatch.setenv(ENDPOINT_KEY, "secret")
        found = thisthat.connect(address)
        assert found.ask("s", "Is it?") >= 0
        assert "secret" not in repr(found)
        assert address in repr(found)


def test_connecting_costs_an_import_nothing() -> None:
    program = (
        "import sys, thisthat; thisthat.connect;"
        "print([n for n in ('pydantic', 'urllib.request', 'http.client') if n in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr
