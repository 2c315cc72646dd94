"""Policies and the decision log over HTTP: the library's outcomes, and every answer on record."""

import asyncio
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.calibrate.test_policy import POLICY, SCHEMA
from tests.path_engine import path_decider
from tests.serve.support import (
    REQUEST,
    gated_service,
    get,
    in_process,
    log_lines,
    on_loopback,
    post,
    run,
    service_for,
)
from thisthat import Choice
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.decide.policy import Policy
from thisthat.decide.processor import Processor
from thisthat.errors import InvalidInputError
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

QUESTIONS = {
    "queue": {
        "type": "choice",
        "instructions": "Which queue?",
        "criteria": ["billing", "shipping", "other"],
    },
    "refund": {"type": "noul", "instructions": "Is it within policy?"},
    "anger": {
        "type": "score",
        "instructions": "How angry?",
        "criteria": ["calm", "annoyed", "furious"],
    },
}
ASKED: dict[str, Any] = {
    "states": ["s", "t"],
    "questions": QUESTIONS,
    "policy": POLICY.as_json(),
}


def test_decide_applies_a_policy_as_the_library_does() -> None:
    answered = post(service_for(), "/v1/decide", ASKED)
    assert answered.status_code == 200
    lines = [json.loads(line) for line in answered.text.splitlines()]
    expected = path_decider().decide_many(["s", "t"], SCHEMA, policy=POLICY)
    for line, decision in zip(lines, expected, strict=True):
        assert line["answers"] == json.loads(json.dumps(decision.as_dict()["answers"]))
        assert line["answers"]["queue"]["outcome"]["policy"] == POLICY.hash


def test_a_policy_for_something_else_is_refused() -> None:
    for change, message in (
        ({"layout": "schema-first"}, "layout is schema-first, not state-first"),
        ({"questions": {"refund": "Is it?"}}, "the schema differs"),
        ({"policy": {"target": "x"}}, "policy"),
        ({"policy": {**POLICY.as_json(), "forced": True}}, "a file cannot force itself"),
    ):
        answered = post(service_for(), "/v1/decide", {**ASKED, **change})
        assert answered.status_code == 422
        assert message in answered.text


