"""With the real engine too, the server's numbers are the library's, bit for bit."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.serve.support import QUESTIONS, REQUEST, in_process, run
from thisthat.cli import app
from thisthat.decide.decider import Decider
from thisthat.decide.opening import open_decider
from thisthat.questions_json import questions_from_json
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings
from thisthat_lab.bench.measurements.speed import http, load
from thisthat_lab.bench.registry import SUITE

pytestmark = pytest.mark.weights

STATES = [f"Ticket {n}: {'the parcel never came, ' * (n % 5)}please help." for n in range(6)]


@pytest.fixture(scope="module")
def decider() -> Decider:
    return open_decider()


@pytest.mark.parametrize("layout", ["state-first", "schema-first"])
def test_concurrent_requests_get_the_numbers_of_the_library(decider: Decider, layout: Any) -> None:
    service = Service(Settings(), lambda ref, lam: open_decider(ref, lam=lam))
    service.checkpoints.load("default", None)
    questions = questions_from_json(QUESTIONS)

    async def ask() -> tuple[list[Any], list[Any]]:
        async with in_process(service) as client:
            body = {"states": STATES, "questions": QUESTIONS, "layout": layout}
            stream = asyncio.ensure_future(client.post("/v1/decide", json=body))
            singles = await asyncio.gather(
                *(client.post("/v1/systemone", json={**REQUEST, "state": s}) for s in STATES)
            )
            lines = (await stream).text.splitlines()
            return [single.json() for single in singles], [json.loads(line) for line in lines]

    singles, lines = run(ask())
    for state, single, line in zip(STATES, singles, lines, strict=True):
        alone = decider.decide(state, questions)
        assert single["answers"]["team"]["probabilities"] == alone["team"].probabilities
        assert single["answers"]["lost"]["noul"] == alone["lost"].probabilities["yes"]
        expected = decider.decide(state, questions, layout=layout).as_dict()
        assert line["answers"] == expected["answers"]
    many = decider.decide_many(STATES, questions, layout=layout)
    for decision, line in zip(many, lines, strict=True):
        assert decision.as_dict()["answers"] == line["answers"]


def result(folder: Path, name: str) -> dict[str, float]:
    body = json.loads((folder / f"{name}.json").read_text())
    return {line["label"]: line["value"] for line in body["lines"]}


def test_bench_http_finds_no_difference_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "QUICK_CALLS", 12)
    done = CliRunner().invoke(app, ["bench", "http", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert result(tmp_path, "http")["answers that differ between the two"] == 0


def test_a_server_killed_under_load_comes_back_with_the_same_answers(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "restart", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found = result(tmp_path, "restart")
    assert found["answers that differ after a kill"] == 0
    assert found["start to ready after a kill under load, median of 1"] > 0
    assert "restart" not in SUITE


def test_bench_load_loses_and_swaps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "POOL", 16)
    command = ["bench", "load", "--clients", "8", "--seconds", "1", "--overload"]
    # In a thread of its own, whatever event loop this one already has.
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(CliRunner().invoke, app, [*command, "--out", str(tmp_path)]).result()
    assert done.exit_code == 0, done.output
    found = result(tmp_path, "load")
    assert found["answers"] > 0
    assert found["errors"] == found["lost or swapped answers"] == 0
    assert found["at twice the rate: lost or swapped"] == 0
    assert found["at twice the rate: shed without retry-after-ms"] == 0
