"""Whoever changes the decision log is found out: every line, purge and loss fits the chain."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.audit.test_log import entry
from thisthat.audit.alchemy_store import AlchemyStatements, AlchemyStore
from thisthat.audit.chain import (
    Anchor,
    Place,
    beginning,
    content,
    link,
    places_of,
    read_anchors,
)
from thisthat.audit.log import DecisionLog
from thisthat.audit.protocol import LogError, Store
from thisthat.audit.store import SQLiteStore, open_store
from thisthat.audit.verify import VerifyReport, anchor_of, verify
from thisthat.cli.commands.log import app
from thisthat.errors import InvalidInputError

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("THISTHAT_KILLS", "3"))


@pytest.fixture(params=["sqlite", "alchemy"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = str(tmp_path / "log.sqlite")
    return path if request.param == "sqlite" else f"sqlite:///{path}"


def store_of(place: str, lines: int = 5) -> Store:
    store = open_store(place)
    store.append([entry(100.0 * number, request=f"r{number}") for number in range(1, lines + 1)])
    return store


def edit(place: str, *statements: str) -> None:
    """As someone does it who may write the file: without the triggers."""
    path = place.removeprefix("sqlite:///").partition("?")[0]
    with closing(sqlite3.connect(path)) as connection, connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in connection.execute(query).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)


def found(store: Store, *anchors: Anchor) -> list[str]:
    return [finding.what for finding in verify(store, anchors).findings]


def test_what_nobody_touched_fits(place: str) -> None:
    store = store_of(place)
    store.append([entry(600.0, sure=1, lam=0, state="ü\n")])
    report = verify(store, [anchor_of(store)])
    assert report == VerifyReport(lines=6, last=6, fitting=1)
    assert report.whole


CHANGES = {
    "UPDATE decisions SET best = 'y' WHERE id = 3": "line 3 (1970-01-01T00:05:00+00:00, request "
    "r3, question x) was changed",
    "UPDATE decisions SET time = 'never' WHERE id = 1": "line 1 (no time, request r1, ",
    "UPDATE decisions SET state = x'00' WHERE id = 2": "line 2 (",
    "UPDATE decisions SET time = 1e300 WHERE id = 2": "line 2 (no time",
    "DELETE FROM decisions WHERE id = 2": "line 2 was removed",
    "UPDATE chain SET link = 'f' WHERE number = 4": "line 4 (",
    "UPDATE chain SET number = 1 << 60 WHERE number = 5": f"lines 5 to {(1 << 60) - 1} were remove",
    "UPDATE chain SET event = '{\"begin\": 1}' WHERE number = 0": "record 0 cannot be read",
    "UPDATE chain SET event = replace(event, '0', '1') WHERE number = 0": "record 0 was changed",
    "INSERT INTO decisions (id, time, question) VALUES (77, 50, 'q')": "line 77 (1970-01-01T00:00:"
    "50+00:00, question q) was inserted",
    "INSERT INTO chain SELECT 6, NULL, event, 'f' FROM chain WHERE number = 0": (
        "record 6 cannot be read"
    ),
}


@pytest.mark.parametrize("statement", CHANGES)
def test_the_first_line_that_does_not_fit_is_named(place: str, statement: str) -> None:
    store = store_of(place)
    edit(place, statement)
    assert found(store)[0].startswith(CHANGES[statement])


def test_a_line_removed_with_its_place_in_the_chain(place: str) -> None:
    store = store_of(place)
    edit(place, "DELETE FROM decisions WHERE id = 3", "DELETE FROM chain WHERE line = 3")
    assert found(store)[0] == "line 3 was removed"


def test_lines_put_in_another_order(place: str) -> None:
    store = store_of(place)
    swap = "UPDATE {0} SET {1} = CASE {1} WHEN 2 THEN -4 ELSE -2 END WHERE {1} IN (2, 4)"
    back = "UPDATE {0} SET {1} = -{1} WHERE {1} < 0"
    edit(place, *(text.format("decisions", "id") for text in (swap, back)))
    assert [what.split(" (")[0] for what in found(store)] == ["line 2", "line 4"]
    edit(place, *(text.format("chain", "line") for text in (swap, back)))
    assert [what.split(" (")[0] for what in found(store)] == ["line 2", "line 4"]


def test_what_is_cut_off_at_the_end_is_told_by_an_anchor(place: str) -> None:
    store = store_of(place)
    anchor = anchor_of(store)
    edit(place, "DELETE FROM decisions WHERE id > 3", "DELETE FROM chain WHERE number > 3")
    assert found(store) == []
    [what] = found(store, anchor)
    assert what.startswith("line 4 was removed: the log ends at 3, but reached 5 at the anchor of ")


def rewritten(place: str, number: int) -> None:
    """Change a line and every link from it on, as someone does who knows how the chain is made."""
    store = SQLiteStore(place.removeprefix("sqlite:///"))
    rows = list(store.chain())
    statements = [f"UPDATE decisions SET best = 'forged' WHERE id = {number}"]
    before = rows[number - 1][0].link
    for each, line in rows[number:]:
        assert line is not None
        assert each.line is not None
        line = replace(line, best="forged") if each.number == number else line
        before = link(before, each.number, content(each.line, line))
        statements.append(f"UPDATE chain SET link = '{before}' WHERE number = {each.number}")
    edit(place, *statements)


def test_a_chain_made_anew_does_not_fit_an_anchor(place: str) -> None:
    store = store_of(place, 2)
    first = anchor_of(store)
    store.append([entry(300.0), entry(400.0), entry(500.0)])
    second = anchor_of(store)
    rewritten(place, 4)
    assert found(store, first) == []
    [what] = found(store, first, second)
    assert "does not fit: something from 3 to 5 was rewritten" in what


def test_a_log_put_in_its_place_does_not_fit_an_anchor(place: str, tmp_path: Path) -> None:
    anchor = anchor_of(store_of(place))
    other = place.replace("log.sqlite", "other.sqlite")
    [what] = found(store_of(other), anchor)
    assert "is of another log: this one was replaced" in what


def test_a_purge_leaves_a_record_and_a_chain_that_fits(place: str) -> None:
    """Also after the clock was set back, which puts young lines among old ones."""
    store = store_of(place)
    early, middle = Anchor("", 2, "", 0.0), anchor_of(store)
    store.append([entry(50.0), entry(900.0), entry(60.0)])
    assert store.purge(450.0) == 6
    assert store.purge(550.0) == 1
    late = anchor_of(store)
    report = verify(store, [replace(early, log=late.log), middle, late])
    assert report.whole
    assert report.lines == 1
    assert [note.split(": ")[-1] for note in report.notes] == [
        "6 lines from before 1970-01-01T00:07:30+00:00 were purged",
        "1 line from before 1970-01-01T00:09:10+00:00 was purged",
        "line 2 was purged",
    ]
    assert report.fitting == 2
    edit(place, "UPDATE chain SET event = replace(event, ': 450.0', ': 650.0') WHERE number = 9")
    assert found(store) == ["record 9 was changed"]
    edit(place, "DELETE FROM chain WHERE number = 9")
    assert "lines 1 to 4 were removed" in found(store)


def test_triggers_stop_what_is_done_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    store_of(str(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(decisions)")]
        forged = ", ".join("'y'" if name == "best" else name for name in columns)
        for statement in (
            f"REPLACE INTO decisions SELECT {forged} FROM decisions WHERE id = 2",
            "INSERT INTO purges VALUES (0, 9e99)",
            "UPDATE chain SET link = 'x'",
            "REPLACE INTO chain SELECT number, line, event, 'x' FROM chain WHERE number = 2",
            "DELETE FROM chain WHERE number = 2",
            "DELETE FROM chain WHERE number = 0",
        ):
            with pytest.raises(sqlite3.IntegrityError, match=r"append-only|only older lines"):
                connection.execute(statement)


OLD = """
CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL, request TEXT,
  question TEXT, kind TEXT, schema TEXT, state_hash TEXT, state TEXT, probabilities TEXT, best TEXT,
  sure REAL, policy TEXT, action TEXT, option TEXT, reason TEXT, forced TEXT, checkpoint TEXT,
  version TEXT, lam REAL);
