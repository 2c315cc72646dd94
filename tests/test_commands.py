"""Every command line that a page shows is one that the program takes, though few of them are run.

Lines of `sh`, `bash` and `console` blocks are parsed as the real command line would parse them:
the command, its options, their values. Commands named within a sentence exist, with the options
named beside them. Files that a line names are made up.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from thisthat.cli import app
from thisthat.errors import ThisThatError

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / "data").rglob("*.md")),
]
BLOCK = re.compile(r"^[ ]*```(sh|bash|console|text)\n(.*?)^[ ]*```$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^[ ]*```.*?^[ ]*```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(thisthat [^`\n]+)`")
HEREDOC = re.compile(r"<<'?(\w+)'?\n.*?^\1$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"""('[^']*'|"(?:\\.|[^"\\])*")|(?<!\S)#[^\n]*""")
SPLITS = "();<>|&\n"
PROGRAM = typer.main.get_command(app)
KEYWORDS = {"do", "then", "else", "if", "while", "until", "!", "export"}


def shown(page: Path) -> list[str]:
    """The shell's part of every block; of a console's, the lines behind a `$`."""
    found = []
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "console":
            text = "\n".join(re.findall(r"^\$ (.*)", text, re.MULTILINE))
        if kind != "text" or text.lstrip().startswith("thisthat "):
            found.append(text)
    return found


def calls(text: str) -> Iterator[list[str]]:
    """The words of every program that a script starts, without redirections and variables."""
    plain = COMMENT.sub(lambda found: found[1] or "", HEREDOC.sub("", text))
    lexer = shlex.shlex(plain.replace("\\\n", " "), posix=True, punctuation_chars=SPLITS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words: list[str] = []
    redirected = False
    for token in [*lexer, "\n"]:
        if token[0] in "<>" and set(token) <= set(SPLITS):
            redirected = True
            if words and words[-1].isdigit():
                words.pop()
        elif token and set(token) <= set(SPLITS):
            if words:
                yield words
            words = []
        elif redirected:
            redirected = False
        elif words or (token not in KEYWORDS and not re.match(r"\w+=", token)):
            words.append(token)


def found_command(words: list[str]) -> tuple[Any, str, list[str]]:
    """The command that words name, its name, and the words behind it."""
    command: Any = PROGRAM
    name = "thisthat"
    while words and words[0] in getattr(command, "commands", {}):
        command, name, words = command.commands[words[0]], f"{name} {words[0]}", words[1:]
    return command, name, words


def options_of(command: Any) -> set[str]:
    every = command.get_params(command.context_class(command))
    return {name for each in every for name in (*each.opts, *each.secondary_opts)}


def options_below(command: Any) -> set[str]:
    """Its own options and, if it is a group, those of its commands."""
    inner = getattr(command, "commands", {}).values()
    return options_of(command).union(*map(options_below, inner))


def refused(words: list[str]) -> str | None:
    """What the command line says against these words, which follow `thisthat`."""
    command, name, rest = found_command(words)
    if hasattr(command, "commands"):
        unknown = [word for word in rest if word not in options_of(command)]
        return None if rest and not unknown else f"{name}: no command in {rest}"
    try:
        command.make_context(name, list(rest))
    except ThisThatError as error:
        return str(error)
    except Exception as error:
        # Typer brings its own click or uses the one installed; asking for help leaves so too.
        if type(error).__name__ == "Exit":
            return None
        return f"{name}: {error.format_message() if hasattr(error, 'format_message') else error!r}"
    return None


def refused_mention(text: str) -> str | None:
    """The same for a mention, which may leave out what the command needs."""
    words = text.split()[1:]
    command, name, rest = found_command(words)
    if hasattr(command, "commands") and rest and not re.match(r"-|[A-Z…]", rest[0]):
        return f"{name}: no command in {rest}"
    known = options_below(command)
    named = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    unknown = [] if "COMMAND" in rest else [word for word in named if word not in known]
    return f"{name}: no options {unknown}" if unknown else None


def lines_of(page: Path, program: str) -> list[list[str]]:
    """The words behind a program's name, wherever it lies."""
    return [
        words[1:]
        for block in shown(page)
        for words in calls(block)
        if words[0].rpartition("/")[2] == program
    ]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if lines_of(page, "thisthat")], ids=lambda page: page.name
)
def test_every_line_would_be_taken(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = lines_of(page, "thisthat")
    monkeypatch.chdir(tmp_path)
    for word in {word for words in found for word in words if re.fullmatch(r"[\w-]+\.\w+", word)}:
        (tmp_path / word).touch()
    assert [said for words in found if (said := refused(words)) is not None] == []


def test_every_command_in_a_sentence_exists() -> None:
    wrong = []
    for page in PAGES:
        for text in INLINE.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            said = refused_mention(text)
            if said is not None:
                wrong.append(f"{page.name}: {said}")
    assert wrong == []


def test_the_other_programs_are_given_what_is_there() -> None:
    """Targets of make, extras of pip, scripts of python, tests of pytest."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = set(re.findall(r"^(\w+) = \[", project.split("optional-dependencies")[1], re.M))
    seen = []
    for page in PAGES:
        for words in lines_of(page, "make"):
            given = {word for word in words if "=" not in word}
            assert given <= targets, page.name
            seen.append(words)
        for words in lines_of(page, "pip"):
            for named in re.findall(r"\[([\w,]+)\]", " ".join(words)):
                assert set(named.split(",")) <= extras | {"binary"}, page.name
            seen.append(words)
        for words in [*lines_of(page, "python"), *lines_of(page, "pytest")]:
            here = [word for word in words if re.match(r"(scripts|clients|tests|examples)/", word)]
            assert [word for word in here if not (ROOT / word.split("::")[0]).exists()] == []
            for script in (word for word in here if word.endswith(".py") and word == words[0]):
                source = (ROOT / script).read_text(encoding="utf-8")
                options = [word for word in words if word.startswith("--")]
                assert [word for word in options if f'"{word}"' not in source] == [], script
            seen.append(words)
    assert len(seen) >= 15


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ask x --boolean 'a=Is it?'", None),
        ("ask x --bolean 'a=Is it?'", "--bolean"),
        ("aks x", "no command"),
        ("loop promot", "no command"),
        ("threshold fit a.csv", "--target"),
        ("serve --port many", "--port"),
        ("teach --help", None),
        ("eval --labelled a.csv", "--labelled"),
    ],
)
def test_what_would_be_refused_is_found(line: str, said: str | None) -> None:
    found = refused(shlex.split(line))
    assert (found is None) == (said is None), found
    assert said is None or said in str(found)


def test_mentions_are_checked_for_commands_and_options() -> None:
    assert refused_mention("thisthat bench wide FILE --quick") is None
    assert refused_mention("thisthat COMMAND --help") is None
    assert "no command" in str(refused_mention("thisthat bench widest FILE"))
    assert "--fast" in str(refused_mention("thisthat serve --fast"))


def test_a_script_is_cut_into_the_programs_it_starts() -> None:
    script = """
    A=1 thisthat serve --port 1 2> log &   # or "thisthat" elsewhere
    until curl x > /dev/null; do sleep 1; done
    cat > file <<'END'
    it's a file
    END
    thisthat ask "a; # b" \\
      --json | jq .
    """.replace("\n    ", "\n")
    assert list(calls(script)) == [
        ["thisthat", "serve", "--port", "1"],
        ["curl", "x"],
        ["sleep", "1"],
        ["done"],
        ["cat"],
        ["thisthat", "ask", "a; # b", "--json"],
        ["jq", "."],
    ]