def test_a_policy_for_something_else_is_applied_when_forced_and_on_record(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.sqlite")
    service = logged_service(log)
    asked = {**ASKED, "layout": "schema-first", "force_policy": True}
    with log_lines() as lines:
        answered = post(service, "/v1/decide", asked)
    log.close()
    expected = path_decider().decide_many(
        ["s", "t"], SCHEMA, policy=POLICY.force(), layout="schema-first"
    )
    against = "layout is schema-first, not state-first"
    for text, decision in zip(answered.text.splitlines(), expected, strict=True):
        answers = json.loads(text)["answers"]
        assert answers == json.loads(json.dumps(decision.as_dict()["answers"]))
        assert answers["queue"]["outcome"]["forced"] == [against]
    entries = list(SQLiteStore(tmp_path / "log.sqlite").read())
    assert [entry.forced for entry in entries] == [against] * 6
    assert [line["policy_forced"] for line in lines if line["message"] == "request"] == [against]


def test_forcing_a_policy_that_fits_changes_nothing() -> None:
    with log_lines() as lines:
        forced = lines_of({**ASKED, "force_policy": True})
    assert [line["answers"] for line in forced] == [line["answers"] for line in lines_of(ASKED)]
    assert not any("policy_forced" in line for line in lines)


def test_every_answer_is_on_record(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.sqlite")
    service = logged_service(log)
    one = post(service, "/v1/systemone", REQUEST)
    many = post(service, "/v1/decide", ASKED)
    page = get(service, "/metrics").text
    log.close()
    entries = list(SQLiteStore(tmp_path / "log.sqlite").read())
    assert len(entries) == len(REQUEST["questions"]) + 6
    assert {entry.request for entry in entries} == {
        one.headers["x-request-id"],
        many.headers["x-request-id"],
    }
    assert {entry.policy for entry in entries} == {None, POLICY.hash}
    assert "thisthat_decision_log_failures_total 0.0" in page


def logged_service(log: DecisionLog, **settings: Any) -> Service:
    service = Service(Settings(port=0, **settings), lambda *_: path_decider(), log=log)
    service.checkpoints.load("default", None)
    return service


def counted(service: Service, name: str) -> float:
    """One number of the metrics page."""
    page = get(service, "/metrics").text
    (value,) = [line.split()[-1] for line in page.splitlines() if line.startswith(f"{name} ")]
    return float(value)


def test_a_locked_log_stops_no_answer_is_counted_and_loses_no_line(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    log = DecisionLog(SQLiteStore(path, busy_seconds=0.05))
    service = logged_service(log)
    with log_lines() as lines:
        answers = [post(service, "/v1/decide", ASKED)]
        assert log.flush()
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        answers.append(post(service, "/v1/decide", ASKED))
        answers.append(post(service, "/v1/systemone", REQUEST))
        assert not log.flush()
        assert counted(service, "thisthat_decision_log_failures_total") >= 1
        assert counted(service, "thisthat_decision_log_waiting") == 6 + len(REQUEST["questions"])
        assert counted(service, 'thisthat_decision_log_lines_total{outcome="written"}') == 6
        holder.execute("ROLLBACK")
        holder.close()
        log.close()
    assert [answer.status_code for answer in answers] == [200] * 3
    assert comparable_lines(answers[0]) == comparable_lines(answers[1])
    entries = list(SQLiteStore(path).read())
    assert len(entries) == 12 + len(REQUEST["questions"])
    assert {entry.request for entry in entries} == {a.headers["x-request-id"] for a in answers}
    said = [line for line in lines if "decisions continue" in line["message"]]
    assert [line["level"] for line in said] == ["warning"]
    assert "database is locked" in said[0]["message"]


def test_a_log_damaged_under_a_running_server_loses_nothing_written_before(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    log = DecisionLog(path)
    service = logged_service(log)
    first = post(service, "/v1/decide", ASKED)
    assert log.flush()
    log.store.close()  # moves everything from the journal into the file
    before = path.read_bytes()
    damaged = b"x" * 100 + before[100:]
    path.write_bytes(damaged)
    second = post(service, "/v1/decide", ASKED)
    assert not log.flush()
    assert counted(service, "thisthat_decision_log_failures_total") >= 1
    assert path.read_bytes() == damaged
    log.close()
    assert counted(service, 'thisthat_decision_log_lines_total{outcome="dropped"}') == 6
    assert comparable_lines(first) == comparable_lines(second)
    path.write_bytes(before)
    entries = list(SQLiteStore(path).read())
    assert [entry.request for entry in entries] == [first.headers["x-request-id"]] * 6


def test_a_log_that_was_never_one_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    path.write_bytes(b"this is no database " * 400)
    log = DecisionLog(path)
    service = logged_service(log)
    assert post(service, "/v1/systemone", REQUEST).status_code == 200
    assert not log.flush()
    assert counted(service, "thisthat_decision_log_failures_total") >= 1
    log.close()
    assert path.read_bytes() == b"this is no database " * 400


def drifting(policy: Policy, count: int) -> dict[str, Any]:
    states = [f"state {number}" for number in range(count)]
    return {**ASKED, "states": states, "policy": policy.as_json()}


def test_a_server_with_a_log_notices_drift_by_itself(tmp_path: Path) -> None:
    """Over a real socket: what the server says when it looks, and nothing before."""
    log = DecisionLog(tmp_path / "log.sqlite")
    service = logged_service(log, drift_decisions=100)
    with log_lines() as lines, on_loopback(service) as address:
        assert httpx.post(f"{address}/v1/decide", json=drifting(POLICY, 99)).status_code == 200
        nothing = 'thisthat_drift_checks_total{outcome="drift"} 0.0'
        assert nothing in httpx.get(f"{address}/metrics").text
        assert httpx.post(f"{address}/v1/decide", json=drifting(POLICY, 1)).status_code == 200
        until = time.monotonic() + 20
        found = 'thisthat_drift_checks_total{outcome="drift"} 1.0'
        while found not in httpx.get(f"{address}/metrics").text:
            assert time.monotonic() < until
            time.sleep(0.02)
    warned = [line for line in lines if "since the policy was fitted" in line["message"]]
    assert {line["level"] for line in warned} == {"warning"}
    assert {line["policy"] for line in warned} == {POLICY.hash}
    sure = next(line for line in warned if line["question"] == "queue")
    assert sure["test"] == "how sure"
    assert sure["e_value"] >= sure["bound"] == 600
    assert f"e-value {sure['e_value']:.4g} of 600, 100 decisions" in sure["message"]


def test_a_log_that_cannot_be_checked_is_told_and_stops_no_answer(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)  # a folder cannot be a database
    service = logged_service(log, drift_decisions=50)
    with log_lines() as lines:
        assert len(comparable_lines(post(service, "/v1/decide", drifting(POLICY, 50)))) == 50
        service.close_log()
    assert counted(service, 'thisthat_drift_checks_total{outcome="failed"}') == 1
    (told,) = [line for line in lines if "cannot be checked for drift" in line["message"]]
    assert (told["level"], told["policy"]) == ("warning", POLICY.hash)


def test_nothing_is_checked_without_a_log_or_a_policy(tmp_path: Path) -> None:
    service = service_for(drift_decisions=50)
    comparable_lines(post(service, "/v1/decide", drifting(POLICY, 60)))
    logged = logged_service(DecisionLog(tmp_path / "log.sqlite"), drift_decisions=50)
    comparable_lines(post(logged, "/v1/decide", {**drifting(POLICY, 60), "policy": None}))
    for each in (service, logged):
        each.close_log()
    assert "thisthat_drift_checks_total{" not in get(service, "/metrics").text
    for outcome in ("none", "drift", "failed"):
        assert counted(logged, f'thisthat_drift_checks_total{{outcome="{outcome}"}}') == 0


def comparable_lines(answered: httpx.Response) -> list[dict[str, Any]]:
    assert answered.status_code == 200
    return [comparable(json.loads(line)) for line in answered.text.splitlines()]


STATES = ["The parcel left. It rained; nobody came.\nThe customer paid twice.", "One. Two.", "..."]


def lines_of(body: dict[str, Any], **settings: Any) -> list[dict[str, Any]]:
    answered = post(service_for(**settings), "/v1/decide", body)
    assert answered.status_code == 200, answered.text
    return [json.loads(line) for line in answered.text.splitlines()]


def comparable(decision: dict[str, Any]) -> dict[str, Any]:
    """A decision as JSON, without what differs from run to run."""
    kept = {key: value for key, value in decision.items() if key not in ("index", "seconds")}
    kept["usage"] = {**kept["usage"], "cached_tokens": None}
    for name in ("checkpoint", "version", "lambda"):
        del kept[name]
    return dict(json.loads(json.dumps(kept)))


@pytest.mark.parametrize("layout", ["state-first", "schema-first"])
@pytest.mark.parametrize("order", ["as-given", "average"])
@pytest.mark.parametrize("bulk_tokens", [50, 5_000])
def test_evidence_is_the_librarys(layout: Any, order: Any, bulk_tokens: int) -> None:
    asked = {"states": STATES, "questions": QUESTIONS, "layout": layout, "order": order}
    lines = lines_of({**asked, "explain": True}, bulk_tokens=bulk_tokens)
    decider = path_decider()
    for state, line in zip(STATES, lines, strict=True):
        expected = decider.decide(state, SCHEMA, explain=True, layout=layout, order=order)
        assert comparable(line) == comparable(expected.as_dict())
    assert [len(line["evidence"]["queue"]) for line in lines] == [4, 2, 0]
    plain = lines_of(asked)
    assert [line["answers"] for line in plain] == [line["answers"] for line in lines]
    assert "evidence" not in plain[0]


def test_evidence_comes_with_the_outcomes_of_a_policy() -> None:
    (line,) = lines_of({**ASKED, "states": ["One. Two."], "explain": True})
    expected = path_decider().decide("One. Two.", SCHEMA, explain=True, policy=POLICY)
    assert comparable(line) == comparable(expected.as_dict())
    assert line["answers"]["queue"]["outcome"]["policy"] == POLICY.hash


def test_many_options_in_rounds_are_the_librarys() -> None:
    names = [f"shelf {number}" for number in range(70)]
    questions = {"shelf": {"type": "choice", "criteria": names}, **QUESTIONS}
    lines = lines_of({"states": STATES, "questions": questions, "wide": "in-rounds"})
    declared = {"shelf": Choice(names), **SCHEMA}
    decider = path_decider()
    for state, line in zip(STATES, lines, strict=True):
        expected = decider.decide(state, declared, wide="in-rounds")
        assert comparable(line) == comparable(expected.as_dict())
    at_once = lines_of({"states": STATES, "questions": questions})
    assert at_once[0]["answers"]["shelf"] != lines[0]["answers"]["shelf"]


def test_an_explanation_that_is_too_long_is_named_and_the_others_are_answered() -> None:
    long = " ".join(f"Sentence {number}." for number in range(64))
    asked = {"states": [long, "Short."], "questions": {"q": "Is it?"}, "explain": True}
    first, second = lines_of(asked, request_tokens=2_000)
    assert "tokens with its explanation; a request may have at most 2000" in str(first["error"])
    assert second["evidence"]["q"][0]["text"] == "Short."


def test_ways_that_exclude_each_other_are_422() -> None:
    for change, at in (
        ({"explain": True, "wide": "in-rounds", "policy": None}, "explain"),
        ({"wide": "in-rounds"}, "wide"),
        ({"wide": "in-rounds", "packing": "together", "policy": None}, "wide"),
        ({"wide": "sideways"}, "wide"),
        ({"order": "average", "packing": "together", "policy": None}, "order"),
        ({"order": "average", "packing": "together", "explain": True, "policy": None}, "order"),
        ({"explain": "yes"}, "explain"),
        ({"force_policy": "yes"}, "force_policy"),
        ({"force_policy": True, "policy": None}, "force_policy"),
    ):
        answered = post(service_for(), "/v1/decide", {**ASKED, **change})
        assert answered.status_code == 422
        assert answered.json()["detail"][0]["loc"] == ["body", at], change


def test_questions_that_cannot_be_asked_are_a_line_for_every_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned = Processor.planned

    def refuse(self: Processor, questions: Any, options: Any) -> Any:
        if list(questions) == ["q"]:
            raise InvalidInputError("questions.q", "cannot be asked")
        return planned(self, questions, options)

    monkeypatch.setattr(Processor, "planned", refuse)
    lines = lines_of({"states": ["s"] * 40, "questions": {"q": "Is it?"}})
    assert [line["index"] for line in lines] == list(range(40))
    error = {"code": "invalid_request", "field": "questions.q", "message": "cannot be asked"}
    assert [line["error"] for line in lines] == [error] * 40


def test_a_question_does_not_wait_for_a_whole_explanation() -> None:
    service, engine = gated_service(bulk_tokens=100)
    state = " ".join(f"Sentence {number}." for number in range(40))
    asked = {"states": [state], "questions": {"q": "Is it?"}, "explain": True}

    async def scene() -> int:
        async with in_process(service) as client:
            stream = asyncio.ensure_future(client.post("/v1/decide", json=asked))
            await asyncio.to_thread(engine.entered.acquire)
            single = asyncio.ensure_future(client.post("/v1/systemone", json=REQUEST))
            while not service.scheduler.waiting_tokens:
                await asyncio.sleep(0.001)
            batches = 0
            while not single.done():
                engine.gate.release()
                await asyncio.to_thread(engine.entered.acquire)
                batches += 1
                await asyncio.sleep(0.01)
            engine.open()
            assert (await single).status_code == (await stream).status_code == 200
            return batches

    assert run(scene()) <= 3
    assert len(engine.rows) > 6


def test_with_sync_an_answer_means_that_it_is_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    service = logged_service(DecisionLog(SQLiteStore(path, busy_seconds=0.05), required=True))
    seen: list[int] = []

    async def ask() -> None:
        async with in_process(service) as client:
            for count in range(1, 4):
                assert (await client.post("/v1/systemone", json=REQUEST)).status_code == 200
                seen.append(len(list(SQLiteStore(path).read())) // count)

    run(ask())
    assert seen == [len(REQUEST["questions"])] * 3
    service.log = None
    assert service.checkpoints.main().log is not None
    service.checkpoints.main().log.close()  # type: ignore[attr-defined]
    refused = post(service, "/v1/systemone", REQUEST)
    assert refused.status_code == 503
    assert "the decision log cannot be written: the log is closed" in refused.text
    [line] = post(service, "/v1/decide", {**ASKED, "states": ["s"]}).text.splitlines()
    assert json.loads(line)["error"]["code"] == "not_recorded"


def test_a_questions_name_that_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    asked = {**REQUEST, "questions": {"\ud800": {"type": "noul", "instructions": "Is it?"}}}
    with DecisionLog(tmp_path / "log.sqlite") as log:
        answered = post(logged_service(log), "/v1/systemone", content=json.dumps(asked))
    assert answered.status_code == 422
    assert "lone surrogate U+D800" in answered.text
