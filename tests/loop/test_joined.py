from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.audit.test_log import entry
from thisthat.audit.beside import (
    CLIENT_REQUESTS,
    OUTCOMES,
    TABLES,
    RequestId,
    Row,
    Table,
    beside,
    fresh,
)
from thisthat.audit.entry import Entry
from thisthat.audit.played import PLAYED
from thisthat.audit.protocol import Store
from thisthat.audit.store import SQLiteStore, open_store
from thisthat.errors import InvalidInputError
from thisthat.loop.joined import COUNTS, Joined, JoinedView
from thisthat.loop.outcomes import Outcome

DAY = 86_400.0
T0 = 1_000_000.0


def decided(at: float, request: str | None, question: str = "q", **changes: Any) -> Entry:
    plain = {"kind": "choice", "probabilities": json.dumps({"a": 0.7, "b": 0.3})}
    plain |= {"state_hash": "h", "state": "text", "best": "a"}
    return entry(T0 + at, **{**plain, "request": request, "question": question, **changes})


def of(request: str, question: str = "q", **value: Any) -> Outcome:
    return Outcome(request=request, question=question, **value)


def put(store: Store, *outcomes: tuple[float, Outcome]) -> None:
    store.add(OUTCOMES, [each.row(T0 + at) for at, each in outcomes])


def view(store: Store, at: float, window: float = DAY) -> tuple[list[Joined], Counter[str]]:
    made = JoinedView(store, window, T0 + at)
    found = sorted(made.decisions(), key=lambda each: each.line)
    assert set(made.counts) <= set(COUNTS)
    return found, +made.counts


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    return SQLiteStore(tmp_path / "log.sqlite")


def test_what_never_came_is_censored_and_what_may_come_is_immature(store: SQLiteStore) -> None:
    store.append([decided(0, "r1"), decided(0, "r2"), decided(DAY, "r3")])
    put(store, (5, of("r1", option="b")))
    found, counts = view(store, 1.5 * DAY)
    assert [each.status for each in found] == ["known", "censored", "immature"]
    assert [each.mature for each in found] == [True, True, False]
    assert (found[0].option, found[0].reward) == ("b", None)
    assert (found[1].option, found[1].reward) == (None, None)
    assert counts == {"known": 1, "censored": 1, "immature": 1}


def test_the_latest_recorded_of_contradictory_outcomes_counts(store: SQLiteStore) -> None:
    store.append([decided(0, "r")])
    put(store, (9, of("r", option="b", time=T0 + 1)), (5, of("r", option="a", time=T0 + 8)))
    [found], counts = view(store, DAY)
    assert (found.option, found.contradictory) == ("b", True)
    assert counts == {"known": 1, "contradictory": 1}
    [found], counts = view(store, 7, window=1)  # when the second was not yet recorded
    assert (found.option, found.contradictory) == ("a", False)
    assert counts["contradictory"] == 0


def test_an_option_and_a_reward_do_not_contradict_each_other(store: SQLiteStore) -> None:
    store.append([decided(0, "r")])
    put(store, (1, of("r", option="b")), (2, of("r", reward=0.25)), (3, of("r", happened=True)))
    [found], _ = view(store, DAY)
    assert (found.option, found.reward, found.contradictory) == ("b", 1.0, True)


def test_of_a_boolean_what_happened_is_the_option(store: SQLiteStore) -> None:
    store.append([decided(0, "r", kind="boolean"), decided(0, "s", kind="boolean")])
    put(store, (1, of("r", happened=True)), (1, of("s", happened=False)), (2, of("s", option="no")))
    found, _ = view(store, DAY)
    assert [each.option for each in found] == ["yes", "no"]
    assert not found[1].contradictory


def test_late_outcomes_count_and_are_counted(store: SQLiteStore) -> None:
    store.append([decided(0, "r"), decided(0, "s")])
    late = of("r", option="a", time=T0 + 2 * DAY)
    put(store, (2 * DAY + 1, late), (2 * DAY, of("s", option="a", time=T0 + 5)))
    found, counts = view(store, 3 * DAY)
    assert [each.late for each in found] == [1, 0]
    assert counts == {"known": 2, "late": 1}


def test_orphans_are_joined_when_their_decision_appears(store: SQLiteStore) -> None:
    put(store, (1, of("r", option="a")), (1, Outcome(decision=2, reward=1)))
    store.append([decided(0, "x")])
    assert view(store, DAY)[1] == {"orphan": 2, "censored": 1}
    store.append([decided(3, "r")])
    found, counts = view(store, DAY + 3)
    assert counts == {"censored": 1, "known": 1}
    assert (found[1].option, found[1].reward) == ("a", 1.0)


def test_what_happened_before_the_decision_is_not_its_outcome(store: SQLiteStore) -> None:
    store.append([decided(100, "r")])
    put(store, (200, of("r", option="a", time=T0)), (201, of("r", option="b", time=T0 + 50)))
    [found], counts = view(store, 2 * DAY)
    assert (found.option, counts["early"]) == ("b", 1)


def test_a_request_about_several_states_needs_the_state(store: SQLiteStore) -> None:
    store.append([decided(0, "r", state_hash="h1"), decided(0, "r", state_hash="h2")])
    put(store, (1, of("r", option="a")), (1, of("r", option="b", state_hash="h2")))
    put(store, (1, of("r", option="b", state_hash="h3")))
    found, counts = view(store, DAY)
    assert [each.option for each in found] == [None, "b"]
    assert counts == {"ambiguous": 1, "orphan": 1, "unassigned": 1, "known": 1}
    assert view(store, DAY / 2)[1]["immature"] == 1


