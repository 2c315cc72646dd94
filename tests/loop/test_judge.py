"""Experiments are judged by what the log holds, alike by whoever reads it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.audit.test_log import entry
from thisthat.audit.beside import OUTCOMES, SHADOWS, RequestId
from thisthat.audit.protocol import Store
from thisthat.audit.store import open_store
from thisthat.errors import InvalidInputError
from thisthat.loop.assignment_log import Assigned
from thisthat.loop.experiment import Experiment
from thisthat.loop.judge import Judge, shadow_key
from thisthat.loop.outcomes import Outcome, record

CANARY = Experiment("canary-1", "canary", "two", "one", 1.0, share=0.5)
SHADOW = Experiment("shadow-1", "shadow", "two", "one", 1.0, share=1.0)


@pytest.fixture(params=["sqlite", "alchemy"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    path = tmp_path / "log.sqlite"
    return open_store(path if request.param == "sqlite" else f"sqlite:///{path}?timeout=60")


def decided(
    number: int, candidate: bool, unit: str | None = None, client: str | None = None
) -> Any:
    own = RequestId(f"r{number}", client)
    arm, chosen = ("candidate" if candidate else "champion"), unit or f"u{number}"
    own.assigned = (Assigned(own, None, "canary-1", arm, 1.0, 0.5, 0.5, chosen).row(),)  # type: ignore[arg-type]
    probabilities = '{"yes": 0.9, "no": 0.1}'
    return entry(
        time.time(),
        request=own,
        question="q",
        kind="boolean",
        best="yes",
        probabilities=probabilities,
        state_hash=f"s{number}",
    )


def test_harm_is_found_and_everybody_finds_the_same(store: Store) -> None:
    store.append([decided(1_000, True)])
    judge = Judge(store, CANARY)
    assert judge.update() == "go on"
    rng = np.random.default_rng(1)
    arms = rng.random(300) < 0.5
    store.append([decided(number, bool(arm)) for number, arm in enumerate(arms)])
    wrong = [
        Outcome(request=f"r{n}", question="q", option="no" if arm else "yes")
        for n, arm in enumerate(arms)
    ]
    record(store, wrong[:3])
    assert judge.update() == "go on"
    record(store, wrong)
    assert judge.update() == "roll back"
    other = Judge(store, CANARY)
    assert other.update() == "roll back"
    assert other.numbers() == judge.numbers()
    assert judge.numbers()["harm"] >= judge.numbers()["bound"] == 20
    assert judge.numbers()["candidate"]["mean"] == 0
    assert judge.points[-1][0] == judge.canary.outcomes < 300


def test_what_counts_counts_once(store: Store) -> None:
    store.append(
        [
            decided(1, True, "customer"),
            decided(2, True, "customer"),
            decided(3, False, client="mine"),
            decided(4, False),
            entry(time.time(), request="r9", question="q"),
        ]
    )
    judge = Judge(store, CANARY)
    record(store, Outcome(request="r1", question="q", happened=True))
    record(store, Outcome(request="r1", question="q", happened=False))  # contradicts
    record(store, Outcome(request="r2", question="q", happened=True))  # the same unit
    record(store, Outcome(request="mine", question="q", reward=0.5))  # by the client's id
    unfit = [
        Outcome(request="r4", question="q", option="perhaps"),  # no such option
        Outcome(decision=4, happened=True, time=time.time() - 3600),  # before it
    ]
    for each in unfit:
        with pytest.raises(InvalidInputError, match=r"outcomes\[0\]\.(option|time): "):
            record(store, each)
        store.add(OUTCOMES, [each.row(time.time())])  # as if it had come before its decision
    record(store, Outcome(request="r9", question="q", happened=True))  # not in the canary
    record(store, Outcome(request="later", question="q", happened=True))
    judge.update()
    numbers = judge.numbers()
    assert numbers["candidate"] == {"outcomes": 1, "mean": 1.0}
    assert numbers["champion"] == {"outcomes": 1, "mean": 0.5}
    record(store, Outcome(decision=4, happened=True))
    judge.update()
    assert judge.numbers()["champion"]["outcomes"] == 2


def test_an_outcome_waits_for_its_decision(store: Store) -> None:
    store.append([decided(1, True)])
    judge = Judge(store, CANARY)
    record(store, Outcome(request="r2", question="q", happened=True))
    judge.update()
    assert judge.canary.outcomes == 0
    store.append([decided(2, True)])
    judge.update()
    assert judge.canary.outcomes == 1


def test_what_was_recorded_before_it_began_does_not_count(store: Store) -> None:
    store.append([decided(1, True)])
    record(store, Outcome(request="r1", question="q", happened=True))
    late = Experiment("canary-1", "canary", "two", "one", 1.0, started=time.time() + 1)
    judge = Judge(store, late)
    judge.update()
    assert judge.canary.outcomes == 0


def test_only_the_question_that_was_named_counts(store: Store) -> None:
    store.append([decided(1, True)])
    record(store, Outcome(request="r1", question="q", happened=True))
    for question, outcomes in (("other", 0), ("q", 1)):
        judge = Judge(store, Experiment("canary-1", "canary", "two", "one", question=question))
        judge.update()
        assert judge.canary.outcomes == outcomes


def shadowed(line: Any) -> tuple[Any, ...]:
    key = shadow_key("shadow-1", line)
    return (key, "shadow-1", line.request, "q", line.state_hash, "{}", "no", 1.0)


def test_a_shadow_is_compared_on_the_same_states(store: Store) -> None:
    lines = [decided(number, False) for number in range(80)]
    store.append(lines)
    store.add(SHADOWS, [shadowed(each) for each in lines[:79]])
    judge = Judge(store, SHADOW)
    record(store, [Outcome(request=f"r{n}", question="q", option="no") for n in range(80)])
    record(store, [Outcome(request="r0", question="q", reward=1.0)])
    assert judge.update() == "not worse"
    assert judge.numbers()["outcomes"] == 79
    assert judge.numbers()["candidate"] == {"outcomes": 79, "mean": 1.0}
    assert judge.numbers()["champion"] == {"outcomes": 79, "mean": 0.0}


def test_an_outcome_that_comes_before_the_shadows_answer_waits_for_it(store: Store) -> None:
    lines = [decided(number, False) for number in range(3)]
    store.append(lines)
    judge = Judge(store, SHADOW)
    record(store, [Outcome(request=f"r{n}", question="q", option="no") for n in range(3)])
    assert judge.update() == "go on"
    assert judge.numbers()["outcomes"] == 0
    store.add(SHADOWS, [shadowed(each) for each in lines[:2]])
    for _ in range(2):
        judge.update()
        assert judge.numbers()["candidate"] == {"outcomes": 2, "mean": 1.0}
