"""Help pages: paragraphs fill the width, a flag has one form, no name is cut off."""

from __future__ import annotations

import re
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from thisthat.cli import app
from thisthat.cli.app import App


def _help(made: typer.Typer, *command: str) -> str:
    said = CliRunner().invoke(made, [*command, "--help"], env={"COLUMNS": "80"})
    assert said.exit_code == 0
    return said.output


def test_a_flag_is_on_or_not_given() -> None:
    small = App()

    @small.command()
    def only(
        loud: Annotated[bool, typer.Option(help="Say it loudly.")] = False,
        kept: Annotated[bool, typer.Option(help="Keep it.")] = True,
    ) -> None:
        """Say something.

        This paragraph has a line that is broken
        where the source ends it.
        """
        typer.echo(f"{loud} {kept}")

    shown = _help(small)
    assert "--no-loud" not in shown
    assert "--no-kept" in shown
    assert "broken where the source" in " ".join(shown.split())
    assert "broken where" in shown
    assert CliRunner().invoke(small, ["--loud", "--no-kept"]).output == "True False\n"
    assert CliRunner().invoke(small, []).output == "False True\n"


@pytest.mark.parametrize("words", [["--schema", "q.json"], ["--schema=q.json"]])
def test_an_argument_given_as_an_option_is_told_how_to_give_it(words: list[str]) -> None:
    outcome = CliRunner().invoke(
        app, ["check", *words, "--states", "s.jsonl"], prog_name="thisthat"
    )
    told = "--schema: is no option; give its value alone: thisthat check SCHEMA"
    assert str(outcome.exception) == told


@pytest.mark.parametrize("command", ["ask", "serve", "teach", "eval", "batch"])
def test_no_option_is_cut_off(command: str) -> None:
    shown = _help(app, command)
    names = re.findall(r"^│ [* ]*(--\S+)", shown, re.MULTILINE)
    assert names
    assert not [name for name in names if name.endswith("…")]