def test_a_repeated_decision_does_not_count_its_outcome_twice(store: SQLiteStore) -> None:
    store.append([decided(0, "r"), decided(1, "r")])
    put(store, (2, of("r", option="a")))
    found, counts = view(store, 2 * DAY)
    assert [each.status for each in found] == ["known", "repeated"]
    assert counts == {"known": 1, "repeated": 1}


def test_a_client_may_use_its_own_request_id(store: SQLiteStore) -> None:
    store.append([decided(0, RequestId("f00d", "order-1")), decided(0, RequestId("beef", "f00d"))])
    put(store, (1, of("order-1", option="a")), (1, of("f00d", option="a", source="crm")))
    found, counts = view(store, DAY)
    assert [each.option for each in found] == ["a", None]
    assert counts == {"known": 1, "censored": 1}


def test_what_the_playground_asked_is_no_decision(store: SQLiteStore) -> None:
    store.append([decided(0, PLAYED + "1"), decided(0, "r2")])
    put(store, (1, of(PLAYED + "1", option="b")))
    for newest in (None, 9):
        made = JoinedView(store, DAY, T0 + DAY, newest)
        assert [each.entry.request for each in made.decisions()] == ["r2"]
    assert view(store, DAY)[1] == {"censored": 1, "orphan": 1}


def test_a_window_below_zero_is_refused(store: SQLiteStore) -> None:
    with pytest.raises(InvalidInputError, match="mature_after"):
        JoinedView(store, -1, 0)


VALUES = st.one_of(
    st.sampled_from(["a", "b"]).map(lambda option: {"option": option}),
    st.sampled_from([0.0, 0.5]).map(lambda reward: {"reward": reward}),
    st.booleans().map(lambda happened: {"happened": happened}),
)
NAMES = st.one_of(
    st.integers(1, 6).map(lambda line: {"decision": line}),
    st.builds(
        lambda request, question, state: {
            "request": request,
            "question": question,
            "state_hash": state,
        },
        st.sampled_from(["r1", "r2", "c1", "nobody"]),
        st.sampled_from(["q", "p"]),
        st.sampled_from([None, None, "h1"]),
    ),
)
TIMES = st.integers(0, 30)
ARRIVED = st.lists(
    st.tuples(TIMES, st.builds(lambda name, value: Outcome(**name, **value), NAMES, VALUES)),
    max_size=12,
    unique_by=lambda each: each[1].name,
)
DECIDED = st.lists(
    st.builds(
        decided,
        st.integers(0, 20),
        st.sampled_from(["r1", RequestId("r2", "c1"), RequestId("r3", "c1"), None]),
        st.sampled_from(["q", "p"]),
        state_hash=st.sampled_from(["h1", "h2"]),
        kind=st.sampled_from(["boolean", "choice"]),
    ),
    min_size=1,
    max_size=6,
)


class InMemory:
    """A store without a disk: what a view reads, and the rules of ``add``."""

    def __init__(self) -> None:
        self.decisions: list[Entry] = []
        self.tables: dict[str, dict[str, Row]] = {table.name: {} for table in TABLES}

    def append(self, entries: Sequence[Entry]) -> None:
        self.decisions += entries
        self.add(CLIENT_REQUESTS, beside(entries)[CLIENT_REQUESTS])

    def add(self, table: Table, rows: Sequence[Row]) -> None:
        known = self.tables[table.name]
        known |= {str(row[0]): row for row in fresh(table, rows, known)}

    def rows(self, table: Table) -> Iterator[Row]:
        return iter(self.tables[table.name].values())

    def lines(self, _: object, __: None, until: float, ___: None) -> Iterator[tuple[int, Entry]]:
        return ((line, each) for line, each in enumerate(self.decisions, 1) if each.time < until)


def seen(
    store: Store, outcomes: list[tuple[int, Outcome]], decisions: list[Entry], before: int
) -> object:
    """The views of a log whose decisions came after some of the outcomes; all came twice."""
    put(store, *outcomes[:before])
    store.append(decisions)
    put(store, *outcomes[before:])
    put(store, *outcomes)
    return [view(store, at, window=5) for at in (10, 40)]


@settings(max_examples=300, deadline=None)
@given(st.data(), ARRIVED, DECIDED)
def test_the_view_does_not_depend_on_the_order_of_arrival(
    data: st.DataObject, arrived: list[tuple[int, Outcome]], decisions: list[Entry]
) -> None:
    shuffled = data.draw(st.permutations(arrived))
    before = data.draw(st.integers(0, len(arrived)))
    stores = cast("list[Store]", [InMemory(), InMemory()])
    expected = seen(stores[0], arrived, decisions, 0)
    assert seen(stores[1], shuffled, decisions, before) == expected


@settings(max_examples=8, deadline=None, phases=[Phase.generate])
@given(ARRIVED, DECIDED)
def test_every_store_gives_the_same_view(
    arrived: list[tuple[int, Outcome]], decisions: list[Entry]
) -> None:
    expected = seen(cast("Store", InMemory()), arrived, decisions, 0)
    with tempfile.TemporaryDirectory() as folder:
        for place in (f"{folder}/log.sqlite", f"sqlite:///{folder}/alchemy.sqlite"):
            store = open_store(place)
            assert seen(store, arrived[::-1], decisions, len(arrived) // 2) == expected
            store.close()
