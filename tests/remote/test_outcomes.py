"""Outcomes that a client sends: in the server's log once, refused by name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thisthat
from tests.remote.test_decider import scripted
from tests.serve.formats.test_outcomes import logging_service
from tests.serve.support import on_loopback
from thisthat import InvalidInputError, Score, ServerError
from thisthat.audit.store import SQLiteStore
from thisthat.loop.outcomes import Outcome, Recorded, RefusedOutcomeError, received
from thisthat.remote.decider import RemoteDecider

ANGER = {"anger": Score(["calm", "annoyed", "furious"], "How angry?")}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def decider(log: Path) -> Iterator[RemoteDecider]:
    service = logging_service(log)
    with on_loopback(service) as address, thisthat.connect(address) as found:
        found.decide("s", ANGER, request_id="mail-1")
        assert service.log is not None
        assert service.log.flush()
        yield found


def outcome(**more: Any) -> Outcome:
    return Outcome(request="mail-1", question="anger", source="desk", **more)


def test_outcomes_are_recorded_once_and_counted(decider: RemoteDecider, log: Path) -> None:
    told = outcome(option="furious", time=1.9e9, key="k")
    late = [told, Outcome(request="mail-2", question="anger", reward=0.5)]
    with pytest.raises(InvalidInputError, match=r"outcomes\[0\].time: 1900000000 is in the future"):
        decider.record(told, ANGER)
    late[0] = outcome(option="furious", key="k")
    assert decider.record(late, ANGER) == Recorded(recorded=2, repeated=0, orphan=1)
    assert asyncio.run(decider.record_async(late, ANGER)) == Recorded(0, 2, orphan=1)
    assert decider.record([]) == Recorded(0, 0)
    found = {each.outcome.request: each.outcome for each in received(SQLiteStore(log))}
    assert found == {"mail-1": outcome(option="2", key="k"), "mail-2": found["mail-2"]}
    assert found["mail-2"].reward == 0.5


def test_more_than_a_thousand_go_in_parts(decider: RemoteDecider, log: Path) -> None:
    many = [outcome(reward=number / 1500, key=f"k{number}") for number in range(1500)]
    assert decider.record(iter(many)) == Recorded(1500, 0)
    assert len(list(received(SQLiteStore(log)))) == 1500


def test_what_is_refused_is_named(decider: RemoteDecider) -> None:
    with pytest.raises(
        RefusedOutcomeError, match=r"outcomes\[0\]\.option: 'furious' is not one of"
    ):
        decider.record(outcome(option="furious"))
    many = [outcome(reward=number / 1500, key=f"k{number}") for number in range(1500)]
    many[1203] = outcome(option="furious")
    with pytest.raises(RefusedOutcomeError, match=r"outcomes\[1203\]\.option: ") as refused:
        decider.record(many)
    assert (refused.value.number, refused.value.about) == (1203, "option")


def test_an_answer_that_breaks_off_says_to_send_it_again() -> None:
    with (
        scripted(lambda _: (200, {}, b'{"recorded": 1')) as (address, _),
        pytest.raises(ServerError, match="send the same again, nothing is recorded twice"),
    ):
        thisthat.connect(address).record(outcome(option="2"))
