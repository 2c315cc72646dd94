"""The tables of docs/settings.md are those of the code, and the code reads nothing else."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from thisthat.cli import app
from thisthat.cli.exit_codes import EXIT_CODES, FOUND_BY
from thisthat.environment import VARIABLES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
NAMES = {variable.name for variable in VARIABLES}


def test_the_page_has_every_variable_as_the_code_has_it() -> None:
    rows = [f"| `{each.name}` | {each.default} | {each.meaning} |" for each in VARIABLES]
    assert [line for line in PAGE.splitlines() if re.match(r"\| `[A-Z_]+` ", line)] == rows


def test_no_variable_is_named_elsewhere_in_the_code() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        if path.name != "environment.py":
            found = re.findall(
                r"""["'](?:THISTHAT_[A-Z_]+|OMP_NUM_THREADS)["']""",
                path.read_text(encoding="utf-8"),
            )
            assert not found, path


@pytest.mark.parametrize("folder", ["src", "docs", "deploy"])
def test_every_variable_that_is_mentioned_exists(folder: str) -> None:
    for path in (ROOT / folder).rglob("*"):
        if path.is_file() and path.suffix in (".py", ".md", ".yaml", ".service", ".c", ".h", ""):
            named = set(re.findall(r"THISTHAT_[A-Z_]+[A-Z]", path.read_text(errors="replace")))
            assert named <= NAMES, path


def test_the_page_has_every_exit_code() -> None:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    assert [line for line in PAGE.splitlines() if re.match(r"\| \d", line)] == rows
    found = [f"| `thisthat {name}` | {meaning} |" for name, meaning in FOUND_BY.items()]
    assert [line for line in PAGE.splitlines() if line.startswith("| `thisthat ")] == found


def _commands(command: Any, name: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    inner = getattr(command, "commands", {})
    found = {} if inner else {name: command}
    for each, below in inner.items():
        found |= _commands(below, (*name, each))
    return found


COMMANDS = _commands(typer.main.get_command(app))


def test_every_command_that_ends_with_1_is_in_the_table() -> None:
    known = {tuple(name.split()) for name in FOUND_BY}
    assert known <= set(COMMANDS)
    ending = set()
    for name, command in COMMANDS.items():
        called = inspect.unwrap(command.callback)
        if called.__module__.startswith("thisthat_lab"):
            continue
        body = inspect.getsource(called)
        if re.search(r"typer\.Exit\((1|.* 1)", body):
            ending.add(name)
    assert ending == known


def test_bad_input_ends_with_2(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["ask", "--no-such-option"]).exit_code == 2


@pytest.mark.parametrize("name", [(), *COMMANDS], ids=" ".join)
def test_help_names_no_type_for_flags(name: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*name, "--help"])
    assert shown.exit_code == 0
    assert "bool" not in shown.output.lower().replace("boolean", "")


def test_completion_is_offered() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "--install-completion" in shown
    assert "--show-completion" in shown
