"""Score families made of one record and one rubric: on which level does the record stand?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import BranchFamily, branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.records.asking import ask, numbered_levels
from thisthat_lab.suites.records.checks import hide_fact
from thisthat_lab.suites.records.fields import Record, RecordType
from thisthat_lab.suites.records.rubric import METHODS, Rubric, draw_rubric, twin_rubric, usable
from thisthat_lab.suites.records.rubric_text import definitions, draw_scale, say_rubric
from thisthat_lab.suites.records.sheets import write_records


@dataclass(frozen=True)
class RatingWording:
    """How a score family speaks; texts may use ``{noun}`` and ``{name}``.

    ``scales`` are the family's own level names, lowest first.
    """

    questions: tuple[str, ...]
    headings: tuple[str, ...] = ("rubric", "scale", "scoring guide", "criteria")
    things: tuple[str, ...] = ("record", "case", "entry", "details")
    scales: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class RatingCase:
    """A record, the rubric that rates it, and where the rubric is written."""

    kind: RecordType
    name: str
    record: Record
    shown: tuple[str, ...]
    rubric: Rubric
    place: str
    setting: Setting


def solve_rating(case: RatingCase) -> int:
    """The level, or the index after the last level when the record leaves it open."""
    level = case.rubric.level(case.record)
    return case.rubric.levels if level is None else level


def draw_rating(
    rng: Rng,
    setting: Setting,
    types: Sequence[RecordType],
    methods: Sequence[str],
    levels: Sequence[int],
) -> RatingCase | None:
    """A case on a level drawn evenly, or open (where that is offered)."""
    count = rng.choice(levels)
    target = rng.below(count)
    method = rng.choice(methods)
    kind = rng.choice(types)
    if not usable(kind, method, count):
        return None
    size = max(2, setting.clauses + rng.below(2), count - 1 if method == "points" else 0)
    rubric = None
    for _ in range(20):
        record = kind.draw(rng)
        rubric = draw_rubric(rng, kind, record, method, count, target, size)
        if rubric is not None:
            break
    if rubric is None:
        return None
    used = list(dict.fromkeys(rubric.phrases))
    spare = [field.phrase for field in kind.fields if field.phrase not in used]
    shown = [*used, *rng.sample(spare, min(max(1, setting.distractors), len(spare)))]
    facts: dict[str, Any] = dict(record)
    if setting.abstain:
        facts = hide_fact(rng, rubric.level, record, shown, rng.chance(1 / (count + 1)))
    places = ("state", "question", "levels")
    place = rng.weighted(places, (4, 3, 3))
    if method in ("first", "highest", "lowest") and place == "levels":
        place = "question"
    return RatingCase(
        kind,
        kind.draw_name(rng),
        facts,
        tuple(rng.shuffled(shown)),
        rubric,
        place,
        setting,
    )


def twin_rating(case: RatingCase, rng: Rng) -> RatingCase | None:
    """The same state under a rubric that gives another level, or another value in the record."""
    if any(case.record.get(phrase) is None for phrase in case.rubric.phrases):
        return None
    if rng.chance(0.5):
        rubric = twin_rubric(rng, case.rubric, case.record)
        return None if rubric is None else replace(case, rubric=rubric)
    return turned(case, (_with_moved_fact(case, rng) for _ in range(20)), solve_rating)


def _with_moved_fact(case: RatingCase, rng: Rng) -> RatingCase:
    phrase = rng.choice(case.rubric.phrases)
    return replace(case, record={**case.record, phrase: case.kind.field(phrase).draw(rng)})


def render_rating(case: RatingCase, rng: Rng, wording: RatingWording) -> Asked:
    """The case as state, question and levels."""
    sheet = write_records(rng, case.kind, [(case.name, case.record)], case.shown)
    noun = case.kind.noun
    rubric = case.rubric
    scale = draw_scale(rng, rubric.levels, wording.scales)
    asked = rng.choice(wording.questions).format(noun=noun, name=case.name)
    text = say_rubric(rng, rubric, noun, scale, table=case.place != "levels")
    levels = scale
    if case.place == "levels":
        levels = definitions(rng, rubric, noun)
        if rng.chance(0.5):
            levels = tuple(f"{name}: {level}" for name, level in zip(scale, levels, strict=True))
    sections: list[tuple[str, Any]] = [(rng.choice(wording.things), sheet.content)]
    if case.place == "state":
        sections.append((rng.choice(wording.headings), text))
    else:
        asked = f"{asked}\n{text}" if rng.chance(0.5) else f"{text}\n{asked}"
    pieces = [sheet.pieces[0, phrase] for phrase in rubric.phrases if (0, phrase) in sheet.pieces]
    return ask(
        rng,
        sections,
        asked,
        numbered_levels(levels),
        deciding=pieces,
        rule=[text] if case.place == "state" else (),
        setting=case.setting,
        method=rubric.method,
        levels=rubric.levels,
        clauses=max(1, len(rubric.conditions)),
    )


def rating_family(
    name: str,
    types: Sequence[RecordType],
    wording: RatingWording,
    *,
    methods: Sequence[str] = METHODS,
    levels: Sequence[int] = (3, 4, 5),
    held_out: bool = False,
) -> BranchFamily[RatingCase]:
    """A score family over these record types."""
    return branch_family(
        name,
        "score",
        lambda rng, setting: draw_rating(rng, setting, types, methods, levels),
        solve_rating,
        lambda case, rng: render_rating(case, rng, wording),
        twin_rating,
        held_out=held_out,
    )
