from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.train import tiny
from thisthat.train.config import parse_run
from thisthat.train.loop import train


def run_in(folder: Path, **changes: Any) -> Any:
    return parse_run(tiny.run_table(folder, **changes), folder, "run.toml")


def test_a_run_learns(workplace: Path) -> None:
    lines: list[str] = []
    run = run_in(
        workplace,
        schedule={"steps": 150, "warm_up_steps": 5},
        watch={"report_every": 25},
        evaluations=[{"name": "held", "file": "held_out.jsonl"}],
    )
    finished = train(run, lines.append)
    print("\n".join(lines))
    rows = [json.loads(x) for x in (workplace / "run" / "metrics.jsonl").read_text().splitlines()]
    print(rows[-1])
    assert finished.complete
