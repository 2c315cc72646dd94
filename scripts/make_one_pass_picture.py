"""Asks the README's example and draws its one pass, light and dark, wide and for phones.

python scripts/make_one_pass_picture.py docs/pictures
"""

from __future__ import annotations

import contextlib
import html
import io
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thisthat.schema import schema_of

README = Path(__file__).parents[1] / "README.md"
COLOURS = {
    "": {
        "ink": "#1f2937",
        "soft": "#4b5563",
        "box": "#eef4ff",
        "line": "#3b6fb6",
        "rest": "#a9c1de",
    },
    "-dark": {
        "ink": "#e5e7eb",
        "soft": "#b4bccb",
        "box": "#1b2536",
        "line": "#7aa2e3",
        "rest": "#41587d",
    },
}
WIDTH, TOP, LINE, PADDING, GAP, LETTER = 960, 44, 17, 11, 14, 7.3
STATE, BRANCH, NAMES, BARS = (24, 230), (284, 366), 690, 808
# On a phone all branches are below the state, each with its options under its slot.
NARROW, RAIL, BELOW, BELOW_NAMES, BELOW_BARS = 400, 8, (22, 366), 128, 240
LONGEST = 90
TOLD = (
    "One state and three questions go through one forward pass; each question ends in a slot, and"
    " each slot gives a probability for every declared option."
)
SAID = (
    "One forward pass, nothing generated. ▮ is a slot: the hidden state there, times one row for"
    " each option's letter, is the answer."
)


@dataclass(frozen=True)
class Example:
    """What the model reads, in branches, and what it answers: percents, question by question."""

    state: str
    branches: list[list[str]]
    percents: list[list[int]]


def asked() -> Example:
    """The README's own example, run for real."""
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.S | re.M)
    ran: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks[:2]:
            exec(compile(block, README, "exec", dont_inherit=True), ran)
    questions = schema_of(ran["Triage"]).questions
    (prompt,) = ran["decider"].prompt_text(ran["ticket"], questions)
    state, *branches = prompt.split("── branch ──")
    answers = ran["triage"].answers.values()
    return Example(
        state=state.strip(),
        branches=[re.sub(r"⟦.*?⟧", "", each).strip().splitlines() for each in branches],
        percents=[[round(100 * p) for p in each.probabilities.values()] for each in answers],
    )


def pictures(example: Example) -> dict[str, str]:
    """Every picture by its file's name."""
    return {
        f"one-pass{shape}{shade}.svg": draw(example, **colours)
        for shape, draw in (("", wide), ("-narrow", narrow))
        for shade, colours in COLOURS.items()
    }


def wide(example: Example, **colours: str) -> str:
    """The state, its branches and their options side by side."""
    tops = [TOP]
    for branch in example.branches:
        tops.append(tops[-1] + _height(branch) + GAP)
    end = tops[-1] - GAP
    parts = [
        f'<text x="{STATE[0]}" y="28">the state, read once</text>',
        f'<text x="{BRANCH[0]}" y="28">your questions, a branch each</text>',
        f'<text x="{NAMES}" y="28">a probability for each option</text>',
        _box(STATE, TOP, end - TOP),
        *_lines(STATE[0], TOP, _wrapped(example.state, STATE[1])),
    ]
    left, right, middle = STATE[0] + STATE[1], BRANCH[0] + BRANCH[1], (TOP + end) // 2
    for top, branch, percents in zip(tops, example.branches, example.percents, strict=False):
        centre = top + _height(branch) // 2
        at, slot = _slot(BRANCH, top, branch)
        first = top + PADDING + (len(branch) - 1 - len(percents)) * LINE + LINE // 2
        parts += [
            f'<path class="w" d="M{left} {middle} C{left + 22} {middle} {left + 14} {centre}'
            f' {BRANCH[0]} {centre}"/>',
            *_branch(BRANCH, top, branch),
            f'<path class="w" d="M{at + 8} {slot + 6} H{right + 22} V{first} H{NAMES - 10}"/>',
            *_options(NAMES, BARS, first, branch, percents),
        ]
    parts.append(f'<text class="s" x="{STATE[0]}" y="{end + 24}">{SAID}</text>')
    return _picture(WIDTH, end + 36, parts, **colours)


