"""Which instruction is violated: one of several, or none of them."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.base import wording
from thisthat_lab.suites.base.branch_family import branch_family
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.families.texts import instruction_check as check
from thisthat_lab.suites.branch.machinery import outputs
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_ASKS = _TABLES.words("asks")
_NONE = _TABLES.words("none")


@dataclass(frozen=True)
class ViolationCase:
    """A text and instructions of which at most one is broken."""

    text: str
    instructions: tuple[outputs.Instruction, ...]
    setting: Setting
    look: int


def draw(rng: Rng, setting: Setting) -> ViolationCase:
    """Three instructions; each of them, or none, is broken equally often."""
    text = outputs.draw_output(rng.integer(1, 1 + setting.clauses), rng)
    count = 3
    broken = rng.below(count + 1)
    instructions = check.draw_instructions(text, count, broken if broken < count else None, rng)
    return ViolationCase(text, instructions, setting, rng.raw())


def solve(case: ViolationCase) -> int:
    """The broken instruction; their number when all are kept."""
    for index, instruction in enumerate(case.instructions):
        if not outputs.follows(instruction, case.text):
            return index
    return len(case.instructions)


def render(case: ViolationCase, rng: Rng) -> Asked:
    """The case written down; options are the instructions, or their numbers in the state."""
    rng = Rng(case.look, "words")
    said = [
        outputs.say_instruction(instruction, Rng(case.look, number))
        for number, instruction in enumerate(case.instructions)
    ]
    numbered = rng.chance(0.5)
    style = rng.choice(("instruction {}", "#{}", "rule {}"))
    names = [style.format(number) for number in range(1, len(said) + 1)]
    listed = "\n".join(f"{name}: {text}" for name, text in zip(names, said, strict=True))
    options: list[tuple[str, str | None]] = [(text, None) for text in said]
    if numbered:
        options = [(name, None) for name in names]
    elif rng.chance(0.5):
        options = list(zip(names, said, strict=True))
    options.append((rng.choice(_NONE), None))
    state, deciding = check.write_output(case.text, listed if numbered else None, case.setting, rng)
    facts = {
        "deciding": [deciding],
        "rule": wording.as_shown(state, listed) if numbered else [],
        "clauses": len(said),
        "place": "state" if numbered else "options",
    }
    return Asked(state, wording.sentence(rng.choice(_ASKS)), tuple(options), facts)


FAMILY = branch_family("which_instruction", "choice", draw, solve, render, option_count=4)
