"""Exploring escalates a stated share just above the cut-off, and never acts where nobody would."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.calibrate.test_policy import POLICY, SCHEMA, fitted
from tests.path_engine import path_decider
from thisthat.audit.beside import RequestId
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.decide.options import DecideOptions
from thisthat.decide.run import run_jobs
from thisthat.errors import InvalidInputError
from thisthat.loop.assignment_log import EXPLORATION, assignments
from thisthat.loop.explore import Exploration, explorer


def test_a_share_near_the_cut_off_is_escalated_and_on_record(tmp_path: Path) -> None:
    decider, path = path_decider(), tmp_path / "log.sqlite"
    exploration = Exploration(0.25, near=1.0)
    acted = explored = 0
    with DecisionLog(path) as decider.log:
        for number in range(400):
            own, state = RequestId(f"r{number}"), f"state {number}"
            options = DecideOptions(policy=POLICY, request_id=own)
            usual = decider.decide(state, SCHEMA, policy=POLICY).answers
            [begun] = decider.begin_many([state], SCHEMA, options)
            assert not isinstance(begun, InvalidInputError)
            while (job := begun.next_job()) is not None:
                begun.take(dict(run_jobs(decider.engine, [job]))[0])
            change = explorer(exploration, begun.questions, state, options)
            found = decider.conclude(state, begun, options, change).answers
            for name, answer in found.items():
                before, after = usual[name].outcome, answer.outcome
                if before is None or after is None or before == after:
                    continue
                assert (before.action, after.action, after.option) == ("act", "escalate", None)
                assert after.reason.startswith("explored with chance 0.25: ")
                explored += 1
            acted += sum(
                a.outcome is not None and a.outcome.action == "act" for a in usual.values()
            )
    assert acted > 50
    assert explored / acted == pytest.approx(0.25, abs=0.12)
    rows = list(assignments(SQLiteStore(path), EXPLORATION))
    assert len(rows) == acted
    assert {(each.instead_of is not None, each.propensity) for each in rows} == {
        (True, 0.25),
        (False, 0.75),
    }


def test_without_a_policy_or_far_from_the_cut_off_nothing_changes() -> None:
    decider = path_decider()
    for near, policy in ((1e-9, POLICY), (1.0, None)):
        own = RequestId("r")
        options = DecideOptions(policy=policy, request_id=own)
        change = explorer(Exploration(0.5, near=near), SCHEMA, "s", options)
        for number in range(50):
            decision = decider.decide(f"state {number}", SCHEMA, policy=policy)
            assert change(decision) == decision
        assert own.assigned == ()


@pytest.mark.parametrize(("epsilon", "near"), [(0.0, 0.1), (0.6, 0.1), (0.1, 0.0), (0.1, 1.5)])
def test_shares_that_mean_nothing_are_refused(epsilon: float, near: float) -> None:
    with pytest.raises(InvalidInputError, match="explore"):
        Exploration(epsilon, near)


def test_an_option_that_is_acted_on_though_another_is_likelier_is_explored_too() -> None:
    decider, own = path_decider(), RequestId("r")
    policy, _ = fitted("cost(fp=1,fn=20)")
    options = DecideOptions(policy=policy, request_id=own)
    unlikely = 0
    for number in range(50):
        state = f"state {number}"
        decision = decider.decide(state, SCHEMA, policy=policy)
        change = explorer(Exploration(0.5, near=1.0), SCHEMA, state, options)
        before, after = decision["refund"].outcome, change(decision)["refund"].outcome
        assert before is not None
        assert after is not None
        if before != after and before.option != decision["refund"].best_name:
            unlikely += 1
            assert (before.action, after.action, after.option) == ("act", "escalate", None)
    explored = {str(row[4]) for row in own.assigned if row[2] == "refund"}
    assert unlikely > 0
    assert explored == {"explored: yes", "as usual"}
