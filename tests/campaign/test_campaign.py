"""The campaign's frame: parts that are there, tables that say what was kept."""

import importlib
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from campaign.__main__ import PARTS
from campaign.attacks import Attack, finding
from campaign.report import (
    END,
    LONG,
    START,
    Finding,
    Result,
    at_most,
    none_of,
    read_result,
    renew,
    table,
)
from campaign.requests import by_breaking

from tests.attacks.conftest import Seen

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", PARTS)
def test_every_part_says_what_it_does_and_is_documented(name: str) -> None:
    part = importlib.import_module(f"campaign.{name}")
    assert part.__doc__
    assert callable(part.run)
    assert f"| {name} |" in (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_every_file_of_the_campaign_is_a_part_or_its_frame() -> None:
    files = {path.stem for path in (ROOT / "campaign").glob("*.py")}
    assert files == {*PARTS, "__init__", "__main__", "report", "served"}


def test_findings_know_whether_they_were_kept() -> None:
    assert at_most("growth", 1.5, 2, "%", 1) == Finding("growth", "1.5 %", "≤ 2.0 %", True)
    assert none_of("lost", 1) == Finding("lost", "1", "0", False)
    kept = Result("disk", "Full.", "short", 60, [none_of("lost", 0), Finding("seen", "3")])
    assert kept.kept
    assert not Result("disk", "Full.", "short", 60, [none_of("lost", 2)]).kept


def test_stored_results_become_tables_between_the_marks(tmp_path: Path) -> None:
    result = Result("disk", "Full.", "short", 90, [none_of("lost", 1)], "2 cores")
    result.write(tmp_path / "results")
    assert read_result(tmp_path / "results" / "disk.json") == result
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n{START}\nold\n{END}\nafter\n")
    for _ in range(2):
        renew(page, tmp_path / "results", list(PARTS))
        assert page.read_text() == f"# Page\n{START}\n{table(result)}\n{END}\nafter\n"
    assert "| lost | 1 | 0 | ✗ |" in table(result)


def test_parts_that_were_not_run_again_keep_their_tables(tmp_path: Path) -> None:
    old = Result("kills", "Kill −9.", "full", 60, [none_of("lost", 0)], "2 cores")
    new = Result("disk", "Full.", "short", 90, [none_of("lost", 1)], "2 cores")
    new.write(tmp_path / "results")
    page = tmp_path / "page.md"
    page.write_text(f"{START}\n{table(old)}\n\n### disk\n\nold\n{END}\n")
    for _ in range(2):
        renew(page, tmp_path / "results", list(PARTS))
        assert page.read_text() == f"{START}\n{table(old)}\n\n{table(new)}\n{END}\n"


def test_broken_requests_are_many_and_the_same_for_the_same_seed() -> None:
    made = [by_breaking(random.Random(number)) for number in range(300)]
    assert made == [by_breaking(random.Random(number)) for number in range(300)]
    assert len({body for _, body, _ in made}) > 200
    assert {path for path, _, _ in made} >= {"/v1/systemone", "/v1/decide", "/v1/outcomes"}


def test_a_part_that_keeps_its_promises_exits_with_0(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("needs a preloaded library")
    page = tmp_path / "page.md"
    page.write_text(f"{START}\n{END}\n")
    command = [sys.executable, "-m", "campaign", "clock", "--results", str(tmp_path)]
    run = subprocess.run(
        [*command, "--write", str(page)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert json.loads((tmp_path / "clock.json").read_text())["size"] == "short"
    assert len(re.findall("✓", page.read_text())) == 5


def test_an_attack_is_judged_by_memory_on_one_server_and_waits_on_the_other() -> None:
    def attack(grown: float, before: float, during: float, status: int = 200) -> Attack:
        calm = Seen(0, probes=[0.01], honest=[before] * 50, statuses={200})
        seen = Seen(0, probes=[0.1], honest=[during] * 50, statuses={200, status})
        return Attack(calm, seen, grown, places=0)

    small, real = attack(200, 0.008, 0.099), attack(400, 0.2, 0.39)
    assert finding("escapes", small, real).kept
    assert "200 MiB" in finding("escapes", small, real).found
    assert "p99 200 → 390 ms of 50" in finding("escapes", small, real).found
    assert not finding("escapes", real, real).kept
    assert not finding("escapes", small, attack(0, 0.2, 0.41)).kept
    assert not finding("escapes", small, attack(0, 0.2, 0.2, 503)).kept


@pytest.mark.parametrize(("broken", "said"), [(0, "every promise kept"), (2, "not kept: 2")])
def test_a_long_table_is_folded_and_says_what_it_hides(
    tmp_path: Path, broken: int, said: str
) -> None:
    findings = [at_most(f"n{n}", float(n < broken), 0) for n in range(LONG + 1)]
    result = Result("soak", "what it is", "short", 1.0, findings, "here")
    shown = table(result)
    assert f"<details><summary>{LONG + 1} findings," in shown
    assert f"{said}</summary>\n\n| | found" in shown
    result.write(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"{START}\n### kills\n\nold\n{END}\n")
    for _ in range(2):
        renew(page, tmp_path, ["soak", "kills"])
        assert page.read_text() == f"{START}\n{shown}\n\n### kills\n\nold\n{END}\n"
