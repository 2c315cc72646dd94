"""Help pages: paragraphs fill the width, a flag has one form, no name is cut off."""

from __future__ import annotations

import errno
import re
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from thisthat import cli
from thisthat.cli import app
from thisthat.cli.app import App
from thisthat.errors import InvalidInputError, ThisThatError


def _help(made: typer.Typer, *command: str) -> str:
    said = CliRunner().invoke(made, [*command, "--help"], env={"COLUMNS": "80"})
    assert said.exit_code == 0
    return said.output


def test_only_what_is_named_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built: list[str] = []
    read = typer.main.get_params_from_function
    monkeypatch.setattr(
        typer.main,
        "get_params_from_function",
        lambda function: built.append(function.__name__) or read(function),
    )
    for words in ([], ["bench"]):
        with pytest.raises(SystemExit, match="0"):
            app([*words, "--help"])
        assert len(built) > 40, words
        built.clear()
    with pytest.raises(SystemExit, match="0"):
        app(["loop", "report", "--help"])
    assert "report" in built
    assert not {"review", "ask"} & set(built)
    assert "loop report" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        app(["loop", "reprt"])
    assert "Did you mean 'report'?" in capsys.readouterr().err


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


def test_a_server_is_given_policies_by_its_requests() -> None:
    outcome = CliRunner().invoke(app, ["serve", "--policy", "p.json"], prog_name="thisthat")
    told = "--policy: is no option of thisthat serve; each request brings its own, as `policy`"
    assert str(outcome.exception).startswith(told)


@pytest.mark.parametrize("words", [["--data", "l.csv"], ["--data=l.csv"]])
def test_an_argument_given_as_an_option_is_told_how_to_give_it(words: list[str]) -> None:
    outcome = CliRunner().invoke(app, ["teach", *words, "-o", "mine"], prog_name="thisthat")
    told = "--data: is no option; give its value alone: thisthat teach DATA"
    assert str(outcome.exception) == told


@pytest.mark.parametrize("command", ["info", "pull"])
@pytest.mark.parametrize("words", [["nowhere"], ["--checkpoint", "nowhere"]])
def test_a_checkpoint_is_named_as_everywhere_or_stands_alone(
    command: str, words: list[str]
) -> None:
    with pytest.raises(ThisThatError, match="nowhere: is neither"):
        app([command, *words], standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["info", "one", "--checkpoint", "two"], "--checkpoint: one or two? Give one of them"),
        (["check", "a", "--schema", "b", "--states", "s"], "--schema: a or b? Give one of them"),
        (["check", "--states", "s"], "--schema: is missing"),
        (["check", "--schema", "none.json", "--states", "s"], "none.json: cannot be read: "),
        (["check", "none.json", "--states", "s"], "none.json: cannot be read: "),
    ],
)
def test_two_that_differ_or_none_are_refused(words: list[str], told: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        app(words, standalone_mode=False)


def test_what_everybody_needs_stands_before_the_laboratory() -> None:
    panels = re.findall(r"^╭─ (.+?) ─+╮$", _help(app), re.MULTILINE)
    assert panels[0] == "Options"
    assert panels[1] == "Decide"
    assert panels[-1].startswith("Laboratory")
    assert "Commands" not in panels


@pytest.mark.parametrize("command", ["ask", "serve", "teach", "eval", "batch"])
def test_no_option_is_cut_off(command: str) -> None:
    shown = _help(app, command)
    names = re.findall(r"^│ [* ]*(--\S+)", shown, re.MULTILINE)
    assert names
    assert not [name for name in names if name.endswith("…")]


def test_an_interrupt_before_a_command_begins_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130


def test_a_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "out.jsonl")

    monkeypatch.setattr(cli, "app", full)
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    told = "error: the disk is full (out.jsonl): No space left on device\n"
    assert capsys.readouterr().err == told
