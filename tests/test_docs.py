"""Every block of the README and the docs runs, and prints what the page shows.

Python and bash blocks of a page run in order, `$ thisthat` lines each by themselves; `sh` blocks
need files and servers that the page does not make, and run in tests/staged. What a page shows of
their output is compared with it:

- an ``output`` block after a python block: everything that block prints;
- a comment behind a `print(…)` in a python block: what that line prints;
- an ``output`` block after a bash block: lines of what that block prints;
- lines below a `$ thisthat` line: lines of what it prints.

A python or bash block that prints what the page does not show fails, unless `UNSHOWN` says why.
Numbers with a decimal point may differ by `TOLERANCE`, since engines differ; … stands for anything.
"""

import ast
import contextlib
import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *DOCS, ROOT / "docs" / "site" / "index.md"]
LINKED = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *DOCS,
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / "data").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s#:]*)(?:#([^)\s]+))?\)")
SHOWN = re.compile(r"^```(\w+)[^\n]*\n((?:(?!^```).)*?)^```\s*^```output\n(.*?)^```", re.S | re.M)
NUMBER = re.compile(r"(\d+\.\d+|…)")
TOLERANCE = 0.06
# Blocks whose output no page can show: (page, words of the block), and why.
UNSHOWN = {
    ("engines.md", "decider.engine.description"): "it names the machine's own engine",
}


def blocks(page: Path, language: str) -> list[str]:
    return [
        text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


def outputs(page: Path, language: str) -> dict[str, str]:
    """The output shown after blocks of this language."""
    found = SHOWN.findall(page.read_text(encoding="utf-8"))
    return {block: output for kind, block, output in found if kind == language}


def alike(shown: str, said: str) -> bool:
    """Equal, but for decimals within the tolerance and what … stands for."""
    pattern = ""
    wanted = []
    for part in NUMBER.split(re.sub(r"\s+", " ", shown).strip()):
        if part == "…":
            pattern += ".*?"
        elif NUMBER.fullmatch(part):
            pattern += r"(\d+(?:\.\d+)?)"
            wanted.append(float(part))
        else:
            pattern += re.escape(part)
    found = re.fullmatch(pattern, re.sub(r"\s+", " ", said).strip(), re.DOTALL)
    return found is not None and all(
        abs(float(is_) - was) <= TOLERANCE for is_, was in zip(found.groups(), wanted, strict=True)
    )


def is_unshown(page: Path, block: str, said: str) -> bool:
    """Whether a block that the page shows no output for prints something, without an excuse."""
    excused = any(name == page.name and words in block for name, words in UNSHOWN)
    return bool(said.strip()) and not excused


class Said(io.StringIO):
    """What a block prints, all of it and by the line of the block that prints it."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        self.lines: list[tuple[int, str]] = []

    def write(self, text: str) -> int:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.where:
            frame = frame.f_back
        self.lines.append((frame.f_lineno if frame else 0, text))
        return super().write(text)

    def within(self, part: ast.stmt) -> str:
        last = part.end_lineno or part.lineno
        return "".join(text for line, text in self.lines if part.lineno <= line <= last)


def run_python(text: str, namespace: dict[str, object], where: str) -> tuple[str, str]:
    """Run a block: what it prints, and what of that stands in no comment behind its print.

    Those comments must be true.
    """
    said = Said(where)
    lines = text.splitlines()
    tree = ast.parse(text)
    with contextlib.redirect_stdout(said):
        exec(compile(tree, where, "exec"), namespace)
    commented: set[int] = set()
    for part in ast.walk(tree):
        if not isinstance(part, ast.Expr) or not ast.unparse(part).startswith("print("):
            continue
        behind = lines[(part.end_lineno or 1) - 1].encode()[part.end_col_offset or 0 :]
        comment = behind.decode().strip()
        if comment.startswith("#"):
            assert alike(comment.removeprefix("#"), said.within(part)), (comment, said.within(part))
            commented |= set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return said.getvalue(), "".join(each for line, each in said.lines if line not in commented)


def commands(page: Path) -> list[tuple[str, str]]:
    """Every `$ thisthat` line with what is shown below it."""
    found = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            if "thisthat" in line:
                found.append((line, shown))
    return found


def missing(shown: str, said: str) -> list[str]:
    """Lines that are shown and were not said."""
    lines = said.splitlines()
    return [
        line
        for line in shown.splitlines()
        if line.strip() and not any(alike(line, each) for each in lines)
    ]


@pytest.mark.weights
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_blocks_run_in_order(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": page.stem}
    shown = outputs(page, "python")
    for number, text in enumerate(blocks(page, "python")):
        said, uncommented = run_python(text, namespace, f"{page}, python block {number}")
        if text in shown:
            assert alike(shown[text], said), (shown[text], said)
        else:
            assert not is_unshown(page, text, uncommented), (text, uncommented)


@pytest.mark.weights
@pytest.mark.parametrize(
    ("command", "shown"),
    [each for page in PAGES for each in commands(page)],
    ids=lambda text: text[:60],
)
def test_console_lines_run(command: str, shown: str, tmp_path: Path) -> None:
    thisthat = shlex.quote(str(Path(sys.executable).with_name("thisthat")))
    line = re.sub(r"(^|\| )thisthat ", rf"\1{thisthat} ", command)
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert missing(shown, done.stdout) == [], done.stdout


@pytest.mark.weights
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "bash")], ids=lambda p: p.name)
def test_bash_blocks_run_in_order(page: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    between = f"== {uuid.uuid4()} =="
    parts = [f"echo '{between}'\n{block}" for block in blocks(page, "bash")]
    script = "\n".join(["set -euo pipefail", *parts]).replace("8017", str(port))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said = tmp_path / "said"
    with said.open("w") as out:
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        assert shell.wait(600) == 0, said.read_text()
    finally:
        # A block that fails leaves its server behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
    shown = outputs(page, "bash")
    everything = said.read_text().split(between)[1:]
    for block, printed in zip(blocks(page, "bash"), everything, strict=True):
        if block in shown:
            assert missing(shown[block], printed) == [], printed
        else:
            assert not is_unshown(page, block, printed), (block, printed)


def test_blocks_for_a_library_print_nothing() -> None:
    """```python ray and the like run in tests of their own, which do not look at output."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```python \w+\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            assert "print(" not in block, (page.name, block)


def anchors(text: str) -> set[str]:
    """Of the headings, as GitHub makes them."""
    found: Counter[str] = Counter()
    every = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        every.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return every


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked.read_text(encoding="utf-8")), f"{target}#{anchor}"


