"""Every `sh` block of the README and the docs runs in a small world, or is excused.

A block gets a folder with the files that ``STAGED`` names for it, and runs there line by line:
commands of thisthat in this process, servers and other programs in processes of their own. Every
line must print the words that stand for it in the table. What takes weeks between two lines, such
as a canary, is put there as it would then be.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.path_engine import path_decider
from tests.staged import world as worlds
from tests.staged.running import SECONDS, Server, serving, tools_of
from tests.staged.world import KEY
from tests.test_docs import PAGES, blocks, copied
from thisthat.cli import app

SH = re.compile(r"^( *)```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PORT = "8017"


@dataclass(frozen=True)
class Staged:
    """How a block is run: the files it gets, and words that each of its lines must print.

    For a server these are words about the models it answers to, for `mcp` about its tools, and
    for a line whose output goes to a file those of that file. ``before`` is what happens before a
    line, by its number.
    """

    files: str
    said: tuple[str, ...]
    before: Mapping[int, Callable[[Path], None]] = field(default_factory=dict)
    by_paths: bool = False
    """Whether `default` is an engine that takes no time."""
    made: str = ""
    """A page that the block makes, which must be the one in the repository."""


STAGED = {
    ("audit.md", "log query decisions.sqlite"): Staged(
        "decisions.sqlite triage.policy.json",
        (
            '"request": "order-1187"',
            '"request": "f00d"',
            '"action": "escalate"',
            "decisions.parquet: 115 lines",
            "1 line deleted",
            '"link"',
            "1 of 1 anchors compared",
            "no drift",
        ),
    ),
    ("check.md", "thisthat check --schema"): Staged(
        "questions.json states.jsonl", ("paraphrases", '"paraphrases"')
    ),
    ("check.md", "csv.DictReader"): Staged("labels.csv", ('"You charged my card twice',)),
    ("eval.md", "sheet.csv"): Staged("sheet.csv", ("id,state,refund",)),
    ("eval.md", "thisthat eval labelled.csv"): Staged(
        "labelled.csv questions.json mine",
        (
            "report.html",
            "against thisthat-135m",
            "λ = 0",
            '"accuracy"',
        ),
    ),
    ("loop.md", "loop promote default"): Staged(
        "log.sqlite questions.json",
        (
            "is the champion",
            "thisthat-135m",
            "labels.jsonl: 24 states",
            "kept: refund",
            "paired replay of 24 decisions",
            "5.0% of the units",
            "is the champion",
            "version 0.6.0 (default) is the champion again",
        ),
        before={6: worlds.shown_not_worse},
    ),
    ("loop.md", "log outcome decisions.sqlite"): Staged(
        "decisions.sqlite outcomes.csv",
        ("recorded", "1 recorded, 0 were recorded before", '"recorded":'),
    ),
    ("loop.md", "--mature 7d --until 2026-11-01"): Staged(
        "decisions.sqlite", ("labels.jsonl: 24 states",)
    ),
    ("loop.md", "loop review"): Staged(
        "decisions.sqlite",
        ("labeling interface", "1 recorded, 0 were recorded before"),
        before={1: worlds.reviewed},
    ),
    ("loop.md", "--slice country"): Staged(
        "log.sqlite questions.json costs.json taught", ("paired replay of 24 decisions",)
    ),
    ("loop.md", "loop shadow taught"): Staged(
        "taught",
        ("50.0% of the units", "has ended", "5.0% of the units"),
        before={0: worlds.first_champion},
    ),
    ("loop.md", "--reason"): Staged(
        "taught refund.policy.json labels.jsonl questions.json log.sqlite",
        ("certified again", "has ended", "is the champion again", "pointed", "page in report.html"),
        before={0: worlds.tried, 1: worlds.tried, 2: worlds.promoted},
    ),
    ("loop.md", "--explore 0.1"): Staged("log.sqlite", ("thisthat-135m",)),
    ("loop.md", "--policy taught.policy.json"): Staged(
        "log.sqlite questions.json taught taught.policy.json", ("acting",)
    ),
    ("mcp.md", "thisthat mcp"): Staged(
        "command.json triage.json command.policy.json",
        ('"name":"triage"', '"action"', '"probabilities"'),
    ),
    ("performance.md", "--performance-page"): Staged(
        "",
        ("docs/performance.md",),
        before={0: worlds.copied_results},
        made="docs/performance.md",
    ),
    ("results.md", "--results-page"): Staged(
        "", ("docs/results.md",), before={0: worlds.copied_results}, made="docs/results.md"
    ),
    ("running.md", "/admin/reload"): Staged("", ('"lambda": 0.5',)),
    ("serve.md", "--alias my-model"): Staged(
        "mine backup keys.txt admin.txt asked.json",
        ("my-model", "old", "thisthat-135m", '"probabilities"'),
    ),
    ("serve.md", "/admin/teach"): Staged("questions.json labels.csv", ('"model":',)),
    ("teach.md", "done.csv next.csv"): Staged("done.csv next.csv", ("id,state,refund",)),
    ("testing-decisions.md", "thisthat test cases.yaml\n"): Staged(
        "cases.yaml labelled.csv questions.json my-checkpoint",
        ("2 of 2", "2 of 2", "2 of 2", "6 of 6"),
    ),
    ("testing-decisions.md", "--against ./old"): Staged(
        "cases.yaml new old", ("of 2 cases changed", "2 of 2", "of 2 cases changed")
    ),
    ("testing-decisions.md", "pytest --decisions"): Staged(
        "mail.decisions.yaml my-checkpoint", ("2 passed",)
    ),
    ("thresholds.md", "threshold fit labelled.jsonl"): Staged(
        "triage.json",
        ("saved as triage.policy.json", "precision>=0.98"),
        before={0: worlds.labelled_by_paths},
        by_paths=True,
    ),
}
INSTALLS = "it installs something"
MEASURES = "it measures for minutes or more; tests/lab or tests/serve runs it in short"
START = "a bash block of start.md has these lines, and runs"
NOT_RUN = {
    ("README.md", "python3 -m venv"): INSTALLS,
    ("README.md", "cp -r examples/mailbox"): START,
    ("check.md", "bench injection"): MEASURES,
    ("engines.md", "bench fidelity"): MEASURES,
    ("engines.md", "bench gpu"): "it needs a GPU",
    ("evidence.md", "bench evidence"): MEASURES,
    ("index.md", "pip install ."): INSTALLS,
    ("measuring.md", "CMAKE_ARGS"): INSTALLS,
    ("order.md", "bench order"): MEASURES,
    ("order.md", "bench wide"): MEASURES,
    ("reliability.md", "make campaign"): "it attacks a server for minutes or hours",
    ("running.md", "bench http"): MEASURES,
    ("scale.md", "--on ray --address"): "it needs a cluster",
    ("scale.md", "--on ray --replicas"): "it needs a cluster",
    ("serve.md", "pip install"): INSTALLS,
    ("settings.md", "--install-completion"): "it writes into the settings of the user's shell",
    ("start.md", "python3 -m venv"): INSTALLS,
    ("teach.md", "cp -r examples/mailbox"): START,
    ("teach.md", "pip download"): "it fetches wheels of another package",
    ("tested-clients.md", "clients/run.py"): "it needs fourteen clients; `make clients` runs it",
}


def sh_blocks() -> list[tuple[Path, str]]:
    """Every block, with its page."""
    pages = [(page, page.read_text(encoding="utf-8")) for page in PAGES]
    return [(page, found[2]) for page, text in pages for found in SH.finditer(text)]


def lines_in(block: str) -> list[str]:
    """The commands of a block, each in one line; those that install something are left out."""
    joined = re.sub(r"(\\|\|)\n", lambda found: found[1].replace("\\", ""), block)
    plain = [re.sub(r"\s+#\s.*", "", line).strip() for line in joined.splitlines()]
    return [line for line in plain if line and not line.startswith("pip install")]


def named(page: Path, block: str, table: Mapping[tuple[str, str], object]) -> list[tuple[str, str]]:
    """The entries of a table that name a block."""
    return [(name, words) for name, words in table if name == page.name and words in block]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files, on the day that the blocks of this module run on."""
    folder = tmp_path_factory.mktemp("world")
    with worlds.on(worlds.TODAY) as clock:
        worlds.write_world(folder, clock)
        yield folder


