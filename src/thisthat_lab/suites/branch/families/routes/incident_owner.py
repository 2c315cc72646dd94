"""Choice: who is on duty for an incident? A roster, shifts, swaps and escalations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import FIRST_NAMES, json_span
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
AREAS = _TABLES.rows("areas")
QUESTIONS = _TABLES.words("questions")
SWAPS = _TABLES.words("swaps")
SHIFTS = (("early", 6, 14), ("late", 14, 22), ("night", 22, 30))


@dataclass(frozen=True)
class Case:
    """A roster by area and shift, an incident, and who stands in for whom."""

    areas: tuple[str, ...]
    shifts: tuple[tuple[str, int, int], ...]
    roster: tuple[tuple[str, ...], ...]
    area: str
    hour: int | None
    swaps: tuple[tuple[str, str], ...]
    severity: int
    threshold: int
    chief: str | None
    setting: Setting

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who could be the answer, in order of first mention."""
        names = [name for row in self.roster for name in row]
        names += [deputy for _, deputy in self.swaps]
        return tuple(dict.fromkeys([*names, *([self.chief] if self.chief else [])]))


def draw(rng: Rng, setting: Setting) -> Case:
    """One clause: area; two: area and shift; three: swaps too; four: escalation too."""
    pool = rng.choice(AREAS)
    areas = tuple(rng.sample(pool, min(len(pool), 2 + min(4, setting.distractors))))
    shifts = SHIFTS if setting.clauses > 1 else (("always", 0, 24),)
    names = rng.sample(FIRST_NAMES, len(areas) * len(shifts) + 4)
    roster = tuple(
        tuple(names[row * len(shifts) + column] for column in range(len(shifts)))
        for row in range(len(areas))
    )
    area, hour = rng.choice(areas), rng.below(24)
    spare = names[-4:]
    swaps: list[tuple[str, str]] = []
    on_duty = roster[areas.index(area)][_shift(shifts, hour)]
    if setting.clauses > 2:
        others = [name for row in roster for name in row if name != on_duty]
        swaps.append((on_duty if rng.chance(0.5) else rng.choice(others), spare[0]))
        if rng.chance(0.4):
            rest = [name for name in others if name != swaps[0][0]]
            swaps.append((rng.choice(rest), spare[1]))
    case = Case(
        areas,
        shifts,
        roster,
        area,
        hour,
        tuple(rng.shuffled(swaps)),
        rng.integer(1, 5),
        rng.integer(2, 5),
        spare[2] if setting.clauses > 3 else None,
        setting,
    )
    if setting.abstain and rng.chance(0.25):
        if len(shifts) > 1 and rng.chance(0.5):
            return replace(case, hour=None)
        outside = [name for name in pool if name not in areas]
        return replace(case, area=rng.choice(outside)) if outside else replace(case, hour=None)
    return case


def _shift(shifts: tuple[tuple[str, int, int], ...], hour: int) -> int:
    for index, (_, start, end) in enumerate(shifts):
        if start <= hour < end or start <= hour + 24 < end:
            return index
    raise ValueError(f"no shift covers {hour}:00")


def owner(case: Case, hour: int) -> str | None:
    """The person responsible at this hour; None when the roster has no such area."""
    if case.chief is not None and case.severity >= case.threshold:
        return case.chief
    if case.area not in case.areas:
        return None
    name = case.roster[case.areas.index(case.area)][_shift(case.shifts, hour)]
    return dict(case.swaps).get(name, name)


def solve(case: Case) -> int:
    """The place of the owner among the people, or one past the last when it is open."""
    hours = range(24) if case.hour is None else (case.hour,)
    found = {owner(case, hour) for hour in hours}
    if len(found) > 1 or None in found:
        return len(case.people)
    return case.people.index(str(found.pop()))


def twin(case: Case, rng: Rng) -> Case | None:
    """The same roster with another hour, area or severity."""
    other = replace(
        case, area=rng.choice(case.areas), hour=rng.below(24), severity=rng.integer(1, 5)
    )
    return other if solve(other) != solve(case) and solve(case) < len(case.people) else None


def render(case: Case, rng: Rng) -> Asked:
    """Roster as JSON or as a table; the incident beside it."""
    place = rng.choice(("area", "service", "unit", "zone"))
    shown = "not recorded" if case.hour is None else f"{case.hour:02d}:{rng.below(60):02d}"
    incident: dict[str, Any] = {place: case.area, "reported_at": shown, "severity": case.severity}
    rules = []
    if case.chief is not None:
        rules.append(
            f"Severity {case.threshold} or more (1 is the mildest, 5 the worst) goes to "
            f"{case.chief} whatever the roster says."
        )
    for away, deputy in case.swaps:
        rules.append(rng.choice(SWAPS).format(away=away, deputy=deputy))
    hours = [f"{name} {start:02d}:00-{end % 24:02d}:00" for name, start, end in case.shifts]
    if len(case.shifts) > 1:
        rules.append(f"Shifts: {', '.join(hours)} (the end belongs to the next shift).")
    if rng.chance(0.4):
        table: Any = {
            area: row[0] if len(row) == 1 else dict(zip(_names(case), row, strict=True))
            for area, row in zip(case.areas, case.roster, strict=True)
        }
        sections: list[tuple[str, Any]] = [("roster", table), ("incident", incident)]
        told = {key: json_span(key, value) for key, value in incident.items()}
        listed = {area: json_span(area, row) for area, row in table.items()}
    else:
        heads = [place, *_names(case)] if len(case.shifts) > 1 else [place, "on duty"]
        lines = [" | ".join(heads)]
        listed = {
            area: " | ".join((area, *row))
            for area, row in zip(case.areas, case.roster, strict=True)
        }
        told = {key: f"{key.replace('_', ' ')}: {value}" for key, value in incident.items()}
        sections = [
            ("roster", "\n".join([*lines, *listed.values()])),
            ("incident", rng.choice(("\n", "; ")).join(rng.shuffled(list(told.values())))),
        ]
    if rules:
        sections.append(("rules", "\n".join(rng.shuffled(rules))))
    question = rng.choice(QUESTIONS)
    options = [(name, None) for name in case.people]
    return ask(
        rng,
        sections,
        question,
        options,
        deciding=_deciding(case, told, listed, place),
        rule=rules,
        setting=case.setting,
    )


def _deciding(
    case: Case, told: Mapping[str, str], listed: Mapping[str, str], place: str
) -> list[str]:
    """The pieces that settle who it is: the severity alone, or area, hour and the area's row."""
    if case.chief is not None and case.severity >= case.threshold:
        return [told["severity"]]
    hour = [told["reported_at"]] if len(case.shifts) > 1 else []
    row = [listed[case.area]] if case.area in listed else []
    return [told[place], *hour, *row]


def _names(case: Case) -> list[str]:
    return [name for name, _, _ in case.shifts]


FAMILY = branch_family("incident_owner", "choice", draw, solve, render, twin)
