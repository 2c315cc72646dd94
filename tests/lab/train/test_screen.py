from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import Console

from tests.lab.train import tiny
from thisthat_lab.train.config import parse_run
from thisthat_lab.train.loop import train
from thisthat_lab.train.screen import Screen


def test_a_run_can_be_watched(workplace: Path) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    evaluations = [{"name": "held", "file": "held_out.jsonl"}]
    table = tiny.run_table(workplace, evaluations=evaluations)
    with Screen("tiny", console) as screen:
        assert "the first steps" in str(screen.view())
        train(parse_run(table, workplace, "run"), screen.say, watch=screen.watch)
        with console.capture() as shown:
            console.print(screen.view())
    text = shown.get()
    rows = (workplace / "run" / "metrics.jsonl").read_text().splitlines()
    families = [json.loads(row) for row in rows if '"train"' in row][-1]["by_family"]
    for expected in ("step 6", "tokens/s", "min left", "held out", "nll", *families):
        assert expected in text
