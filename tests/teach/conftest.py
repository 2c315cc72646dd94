"""A small model and what it was taught, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.teach.small import labelled, write_parent
from thisthat.checkpoint import open_checkpoint
from thisthat.decide.opening import open_decider
from thisthat.teach.light import Taught, teach


@pytest.fixture(scope="session")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parent(tmp_path_factory.mktemp("light") / "parent")


@pytest.fixture(scope="session")
def taught(parent: Path) -> Taught:
    with open_decider(parent, engine="onnx", threads=1) as decider:
        return teach(decider, open_checkpoint(parent), labelled(), parent.with_name("taught"))
