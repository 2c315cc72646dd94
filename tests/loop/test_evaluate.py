"""A candidate is compared on what the log knows, and only on that."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.path_engine import path_decider
from thisthat.audit.beside import OUTCOMES, RequestId
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.decide.decider import Decider
from thisthat.errors import InvalidInputError
from thisthat.loop.assignment_log import Assigned
from thisthat.loop.evaluate import CandidateEvaluation, evaluate
from thisthat.loop.outcomes import Outcome, record
from thisthat.prompt_format import PromptFormat
from thisthat.questions import Boolean, Choice, Source

QUESTIONS = {"lost": Boolean("Is it lost?"), "team": Choice(["red", "green"], "Which?")}
STATES = [json.dumps({"desk": number % 2, "text": f"parcel {number}"}) for number in range(120)]


def candidate() -> Decider:
    """Answers the same questions otherwise: it reads another prompt."""
    decider = path_decider(PromptFormat(open_state=True))
    decider.source = Source("paths", "2", 1.0)
    return decider


def best(decider: Decider, state: str, name: str) -> str:
    return decider.decide(state, {name: QUESTIONS[name]})[name].best_name


@pytest.fixture
def log(tmp_path: Path) -> SQLiteStore:
    return SQLiteStore(tmp_path / "log.sqlite")


def fill(store: SQLiteStore, decider: Decider, draws: Mapping[str, Any] | None = None) -> None:
    with DecisionLog(store, keep_states=True) as decider.log:
        for number, state in enumerate(STATES):
            own = RequestId(f"r{number}")
            own.assigned = () if draws is None else draws[state]
            decider.decide(state, QUESTIONS, request_id=own)
    decider.log = None


def judged(store: SQLiteStore, other: Decider, **more: Any) -> CandidateEvaluation:
    given = {"mature_after": 0.0, "until": time.time() + 1, **more}
    return evaluate(store, path_decider(), other, QUESTIONS, **given)


def test_where_the_answer_is_known_both_answer_again(log: SQLiteStore) -> None:
    fill(log, path_decider())
    other = candidate()
    right = [best(other, state, "lost") for state in STATES]
    ours = [best(path_decider(), state, "lost") for state in STATES]
    record(log, [Outcome(request=f"r{n}", question="lost", option=o) for n, o in enumerate(right)])
    found = judged(log, other, slice_by="desk")
    assert found.replay is not None
    assert (found.replay.rows, found.replay.candidate) == (120, 1.0)
    agreed = np.mean([one == two for one, two in zip(right, ours, strict=True)])
    assert found.replay.champion == pytest.approx(agreed)
    assert found.verdict == "better"
    assert found.excluded == {"censored": 120}
    assert set(found.parts["slice"]) == {"desk = 0", "desk = 1"}
    assert sum(part.rows for part in found.parts["time"].values()) == 120
    assert "question" not in found.parts
    back = evaluate(log, other, path_decider(), QUESTIONS, mature_after=0, until=time.time() + 1)
    assert back.verdict == "worse"
    assert json.loads(json.dumps(found.as_dict()))["verdict"] == "better"
    assert "left out: no outcome came" in "\n".join(found.lines())


def test_an_equal_candidate_is_not_worse(log: SQLiteStore) -> None:
    fill(log, path_decider())
    record(log, [Outcome(request=f"r{n}", question="lost", option="yes") for n in range(120)])
    found = judged(log, path_decider(), margin=0.2)
    assert found.replay is not None
    assert found.replay.difference == 0
    assert found.verdict == "not worse"
    assert judged(log, path_decider(), margin=0.0).verdict == "no difference shown"


def test_costs_price_what_was_taken_for_what(log: SQLiteStore) -> None:
    fill(log, path_decider())
    record(log, [Outcome(request=f"r{n}", question="lost", option="yes") for n in range(120)])
    ours = [best(path_decider(), state, "lost") for state in STATES]
    costs = {"lost": {"yes": {"no": 2.0}, "no": {"yes": 8.0}}}
    found = judged(log, candidate(), costs=costs).replay
    assert found is not None
    assert found.champion == pytest.approx(1 - 0.25 * ours.count("no") / 120)
    for wrong, message in (
        ({"x": {}}, r"costs\.x: is not a question"),
        ({"lost": {"maybe": {"no": 1}}}, r"costs\.lost\.maybe\.no: names no option"),
        ({"lost": {"yes": {"no": -1}}}, "must be a number of 0 or more"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            judged(log, candidate(), costs=wrong)


def test_rewards_alone_cannot_tell_where_acting_was_deterministic(log: SQLiteStore) -> None:
    fill(log, path_decider())
    record(log, [Outcome(request=f"r{n}", question="lost", reward=0.5) for n in range(120)])
    found = judged(log, candidate())
    assert found.verdict == "cannot tell"
    assert found.excluded["deterministic"] == 120
    assert "acting was deterministic" in str(found.needed)


def test_a_canary_tells_what_rewards_alone_cannot(log: SQLiteStore) -> None:
    champion, other, rng = path_decider(), candidate(), np.random.default_rng(3)
    rewards = []
    with DecisionLog(log, keep_states=True) as both:
        champion.log = other.log = both
        for number in range(900):
            state, drawn = f"parcel {number}", bool(rng.random() < 0.3)
            own, chance = RequestId(f"r{number}"), 0.3 if drawn else 0.7
            arm = "candidate" if drawn else "champion"
            assigned = Assigned(own, None, "canary-1", arm, 1.0, 0.3, chance, own)  # type: ignore[arg-type]
            own.assigned = (assigned.row(),)
            decided = (other if drawn else champion).decide(state, QUESTIONS, request_id=own)
            right = best(other, state, "lost")
            rewards.append(float(decided["lost"].best_name == right))
    champion.log = other.log = None
    given = [Outcome(request=f"r{n}", question="lost", reward=r) for n, r in enumerate(rewards)]
    record(log, given)
    found = evaluate(log, champion, other, QUESTIONS, mature_after=0, until=time.time() + 1)
    assert found.off_policy is not None
    assert found.off_policy.rows == 900
    plain, robust = found.off_policy.estimates
    assert plain.low <= 1.0 <= plain.high
    assert robust.low <= 1.0 <= robust.high
    assert found.off_policy.self_normalised == pytest.approx(1.0)
    truth = np.mean(
        [
            best(champion, f"parcel {n}", "lost") == best(other, f"parcel {n}", "lost")
            for n in range(900)
        ]
    )
    assert found.off_policy.gain.low <= 1 - truth <= found.off_policy.gain.high
    assert found.verdict == "better"


def test_what_does_not_belong_is_left_out_by_reason(log: SQLiteStore) -> None:
    fill(log, path_decider())
    strange = Outcome(request="r0", question="lost", option="perhaps")
    log.add(OUTCOMES, [strange.row(time.time())])  # before its decision came, say
    record(log, [Outcome(request="r1", question="lost", option=o) for o in ("yes", "no")])
    record(log, Outcome(request="r2", question="lost", option="yes"))
    found = judged(log, candidate())
    assert found.replay is not None
    assert found.replay.rows == 1
    assert found.excluded == {"unknown option": 1, "contradictory": 1, "censored": 237}
    later = judged(log, candidate(), since=time.time() + 10)
    assert later.replay is None
    other = {"lost": Boolean("Is it gone?")}
    asked = evaluate(log, path_decider(), candidate(), other, mature_after=0, until=time.time() + 1)
    assert asked.excluded == {"another schema": 240}
