"""The decision log in a database of its own: several writers, purges, and a server that goes away.

Runs with ``THISTHAT_DATABASE`` set to the SQLAlchemy URL of an empty database.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.audit.test_chain import writer
from tests.audit.test_log import entry
from tests.path_engine import path_decider
from thisthat.audit.alchemy_store import AlchemyStore
from thisthat.audit.log import DecisionLog
from thisthat.audit.verify import anchor_of, verify

URL = os.environ.get("THISTHAT_DATABASE", "")
pytestmark = pytest.mark.skipif(not URL, reason="THISTHAT_DATABASE is not set")


@pytest.fixture
def store() -> Iterator[AlchemyStore]:
    found = AlchemyStore(URL)
    yield found
    found.database.metadata.drop_all(found.database.engine)
    found.close()


def edit(store: AlchemyStore, statement: str) -> None:
    with store.database.engine.begin() as connection:
        connection.exec_driver_sql(statement)


def test_several_processes_write_one_chain(store: AlchemyStore) -> None:
    writers = [writer(URL, 20) for _ in range(3)]
    for each in writers:
        assert each.communicate("go\n", timeout=60)[0].split()[-1] == "19"
    report = verify(store)
    assert report.whole
    assert (report.lines, report.last) == (120, 120)


def test_lines_come_back_as_they_were_chained(store: AlchemyStore) -> None:
    values = [0.1, 1e-300, 1 / 3, 1794941920.7944798]
    store.append([entry(number, sure=number, lam=1, state="ü\n😀") for number in values])
    anchor = anchor_of(store)
    assert verify(store, [anchor]).whole
    assert store.purge(1.0) == 3
    store.append([entry(2.0)])
    report = verify(store, [anchor])
    assert report.whole
    assert report.fitting == 1
    edit(store, "UPDATE decisions SET best = 'y' WHERE time = 2")
    [finding] = verify(store).findings
    assert finding.what.startswith("line 6 (1970-01-01T00:00:02+00:00")


def test_a_line_that_the_database_refuses_takes_no_other_with_it(store: AlchemyStore) -> None:
    decider = path_decider()
    with DecisionLog(store) as log:
        decider.log = log
        for number in range(6):
            decider.ask("s", "Is it?", request_id="a\0b" if number == 2 else "r")
    assert (log.health.written, log.health.dropped) == (5, 1)
    assert verify(store).whole


def test_a_database_that_ends_its_connections_is_written_again(store: AlchemyStore) -> None:
    decider = path_decider()
    with DecisionLog(store) as log:
        decider.log = log
        decider.ask("first", "Is it?")
        assert log.flush()
        edit(AlchemyStore(URL), _END_OTHERS)
        decider.ask("second", "Is it?")
    assert (log.health.written, log.health.dropped) == (2, 0)
    assert verify(store).whole


_END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
