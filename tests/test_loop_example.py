"""The example of the loop goes round with a small random model, server and all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.lab.train import tiny
from thisthat.audit.store import SQLiteStore
from thisthat.audit.verify import verify

ROOT = Path(__file__).parents[1]


def test_the_circle_closes(tmp_path: Path) -> None:
    sizes = {"hidden_size": 128, "intermediate_size": 192, "head_dim": 64}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    parent = tiny.write_checkpoint(tmp_path / "parent", **sizes, **heads)
    script = [sys.executable, str(ROOT / "examples/loop/run.py"), str(tmp_path / "out")]
    done = subprocess.run(
        [*script, "--size", "80", "--checkpoint", str(parent)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["evaluated"] == "better"
    assert (found["first canary"], found["harmful canary"]) == ("ready", "ended")
    assert found["taught"] > found["zero-shot"]
    assert verify(SQLiteStore(tmp_path / "out" / "log.sqlite")).whole
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
