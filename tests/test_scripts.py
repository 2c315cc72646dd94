import json
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
