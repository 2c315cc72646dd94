"""Boolean: may an (invented) preparation be given, by allergies, mixtures and dose limits?

All preparations, plants and beasts are fictional; nothing here says anything about medicine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import FIRST_NAMES, join, json_span
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.tables import Tables

OPEN = 2
HEADS = ("Zor", "Mel", "Kav", "Tri", "Ond", "Pel", "Vas", "Lum", "Quor", "Bex", "Nyl", "Sar")
TAILS = ("ane", "imol", "axin", "orel", "edra", "uvite", "aphen", "ilium", "osta", "entil")
_TABLES = Tables(__file__)
PARTS = _TABLES.words("parts")
TAKERS = ("traveller", "griffin", "apprentice", "dragon", "miner", "sea captain", "golem", "elk")


@dataclass(frozen=True)
class Case:
    """A preparation, the one it is meant for, and which rules are in force."""

    name: str
    taker: str
    parts: tuple[str, ...]
    allergies: tuple[str, ...] | None
    current: tuple[str, ...]
    clashes: tuple[str, ...]
    dose: int
    weight: int
    per_weight: int
    checks: tuple[str, ...]
    safe_asked: bool
    setting: Setting
    age: int | None


def draw(rng: Rng, setting: Setting) -> Case:
    """Safe, or unsafe for one reason; what no rule in force asks about is free to be bad."""
    names = _names(rng, 7)
    checks = tuple(rng.sample(("allergy", "mixture", "dose"), min(3, setting.clauses)))
    unsafe = rng.choice(checks) if rng.chance(0.5) else ""
    parts = rng.sample(PARTS, 3 + min(3, setting.distractors // 3))
    free = [part for part in PARTS if part not in parts]
    allergies = rng.sample(free, rng.integer(1, 3))
    if unsafe == "allergy" or ("allergy" not in checks and rng.chance(0.5)):
        allergies[rng.below(len(allergies))] = rng.choice(parts)
    current, clashes = names[1:3], names[3:5]
    if unsafe == "mixture" or ("mixture" not in checks and rng.chance(0.5)):
        clashes[rng.below(2)] = rng.choice(current)
    weight, per_weight = rng.integer(2, 20), rng.integer(1, 5)
    most = weight * per_weight
    bad = unsafe == "dose" or ("dose" not in checks and rng.chance(0.5))
    dose = most + rng.integer(1, 4) if bad else max(1, most - rng.integer(0, 4))
    case = Case(
        names[0],
        f"{rng.choice(FIRST_NAMES)} the {rng.choice(TAKERS)}",
        tuple(parts),
        tuple(allergies),
        tuple(current),
        tuple(rng.shuffled(clashes)),
        dose,
        weight,
        per_weight,
        checks,
        rng.chance(0.6),
        setting,
        rng.integer(3, 90),
    )
    if not setting.abstain:
        return case
    return replace(case, allergies=None) if rng.chance(0.4) else replace(case, age=None)


def _names(rng: Rng, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[rng.choice(HEADS) + rng.choice(TAILS)] = None
    return list(found)


def safe(case: Case) -> bool | None:
    """Whether every rule in force is kept; None when an unknown allergy leaves it open."""
    if "mixture" in case.checks and set(case.current) & set(case.clashes):
        return False
    if "dose" in case.checks and case.dose > case.weight * case.per_weight:
        return False
    if "allergy" in case.checks:
        return None if case.allergies is None else not set(case.parts) & set(case.allergies)
    return True


def solve(case: Case) -> int:
    """0 for no, 1 for yes, 2 for open."""
    answer = safe(case)
    return OPEN if answer is None else int(answer == case.safe_asked)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same facts under other rules in force, or another dose limit."""
    others = (
        replace(
            case,
            checks=tuple(rng.sample(("allergy", "mixture", "dose"), rng.integer(1, 3))),
            per_weight=rng.integer(1, 5),
        )
        for _ in range(8)
    )
    return turned(case, others, solve, OPEN)


RULES = _TABLES.groups("rules")


def render(case: Case, rng: Rng) -> Asked:
    """The facts as JSON or text, the rules as a short list."""
    facts: dict[str, Any] = {
        "preparation": case.name,
        "contains": list(case.parts),
        "reacts to": "not recorded" if case.allergies is None else list(case.allergies),
        "already taken": list(case.current),
        f"{case.name} clashes with": list(case.clashes),
        "dose in drops": case.dose,
        "weight in stones": case.weight,
        "age": "not recorded" if case.age is None else case.age,
    }
    items = rng.shuffled(list(facts.items()))
    rules = [
        rng.choice(RULES[check]).format(taker=case.taker, rate=case.per_weight)
        for check in case.checks
    ]
    needs = {
        "allergy": ("contains", "reacts to"),
        "mixture": ("already taken", f"{case.name} clashes with"),
        "dose": ("dose in drops", "weight in stones"),
    }
    needed = [key for check in case.checks for key in needs[check]]
    if rng.chance(0.4):
        record: Any = {key.replace(" ", "_"): value for key, value in items}
        deciding = [json_span(key.replace(" ", "_"), facts[key]) for key in needed]
    else:
        lines = {
            key: f"{key}: {join(value) if isinstance(value, list) else value}"
            for key, value in items
        }
        record = "\n".join(lines.values()) if rng.chance(0.6) else "; ".join(lines.values())
        deciding = [lines[key] for key in needed]
    question = rng.choice(SAFE if case.safe_asked else UNSAFE)
    question = question.format(name=case.name, taker=case.taker)
    sections = [(rng.choice((case.taker, "chart", "sheet")), record)]
    rule = " ".join(rng.shuffled(rules))
    in_state = rng.chance(0.6)
    if in_state:
        sections.append((rng.choice(("rules in force", "house rules", "safety rules")), rule))
    else:
        question = f"Only this counts: {rule} {question}"
    return ask(
        rng,
        sections,
        question,
        deciding=deciding,
        rule=[rule] if in_state else (),
        setting=case.setting,
    )


SAFE = _TABLES.words("safe")
UNSAFE = _TABLES.words("unsafe")
FAMILY = branch_family("safety_check", "boolean", draw, solve, render, twin, held_out=True)
