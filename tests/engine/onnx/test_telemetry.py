"""Nothing is kept for, or sent to, the maker of onnxruntime."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

IMPORTED = """
import os
import thisthat.engine.onnx
import onnxruntime
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


@pytest.mark.parametrize("given", [None, "0"])
def test_onnxruntime_keeps_no_telemetry_unless_it_is_wanted(
    given: str | None, tmp_path: Path
) -> None:
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    wanted = {} if given is None else {"ORT_DISABLE_TELEMETRY": given}
    # onnxruntime keeps nothing in CI, whatever this package does.
    ours = ("ORT_DISABLE_TELEMETRY", "CI")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        env={**environment, **home, **wanted},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{given or 1}\n"
    if given is None:
        assert not list(tmp_path.rglob("*"))