def test_anchors_are_those_of_github() -> None:
    page = "# A *b*: `c --d`\n```sh\n# no heading\n```\n## [One](x.md) label\n## One label\n"
    assert anchors(page) == {"a-b-c---d", "one-label", "one-label-1"}


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        ("yes 0.81", "yes 0.84\n", True),
        ("yes 0.81", "yes 0.91", False),
        ("yes 0.81", "no 0.81", False),
        ("n = 3", "n = 4", False),
        ("Cut(keep='tail', state_tokens=…)", "Cut(keep='tail', state_tokens=812)", True),
        ("a", "a b", False),
    ],
)
def test_shown_and_said_are_told_apart(shown: str, said: str, same: bool) -> None:
    assert alike(shown, said) == same


def test_a_false_comment_behind_a_print_is_found() -> None:
    run_python('print("yes", 0.5)  # yes 0.52', {}, "page")
    for false in (
        'print("yes", 0.5)  # no 0.52',
        'if True:\n    print("… yes")  # no',
        'if False:\n    print("yes")  # yes',
    ):
        with pytest.raises(AssertionError):
            run_python(false, {}, "page")


def test_what_is_printed_without_a_comment_is_found() -> None:
    text = """
print("a")  # a
def again():
    print("b")
for _ in range(2):
    again()  # no print
print(
    "c",
)  # c
"""
    assert run_python(text, {}, "page") == ("a\nb\nb\nc\n", "b\nb\n")
    page = Path("page.md")
    assert is_unshown(page, "print(1)", "1\n")
    assert not is_unshown(page, "x = 1", "\n")


def copied(line: str) -> str:
    """A line of a page, apart from what it calls its own copy of the example."""
    return re.sub(r"(cp -r examples/mailbox) (\S+) && cd \2$", r"\1 COPY", line)


def test_no_page_copies_the_example_over_that_of_another() -> None:
    every = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    copies = re.findall(r"^cp -r \S+ (\S+)", every, re.MULTILINE)
    assert len(copies) >= 3
    assert sorted(set(copies)) == sorted(copies)


def test_no_page_asks_a_server_that_it_did_not_start() -> None:
    """Where another program has the port, the one that was started has ended."""
    started = [each for page in PAGES for each in blocks(page, "bash") if "thisthat serve" in each]
    asks = [each for block in started for each in block.splitlines() if "http://" in each]
    assert len(asks) >= 4
    assert [each for each in asks if not each.startswith("kill -0 $! && ")] == []


def test_teaching_shows_what_the_start_page_prints() -> None:
    """It takes a minute, so it runs on one of the two pages."""
    _, _, shown = SHOWN.findall((ROOT / "docs" / "teach.md").read_text(encoding="utf-8"))[0]
    printed = "".join(outputs(ROOT / "docs" / "start.md", "bash").values()).splitlines()
    assert [line for line in shown.splitlines() if line not in printed] == []


def test_every_excuse_is_needed() -> None:
    for (name, words), reason in UNSHOWN.items():
        [page] = [page for page in PAGES if page.name == name]
        every = [*blocks(page, "python"), *blocks(page, "bash")]
        shown = {**outputs(page, "python"), **outputs(page, "bash")}
        assert [block in shown for block in every if words in block] == [False], name
        assert reason


def test_outputs_belong_to_the_block_before_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\na\n```\n\n```python\nb\n```\n\n```output\nc\n```\n")
    assert outputs(page, "python") == {"b\n": "c\n"}
