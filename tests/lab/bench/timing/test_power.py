from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from thisthat_lab.bench.timing.power import device_watts


def test_a_stated_power_wins() -> None:
    assert device_watts(65.0, True) == (65.0, "as stated with --watts")


def test_a_gpu_has_its_own_limit_not_a_laptops(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(words: Any, **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 0, stdout="700.00\n")

    monkeypatch.setattr(subprocess, "run", told)
    assert device_watts(None, True) == (700.0, "the power limit that this GPU reports")


def test_a_processor_has_the_sum_of_its_packages(tmp_path: Path) -> None:
    for name, micro in (("intel-rapl:0", 125_000_000), ("intel-rapl:1", 125_000_000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "constraint_0_power_limit_uw").write_text(f"{micro}\n")
    (tmp_path / "intel-rapl:0:0").mkdir()
    (tmp_path / "intel-rapl:0:0" / "constraint_0_power_limit_uw").write_text("9\n")
    assert device_watts(None, False, tmp_path) == (
        250.0,
        "the power limit that this processor reports",
    )


def test_a_device_that_reports_nothing_is_given_no_power(tmp_path: Path) -> None:
    assert device_watts(None, False, tmp_path) is None
