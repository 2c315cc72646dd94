"""Instruction check: does a written output do everything that was asked of it?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.questions import Text, compact_json
from thisthat.rng import Rng
from thisthat_lab.suites.base import wording
from thisthat_lab.suites.base.branch_family import branch_family
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.machinery import outputs
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_ASKS = _TABLES.words("asks")
_OPPOSITE_ASKS = _TABLES.words("opposite_asks")


@dataclass(frozen=True)
class CheckCase:
    """A text and what it should be like."""

    text: str
    instructions: tuple[outputs.Instruction, ...]
    asks_opposite: bool
    in_state: bool
    setting: Setting
    look: int


def draw(rng: Rng, setting: Setting) -> CheckCase:
    """Every instruction followed as often as one broken."""
    text = outputs.draw_output(rng.integer(1, 1 + setting.clauses), rng)
    kept = rng.chance(0.5)
    instructions = draw_instructions(
        text, min(setting.clauses, 4), None if kept else rng.below(min(setting.clauses, 4)), rng
    )
    return CheckCase(text, instructions, rng.chance(0.5), rng.chance(0.6), setting, rng.raw())


def draw_instructions(
    text: str, count: int, broken: int | None, rng: Rng
) -> tuple[outputs.Instruction, ...]:
    """Instructions of different kinds, all followed but the one at the place ``broken``."""
    drawn: list[outputs.Instruction] = []
    for place in range(count):
        used = [instruction.kind for instruction in drawn]
        drawn.append(outputs.draw_instruction(text, place != broken, used, rng))
    return tuple(drawn)


def solve(case: CheckCase) -> int:
    """1 for yes."""
    kept = all(outputs.follows(instruction, case.text) for instruction in case.instructions)
    return int(kept != case.asks_opposite)


def render(case: CheckCase, rng: Rng) -> Asked:
    """The case written down."""
    rng = Rng(case.look, "words")
    said = [
        outputs.say_instruction(instruction, Rng(case.look, number))
        for number, instruction in enumerate(case.instructions)
    ]
    question = rng.choice(_OPPOSITE_ASKS if case.asks_opposite else _ASKS)
    listed = wording.bullets(said, rng)
    if not case.in_state:
        question = f"Instructions:\n{listed}\n{question}"
    state, deciding = write_output(case.text, listed if case.in_state else None, case.setting, rng)
    facts = {
        "deciding": [deciding],
        "rule": wording.as_shown(state, listed) if case.in_state else [],
        "clauses": len(said),
        "place": "state" if case.in_state else "question",
    }
    return Asked(state, question, facts=facts)


def write_output(
    text: str, instructions: str | None, setting: Setting, rng: Rng
) -> tuple[Text, str]:
    """The output, and the instructions if given, as a state; and the output as it stands there."""
    name = rng.choice(("output", "response", "draft", "reply"))
    if rng.chance(0.3):
        parts = [(name, text)]
        if instructions:
            parts.append(("instructions", instructions))
        state = wording.state_object(parts, rng, setting.distractors, setting.length)
        return state, compact_json(text)[1:-1]
    sections = [(name.capitalize(), text)]
    if instructions:
        sections.append((rng.choice(("Instructions", "Brief", "Style sheet")), instructions))
    return wording.sections(sections, rng, setting.length), text


def twin(case: CheckCase, rng: Rng) -> CheckCase | None:
    """The same text under instructions of which one changed, and with it the answer."""
    place = rng.below(len(case.instructions))
    broken = [i for i, one in enumerate(case.instructions) if not outputs.follows(one, case.text)]
    if broken:
        place = broken[0]
    others = [one.kind for i, one in enumerate(case.instructions) if i != place]
    changed = list(case.instructions)
    changed[place] = outputs.draw_instruction(case.text, bool(broken), others, rng)
    return replace(case, instructions=tuple(changed))


FAMILY = branch_family("instruction_check", "boolean", draw, solve, render, twin)
