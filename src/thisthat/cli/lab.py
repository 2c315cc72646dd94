"""The only way from the runtime to the laboratory: its commands, if it is installed.

Nothing else in the runtime may import ``thisthat_lab``; tests/test_imports.py enforces it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer

from thisthat.errors import MissingExtraError

LAB = "thisthat_lab"


def add_lab_commands(app: typer.Typer) -> None:
    """Add `train`, `bench`, `report` and the others; nothing without the laboratory."""
    commands = _lab_module("cli")
    if commands is not None:
        commands.add_commands(app)


def trainer() -> Any:
    """The module that teaches a checkpoint. Raises MissingExtraError without a laboratory."""
    found = _lab_module("train.teach")
    if found is None:
        raise MissingExtraError("teaching a checkpoint", "train")
    return found


def _lab_module(name: str) -> Any:
    try:
        return import_module(f"{LAB}.{name}")
    except ModuleNotFoundError as error:
        if error.name != LAB:
            raise
        return None
