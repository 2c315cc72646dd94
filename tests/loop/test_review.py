"""What people should look at: unsure, disagreeing and drifting decisions, in turns."""

from __future__ import annotations

import re
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tests.loop.test_joined import DAY, T0, decided
from tests.path_engine import path_decider
from thisthat.audit.beside import OUTCOMES, SHADOWS, WORDINGS, RequestId
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.loop.outcomes import Outcome
from thisthat.loop.review import INTERFACE, Queue, review_queue, review_tasks
from thisthat.questions import Boolean, Choice


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    return SQLiteStore(tmp_path / "log.sqlite")


def reviewed(store: SQLiteStore, most: int) -> Queue:
    return review_queue(store, most, T0 + 10 * DAY)


def test_what_two_checkpoints_answer_otherwise_is_disagreeing(store: SQLiteStore) -> None:
    store.append(
        [
            decided(0, "r1", sure=0.99, state_hash="h1"),
            decided(0, "r2", sure=0.98, state_hash="h2", best="a"),
            decided(0, "r3", sure=0.97, state_hash="h2", best="b", version="2"),
            decided(0, "r4", sure=0.51, state_hash="h4"),
        ]
    )
    store.add(SHADOWS, [("k", "shadow-1", "r1", "q", "h1", "{}", "b", T0)])
    found = {each.decision: each.reasons for each in reviewed(store, 9).rows}
    assert found == {1: ("disagreeing",), 3: ("disagreeing",), 4: ("unsure",)}
    assert [each.decision for each in reviewed(store, 2).rows] == [3, 4]


def test_decisions_since_the_answers_drift_come_too(store: SQLiteStore) -> None:
    random = np.random.default_rng(1)
    sure = [*random.beta(8, 2, 200), *random.beta(3, 2, 150)]
    store.append(
        [decided(n, f"r{n}", sure=float(p), state_hash=f"h{n}") for n, p in enumerate(sure)]
    )
    rows = reviewed(store, 40).rows
    drifting = [each.decision for each in rows if "drifting" in each.reasons]
    assert len(rows) == 40
    assert len(drifting) >= 20
    assert min(drifting) > 150
    assert all(each.entry.sure <= 0.9 for each in rows)


def test_without_drift_nothing_is_drifting(store: SQLiteStore) -> None:
    sure = np.random.default_rng(2).beta(8, 2, 300)
    store.append(
        [decided(n, f"r{n}", sure=float(p), state_hash=f"h{n}") for n, p in enumerate(sure)]
    )
    rows = reviewed(store, 30).rows
    assert {each.reasons for each in rows} == {("unsure",)}
    assert [each.entry.sure for each in rows] == sorted(map(float, sure))[:30]


def test_only_the_newest_decisions_are_looked_at(store: SQLiteStore) -> None:
    store.append(
        [
            decided(0, "r1", sure=0.5, state_hash="h1"),
            decided(1, RequestId("r2", "mine"), sure=0.6, state_hash="h2"),
            decided(2, "r3", sure=0.7, state_hash="h3"),
            decided(3, "r4", sure=0.8, state_hash="h4"),
        ]
    )
    store.add(SHADOWS, [("k", "shadow-1", "r4", "q", "h4", "{}", "b", T0)])

    def found(newest: int) -> list[int]:
        return [row.decision for row in review_queue(store, 9, T0 + 10 * DAY, newest).rows]

    assert [found(newest) for newest in (1, 3, 4)] == [[4], [4, 2, 3], [4, 1, 2, 3]]
    assert found(9) == found(4)
    early = [
        Outcome(request="mine", question="q", option="a"),
        Outcome(request="r1", question="q", option="a"),
        Outcome(decision=3, option="a"),
    ]
    store.add(OUTCOMES, [each.row(T0) for each in early])
    assert [found(newest) for newest in (1, 2, 3, 4)] == [[4]] * 4


def test_what_is_held_in_memory_does_not_grow_with_the_log(store: SQLiteStore) -> None:
    def highest(lines: int) -> int:
        new = range(lines)
        store.append([decided(n, f"r{n}", state_hash=f"h{n}") for n in new])
        given = [Outcome(request=f"r{n}", question="q", option="a", source=f"{n}") for n in new]
        store.add(OUTCOMES, [each.row(T0 + lines) for each in given])
        tracemalloc.start()
        try:
            review_queue(store, 5, T0 + 10 * DAY, 50)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few = highest(200)
    assert highest(4_000) < 2 * few


def test_decisions_without_their_state_are_counted(store: SQLiteStore) -> None:
    store.append([decided(0, "r1", state=None), decided(0, "r2", state_hash="h2")])
    queue = reviewed(store, 9)
    assert ([each.decision for each in queue.rows], queue.without_states) == ([2], 1)


KIND = Choice({"fine": None, "spam": "it sells something"}, "What kind of comment is it?")


def test_what_was_asked_is_shown_where_states_are_kept(tmp_path: Path) -> None:
    for kept in (False, True):
        decider = path_decider()
        with DecisionLog(tmp_path / f"{kept}.sqlite", keep_states=kept) as decider.log:
            decider.decide_many(["one", "two"], {"kind": KIND, "late": Boolean(None, true="late")})
    store = SQLiteStore(tmp_path / "True.sqlite")
    found = {each.entry.question: each for each in review_queue(store, 9, time.time() + 1).rows}
    kind, late = found["kind"], found["late"]
    assert (kind.asks, kind.options) == (
        KIND.instructions,
        {"fine": None, "spam": "it sells something"},
    )
    assert (late.asks, late.options) == (None, {"no": None, "yes": "late"})
    shown = {each["data"]["question"]: each["data"] for each in review_tasks(Queue([kind, late]))}
    assert shown["kind"]["asks"] == "What kind of comment is it?"
    assert shown["kind"]["meanings"] == "fine\nspam: it sells something"
    assert shown["late"]["asks"] == "late"
    assert len(list(store.rows(WORDINGS))) == 2
    assert list(SQLiteStore(tmp_path / "False.sqlite").rows(WORDINGS)) == []


def test_every_tag_of_the_interface_names_a_field_of_a_task(store: SQLiteStore) -> None:
    store.append([decided(0, "r1", sure=0.9)])
    [task] = review_tasks(reviewed(store, 1))
    assert set(re.findall(r"\$(\w+)", INTERFACE)) <= set(task["data"])
