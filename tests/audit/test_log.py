from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.calibrate.test_policy import POLICY, SCHEMA
from tests.path_engine import path_decider
from thisthat.audit.alchemy_store import AlchemyStore
from thisthat.audit.drift import check_drift
from thisthat.audit.entry import COLUMNS, Entry
from thisthat.audit.export import export_parquet
from thisthat.audit.log import DecisionLog
from thisthat.audit.protocol import LogError
from thisthat.audit.store import SQLiteStore, open_store
from thisthat.audit.verify import verify
from thisthat.calibrate.drift import DriftWarning
from thisthat.decide.decider import Decider
from thisthat.decide.policy import Policy
from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.identity import schema_hash, state_hash


def logged(path: Path, **how: Any) -> Decider:
    decider = path_decider()
    decider.log = DecisionLog(path, **how)
    return decider


def closed(decider: Decider) -> DecisionLog:
    assert decider.log is not None
    decider.log.close()
    return decider.log


@pytest.fixture(params=["sqlite", "alchemy"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "alchemy":
        pytest.importorskip("sqlalchemy")
        return f"sqlite:///{tmp_path / 'alchemy.sqlite'}"
    return str(tmp_path / "log.sqlite")


def test_every_answer_is_on_record(place: str) -> None:
    decider = path_decider()
    decider.log = DecisionLog(place)
    decision = decider.decide({"k": "ü"}, SCHEMA, policy=POLICY, request_id="r-1")
    decider.ask("s", "Is it?")
    log = closed(decider)
    assert log.health.written == 4
    assert log.health.failures == log.health.dropped == log.health.waiting == 0
    newest, *rest = open_store(place).read({}, None, None, None)
    assert (newest.question, newest.policy, newest.action) == ("question", None, None)
    by_name = {entry.question: entry for entry in rest}
    assert set(by_name) == set(SCHEMA)
    entry, answer = by_name["queue"], decision["queue"]
    assert json.loads(entry.probabilities) == answer.probabilities
    assert answer.outcome is not None
    assert entry.schema == schema_hash(SCHEMA)
    assert entry.state_hash == state_hash({"k": "ü"})
    assert entry.state is None
    assert (entry.request, entry.best, entry.kind) == ("r-1", answer.best_name, "choice")
    assert (entry.policy, entry.action, entry.option, entry.reason) == (
        POLICY.hash,
        answer.outcome.action,
        answer.outcome.option,
        answer.outcome.reason,
    )
    assert (entry.checkpoint, entry.version, entry.lam) == ("paths", "1", 0.5)
    assert abs(entry.time - time.time()) < 60


def test_states_are_kept_only_if_asked(tmp_path: Path) -> None:
    decider = logged(tmp_path / "a.sqlite", keep_states=True)
    decider.ask({"k": 1}, "Is it?")
    closed(decider)
    [entry] = SQLiteStore(tmp_path / "a.sqlite").read()
    assert entry.state == '{"k": 1}'


def test_a_forced_policy_is_on_record(tmp_path: Path) -> None:
    decider = logged(tmp_path / "a.sqlite")
    decider.decide("s", SCHEMA, policy=POLICY.force(), layout="schema-first")
    closed(decider)
    for entry in SQLiteStore(tmp_path / "a.sqlite").read():
        assert entry.forced == "layout is schema-first, not state-first"


def test_lines_are_found_by_what_is_known_of_them(place: str) -> None:
    decider = path_decider()
    decider.log = DecisionLog(place)
    for number in range(5):
        decider.decide(f"s{number}", SCHEMA, request_id=f"r{number}")
    closed(decider)
    store = open_store(place)
    assert len(list(store.read({"request": "r3"}, None, None, None))) == 3
    assert len(list(store.read({"question": "queue"}, None, None, 2))) == 2
    assert len(list(store.read({"state_hash": state_hash("s1")}, None, None, None))) == 3
    assert list(store.read({}, time.time() + 60, None, None)) == []
    assert len(list(store.read({}, None, time.time() + 60, None))) == 15
    with pytest.raises(
        InvalidInputError, match="reason: cannot be filtered by; known are id, request"
    ):
        list(store.read({"reason": "x"}, None, None, None))


def entry(at: float, **changes: Any) -> Entry:
    plain = dict.fromkeys(COLUMNS, "x")
    numbers: dict[str, Any] = {"time": at, "sure": 0.5, "lam": 1.0, "probabilities": "{}"}
    return Entry(**{**plain, **numbers, **changes})


def test_old_lines_go_and_others_stay(place: str) -> None:
    store = open_store(place)
    store.append([entry(100.0), entry(200.0), entry(300.0)])
    assert store.purge(250.0) == 2
    with pytest.raises(InvalidInputError, match="before: is in the future"):
        store.purge(time.time() + 60)
    assert [e.time for e in store.read({}, None, None, None)] == [300.0]


def test_the_file_refuses_changes(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.sqlite")
    store.append([entry(100.0)])
    store.purge(50.0)
    store.close()
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        for statement in ("UPDATE decisions SET best = 'y'", "DELETE FROM decisions"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_export_to_parquet(tmp_path: Path) -> None:
    decider = logged(tmp_path / "a.sqlite")
    decider.decide("s", SCHEMA, policy=POLICY)
    closed(decider)
    entries = list(SQLiteStore(tmp_path / "a.sqlite").read())
    assert export_parquet(entries, tmp_path / "a.parquet") == 3
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert tuple(table.column_names) == COLUMNS
    assert [Entry(**row) for row in table.to_pylist()] == entries
    assert list(SQLiteStore(str(tmp_path / "a.sqlite")).read()) == entries


def test_export_without_its_packages_names_the_extra_and_what_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"log query .* JSON lines.*\.\[audit\]"):
        export_parquet([], tmp_path / "a.parquet")


def test_an_action_that_no_policy_says_is_refused(place: str) -> None:
    store = open_store(place)
    store.append([entry(1.0)])
    with pytest.raises(
        InvalidInputError, match="action: 'acted' is not one of act, abstain, escal"
    ):
        list(store.read({"action": "acted"}, None, None, None))
    assert list(store.read({"action": "act"}, None, None, None)) == []
    store.close()


def test_every_time_the_log_begins_to_fail_it_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.sqlite"
    decider = path_decider()
    decider.log = DecisionLog(SQLiteStore(path, busy_seconds=0.01))
    decider.ask("first", "Is it?")
    assert decider.log.flush()
    for state in ("second", "third"):
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        decider.ask(state, "Is it?")
        assert not decider.log.flush()
        assert not decider.log.flush()
        holder.execute("ROLLBACK")
        holder.close()
        while decider.log.health.waiting:
            time.sleep(0.01)
    assert closed(decider).health.failures >= 4
    assert caplog.text.count("decisions continue") == 2


def test_a_locked_database_stops_no_decision_and_loses_no_line(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    decider = path_decider()
    decider.log = DecisionLog(SQLiteStore(path, busy_seconds=0.05))
    decider.ask("first", "Is it?")
    assert decider.log.flush()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    answer = decider.ask("second", "Is it?")
    assert answer == path_decider().ask("second", "Is it?")
    assert not decider.log.flush()
    health = decider.log.health
    assert health.failures >= 1
    assert health.waiting == 1
    assert health.last_failure is not None
    assert "database is locked" in health.last_failure
    holder.execute("ROLLBACK")
    holder.close()
    log = closed(decider)
    assert (log.health.written, log.health.dropped) == (2, 0)
    assert [e.state_hash for e in SQLiteStore(path).read()] == [
        state_hash("second"),
        state_hash("first"),
    ]


def test_a_corrupted_database_stops_no_decision_and_is_not_touched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"this is no database " * 400)
    decider = logged(path)
    assert decider.ask("s", "Is it?") == path_decider().ask("s", "Is it?")
    assert decider.log is not None
    assert not decider.log.flush()
    log = closed(decider)
    assert log.health.failures >= 1
    assert (log.health.written, log.health.dropped) == (0, 1)
    assert "file is not a database" in str(log.health.last_failure)
    assert path.read_bytes() == b"this is no database " * 400
    assert "decisions continue" in caplog.text
    with pytest.raises(LogError, match="file is not a database"):
        list(SQLiteStore(path).read())


def test_what_was_written_before_a_corruption_was_noticed_stays(tmp_path: Path) -> None:
    """The database is damaged under a running log: decisions continue, later lines are counted."""
    path = tmp_path / "a.sqlite"
    decider = logged(path)
    decider.ask("s", "Is it?")
    assert decider.log is not None
    assert decider.log.flush()
    decider.log.store.close()  # moves everything from the journal into the file
    before = path.read_bytes()
    path.write_bytes(b"x" * 100 + before[100:])
    decider.ask("t", "Is it?")
    assert not decider.log.flush()
    assert decider.log.health.failures >= 1
    path.write_bytes(before)
    log = closed(decider)
    assert log.health.written == 2
    assert len(list(SQLiteStore(path).read())) == 2


class Broken:
    """A store whose driver fails in its own way."""

    def append(self, entries: Sequence[Entry]) -> None:
        raise RuntimeError("driver trouble")

    def close(self) -> None:
        pass


def test_a_surprise_from_a_driver_is_counted_too() -> None:
    decider = path_decider()
    decider.log = DecisionLog(Broken())  # type: ignore[arg-type]
    decider.ask("s", "Is it?")
    decider.log.flush()
    health = decider.log.health
    assert (health.dropped, health.failures) == (1, 1)
    assert health.last_failure == "RuntimeError: driver trouble"


def test_the_waiting_room_has_an_end(tmp_path: Path) -> None:
    decider = logged(tmp_path, most_waiting=3)  # a folder cannot be a database
    for number in range(5):
        decider.ask(f"s{number}", "Is it?")
    assert decider.log is not None
    assert decider.log.health.dropped >= 2
    assert decider.log.health.waiting <= 3
    assert closed(decider).health.dropped == 5
    with pytest.raises(InvalidInputError, match="most_waiting: is 0; at least 1 is needed"):
        DecisionLog(tmp_path / "a", most_waiting=0)


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    decider = logged(tmp_path / "a.sqlite")

    def ask(start: int) -> None:
        for number in range(50):
            decider.ask(f"{start} {number}", "Is it?")

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert closed(decider).health.written == 200
    hashes = {e.state_hash for e in SQLiteStore(tmp_path / "a.sqlite").read()}
    assert len(hashes) == 200


@pytest.mark.parametrize(("end", "wait"), [("os._exit(9)", True), ("raise SystemExit(9)", False)])
def test_a_program_that_ends_leaves_its_lines(tmp_path: Path, end: str, wait: bool) -> None:
    """Killed, when it waited for each line; ended in the usual way, whether it did or not."""
    program = f"""
import os
from tests.path_engine import path_decider
from thisthat.audit.log import DecisionLog
decider = path_decider()
decider.log = DecisionLog({str(tmp_path / "a.sqlite")!r}, wait={wait})
for number in range(7):
    decider.ask(f"s{{number}}", "Is it?")
{end}
"""
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", program], cwd=root).returncode == 9
    hashes = [e.state_hash for e in SQLiteStore(tmp_path / "a.sqlite").read()]
    assert hashes == [state_hash(f"s{number}") for number in reversed(range(7))]


def test_a_flush_does_not_wait_for_lines_that_come_after_it(tmp_path: Path) -> None:
    decider = logged(tmp_path / "a.sqlite")
    stop = threading.Event()

    def go_on() -> None:
        while not stop.wait(0.002):
            decider.ask("s", "Is it?")

    busy = threading.Thread(target=go_on)
    busy.start()
    assert decider.log is not None
    try:
        while not decider.log.health.waiting:
            time.sleep(0.001)
        assert decider.log.flush(5)
    finally:
        stop.set()
        busy.join()
    log = closed(decider)
    assert log.health.dropped == 0
    assert log.flush()


def test_drift_raises_a_warning_with_test_and_e_value(tmp_path: Path) -> None:
    decider = logged(tmp_path / "a.sqlite")
    decider.decide_many([f"state {n}" for n in range(120)], SCHEMA, policy=POLICY)
    closed(decider)
    entries = list(SQLiteStore(tmp_path / "a.sqlite").read())
    with pytest.warns(DriftWarning, match=r"queue: drift .*how sure, e-value"):
        found = check_drift(entries, POLICY)
    assert {test.question for test in found} == set(SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        another = Policy.from_json({**POLICY.as_json(), "target": "error<=0.3"})
        assert check_drift(entries, another) == []
        same = [
            replace(entries[0], question="queue", policy=POLICY.hash, sure=sure, best="other")
            for sure in POLICY.questions["queue"].reference.sure[:40]
        ]
        assert not any(test.enough for test in check_drift(same[:5], POLICY))


def test_a_log_that_was_closed_is_missed_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    decider = path_decider()
    with DecisionLog(tmp_path / "a.sqlite") as decider.log:
        decider.ask("s", "Is it?")
    assert not caplog.text
    for state in ("t", "u"):
        assert decider.ask(state, "Is it?") == path_decider().ask(state, "Is it?")
    assert decider.log.health.dropped == 2
    assert caplog.text.count("it was closed, so later decisions are not recorded") == 1


def test_no_folder_is_made_for_a_log(tmp_path: Path) -> None:
    path = tmp_path / "typo" / "a.sqlite"
    with pytest.raises(InvalidInputError, match=r"^log: .*: there is no folder .*typo; make it"):
        DecisionLog(path)
    decider = path_decider()
    with DecisionLog(SQLiteStore(path)) as decider.log:
        decider.ask("s", "Is it?")
    assert (decider.log.health.written, decider.log.health.dropped) == (0, 1)
    assert not path.parent.exists()


def test_places_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LogError, match="there is no such file"):
        list(SQLiteStore(tmp_path / "none.sqlite").read())
    with pytest.raises(LogError, match="there is no such file"):
        SQLiteStore(tmp_path / "none.sqlite").purge(1.0)
    assert not (tmp_path / "none.sqlite").exists()
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtraError, match=r"postgresql:// needs .*\.\[audit\]"):
        open_store("postgresql://u:secret@host/db")


def test_an_unreachable_database_is_a_failure_that_is_counted(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    decider = path_decider()
    decider.log = DecisionLog(AlchemyStore(f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}"))
    decider.ask("s", "Is it?")
    assert not decider.log.flush()
    assert closed(decider).health.dropped == 1
    assert "unable to open database file" in str(decider.log.health.last_failure)


def test_a_line_after_a_pause_is_written_at_once_and_later_ones_share_a_sync(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("thisthat.audit.log._APART_SECONDS", 3600.0)
    log = DecisionLog(tmp_path / "a.sqlite")
    decider = path_decider()
    decider.log = log
    decider.decide("a", {"q": "Is it?"})
    assert log.flush()
    decider.decide("b", {"q": "Is it?"})
    decider.decide("c", {"q": "Is it?"})
    assert log.health.waiting == 2
    log.close()
    assert log.health.written == 3


def test_many_lines_take_few_statements(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.sqlite")
    decider = path_decider()
    with DecisionLog(store) as decider.log:
        decider.decide("a", {"q": "Is it?"})
    [entry] = store.read()
    store.append([])
    said: list[str] = []
    store.database._connection.set_trace_callback(said.append)  # type: ignore[attr-defined]
    store.append([entry] * 71)
    store.close()
    inserts = {each for each in said if each.startswith("INSERT")}  # again for every trigger
    assert len(inserts) == 2 * 5  # 32 + 32 + 4 + 2 + 1, of lines and of places
    assert len(list(store.read())) == 72
    assert verify(store).whole
