"""One folder of compiled kernels for all workers of a run; whoever needs one first compiles it."""

from __future__ import annotations

import os

import pytest

from tests.engine.native.models import KEPT


@pytest.fixture(scope="session", autouse=True)
def _kept_kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "kernels"
    folder.mkdir(mode=0o700, exist_ok=True)
    os.environ[KEPT] = str(folder)
