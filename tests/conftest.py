"""Settings shared by all tests: the same examples on every machine, and no race with the clock."""

import gc
import os
from functools import cache

import pytest
import typer.testing
from hypothesis import HealthCheck, settings

LONGEST = (
    "tests/test_docs.py",
    "tests/test_loop_example.py",
    "tests/examples/",
    "tests/scale/",
    "tests/site/",
    "tests/staged/",
    "tests/serve/test_real_checkpoint.py",
)

# A runner would read the parameters of all 73 commands at each call.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("exploring", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with tests that take a minute come first, so that no worker is alone with one."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collection_finish() -> None:
    """Leave what was imported out of later garbage collections, as a server that has started does.

    A service that loads a checkpoint collects; among a million objects that takes half a second.
    """
    gc.collect()
    gc.freeze()
