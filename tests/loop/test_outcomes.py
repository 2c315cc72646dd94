from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.audit.test_chain import edit
from tests.audit.test_log import entry
from thisthat.audit.beside import ASSIGNMENTS, CLIENT_REQUESTS, OUTCOMES, RequestId
from thisthat.audit.protocol import LogError, NoLogYetError
from thisthat.audit.store import SQLiteStore, open_store
from thisthat.audit.verify import verify
from thisthat.errors import InvalidInputError
from thisthat.loop.assignment_log import Assigned, assignment, assignments
from thisthat.loop.joined import JoinedView
from thisthat.loop.outcomes import (
    AT_ONCE,
    Outcome,
    Recorded,
    RefusedOutcomeError,
    received,
    record,
)
from thisthat.questions import Score

NAMED: dict[str, Any] = {"request": "r", "question": "q"}


@pytest.fixture(params=["sqlite", "alchemy"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "log.sqlite"
    path.touch(0o600)
    return str(path) if request.param == "sqlite" else f"sqlite:///{path}?timeout=60"


def outcome(number: int) -> Outcome:
    return Outcome(request=f"r{number}", question="q", reward=(number % 10) / 10, key=f"k{number}")


def total(place: str) -> tuple[int, float]:
    rewards = [each.outcome.reward or 0.0 for each in received(open_store(place))]
    return len(rewards), round(sum(rewards), 6)


def test_a_level_that_is_worded_as_another_ones_number_is_refused(place: str) -> None:
    stars = {"q": Score(["1", "2"], "How many stars?")}
    for option, number in (("0", "0"), ("2", "1")):
        record(place, Outcome(**NAMED, option=option, key=option), stars)
        [found] = [each for each in received(open_store(place)) if each.outcome.key == option]
        assert found.outcome.option == number
    why = "'1' may mean '1: 2' or '0: 1'; it is a number without the questions"
    with pytest.raises(RefusedOutcomeError, match=why):
        record(place, Outcome(**NAMED, option="1"), stars)
    assert record(place, Outcome(**NAMED, option="1")).recorded == 1


def test_outcomes_come_back_as_they_were_given(place: str) -> None:
    given = [
        Outcome(decision=3, happened=False, source="crm", time=12.5),
        Outcome(request="ü😀", question="q", state_hash="ab", option="yes", key="k"),
        Outcome(**NAMED, reward=0),
        Outcome(**NAMED, happened=True),
    ]
    open_store(place).append([entry(1.0), entry(2.0), entry(3.0)])
    before = time.time()
    assert record(place, given) == Recorded(4, 0, orphan=3)
    found = {each.outcome.name: each for each in received(open_store(place))}
    assert set(found) == {each.name for each in given}
    for each in given:
        again = found[each.name].outcome
        assert again.row(0)[1:] == each.row(0)[1:]
        assert before <= found[each.name].recorded <= time.time()
    assert found[given[0].name].outcome.happened is False


def test_what_is_repeated_has_no_effect(place: str) -> None:
    first = Outcome(**NAMED, option="yes")
    assert record(place, [first, first]) == Recorded(1, 1, orphan=2)
    assert record(place, Outcome(**NAMED, option="yes")) == Recorded(0, 1, orphan=1)
    assert record(place, Outcome(**NAMED, option="yes", time=1)) == Recorded(1, 0, orphan=1)
    assert record(place, Outcome(**NAMED, option="no", key="k")) == Recorded(1, 0, orphan=1)
    assert record(place, Outcome(**NAMED, option="no", key="k")) == Recorded(0, 1, orphan=1)


def test_a_key_for_something_else_changes_nothing(place: str) -> None:
    record(place, Outcome(**NAMED, option="no", key="k"))
    batch = [Outcome(**NAMED, reward=0.5), Outcome(**NAMED, option="yes", key="k")]
    with pytest.raises(InvalidInputError, match=r"outcomes\[1\]\.key: 'k' was recorded before"):
        record(place, batch)
    with pytest.raises(InvalidInputError, match=r"outcomes\[1\]\.key"):
        record(place, [Outcome(**NAMED, reward=0.1, key="n"), Outcome(**NAMED, reward=1, key="n")])
    assert len(list(received(open_store(place)))) == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"request": "r", "option": "x"}, "question"),
        ({"question": "r", "option": "x"}, "request"),
        ({"decision": 1, "request": "r", "option": "x"}, "decision"),
        ({"decision": 0, "option": "x"}, "decision"),
        ({"decision": True, "option": "x"}, "decision"),
        ({"decision": "1", "option": "x"}, "decision"),
        ({"decision": 1}, "option"),
        ({"decision": 1, "option": "x", "reward": 1}, "option"),
        ({"decision": 1, "option": ["x"]}, "option"),
        ({"decision": 1, "option": ""}, "option"),
        ({"decision": 1, "option": "a\0"}, "option"),
        ({"decision": 1, "option": "\ud800"}, "option"),
        ({"decision": 1, "reward": 1.01}, "reward"),
        ({"decision": 1, "reward": float("nan")}, "reward"),
        ({"decision": 1, "reward": True}, "reward"),
        ({"decision": 1, "happened": 1}, "happened"),
        ({"decision": 1, "happened": True, "time": "yesterday"}, "time"),
        ({"decision": 1, "happened": True, "time": -1}, "time"),
        ({"decision": 1, "happened": True, "key": "k" * 201}, "key"),
        ({"decision": 1, "happened": True, "source": "k" * 501}, "source"),
        ({"decision": 1, "happened": True, "colour": 1}, "colour"),
        ([], ""),
    ],
)
def test_bad_input_names_its_field(given: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Outcome.from_json(given)
    assert caught.value.field == field


def test_dates_and_plain_values_are_read() -> None:
    for make in (Outcome.from_json, lambda given: Outcome(**given)):
        made = make({**NAMED, "option": True, "time": "1970-01-02T00:00:00Z"})
        assert (made.option, made.time) == ("yes", 86400)
        assert make({**NAMED, "option": False}) == Outcome(**NAMED, option="no")
        assert make({**NAMED, "option": 2, "time": 5}).option == "2"
        with pytest.raises(InvalidInputError, match="time: 'soon' is neither seconds"):
            make({**NAMED, "option": True, "time": "soon"})


def test_one_that_names_no_decision_is_told_what_names_one() -> None:
    why = "request: is missing: name the decision, or its request and its question"
    with pytest.raises(InvalidInputError, match=why):
        Outcome(question="q", option="x")


@pytest.mark.parametrize(("written", "option"), [("false", "no"), ("TRUE", "yes"), ("No", "no")])
def test_a_booleans_option_is_read_as_in_labels(place: str, written: str, option: str) -> None:
    store = open_store(place)
    early = Outcome(**{**NAMED, "request": "later"}, option=written, key="early")
    assert record(store, early).orphan == 1
    asked = {"kind": "boolean", "probabilities": '{"no": 0.4, "yes": 0.6}', "question": "q"}
    store.append([entry(1.0, **asked, request="r"), entry(2.0, **asked, request="later")])
    assert record(store, Outcome(**NAMED, option=written)).recorded == 1
    assert record(store, Outcome(**NAMED, option=option)).recorded == 1
    assert record(store, early) == Recorded(0, 1)
    found = list(JoinedView(store, 0, 1e12).decisions())
    assert [each.option for each in found] == [option, option]
    assert not any(each.contradictory for each in found)
    with pytest.raises(RefusedOutcomeError, match="'1' is not one of no, yes, true, false"):
        record(store, Outcome(**NAMED, option="1"))


def test_a_choice_keeps_its_options_as_they_are_written(place: str) -> None:
    store = open_store(place)
    asked = {"kind": "choice", "probabilities": '{"False": 0.4, "no": 0.6}', "question": "q"}
    store.append([entry(1.0, **asked, request="r")])
    record(store, Outcome(**NAMED, option="False"))
    [found] = JoinedView(store, 0, 1e12).decisions()
    assert found.option == "False"
    with pytest.raises(RefusedOutcomeError, match="'false' is not one of False, no"):
        record(store, Outcome(**NAMED, option="false"))


def test_the_future_is_refused(place: str) -> None:
    later = Outcome(**NAMED, option="x", time=time.time() + 3600)
    with pytest.raises(InvalidInputError, match=r"outcomes\[1\]\.time: .* is in the future"):
        record(place, [Outcome(**NAMED, option="x"), later])
    open_store(place).add(OUTCOMES, [])
    assert list(received(open_store(place))) == []


def test_a_decision_of_a_log_that_is_not_there_yet_is_refused(place: str) -> None:
    ahead = Outcome(**NAMED, option="x")
    with pytest.raises(RefusedOutcomeError, match=r"outcomes\[1\]\.decision: 1 is not in the log"):
        record(place, [ahead, Outcome(decision=1, option="x")])
    assert record(place, ahead) == Recorded(1, 0, orphan=1)
    assert total(place)[0] == 1


def test_a_file_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "typo.sqlite"
    for given in (path, str(path)):
        with pytest.raises(InvalidInputError, match=r"^log: .*typo\.sqlite: there is no such file"):
            record(given, Outcome(**NAMED, option="x"))
    assert not path.exists()
    assert record(open_store(path), Outcome(**NAMED, option="x")).orphan == 1


def test_a_file_without_tables_is_no_log_yet(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    path.touch(0o600)
    with pytest.raises(RefusedOutcomeError, match="is not in the log"):
        record(path, Outcome(decision=1, option="x"))
    assert record(path, Outcome(**NAMED, option="x")) == Recorded(1, 0, orphan=1)


def test_a_log_that_cannot_be_read_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    path.write_text("no database " * 99)
    for store in (open_store(path), open_store(f"sqlite:///{path}")):
        with pytest.raises(LogError, match="not a database") as caught:
            list(store.lines({"request": "r"}, None, None, None))
        assert not isinstance(caught.value, NoLogYetError)
        with pytest.raises(LogError, match="not a database"):
            record(store, Outcome(**NAMED, option="x"))


def test_one_that_is_refused_keeps_all_others_out_however_many(place: str) -> None:
    many = [outcome(number) for number in range(AT_ONCE + 5)]
    late = Outcome(**NAMED, option="x", time=time.time() + 3600)
    with pytest.raises(RefusedOutcomeError, match=rf"outcomes\[{len(many)}\]\.time"):
        record(place, [*many, late])
    open_store(place).add(OUTCOMES, [])
    assert total(place)[0] == 0
    used = Outcome(**NAMED, option="x", key=many[0].key)
    with pytest.raises(RefusedOutcomeError) as caught:
        record(place, [*many, used])
    assert (caught.value.number, caught.value.about) == (len(many), "key")


def test_threads_that_post_the_same_in_any_order_count_each_once(place: str) -> None:
    """Eight threads, each all outcomes in an order of its own, a new file, no retries."""
    numbers = list(range(60))
    failures: list[Exception] = []
    start = threading.Barrier(8)

    def post(shift: int) -> None:
        try:
            start.wait()
            mine = numbers[shift:] + numbers[:shift]
            for first in range(0, len(mine), 7):
                record(place, [outcome(each) for each in mine[first : first + 7]])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=post, args=(7 * number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []
    assert total(place) == (60, 27.0)


_POSTER = """
import sys
from thisthat.loop.outcomes import Outcome, record
def outcome(number):
    return Outcome(request=f"r{number}", question="q", reward=(number % 10) / 10, key=f"k{number}")
for first in range(0, 200, 5):
    record(sys.argv[1], [outcome(each) for each in range(first, first + 5)])
    print(first, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_posters_that_begin_again_count_each_once(place: str) -> None:
    def poster() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _POSTER, place]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    confirmed = 0
    for kill_after in (0, 3, 11):
        process = poster()
        assert process.stdout is not None
        for _ in range(kill_after + 1):
            confirmed = max(confirmed, int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = {each.outcome.key for each in received(open_store(place))}
        assert {f"k{number}" for number in range(confirmed + 5)} <= kept
    process = poster()
    process.communicate()
    assert process.returncode == 0
    assert total(place) == (200, 90.0)


def test_decisions_and_their_chain_stay_as_they_are(place: str) -> None:
    store = open_store(place)
    store.append([entry(1.0, request="r", question="q")])
    record(store, [Outcome(**NAMED, happened=True), Outcome(decision=1, reward=1)])
    store.append([entry(2.0)])
    report = verify(store)
    assert report.whole
    assert report.lines == 2


def test_a_log_without_these_tables_has_no_outcomes(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    SQLiteStore(path).append([entry(1.0)])
    with sqlite3.connect(path) as connection:
        for name in ("outcomes", "assignments", "client_requests"):
            connection.execute(f"DROP TABLE {name}")
    for place in (str(path), f"sqlite:///{path}"):
        store = open_store(place)
        assert list(store.rows(OUTCOMES)) == list(store.rows(CLIENT_REQUESTS)) == []
    assert record(path, outcome(1)) == Recorded(1, 0, orphan=1)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE outcomes SET reward = 0",
        "DELETE FROM outcomes",
        "INSERT OR REPLACE INTO outcomes (key, recorded) VALUES ('k1', 0)",
    ],
)
def test_rows_do_not_change_by_accident(tmp_path: Path, change: str) -> None:
    path = tmp_path / "log.sqlite"
    record(open_store(path), outcome(1))
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="append"):
        connection.execute(change)
    assert total(str(path)) == (1, 0.1)


def test_a_purge_takes_what_was_recorded_before(place: str) -> None:
    store = open_store(place)
    store.append([entry(1.0)])
    store.add(OUTCOMES, [outcome(1).row(5.0), outcome(2).row(time.time())])
    assert store.purge(10.0) == 1
    assert [each.outcome.key for each in received(store)] == ["k2"]
    assert verify(store).whole


OUTCOME_CHANGES = {
    "UPDATE outcomes SET reward = 0.9 WHERE key = 'k2'": "outcome k2, recorded at 3, was changed",
    "UPDATE outcomes SET recorded = 1 WHERE key = 'k1'": "outcome k1, recorded at 2, was changed",
    "DELETE FROM outcomes WHERE key = 'k1'": "the outcome recorded at 2 was removed",
    "INSERT INTO outcomes (key, reward, recorded) VALUES ('k9', 1, 1)": "outcome k9 was inserted",
    "INSERT INTO outcomes (key, recorded, place) VALUES ('k9', 1, 1)": "outcome k9 was inserted",
    "UPDATE chain SET event = replace(event, '5.0', '4.0') WHERE number = 2": "record 2 was",
}


@pytest.mark.parametrize("statement", OUTCOME_CHANGES)
def test_a_changed_outcome_does_not_fit_the_chain(place: str, statement: str) -> None:
    store = open_store(place)
    store.append([entry(1.0)])
    store.add(OUTCOMES, [outcome(1).row(5.0), outcome(2).row(6.0), outcome(1).row(7.0)])
    report = verify(store)
    assert (report.whole, report.outcomes, report.last) == (True, 2, 3)
    assert [at for at, _ in store.rows_after(OUTCOMES, 2)] == [3]
    edit(place, statement)
    assert verify(store).findings[0].what.startswith(OUTCOME_CHANGES[statement])


def test_what_was_done_unasked_is_in_the_chain(place: str) -> None:
    store = open_store(place)
    store.note({"what": "rolled back", "e_value": 21.5})
    report = verify(store)
    assert report.whole
    assert report.notes[0].endswith("rolled back")
    edit(place, "UPDATE chain SET event = replace(event, '21.5', '19.5') WHERE number = 1")
    assert verify(store).findings[0].what == "record 1 was changed"


def test_assignments_are_written_with_the_decisions(place: str) -> None:
    store = open_store(place)
    own = RequestId("r1")
    first = Assigned("r1", None, "canary-4", "candidate", 1.0, 0.05, 0.05, "customer-7")
    second = Assigned("r1", None, "canary-5", "champion", 0.0, 0.05, 0.95, "customer-7")
    own.assigned = (first.row(), second.row())
    store.append([entry(1.0, request=own), entry(1.0, request=own, question="z"), entry(2.0)])
    store.append([entry(3.0, request=own)])
    assert list(assignments(store, "canary-4")) == [first]
    assert assignment(store, "r1", "canary-5") == second
    assert assignment(store, "r2", "canary-5") is None
    assert len(list(store.rows(ASSIGNMENTS))) == 2
    assert verify(store).whole
    with pytest.raises(InvalidInputError, match=r"propensity: must be in \(0, 1\], not 0"):
        Assigned("r", None, "e", "champion", 0.0, 0.0, 0.0, "u")


def test_clients_own_request_ids_are_written_with_the_decisions(place: str) -> None:
    store = open_store(place)
    own = RequestId("f00d", "order-1187")
    store.append([entry(1.0, request=own), entry(1.0, request=own, question="z"), entry(2.0)])
    store.append([entry(3.0, request=own), entry(3.0, request=RequestId("beef"))])
    assert [row[:2] for row in store.rows(CLIENT_REQUESTS)] == [("f00d", "order-1187")]
    assert [row[0] for row in store.rows(CLIENT_REQUESTS, {"client": "order-1187"})] == ["f00d"]
    assert list(store.rows(CLIENT_REQUESTS, {"client": "x"})) == []
    assert len(list(store.read({"request": "f00d"}, None, None, None))) == 3
    assert verify(store).whole
