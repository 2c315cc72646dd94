"""A server with a real engine and a tiny random model: the same answers, policies and checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.lab.train import tiny
from tests.remote.test_decider import at, same
from tests.serve.support import on_loopback
from thisthat.calibrate.coherence import check_schema
from thisthat.calibrate.fit_policy import fit_policy
from thisthat.decide.decider import Decider
from thisthat.decide.opening import open_decider
from thisthat.decide.policy import Policy
from thisthat.decide.target import parse_target
from thisthat.engine import select
from thisthat.items.labels import LabelledStates
from thisthat.questions import Boolean, Choice, Question, Score
from thisthat.questions_json import question_as_json
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

SCHEMA: dict[str, Question] = {
    "colour": Choice(["red", "green", "blue"], "Which colour?"),
    "red": Boolean("Is it red?"),
    "size": Score(["small", "mid", "large"]),
}
STATES = [f"{tiny.COLOURS[n % 3]} {n % 7} n{n}" for n in range(120)]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Decider, str]]:
    """The library, and the address of a server that opened the same folder by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THISTHAT_HOME", str(tmp_path_factory.mktemp("store")))
        patch.setattr(select, "has_nvidia_gpu", lambda: False)
        folder = tiny.write_checkpoint(tmp_path_factory.mktemp("remote") / "model")
        settings = Settings(port=0, checkpoint=str(folder))
        service = Service(settings, lambda ref, lam: open_decider(Path(ref), lam=lam))
        with open_decider(folder) as decider, on_loopback(service) as address:
            yield decider, address


@pytest.mark.parametrize("ways", [{}, {"layout": "schema-first"}, {"order": "average"}], ids=str)
def test_answers_are_equal_to_the_last_bit(both: tuple[Decider, str], ways: dict[str, Any]) -> None:
    decider, address = both
    there = at(address)
    same(
        there.decide_many(STATES[:30], SCHEMA, **ways),
        decider.decide_many(STATES[:30], SCHEMA, **ways),
    )
    assert there.conditions(**ways) == decider.conditions(**ways)
    assert there.conditions(**ways).weights is not None


def test_a_policy_fitted_through_a_server_is_the_same_and_the_server_takes_it(
    both: tuple[Decider, str],
) -> None:
    decider, address = both
    right = [
        {name: list(a.probabilities).index(a.best_name) for name, a in decision.answers.items()}
        for decision in decider.decide_many(STATES, SCHEMA)
    ]
    labelled = LabelledStates(SCHEMA, STATES, right)
    target = parse_target("error<=0.1")
    policy = fit_policy(at(address), labelled, target)
    assert policy == fit_policy(decider, labelled, target)
    body = {
        "states": STATES[:3],
        "questions": {name: question_as_json(each) for name, each in SCHEMA.items()},
        "policy": policy.as_json(),
    }
    answered = httpx.post(f"{address}/v1/decide", json=body)
    assert answered.status_code == 200, answered.text
    assert answered.text.count('"action": "act"') > 0
    assert '"forced": []' in answered.text
    changed = {**body["policy"], "conditions": {**body["policy"]["conditions"], "weights": "ab"}}
    refused = httpx.post(f"{address}/v1/decide", json={**body, "policy": changed})
    assert refused.status_code == 422
    assert "the hash of the weights" in refused.text
    assert Policy.from_json(changed).mismatches(SCHEMA, decider.conditions()) != []


def test_a_schema_is_checked_with_the_same_findings(both: tuple[Decider, str]) -> None:
    decider, address = both
    states = STATES[:4]
    assert check_schema(at(address), SCHEMA, states, injections=2) == check_schema(
        decider, SCHEMA, states, injections=2
    )
