"""The plugin inside a real pytest, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

from tests.testing.samples import FILE

ROOT = Path(__file__).parents[2]
CONFTEST = """
import thisthat.testing.answering
from tests.testing.samples import fixed

def open_fixed(ref, *, lam=None, key=None):
    print("opened", ref, lam, key)
    return fixed(yes=0.9 if ref == "default" else 0.1)

thisthat.testing.answering.open_answerer = open_fixed
"""


def run_pytest(folder: Path, *words: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST)
    # Loading what else is installed takes longer than the tests, and may load the plugin twice.
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "THISTHAT_ENDPOINT_KEY": "a-key",
    }
    command = [sys.executable, "-m", "pytest", "-p", "thisthat.testing.plugin", "-rA", "-s", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_every_expectation_is_a_test_and_a_checkpoint_is_opened_once(tmp_path: Path) -> None:
    other = deepcopy(FILE)
    del other["cases"][1]
    (tmp_path / "one.decisions.json").write_text(json.dumps(FILE))
    (tmp_path / "two.decisions.json").write_text(json.dumps(other))
    (tmp_path / "three.json").write_text("not cases")
    code, output = run_pytest(tmp_path)
    assert code == 1, output
    assert "5 passed" in output
    assert "1 failed" in output
    assert "FAILED one.decisions.json::case 2 [queue]" in output
    assert "expected 'shipping', which has 0.250; the best is 'billing'" in output
    assert output.count("opened default None a-key") == 1
    assert "Traceback" not in output


def test_the_checkpoint_is_an_option(tmp_path: Path) -> None:
    (tmp_path / "one.decisions.json").write_text(json.dumps(FILE))
    words = ["--decisions-checkpoint", "mine", "--decisions-lambda", "0.5"]
    code, output = run_pytest(tmp_path, *words)
    assert code == 1
    assert "opened mine 0.5 a-key" in output
    assert "FAILED one.decisions.json::charged twice [refund]" in output


def test_a_file_that_cannot_be_read_is_an_error_of_collection(tmp_path: Path) -> None:
    (tmp_path / "bad.decisions.yaml").write_text("cases: []")
    code, output = run_pytest(tmp_path)
    assert code == 2
    assert "cases: must be a list of at least 1 case" in output
    assert "Traceback" not in output
