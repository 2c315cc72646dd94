"""Every finding of the review has a test, and the page names one that exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([HML]\d+) \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE))
FINDINGS = [*(f"H{n}" for n in range(1, 6)), *(f"M{n}" for n in range(1, 9))]
FINDINGS += [f"L{n}" for n in range(1, 11)]


def test_every_finding_has_a_row() -> None:
    assert list(ROWS) == FINDINGS


@pytest.mark.parametrize("finding", FINDINGS)
def test_the_tests_of_a_finding_exist(finding: str) -> None:
    named = re.findall(r"`(tests/\S+\.py)::(\w+)`", ROWS[finding])
    assert named
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
        assert name in functions
