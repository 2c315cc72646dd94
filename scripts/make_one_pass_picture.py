"""Asks the README's example and draws its one pass, light and dark.

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
    "one-pass.svg": {
        "ink": "#1f2937",
        "soft": "#4b5563",
        "box": "#eef4ff",
        "line": "#3b6fb6",
        "rest": "#a9c1de",
    },
    "one-pass-dark.svg": {
        "ink": "#e5e7eb",
        "soft": "#b4bccb",
        "box": "#1b2536",
        "line": "#7aa2e3",
        "rest": "#41587d",
    },
}
WIDTH, TOP, LINE, PADDING, GAP, LETTER = 960, 44, 17, 11, 14, 7.3
STATE, BRANCH, NAMES, BARS = (24, 230), (284, 366), 690, 808
LONGEST = 90
TOLD = (
    "One state and three questions go through one forward pass; each question ends in a slot, and"
    " each slot gives a probability for every declared option."
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


def drawn(example: Example, ink: str, soft: str, box: str, line: str, rest: str) -> str:
    """The picture in these colours."""
    tops = [TOP]
    for branch in example.branches:
        tops.append(tops[-1] + len(branch) * LINE + 2 * PADDING + GAP)
    end = tops[-1] - GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {end + 36}" role="img"'
        f' aria-label="{TOLD}">',
        "<style>text{font:600 14px ui-sans-serif,system-ui,'Segoe UI',Arial,sans-serif;"
        f"fill:{ink}}}.m{{font:12px ui-monospace,'SF Mono',Menlo,Consolas,monospace;"
        f"white-space:pre}}.s{{font-size:12.5px;font-weight:400;fill:{soft}}}"
        f".x{{fill:{box};stroke:{line};stroke-width:1.4}}"
        f".w{{fill:none;stroke:{line};stroke-width:1.6}}.best{{fill:{line}}}.rest{{fill:{rest}}}"
        "</style>",
        f'<text x="{STATE[0]}" y="28">the state, read once</text>',
        f'<text x="{BRANCH[0]}" y="28">your questions, a branch each</text>',
        f'<text x="{NAMES}" y="28">a probability for each option</text>',
        _box(STATE, TOP, end - TOP),
        *_lines(STATE[0], TOP, _wrapped(example.state)),
    ]
    for top, branch, percents in zip(tops, example.branches, example.percents, strict=False):
        parts += _branch(top, branch, percents, (TOP + end) // 2)
    parts += [
        f'<text class="s" x="{STATE[0]}" y="{end + 24}">One forward pass, nothing generated.'
        " ▮ is a slot: the hidden state there, times one row for each option's letter, is the"
        " answer.</text>",
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def _branch(top: int, branch: list[str], percents: list[int], middle: int) -> list[str]:
    """One question: its prompt, its slot, and a bar beside each of its options."""
    height = len(branch) * LINE + 2 * PADDING
    left, right = STATE[0] + STATE[1], BRANCH[0] + BRANCH[1]
    centre = top + height // 2
    slot = top + PADDING + (len(branch) - 1) * LINE + 3
    at = round(BRANCH[0] + PADDING + LETTER * len(branch[-1]))
    first = top + PADDING + (len(branch) - 1 - len(percents)) * LINE + LINE // 2
    parts = [
        f'<path class="w" d="M{left} {middle} C{left + 22} {middle} {left + 14} {centre}'
        f' {BRANCH[0]} {centre}"/>',
        _box(BRANCH, top, height),
        *_lines(BRANCH[0], top, branch),
        f'<rect class="best" x="{at}" y="{slot}" width="8" height="13"/>',
        f'<path class="w" d="M{at + 8} {slot + 6} H{right + 22} V{first} H{NAMES - 10}"/>',
    ]
    for number, percent in enumerate(percents):
        name = branch[number - 1 - len(percents)].partition(") ")[2]
        name = name if name[0].isdigit() else name.partition(":")[0]
        y = first + number * LINE
        kind = "best" if percent == max(percents) else "rest"
        long = max(1, percent * LONGEST // 100)
        parts += [
            f'<text class="s" x="{NAMES}" y="{y + 4}">{html.escape(name)}</text>',
            f'<rect class="{kind}" x="{BARS}" y="{y - 5}" width="{long}" height="11" rx="2"/>',
            f'<text class="s" x="{BARS + LONGEST + 10}" y="{y + 4}">{percent} %</text>',
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


def _wrapped(state: str) -> list[str]:
    room = int((STATE[1] - 2 * PADDING) / LETTER)
    return [part for line in state.splitlines() for part in textwrap.wrap(line, room)]


if __name__ == "__main__":
    found = asked()
    for file, colours in COLOURS.items():
        (Path(sys.argv[1]) / file).write_text(drawn(found, **colours), encoding="utf-8")
