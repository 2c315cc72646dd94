"""Shares in half precision against float64: on ARM as they are, elsewhere emulated."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.engine.native.models import variants_to_try
from thisthat.engine.native.compiler import FOLDER, variants_here

Halves = NDArray[np.float16]
ShareOut = Callable[[Halves], tuple[Halves, float]]

HARNESS = """
#define VARIANT_NEON
#include "softmax_half.h"
float shares(Score *scores, int count) { return softmax(scores, count); }
"""
UNSEEN = np.float16(-60000)
SMALLEST = 2.0**-24


@pytest.fixture(scope="module")
def softmax(tmp_path_factory: pytest.TempPathFactory) -> ShareOut:
    if "neon" not in variants_to_try() or which("cc") is None:
        pytest.skip("neither ARM nor able to emulate it, or no compiler")
    folder = tmp_path_factory.mktemp("shares")
    source, library = folder / "harness.c", folder / "harness.so"
    source.write_text(HARNESS)
    header = Path(__file__).parent / "emulated" / "neon.h"
    here = "neon" in variants_here()
    options = ["-mcpu=native"] if here else ["-mf16c", "-include", str(header)]
    flags = ["-O2", "-std=gnu11", "-fPIC", "-shared", "-w", f"-I{FOLDER}", *options]
    subprocess.run(["cc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).shares
    function.restype = ctypes.c_float

    def call(scores: Halves) -> tuple[Halves, float]:
        given = np.ascontiguousarray(scores, np.float16).copy()
        total = function(ctypes.c_void_p(given.ctypes.data), len(given))
        return given, float(total)

    return call


def test_every_score_below_the_highest_gets_its_share(softmax: ShareOut) -> None:
    below = np.arange(0x8000, 0xFC00, dtype=np.uint16).view(np.float16)  # 0 down to -65504
    exact = np.exp(below.astype(np.float64))
    found = np.concatenate(
        [softmax(np.append(np.float16(0), below[k : k + 31]))[0][1:] for k in range(0, 31744, 31)]
    )
    error = np.abs(found - exact)
    large = exact > 2.0**-14
    assert (error[large] < 0.0007 * exact[large]).all()
    assert (error[~large] < SMALLEST).all()
    assert (np.diff(found) <= 0).all()
    assert (found[below < -18] == 0).all()


def test_the_sum_is_that_of_the_shares_and_the_unseen_have_none(softmax: ShareOut) -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        scores = random.normal(random.normal(0, 20), 3, 96).astype(np.float16)
        hidden = random.random(96) < 0.4
        hidden[random.integers(96)] = False
        scores[hidden] = UNSEEN
        shares, total = softmax(scores)
        assert (shares[hidden] == 0).all()
        assert shares.max() == 1
        assert total == pytest.approx(shares.astype(np.float64).sum(), rel=1e-3)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("at", [0, 17, 63])
def test_what_is_no_number_is_not_made_one(softmax: ShareOut, bad: float, at: int) -> None:
    scores = np.linspace(-3, 3, 64).astype(np.float16)
    scores[at] = bad
    assert np.isnan(softmax(scores)[1])
