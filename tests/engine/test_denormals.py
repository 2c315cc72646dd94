import platform
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from thisthat.engine.denormals import flush_denormals


def smallest_survives() -> bool:
    return bool((np.array([1e-39], np.float32) * np.float32(0.5))[0] > 0)


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"),
    reason="the mode is set on Linux only",
)
def test_only_the_calling_thread_changes_and_ordinary_numbers_do_not() -> None:
    assert smallest_survives()
    with ThreadPoolExecutor(1, initializer=flush_denormals) as worker:
        assert not worker.submit(smallest_survives).result()
        assert worker.submit(lambda: float(np.float32(0.1) * np.float32(3))).result() == float(
            np.float32(0.1) * np.float32(3)
        )
    assert smallest_survives()