def narrow(example: Example, **colours: str) -> str:
    """The same one below the other."""
    state = _wrapped(example.state, BELOW[1])
    bottom = TOP + _height(state)
    top = bottom + 48
    parts = [
        f'<text x="{BELOW[0]}" y="28">the state, read once</text>',
        _box(BELOW, TOP, bottom - TOP),
        *_lines(BELOW[0], TOP, state),
        f'<text x="{BELOW[0]}" y="{top - 16}">your questions and their probabilities</text>',
    ]
    for branch, percents in zip(example.branches, example.percents, strict=True):
        at, slot = _slot(BELOW, top, branch)
        first = top + _height(branch) + LINE
        turn = top + _height(branch) // 2
        parts += [
            f'<path class="w" d="M{BELOW[0]} {bottom - 14} H{RAIL} V{turn} H{BELOW[0]}"/>',
            *_branch(BELOW, top, branch),
            f'<path class="w" d="M{at + 4} {slot + 13} V{first} H{BELOW_NAMES - 8}"/>',
            *_options(BELOW_NAMES, BELOW_BARS, first, branch, percents),
        ]
        top = first + len(percents) * LINE + GAP
    said = textwrap.wrap(SAID, 58)
    parts += [
        f'<text class="s" x="{BELOW[0]}" y="{top + 8 + number * LINE}">{line}</text>'
        for number, line in enumerate(said)
    ]
    return _picture(NARROW, top + len(said) * LINE + 4, parts, **colours)


def _picture(
    width: int, height: int, parts: list[str], ink: str, soft: str, box: str, line: str, rest: str
) -> str:
    """The parts in these colours."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{TOLD}">',
        "<style>text{font:600 14px ui-sans-serif,system-ui,'Segoe UI',Arial,sans-serif;"
        f"fill:{ink}}}.m{{font:12px ui-monospace,'SF Mono',Menlo,Consolas,monospace;"
        f"white-space:pre}}.s{{font-size:12.5px;font-weight:400;fill:{soft}}}"
        f".x{{fill:{box};stroke:{line};stroke-width:1.4}}"
        f".w{{fill:none;stroke:{line};stroke-width:1.6}}.best{{fill:{line}}}.rest{{fill:{rest}}}"
        "</style>",
    ]
    return "\n".join([*head, *parts, "</svg>", ""])


def _height(lines: list[str]) -> int:
    return len(lines) * LINE + 2 * PADDING


def _slot(across: tuple[int, int], top: int, branch: list[str]) -> tuple[int, int]:
    """Where a branch's slot is: behind its last line."""
    at = round(across[0] + PADDING + LETTER * len(branch[-1]))
    return at, top + PADDING + (len(branch) - 1) * LINE + 3


def _branch(across: tuple[int, int], top: int, branch: list[str]) -> list[str]:
    """One question: its prompt and its slot."""
    at, slot = _slot(across, top, branch)
    return [
        _box(across, top, _height(branch)),
        *_lines(across[0], top, branch),
        f'<rect class="best" x="{at}" y="{slot}" width="8" height="13"/>',
    ]


def _options(
    names: int, bars: int, first: int, branch: list[str], percents: list[int]
) -> list[str]:
    """A bar beside each option of a question."""
    parts = []
    for number, percent in enumerate(percents):
        name = branch[number - 1 - len(percents)].partition(") ")[2]
        name = name if name[0].isdigit() else name.partition(":")[0]
        y = first + number * LINE
        kind = "best" if percent == max(percents) else "rest"
        long = max(1, percent * LONGEST // 100)
        parts += [
            f'<text class="s" x="{names}" y="{y + 4}">{html.escape(name)}</text>',
            f'<rect class="{kind}" x="{bars}" y="{y - 5}" width="{long}" height="11" rx="2"/>',
            f'<text class="s" x="{bars + LONGEST + 10}" y="{y + 4}">{percent} %</text>',
        ]
    return parts


def _box(across: tuple[int, int], top: int, height: int) -> str:
    left, width = across
    return f'<rect class="x" x="{left}" y="{top}" width="{width}" height="{height}" rx="8"/>'


def _lines(left: int, top: int, lines: list[str]) -> list[str]:
    return [
        f'<text class="m" x="{left + PADDING}" y="{top + PADDING + 13 + number * LINE}">'
        f"{html.escape(line, quote=False)}</text>"
        for number, line in enumerate(lines)
    ]


def _wrapped(state: str, width: int) -> list[str]:
    room = int((width - 2 * PADDING) / LETTER)
    return [part for line in state.splitlines() for part in textwrap.wrap(line, room)]


if __name__ == "__main__":
    for file, drawing in pictures(asked()).items():
        (Path(sys.argv[1]) / file).write_text(drawing, encoding="utf-8")
