"""The examples as modules, and the default checkpoint opened once for all of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import thisthat
from thisthat import Decider

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="package")
def decider() -> Decider:
    return thisthat.open()


def load(name: str) -> ModuleType:
    """The module at ``examples/name``."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