INSERT INTO decisions (time, question) VALUES (1, 'a'), (2, 'b');
"""


def test_a_log_from_before_the_chain_is_read_and_goes_on_with_one(place: str) -> None:
    with closing(sqlite3.connect(place.removeprefix("sqlite:///"))) as connection:
        connection.executescript(OLD)
    store = open_store(place)
    assert verify(store) == VerifyReport(unchained=2)
    assert not verify(store).whole
    with pytest.raises(LogError, match="has no chain: it was written by an older version"):
        anchor_of(store)
    assert len(list(store.read({}, None, None, None))) == 2
    store.append([entry(3.0)])
    assert verify(store) == VerifyReport(lines=1, unchained=2, last=1)
    edit(place, "INSERT INTO decisions (id, time, question) VALUES (-5, 3, 'c')")
    assert found(store) == ["1 line was inserted among those from before the chain"]
    edit(place, "DELETE FROM decisions WHERE id = -5")
    assert store.purge(2.5) == 2
    assert verify(store).whole


def test_anchors_are_lines_of_json(tmp_path: Path) -> None:
    anchor = anchor_of(store_of(str(tmp_path / "log.sqlite")))
    text = f"{anchor.as_line()}\n\n{anchor.as_line()}\n"
    assert read_anchors(text, "a") == [anchor, anchor]
    for wrong, message in (("{}", "a: line 1 is no anchor"), ("\n", "a: has no anchor")):
        with pytest.raises(InvalidInputError, match=message):
            read_anchors(wrong, "a")


def test_the_command_names_what_does_not_fit(tmp_path: Path) -> None:
    path, anchors = str(tmp_path / "log.sqlite"), tmp_path / "anchors.jsonl"
    store_of(path).close()
    run = CliRunner().invoke
    anchors.write_text(run(app, ["anchor", path]).output)
    asked = ["verify", path, "--anchor", str(anchors)]
    whole = run(app, asked)
    assert (whole.exit_code, whole.output) == (
        0,
        "5 lines and 0 outcomes fit the chain, which ends at 5, 1 of 1 anchors compared\n",
    )
    assert run(app, ["purge", path, "--older-than", "1970-01-01T00:03"]).exit_code == 0
    assert "1 line from before 1970-01-01T00:03:00+00:00 was purged" in run(app, asked).output
    edit(path, "UPDATE decisions SET best = 'y'")
    broken = run(app, asked)
    assert broken.exit_code == 1
    assert broken.output.count("was changed") == 4
    with closing(sqlite3.connect(tmp_path / "old.sqlite")) as connection:
        connection.executescript(OLD)
    old = run(app, ["verify", str(tmp_path / "old.sqlite")])
    assert old.exit_code == 1
    assert "the log has no chain" in old.output


WRITER = """
import sys
from thisthat.audit.entry import COLUMNS, Entry
from thisthat.audit.protocol import LogError
from thisthat.audit.store import open_store

