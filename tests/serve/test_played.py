"""What the playground asks is on record, and nothing takes it for a decision."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.calibrate.test_policy import POLICY
from tests.serve.support import in_process, opened, run
from tests.serve.test_trials import ASKED, CANARY, ask, begin, registry, serving, store_of
from tests.serve.test_trust import ASKED as WITH_POLICY
from thisthat.audit.beside import ASSIGNMENTS, SHADOWS
from thisthat.audit.log import DecisionLog
from thisthat.audit.played import PLAYED, is_played
from thisthat.audit.store import SQLiteStore
from thisthat.loop.registry import Registry
from thisthat.loop.review import review_queue
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

__all__ = ["registry"]

PLAYS = {"x-thisthat-playground": "1"}


def test_it_is_on_record_with_a_mark_and_not_reviewed(registry: Registry) -> None:
    with serving(registry, keep_states=True) as (_, client):
        _, played, _ = ask(client, 1, **PLAYS)
        _, decided, _ = ask(client, 2)
        shown = client.get("/admin/loop", headers={"authorization": "Bearer adm"}).json()
    assert is_played(played)
    assert not is_played(decided)
    assert {each.request for each in store_of(registry).read()} == {played, decided}
    queue = review_queue(store_of(registry), 9, 2e9)
    assert [each.entry.request for each in queue.rows] == [decided]
    assert sum(shown["counts"].values()) == 1


@pytest.mark.parametrize("kind", ["canary", "shadow"])
def test_it_takes_part_in_no_experiment(registry: Registry, kind: Any) -> None:
    with serving(registry) as (service, client):
        begin(registry, service, replace(CANARY, kind=kind, share=0.99))
        assert {ask(client, number, **PLAYS)[0] for number in range(9)} == {"first"}
        asked = {"states": ["a", "b"], **ASKED}
        lines = client.post("/v1/decide", json=asked, headers=PLAYS).text.splitlines()
        assert {json.loads(line)["checkpoint"] for line in lines} == {"first"}
    for table in (ASSIGNMENTS, SHADOWS):
        assert list(store_of(registry).rows(table)) == []


def test_it_is_not_explored_and_does_not_count_towards_drift(tmp_path: Path) -> None:
    async def asked(headers: dict[str, str]) -> list[dict[str, Any]]:
        log = DecisionLog(tmp_path / f"{len(headers)}.sqlite")
        settings = Settings(port=0, allowed_hosts=("*",), explore=0.5, drift_decisions=1)
        service = Service(settings, opened, None, log)
        service.checkpoints.load("default", None)
        body = {**WITH_POLICY, "states": [f"state {number}" for number in range(40)]}
        async with in_process(service) as client:
            answer = await client.post("/v1/decide", json=body, headers=headers)
        service.close_log()
        checked = service.metrics.drift_checks.labels("failed")._value.get()
        assert bool(checked) != bool(headers)
        return [json.loads(line)["answers"] for line in answer.text.splitlines()]

    def explored(answers: list[dict[str, Any]]) -> bool:
        reasons = [each["outcome"]["reason"] for line in answers for each in line.values()]
        return any(reason.startswith("explored") for reason in reasons)

    assert explored(run(asked({})))
    assert not explored(run(asked(PLAYS)))
    lines = list(SQLiteStore(tmp_path / "1.sqlite").read({"policy": POLICY.hash}))
    assert lines
    assert all(str(line.request).startswith(PLAYED) for line in lines)
