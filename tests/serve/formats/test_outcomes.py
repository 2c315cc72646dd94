"""Outcomes over HTTP: recorded once, by whom, and what is refused."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.support import REQUEST, on_loopback, opened, post, service_for
from thisthat.audit.beside import OUTCOMES
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.loop.joined import JoinedView
from thisthat.loop.outcomes import received
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

PATH = "/v1/outcomes"
GOOD = {"request": "r", "question": "lost", "option": True}


def logging_service(path: Path, **settings: Any) -> Service:
    log = DecisionLog(path, keep_states=True)
    service = Service(Settings(port=0, **settings), opened, log=log)
    service.checkpoints.load("default", None)
    return service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = logging_service(tmp_path / "log.sqlite")
    yield made
    made.close_log()


def test_an_outcome_finds_its_decision_by_either_request_id(service: Service) -> None:
    headers = {"x-request-id": "order-1187"}
    ours = post(service, "/v1/systemone", REQUEST, headers=headers).headers["x-request-id"]
    assert service.log is not None
    assert service.log.flush()
    outcomes = [
        {"request": "order-1187", "question": "queue", "option": "billing", "source": "crm"},
        {"request": ours, "question": "lost", "happened": False},
        {"request": "order-1188", "question": "lost", "happened": False},
    ]
    answered = post(service, PATH, {"outcomes": outcomes})
    assert (answered.status_code, answered.json()) == (
        200,
        {"recorded": 3, "repeated": 0, "ambiguous": 0, "orphan": 1},
    )
    again = post(service, PATH, {"outcomes": outcomes[:2]})
    assert again.json() == {"recorded": 0, "repeated": 2, "ambiguous": 0, "orphan": 0}
    view = JoinedView(service.log.store, 0, 1e12)
    known = {each.entry.question: each.option for each in view.decisions() if each.option}
    assert known == {"queue": "billing", "lost": "no"}
    assert view.counts["orphan"] == 1


def test_an_outcome_of_several_states_is_counted_as_ambiguous(service: Service) -> None:
    asked = {"states": ["a", "b"], "questions": {"lost": "Is a parcel lost?"}}
    post(service, "/v1/decide", asked, headers={"x-request-id": "call-1"})
    assert service.log is not None
    assert service.log.flush()
    outcomes = [
        {"request": "call-1", "question": "lost", "option": True},
        {"decision": 1, "option": "true"},
    ]
    answered = post(service, PATH, {"outcomes": outcomes})
    assert answered.json() == {"recorded": 2, "repeated": 0, "ambiguous": 1, "orphan": 0}


def test_outcomes_without_a_decision_are_kept_and_counted(service: Service) -> None:
    post(service, "/v1/systemone", REQUEST, headers={"x-request-id": "order-1187"})
    assert service.log is not None
    assert service.log.flush()
    outcomes = [
        {"request": "order-1187", "question": "lost", "happened": False},
        {"request": "order-1187", "question": "losst", "happened": False},
        {"request": "nope", "question": "lost", "happened": False},
    ]
    for recorded in (3, 0):
        answered = post(service, PATH, {"outcomes": outcomes}).json()
        assert (answered["recorded"], answered["orphan"]) == (recorded, 2)
    assert len(list(received(service.log.store))) == 3


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ([], ["body"]),
        ({}, ["body", "outcomes"]),
        ({"outcomes": []}, ["body", "outcomes"]),
        ({"outcomes": [GOOD] * 1001}, ["body", "outcomes"]),
        ({"outcomes": [GOOD], "more": 1}, ["body", "more"]),
        ({"outcomes": [GOOD], "questions": []}, ["body", "questions"]),
        ({"outcomes": [GOOD], "questions": {"lost": 3}}, ["body", "questions", "lost"]),
        ({"outcomes": [GOOD, 3]}, ["body", "outcomes", 1]),
        ({"outcomes": [GOOD, {**GOOD, "colour": 1}]}, ["body", "outcomes", 1, "colour"]),
        ({"outcomes": [GOOD, {**GOOD, "time": 9e12}]}, ["body", "outcomes", 1, "time"]),
        (
            {"outcomes": [{**GOOD, "key": "k"}, {**GOOD, "option": "x", "key": "k"}]},
            ["body", "outcomes", 1, "key"],
        ),
    ],
)
def test_bad_input_names_its_place_and_changes_nothing(
    service: Service, body: Any, at: list[str | int]
) -> None:
    answered = post(service, PATH, body)
    assert answered.status_code == 422
    assert answered.json()["detail"][0]["loc"] == at
    assert service.log is not None
    service.log.store.add(OUTCOMES, [])
    assert list(received(service.log.store)) == []


def test_a_level_goes_by_its_text_where_the_questions_are_given(service: Service) -> None:
    post(service, "/v1/systemone", REQUEST, headers={"x-request-id": "call-1"})
    assert service.log is not None
    assert service.log.flush()

    def told(option: str, **more: Any) -> httpx.Response:
        outcome = {"request": "call-1", "question": "anger", "option": option}
        return post(service, PATH, {"outcomes": [outcome], **more})

    assert told("furious", questions=None).json()["error"]["message"] == (
        "outcomes[0].option: 'furious' is not one of 0, 1, 2; the log knows levels by number: name "
        "them so, or give the questions with their texts (--schema; over HTTP, the field questions)"
    )
    questions = REQUEST["questions"]
    assert told("wild", questions=questions).json()["error"]["message"] == (
        "outcomes[0].option: 'wild' is not one of 0: calm, 1: annoyed, 2: furious"
    )
    assert told("furious", questions=questions).json()["recorded"] == 1
    [found] = received(service.log.store)
    assert found.outcome.option == "2"


def test_every_fault_is_listed(service: Service) -> None:
    answered = post(service, PATH, {"outcomes": [{}, GOOD, {"decision": 1, "reward": 2}]})
    places = [each["loc"] for each in answered.json()["detail"]]
    assert places == [["body", "outcomes", 0, "request"], ["body", "outcomes", 2, "reward"]]


def test_without_a_log_nothing_can_be_recorded() -> None:
    answered = post(service_for(), PATH, {"outcomes": [GOOD]})
    assert answered.status_code == 409
    assert "--decision-log" in answered.text


def test_a_log_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "log.sqlite").write_text("no database at all", encoding="utf-8")
    answered = post(logging_service(tmp_path / "log.sqlite"), PATH, {"outcomes": [GOOD]})
    assert answered.status_code == 503
    assert "retry-after-ms" in answered.headers


@pytest.mark.parametrize(
    ("keys", "statuses"),
    [
        (("shop decide d",), {"": 401, "d": 200, "w": 401}),
        (("shop decide d", "crm log w"), {"": 401, "d": 403, "w": 200}),
    ],
)
def test_a_key_for_the_log_is_needed_where_there_is_one(
    tmp_path: Path, keys: tuple[str, ...], statuses: dict[str, int]
) -> None:
    service = logging_service(tmp_path / "log.sqlite", keys=keys)
    for key, status in statuses.items():
        headers = {"authorization": f"Bearer {key}"} if key else {}
        answered = post(service, PATH, {"outcomes": [GOOD]}, headers=headers)
        assert answered.status_code == status
    service.close_log()


def test_eight_clients_that_post_the_same_count_each_once(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    outcomes = [
        {"request": f"r{number}", "question": "q", "reward": number / 64, "key": f"k{number}"}
        for number in range(64)
    ]

    with on_loopback(logging_service(path)) as address:

        def send(shift: int) -> int:
            mine, new = outcomes[shift:] + outcomes[:shift], 0
            with httpx.Client(base_url=address, timeout=60) as client:
                client.post("/v1/systemone", json=REQUEST).raise_for_status()
                for first in range(0, 64, 16):
                    answered = client.post(PATH, json={"outcomes": mine[first : first + 16]})
                    new += answered.raise_for_status().json()["recorded"]
            return new

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(send, range(0, 64, 8))) == 64
    rewards = [each.outcome.reward or 0 for each in received(SQLiteStore(path))]
    assert (len(rewards), sum(rewards)) == (64, 31.5)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT COUNT(*) FROM decisions").fetchone() == (40,)