def entry(at):
    return Entry(**{name: "x" for name in COLUMNS} | {"time": at, "sure": 0.5, "lam": 1.0})

store = open_store(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    while True:
        try:
            store.append([entry(float(number)), entry(number + 0.5)])
            break
        except LogError:
            pass
    print(number, flush=True)
"""


def writer(place: str, appends: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, place, str(appends)],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_several_processes_write_one_chain(place: str) -> None:
    writers = [writer(place, 8) for _ in range(3)]
    for each in writers:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in writers:
        assert each.communicate("go\n", timeout=60)[0].split()[-1] == "7"
    report = verify(open_store(place))
    assert report.whole
    assert (report.lines, report.last) == (48, 48)


@pytest.mark.parametrize("number", range(KILLS))
def test_a_killed_writer_leaves_a_chain_that_fits_and_all_it_acknowledged(
    number: int, tmp_path: Path
) -> None:
    path = str(tmp_path / "log.sqlite")
    killed = writer(path, 100_000)
    assert killed.stdin is not None
    assert killed.stdout is not None
    assert killed.stdout.readline() == "ready\n"
    killed.stdin.write("go\n")
    killed.stdin.flush()
    acknowledged = -1
    for acknowledged in range(3 + 7 * number):
        assert killed.stdout.readline() == f"{acknowledged}\n"
    time.sleep(0.003 * number)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=10)
    report = verify(SQLiteStore(path))
    assert report.whole
    assert report.lines >= 2 * (acknowledged + 1)
    assert report.lines % 2 == 0
    store_of(path).close()
    assert verify(SQLiteStore(path)).whole


def test_a_log_whose_first_write_was_killed_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    program = (
        "import os, sqlite3, sys; base = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "base.execute('PRAGMA cache_spill = 1'); base.execute('PRAGMA cache_size = 1')\n"
        "base.execute('CREATE TABLE kept (x)'); base.execute('BEGIN IMMEDIATE')\n"
        "base.execute('CREATE TABLE half (x)')\n"
        "base.executemany('INSERT INTO half VALUES (?)', [('x' * 4000,)] * 500)\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert path.with_name("log.sqlite-journal").exists(), "a journal that must be rolled back"
    with pytest.raises(LogError, match="no such table: decisions"):
        verify(SQLiteStore(path))
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("SELECT name FROM sqlite_master").fetchall() == [("kept",)]


def test_a_log_on_a_read_only_disk_is_read_without_a_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.sqlite"
    store = store_of(str(path))
    store.close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    report = verify(SQLiteStore(path))
    assert report.whole
    assert report.lines
    assert [each.name for each in tmp_path.iterdir()] == ["log.sqlite"], "nothing written beside"


def test_a_log_can_be_begun_before_its_first_line(place: str) -> None:
    log = DecisionLog(place)
    log.begin()
    report = verify(open_store(place))
    assert report.whole
    assert report.lines == 0
    log.begin()
    log.close()
    assert verify(open_store(place)).last == report.last


def written(log: DecisionLog, lines: int) -> None:
    until = time.monotonic() + 20
    while log.health.written < lines:
        assert time.monotonic() < until, log.health
        time.sleep(0.01)


Damage = Callable[[Path], None]


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    other = path.with_name("other.sqlite")
    store_of(str(other)).close()
    other.replace(path)


def cut(path: Path) -> None:
    edit(str(path), "DELETE FROM decisions WHERE id > 1", "DELETE FROM chain WHERE number > 1")


@pytest.mark.parametrize("damage", [deleted, replaced, cut])
def test_a_log_that_disappears_under_its_writer_is_noticed_and_on_record(
    damage: Damage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.path_engine import path_decider

    path = tmp_path / "log.sqlite"
    decider = path_decider()
    with DecisionLog(path) as log:
        decider.log = log
        for number in range(3):
            decider.ask(f"s{number}", "Is it?")
        written(log, 3)
        before = anchor_of(log.store)
        damage(path)
        decider.ask("after", "Is it?")
        written(log, 4)
        assert log.health.failures >= 1
        assert "lines up to 3 that were written are no longer in the log" in str(
            log.health.last_failure
        )
        assert log.health.dropped == 0
    assert "decisions continue" in caplog.text
    report = verify(SQLiteStore(path))
    [finding] = [each for each in report.findings if "had disappeared" in each.what]
    assert "lines up to 3 had disappeared when writing went on" in finding.what
    assert found(SQLiteStore(path), before)


def test_no_id_is_given_twice_whatever_is_purged(place: str) -> None:
    store, given = store_of(place), set(range(1, 6))
    for step in range(3):
        assert store.purge(1_000.0) > 0
        store.append([entry(900.0 - step), entry(9_000.0 + step)])
        fresh = {line for line, _ in store.lines({}, None, None, None)} - given
        assert len(fresh) == 2
        given |= fresh
    assert store.purge(10_000.0) == 4
    store.append([entry(1.0)])
    [(line, _)] = store.lines({}, None, None, None)
    assert line > max(given)
    assert verify(store).whole


def test_ids_go_on_behind_lines_from_before_the_chain(tmp_path: Path) -> None:
    store = AlchemyStore(f"sqlite:///{tmp_path / 'log.sqlite'}")
    store.note({"what": "makes the tables"})
    with store.database.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM chain")
        AlchemyStatements(store.database, connection).insert_lines([(70, entry(1.0))])
    store.append([entry(2.0)])
    assert store.purge(10.0) == 2
    store.append([entry(3.0)])
    [(line, _)] = store.lines({}, None, None, None)
    assert line > 71


def test_a_purge_by_another_process_is_no_loss(place: str) -> None:
    store = store_of(place)
    assert open_store(place).purge(10_000.0) == 5
    store.append([entry(20_000.0)])
    assert verify(store).whole


def test_a_purge_while_verifying_is_no_finding(tmp_path: Path) -> None:
    class Purged(SQLiteStore):
        def strays(self):  # type: ignore[no-untyped-def]
            if self.path.with_suffix(".once").exists():
                self.path.with_suffix(".once").unlink()
                SQLiteStore(self.path).purge(250.0)
            return super().strays()

        def chain(self, *, events: bool = False):  # type: ignore[no-untyped-def]
            if not events and not list(super().strays()):
                list(self.strays())
            return super().chain(events=events)

    path = tmp_path / "log.sqlite"
    store_of(str(path)).close()
    path.with_suffix(".once").touch()
    report = verify(Purged(path))
    assert report.whole
    assert report.lines == 3


def test_only_its_owner_may_read_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "log.sqlite"
    store = store_of(str(path))
    modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    assert modes == {"log.sqlite": 0o600, "log.sqlite-wal": 0o600, "log.sqlite-shm": 0o600}
    assert not caplog.records
    store.close()
    path.chmod(0o644)
    store_of(str(path)).close()
    assert "others may read" in caplog.text


def test_a_line_that_cannot_be_written_takes_no_other_with_it(place: str) -> None:
    from tests.path_engine import path_decider

    decider = path_decider()
    with DecisionLog(place) as log:
        decider.log = log
        for number in range(9):
            decider.ask(f"s{number}", "Is it?", request_id="r\ud800" if number in (3, 7) else "r")
    assert (log.health.written, log.health.dropped) == (7, 2)
    assert "surrogates not allowed" in str(log.health.last_failure)
    assert verify(open_store(place)) == VerifyReport(lines=7, last=7)


def test_a_required_line_that_is_not_on_disk_is_an_error(tmp_path: Path) -> None:
    from tests.path_engine import path_decider

    decider = path_decider()
    path = tmp_path / "log.sqlite"
    with DecisionLog(path, required=True) as log:
        decider.log = log
        decider.ask("s", "Is it?")
        assert len(list(SQLiteStore(path).read())) == 1
        with pytest.raises(LogError, match="surrogates not allowed"):
            decider.ask("s", "Is it?", request_id="\ud800")
    with pytest.raises(LogError):
        decider.ask("s", "Is it?")
    full = DecisionLog(tmp_path, required=True, most_waiting=1)  # a folder cannot be a database
    decider.log = full
    refused: list[LogError] = []

    def ask() -> None:
        try:
            decider.ask("s", "Is it?")
        except LogError as error:
            refused.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    while not full.health.failures:
        time.sleep(0.01)
    with pytest.raises(LogError, match="unable to open database file"):
        decider.ask("t", "Is it?")
    full.close()
    waiting.join(10)
    assert len(refused) == 1


def test_places_follow_each_other() -> None:
    first = beginning(0, 0)
    [second, third] = places_of(first, 5, [entry(1.0), entry(2.0)])
    assert (second.number, second.line, third.number, third.line) == (1, 5, 2, 6)
    assert third == Place(2, 6, None, link(second.link, 2, content(6, entry(2.0))))
    assert beginning(0, 0).link != first.link
