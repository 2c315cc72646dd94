"""Choice: which of many described tools does the stated need call for? Up to 255 tools.

A need and its tool share meaning, not words: both sides pick their own synonyms. The other tools
do the same thing to something else, or something else to the same thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import remarks
from thisthat_lab.tables import Tables

# What a tool does: name part, description, ways to ask for it.
_TABLES = Tables(__file__)
ACTIONS = _TABLES.read("actions", tuple[tuple[str, str, tuple[str, ...]], ...])
# What it does it to: name part, word in the description, words in the need.
OBJECTS = _TABLES.read("objects", tuple[tuple[str, str, tuple[str, ...]], ...])
NEEDS = _TABLES.words("needs")
QUESTIONS = _TABLES.words("questions")


@dataclass(frozen=True)
class Case:
    """Pairs of action and object: the tools on offer, and the place of the one needed."""

    tools: tuple[tuple[int, int], ...]
    wanted: int
    named: bool
    notes: int


def draw(rng: Rng, setting: Setting) -> Case:
    """Two to 255 tools, most of them near the wanted one."""
    if setting.distractors >= 12:
        count = rng.choice((30, 60, 120, 255))
    else:
        count = 2 + setting.clauses + setting.distractors
    action, thing = rng.below(len(ACTIONS)), rng.below(len(OBJECTS))
    tools = {(action, thing): None}
    while len(tools) < count:
        near = rng.below(3)
        other = (
            action if near == 0 else rng.below(len(ACTIONS)),
            thing if near == 1 else rng.below(len(OBJECTS)),
        )
        tools[other if count < 30 or near == 2 else _any(rng)] = None
    order = rng.shuffled(list(tools))
    return Case(tuple(order), order.index((action, thing)), rng.chance(0.6), setting.length)


def _any(rng: Rng) -> tuple[int, int]:
    return rng.below(len(ACTIONS)), rng.below(len(OBJECTS))


def solve(case: Case) -> int:
    """The place of the wanted tool."""
    return case.wanted


def twin(case: Case, rng: Rng) -> Case | None:
    """The same tools, another need."""
    others = [place for place in range(len(case.tools)) if place != case.wanted]
    return replace(case, wanted=rng.choice(others)) if others else None


def render(case: Case, rng: Rng) -> Asked:
    """The need is the state; the tools are the options, by telling name or by number."""
    action, thing = case.tools[case.wanted]
    need = rng.choice(ACTIONS[action][2]).format(x=rng.choice(OBJECTS[thing][2]))
    text = _with_articles(rng.choice(NEEDS).format(need=need))
    numbers = rng.sample(range(100, 999), len(case.tools))
    style = rng.below(3)
    options = []
    for number, (verb, noun) in zip(numbers, case.tools, strict=True):
        names = (ACTIONS[verb][0], OBJECTS[noun][0])
        name = "_".join(names) if style == 0 else f"{names[1]}.{names[0]}"
        name = name if case.named else f"tool_{number}"
        options.append((name, _with_articles(ACTIONS[verb][1].format(x=OBJECTS[noun][1]))))
    before = " ".join(remarks(rng, min(case.notes, 20)))
    state = rng.choice((f"{before} {text}", f"{text} {before}")).strip()
    question = rng.choice(QUESTIONS)
    return Asked(state, question, tuple(options), {"deciding": [text], "tools": len(options)})


def _with_articles(text: str) -> str:
    return re.sub(r"\ba (?=[aeio])", "an ", text)


FAMILY = branch_family("tool_selection", "choice", draw, solve, render, twin)
