from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.calibrate.test_policy import POLICY, REFUND, SCHEMA
from tests.path_engine import path_decider
from thisthat.audit.drift import DriftStream
from thisthat.audit.entry import Entry
from thisthat.audit.log import DecisionLog
from thisthat.audit.protocol import LogError
from thisthat.audit.store import SQLiteStore
from thisthat.audit.watch import MOST_POLICIES, DriftCheck, DriftWatch
from thisthat.calibrate.fit_policy import fit_policy
from thisthat.decide.policy import Policy
from thisthat.decide.target import parse_target
from thisthat.errors import InvalidInputError
from thisthat.items.labels import LabelledStates


class Watched:
    """A decider whose decisions are logged and counted, as the server does it."""

    def __init__(self, path: Path, drift_decisions: int = 50) -> None:
        self.decider = path_decider()
        self.log = self.decider.log = DecisionLog(path)
        self.checks: list[DriftCheck] = []
        self.watch = DriftWatch(self.log, self.checks.append, drift_decisions)

    def decide(self, states: range, policy: Policy = POLICY) -> None:
        for number in states:
            self.decider.decide(f"state {number}", SCHEMA, policy=policy)
            self.watch.count(policy)


def test_the_bets_go_on_and_an_alarm_is_raised_once(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "a.sqlite")
    watched.decide(range(49))
    watched.watch.close()
    assert watched.checks == []
    for states in (range(49, 50), range(50, 100)):
        watched.decide(states)
        watched.watch.close()
    watched.log.close()
    assert [check.outcome for check in watched.checks] == ["drift", "drift"]
    for check, rows in zip(watched.checks, (50, 100), strict=True):
        assert check.policy == POLICY.hash
        assert {test.rows for test in check.tests} == {rows}
        assert {test.question for test in check.tests} == set(SCHEMA)
    alarms = [{(test.question, test.test) for test in check.alarms} for check in watched.checks]
    assert alarms[0]
    assert not alarms[0] & alarms[1]


def test_a_restart_and_another_server_change_no_number(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    through = Watched(path)
    through.decide(range(100))
    through.watch.close()
    later = DriftWatch(through.log, through.checks.append, 1)
    later.count(POLICY)
    later.close()
    through.log.close()
    stream = DriftStream(POLICY)
    stream.follow(SQLiteStore(path))
    assert through.checks[-1].tests == tuple(stream.tests())
    assert {test.rows for test in stream.tests()} == {100}
    stream.follow(SQLiteStore(path))
    assert {test.rows for test in stream.tests()} == {100}


def test_decisions_like_the_labelled_ones_are_no_drift(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "a.sqlite", 200)
    states = [f"label {number}" for number in range(400)]
    labels = [{"refund": int(watched.decider.ask(s, REFUND).best or 0)} for s in states]
    labelled = LabelledStates({"refund": REFUND}, states, labels)
    policy = fit_policy(watched.decider, labelled, parse_target("error<=0.05"))
    for number in range(200):
        watched.decider.ask(f"use {number}", REFUND, policy=policy)
        watched.watch.count(policy)
    watched.watch.close()
    (check,) = watched.checks
    assert check.outcome == "none"
    assert [test.rows for test in check.tests] == [200, 200]
    assert check.alarms == ()


def test_decisions_during_a_check_wait_for_the_next_one(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "a.sqlite")
    begun, go_on = threading.Event(), threading.Event()

    def report(check: DriftCheck) -> None:
        begun.set()
        assert go_on.wait(20)
        watched.checks.append(check)

    watched.watch = DriftWatch(watched.log, report, 50)
    watched.decide(range(50))
    assert begun.wait(20)
    watched.decide(range(50, 120))
    go_on.set()
    watched.watch.close()
    watched.decide(range(120, 121))
    watched.watch.close()
    assert [check.tests[0].rows for check in watched.checks] == [50, 121]


def test_policies_are_counted_apart_and_those_not_used_any_more_are_forgotten(
    tmp_path: Path,
) -> None:
    watched = Watched(tmp_path / "a.sqlite")
    watched.decide(range(49))
    for number in range(MOST_POLICIES):
        other = Policy.from_json({**POLICY.as_json(), "target": f"error<=0.{number + 1:04d}"})
        watched.watch.count(other)
    watched.decide(range(49))
    watched.watch.close()
    assert watched.checks == []
    watched.decide(range(1))
    watched.watch.close()
    assert len(watched.checks) == 1


def test_a_log_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    watched = Watched(tmp_path)  # a folder cannot be a database
    watched.decide(range(50))
    watched.watch.close()
    (check,) = watched.checks
    assert (check.outcome, check.tests) == ("failed", ())
    assert check.failure is not None
    assert str(tmp_path) in check.failure


def test_lines_that_cannot_be_written_in_time_are_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    watched = Watched(path)
    watched.decide(range(50))
    watched.watch.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        watched.decide(range(50, 100))
        watched.watch.close()
        other.execute("ROLLBACK")
    watched.log.close()
    assert [check.outcome for check in watched.checks] == ["drift", "failed"]
    failure = watched.checks[1].failure
    assert failure is not None
    assert failure.startswith("lines are not written yet: ")
    assert "locked" in failure


def test_a_check_that_had_nothing_to_test_failed_and_says_so_where_it_begins(
    tmp_path: Path,
) -> None:
    watched = Watched(tmp_path / "a.sqlite")
    watched.decider.decide("not counted", SCHEMA, policy=POLICY)
    for _ in range(2):
        for _ in range(50):
            watched.watch.count(POLICY)
        watched.watch.close()
    watched.decide(range(50))
    watched.watch.close()
    other = Policy.from_json({**POLICY.as_json(), "target": "error<=0.3"})
    for _ in range(50):
        watched.watch.count(other)
    watched.watch.close()
    watched.log.close()
    outcomes = [check.outcome for check in watched.checks]
    assert outcomes == ["failed", "failed", "drift", "failed"]
    assert [check.begins for check in watched.checks] == [True, False, False, True]
    assert watched.checks[0].failure is not None
    assert watched.checks[0].failure.endswith("so far: 1 of 'queue', 1 of 'refund', 1 of 'anger'")
    assert watched.checks[3].failure == "no line in the log has this policy"


def test_checks_after_no_decision_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="drift_decisions: is 0; at least 1 is needed"):
        Watched(tmp_path / "a.sqlite", 0)


def test_after_a_log_that_broke_off_no_line_is_left_out(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "a.sqlite", drift_decisions=1_000)
    watched.decide(range(60))
    watched.log.close()
    store = SQLiteStore(tmp_path / "a.sqlite")

    class BreaksOff(SQLiteStore):
        def lines(self, *given: Any, **more: Any) -> Iterator[tuple[int, Entry]]:
            yield from islice(super().lines(*given, **more), 1)
            raise LogError("the disk is gone")

    far = time.time() + 1_000  # the line that was read is much later than the others
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as file, file:
        file.execute("DROP TRIGGER decisions_do_not_change")
        file.execute(
            "UPDATE decisions SET time = ? WHERE id = (SELECT MAX(id) FROM decisions)", (far,)
        )
    stream, whole = DriftStream(POLICY), DriftStream(POLICY)
    with pytest.raises(LogError, match="gone"):
        stream.follow(BreaksOff(tmp_path / "a.sqlite"))
    stream.follow(store)
    whole.follow(store)
    assert stream.tests() == whole.tests()
    store.close()