@pytest.fixture(scope="module")
def server(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For blocks that ask a server and start none."""
    folder = tmp_path_factory.mktemp("server")
    given(world, folder, "mine admin.txt decisions.sqlite")
    words = "serve --checkpoint mine --admin-keys admin.txt --decision-log decisions.sqlite"
    with serving(words.split(), folder) as found:
        yield found


def given(world: Path, folder: Path, files: str) -> None:
    """Copies of files, and links to folders."""
    for name in files.split():
        if (world / name).is_dir():
            (folder / name).symlink_to(world / name)
        else:
            shutil.copy(world / name, folder / name)


def run_here(words: list[str]) -> tuple[int, str]:
    """A command of thisthat: its exit code, and what it printed, also into a file."""
    if any("*" in word for word in words):
        words = [name for word in words for name in sorted(map(str, Path().glob(word))) or [word]]
    into = None
    if ">>" in words:
        words, into = words[: words.index(">>")], Path(words[-1])
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if into is not None:
        with into.open("a") as file:
            file.write(done.stdout)
    return done.exit_code, done.output


def run_there(line: str) -> tuple[int, str]:
    """A line of the shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        env={**os.environ, "PATH": path, "KEY": KEY, "ADMIN_KEY": f"{KEY}-admin"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.weights
@pytest.mark.parametrize(
    ("page", "block"),
    [each for each in sh_blocks() if named(*each, STAGED)],
    ids=lambda each: each.name if isinstance(each, Path) else "",
)
def test_blocks_run(
    page: Path,
    block: str,
    world: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    [name] = named(page, block, STAGED)
    staged = STAGED[name]
    given(world, tmp_path, staged.files)
    monkeypatch.chdir(tmp_path)
    if staged.by_paths:
        answers = "thisthat.decide.opening.open_decider"
        monkeypatch.setattr(answers, lambda *_, **__: path_decider())
    server: Server | None = None
    lines = lines_in(block)
    assert len(lines) == len(staged.said), lines
    with ExitStack() as started:
        for number, (line, said) in enumerate(zip(lines, staged.said, strict=True)):
            if number in staged.before:
                staged.before[number](tmp_path)
            if PORT in line and not line.startswith("thisthat serve"):
                server = server or request.getfixturevalue("server")
                line = line.replace(PORT, server.port)
            words = shlex.split(line)
            code = 0
            if words[:2] == ["thisthat", "serve"]:
                started.close()
                server = started.enter_context(serving(words[1:], tmp_path))
                printed = server.models(KEY)
            elif words[:2] == ["thisthat", "mcp"]:
                printed = tools_of(words[1:], tmp_path)
            elif words[0] == "thisthat":
                code, printed = run_here(words[1:])
            else:
                code, printed = run_there(line)
            if words[-2] in (">", ">>"):
                printed += Path(words[-1]).read_text()
            assert code == 0, (line, printed)
            assert said in printed, (line, printed)
            print(line, printed, sep="\n")
    if staged.made:
        assert Path(staged.made).read_text() == (worlds.ROOT / staged.made).read_text()


@pytest.mark.parametrize(("page", "block"), sh_blocks(), ids=lambda e: getattr(e, "name", ""))
def test_every_block_is_staged_or_excused_once(page: Path, block: str) -> None:
    found = named(page, block, STAGED) + named(page, block, NOT_RUN)
    assert len(found) == 1, block


def test_every_entry_names_a_block() -> None:
    for name, words in [*STAGED, *NOT_RUN]:
        found = [block for page, block in sh_blocks() if page.name == name and words in block]
        assert len(found) == 1, (name, words)


def test_what_start_runs_is_there() -> None:
    [start] = [page for page in PAGES if page.name == "start.md"]
    run = [copied(line) for block in blocks(start, "bash") for line in lines_in(block)]
    for page, block in sh_blocks():
        if any(NOT_RUN[name] == START for name in named(page, block, NOT_RUN)):
            assert [line for line in lines_in(block) if copied(line) not in run] == [], page.name
