"""A command whose packages are not installed says which extra brings them, in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from thisthat.cli.extras import missing_extra

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
sys.argv = ["thisthat", *sys.argv[1:]]
from thisthat.cli import main
main()
"""


@pytest.mark.parametrize(
    "command",
    [["teach", "rows.jsonl", "-o", "out", "--deep"], ["train", "run.toml"], ["fit", "config.json"]],
)
def test_commands_that_train_name_the_extra(command: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *command],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        'error: this command needs torch: pip install ".[train]" in the checkout; '
        "the thisthat on PyPI is another project"
    ]


def test_a_package_that_no_extra_has_is_a_fault_of_ours() -> None:
    assert missing_extra(ModuleNotFoundError("no", name="thisthat.nowhere")) is None
    assert missing_extra(ModuleNotFoundError("no", name="sqlalchemy.orm")) is not None
