import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "audit.py"
CLEAN = {"name": "a", "version": "1", "vulns": []}
WEAK = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
UNKNOWN = {"name": "c", "version": "3", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("report", "code", "said"),
    [
        ([CLEAN, UNKNOWN], 0, "1 of 2 packages audited, 0 known weaknesses"),
        ([CLEAN, WEAK], 1, "b 2: PYSEC-1, fixed in 2.1"),
        ([UNKNOWN], 2, "nothing was audited: the registry cannot be reached"),
        (None, 2, "nothing was audited: the registry cannot be reached"),
    ],
)
def test_no_advisories_are_no_clean_audit(report: object, code: int, said: str) -> None:
    given = "" if report is None else json.dumps({"dependencies": report, "fixes": []})
    done = subprocess.run(
        [sys.executable, SCRIPT], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert said in done.stdout


def test_more_decisions_need_more_machines() -> None:
    script = runpy.run_path(str(SCRIPT.parent / "simulate_scale.py"))
    machine = script["Machine"]("m", 100.0, 1.0)
    found = {
        (a_day, online): script["needed"](machine, a_day, online)
        for a_day in (1e8, 1e9)
        for online in (False, True)
    }
    assert 1e9 / 86_400 / 100 <= found[1e9, False] < 1.02 * 1e9 / 86_400 / 100
    assert found[1e8, False] < found[1e8, True] < found[1e9, False] < found[1e9, True]
