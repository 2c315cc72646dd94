"""The example of the loop goes round with a small random model, server and all."""

from __future__ import annotations

import json
import os
import re
import shlex
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
    assert_shown_lines_ran(re.findall(r"^\$ thisthat (.+)$", done.stdout, re.MULTILINE))


def assert_shown_lines_ran(run: list[str]) -> None:
    """The first commands of docs/loop.md, in their order, with at least the options shown there."""
    page = (ROOT / "docs" / "loop.md").read_text(encoding="utf-8")
    block = page.partition("```sh\n")[2].partition("```")[0]
    shown = re.findall(r"^thisthat ([^#\n]+)", block, re.MULTILINE)
    assert len(shown) == 8
    rest = iter(map(parts, run))
    for line in shown:
        command, options = parts(line)
        assert any(command == other and options <= given for other, given in rest), line


def parts(line: str) -> tuple[str, set[str]]:
    """The name of a command, and the options it is given."""
    words = shlex.split(line)
    name = " ".join(words[: 2 if words[0] == "loop" else 1])
    return name, {word for word in words if word.startswith("-")}
