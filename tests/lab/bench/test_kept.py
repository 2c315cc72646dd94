"""Arrays are made once; where making them fails, nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thisthat_lab.bench.kept import kept


def fails() -> dict[str, Any]:
    raise RuntimeError("asked to make them")


def test_arrays_are_made_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    made = kept(path, lambda: {"numbers": np.arange(3), "device": "cpu"})
    again = kept(path, fails)
    assert made["numbers"].tolist() == again["numbers"].tolist() == [0, 1, 2]
    assert str(again["device"]) == "cpu"


def test_nothing_is_kept_of_a_failure(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        kept(tmp_path / "rows.npz", fails)
    assert list(tmp_path.iterdir()) == []
