"""Explored decisions of a real server tell what another policy would earn, and only that."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.calibrate.test_policy import POLICY, SCHEMA
from tests.path_engine import path_decider
from tests.serve.support import on_loopback
from tests.serve.test_trust import QUESTIONS
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.decide.policy import Policy
from thisthat.errors import InvalidInputError
from thisthat.loop.acting import _compared, _Row
from thisthat.loop.evaluate import CandidateEvaluation, evaluate
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

ACTED, LEFT = 0.2, 0.9
EPSILON = 0.3


def with_cutoffs(value: float | None) -> Policy:
    facts = POLICY.as_json()
    for part in facts["questions"].values():
        cutoff = next(iter(part["cutoffs"].values()))
        part["cutoffs"] = {option: {**cutoff, "value": value} for option in part["options"]}
    return Policy.from_json(facts)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SQLiteStore:
    """The log of a server that explored, with the reward of what was done."""
    path = tmp_path_factory.mktemp("acting") / "log.sqlite"
    log = DecisionLog(path, keep_states=True)
    settings = Settings(port=0, explore=EPSILON, explore_near=1.0)
    service = Service(settings, lambda ref, lam: path_decider(), None, log)
    with on_loopback(service) as address, httpx.Client(base_url=address, timeout=60) as client:
        states = [f"state {number}" for number in range(500)]
        asked = {"states": states, "questions": QUESTIONS, "policy": POLICY.as_json()}
        client.post("/v1/decide", json=asked).raise_for_status()
        assert log.flush(60)
        outcomes = []
        for line, entry in SQLiteStore(path).lines():
            reward = ACTED if entry.action == "act" else LEFT
            outcomes.append({"decision": line, "reward": reward, "source": "desk"})
        for start in range(0, len(outcomes), 1000):
            body = {"outcomes": outcomes[start : start + 1000]}
            client.post("/v1/outcomes", json=body).raise_for_status()
    return SQLiteStore(path)


def judged(store: SQLiteStore, policy: Policy | None, **more: Any) -> CandidateEvaluation:
    given = {"mature_after": 0.0, "until": time.time() + 1, "policy": policy, **more}
    return evaluate(store, path_decider(), path_decider(), SCHEMA, **given)


def shares(store: SQLiteStore) -> tuple[float, float, float]:
    """The shares of what is acted on as usual, was explored, and is never acted on."""
    actions = [
        "explored" if "explored" in str(entry.reason) else str(entry.action)
        for entry in store.read()
    ]
    found = {name: actions.count(name) / len(actions) for name in set(actions)}
    return found["act"] + found["explored"], found["explored"], found["escalate"]


def test_leaving_everything_to_others_is_worth_what_exploring_showed(store: SQLiteStore) -> None:
    found = judged(store, with_cutoffs(None)).acting
    assert found is not None
    usual, explored, never = shares(store)
    assert explored / usual == pytest.approx(EPSILON, abs=0.06)
    assert found.rows == 1500
    assert found.explored == found.differing == round(1500 * usual)
    assert found.unsupported == 0
    truth = (LEFT - ACTED) * usual
    assert found.low <= truth <= found.high
    assert found.mean == pytest.approx(truth, abs=0.05)
    assert found.usual == pytest.approx(ACTED * usual + LEFT * never, abs=0.05)
    assert 0 < found.effective_rows < found.differing


def test_the_verdict_is_about_acting_where_a_policy_is_given(store: SQLiteStore) -> None:
    better = judged(store, with_cutoffs(None))
    assert better.verdict == "better"
    assert "acting, 1500 decisions under policies" in "\n".join(better.lines())
    assert json.loads(json.dumps(better.as_dict()))["acting"]["rows"] == 1500
    same = judged(store, POLICY, margin=0.2)
    assert same.acting is not None
    assert (same.acting.differing, same.acting.mean) == (0, 0.0)
    assert same.verdict == "not worse"


def test_what_the_log_never_does_is_not_guessed(store: SQLiteStore) -> None:
    found = judged(store, with_cutoffs(0.0))
    never = shares(store)[2]
    assert found.acting is not None
    assert found.acting.unsupported == found.acting.differing == round(1500 * never)
    assert found.acting.mean is None
    assert found.acting.low <= (ACTED - LEFT) * never <= found.acting.high
    assert found.acting.high > (1 - LEFT) * never * 0.9
    assert "cannot be told: the log never does" in "\n".join(found.lines())


def test_without_the_candidates_policy_explored_decisions_are_left_out(store: SQLiteStore) -> None:
    found = judged(store, None)
    assert found.verdict == "cannot tell"
    assert found.excluded == {"explored": 1500}


def test_a_policy_of_another_checkpoint_is_refused(store: SQLiteStore, tmp_path: Path) -> None:
    facts = POLICY.as_json()
    facts["conditions"] = {**facts["conditions"], "checkpoint": "another"}
    with pytest.raises(InvalidInputError, match="another"):
        judged(store, Policy.from_json(facts))


def test_where_another_option_is_wanted_the_interval_is_about_what_is_usual() -> None:
    facts: dict[str, Any] = {"usual": "a", "wanted": "b", "chance": 0.5, "least": 0.5, "sure": 0.9}
    acted, explored = _Row(done="a", reward=1.0, **facts), _Row(done=None, reward=0.0, **facts)
    found = _compared([acted, explored] * 1000, 0.05)
    # As usual, everything earns 1: the candidate loses up to all of it and cannot gain.
    assert found.usual == 1.0
    assert found.low <= -1.0
    assert 0.0 <= found.high < 0.3
