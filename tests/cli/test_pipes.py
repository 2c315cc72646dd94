"""What a command ends with when nobody reads its output any more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from thisthat.cli.pipes import BROKEN_PIPE

PRINTING = """
import sys, typer
from thisthat.cli import app, main
from thisthat.cli.terminal import say

@app.command("shout")
def shout(how: str) -> None:
    if how == "print":
        print("x" * 100_000)
    if how == "rich":
        say("x" * 100_000)
    if how == "at the end":
        print("x")
    raise typer.Exit(1 if how in ("at the end", "nothing") else 0)

main()
"""


def ended(*command: str, errors_too: bool = False) -> tuple[int, bytes]:
    """Exit code and standard error of a command whose output nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        errors = writing if errors_too else subprocess.PIPE
        done = subprocess.run([sys.executable, *command], stdout=writing, stderr=errors)
    finally:
        os.close(writing)
    return done.returncode, done.stderr or b""


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["ask", "--help"], ["log", "verify", "--help"]]
)
def test_a_command_whose_output_nobody_reads_ends_as_others_do(words: list[str]) -> None:
    assert ended("-m", "thisthat", *words) == (BROKEN_PIPE, b"")


@pytest.mark.parametrize("how", ["print", "rich", "at the end"])
def test_it_is_so_however_it_is_printed(how: str) -> None:
    assert ended("-c", PRINTING, "shout", how) == (BROKEN_PIPE, b"")


def test_without_output_the_code_is_the_commands_own() -> None:
    assert ended("-c", PRINTING, "shout", "nothing") == (1, b"")


def test_errors_may_go_into_the_same_pipe() -> None:
    assert ended("-m", "thisthat", "ask", errors_too=True)[0] == BROKEN_PIPE


def test_a_command_may_begin_without_any_output() -> None:
    line = 'exec "$@" >&-'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "thisthat", "--version"]
    assert subprocess.run(command).returncode == 0
