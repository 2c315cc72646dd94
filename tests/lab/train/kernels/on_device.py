"""What tests of Triton kernels share: they run on CUDA, or in Triton's interpreter."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
if not CUDA and "triton" not in sys.modules:
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is first imported

NEEDS = [
    pytest.mark.skipif(find_spec("triton") is None, reason="needs triton"),
    pytest.mark.skipif(
        not CUDA and os.environ.get("TRITON_INTERPRET") != "1",
        reason="triton was imported for a device that is not there",
    ),
]


def needs_kernels(test: Any) -> Any:
    """A test that is left out where kernels cannot run."""
    for mark in NEEDS:
        test = mark(test)
    return test


def numbers(*shape: int, dtype: torch.dtype, seed: int = 3) -> Tensor:
    """Drawn from a normal distribution, on the device of the kernels."""
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return made.to(DEVICE, dtype)
