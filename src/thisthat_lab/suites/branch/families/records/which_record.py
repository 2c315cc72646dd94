"""Which record matches: of several candidates, the one that agrees where the rule asks, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thisthat.questions import Text, compact_json
from thisthat.rng import Rng
from thisthat_lab.suites.base import wording
from thisthat_lab.suites.base.branch_family import branch_family
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.machinery.identities import KINDS, SAME_MEANING, Kind, near_miss
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_ASKS = _TABLES.words("asks")
_NONE = _TABLES.words("none")


@dataclass(frozen=True)
class MatchCase:
    """What is looked for, the candidates, and the traits in which they must agree."""

    kind: Kind
    wanted: dict[str, Any]
    candidates: tuple[dict[str, Any], ...]
    names: tuple[str, ...]
    required: tuple[str, ...]
    setting: Setting
    look: int


def draw(rng: Rng, setting: Setting) -> MatchCase:
    """Three to nine candidates; one of them, or none, agrees in every required trait."""
    kind = rng.choice(KINDS)
    count = rng.integer(3, 4 + min(setting.clauses + setting.distractors // 3, 5))
    required = tuple(
        trait.key for trait in rng.sample(kind.traits, rng.integer(1, min(3, setting.clauses)))
    )
    wanted = {trait.key: trait.draw(rng) for trait in kind.traits}
    answer = rng.below(count + 1)
    candidates = tuple(
        _candidate(kind, wanted, required, place == answer, rng) for place in range(count)
    )
    names = tuple(f"{kind.prefix}-{number}" for number in rng.sample(range(100, 999), count))
    return MatchCase(kind, wanted, candidates, names, required, setting, rng.raw())


def _candidate(
    kind: Kind, wanted: dict[str, Any], required: tuple[str, ...], matches: bool, rng: Rng
) -> dict[str, Any]:
    """A record that agrees in all required traits, or in all but one or more of them."""
    broken = set() if matches else set(rng.sample(required, rng.integer(1, len(required))))
    record: dict[str, Any] = {}
    for trait in kind.traits:
        differs = trait.key in broken if trait.key in required else rng.chance(0.6)
        value = wanted[trait.key]
        record[trait.key] = near_miss(value, trait, rng) if differs else value
    return record


def solve(case: MatchCase) -> int:
    """The candidate that agrees wherever it must; their number when none does."""
    for index, candidate in enumerate(case.candidates):
        if all(candidate[key] == case.wanted[key] for key in case.required):
            return index
    return len(case.candidates)


def render(case: MatchCase, rng: Rng) -> Asked:
    """The case written down; candidates stand in the state or in the options."""
    rng = Rng(case.look, "words")
    shown = [
        trait.key for trait in case.kind.traits if trait.key in case.required or rng.chance(0.6)
    ]
    plurals = [case.kind.trait(key).plural for key in case.required]
    rule = f"A record matches when the {wording.join(plurals)} agree. {SAME_MEANING}"
    wanted = _written(case.kind, case.wanted, shown, rng)
    candidates = [_written(case.kind, one, shown, rng) for one in case.candidates]
    question = rng.choice(_ASKS).format(noun=case.kind.noun)
    in_options = len(candidates) < 7 and rng.chance(0.4)
    options: list[tuple[str, str | None]] = [(name, None) for name in case.names]
    if in_options:
        options = [(name, _line(one)) for name, one in zip(case.names, candidates, strict=True)]
    options.append((rng.choice(_NONE), None))
    if rng.chance(0.5):
        question, rule = f"{rule} {question}", ""
    listed = [] if in_options else list(zip(case.names, candidates, strict=True))
    state, deciding = _state(wanted, listed, rule, case, rng)
    answer = solve(case)
    if not in_options and answer < len(candidates):
        deciding.append(_as_shown(state, candidates[answer]))
    facts = {
        "deciding": deciding,
        "rule": wording.as_shown(state, rule),
        "clauses": len(case.required),
        "place": "options" if in_options else "state",
    }
    return Asked(state, question, tuple(options), facts)


def _state(
    wanted: dict[str, str],
    listed: list[tuple[str, dict[str, str]]],
    rule: str,
    case: MatchCase,
    rng: Rng,
) -> tuple[Text, list[str]]:
    incoming = rng.choice(("incoming", "looked for", "new entry"))
    if rng.chance(0.4):
        parts: list[tuple[str, Any]] = [(incoming.replace(" ", "_"), wanted)]
        if listed:
            parts.append(("candidates", dict(listed)))
        if rule:
            parts.append(("rule", rule))
        state: Text = wording.state_object(
            parts, rng, case.setting.distractors, case.setting.length
        )
        return state, [compact_json(wanted)]
    sections = [(incoming.capitalize(), _line(wanted))]
    if listed:
        rows = "\n".join(f"{name}: {_line(one)}" for name, one in listed)
        sections.append(("Candidates", rows))
    if rule:
        sections.append(("Rule", rule))
    return wording.sections(sections, rng, case.setting.length), [_line(wanted)]


def _as_shown(state: Text, record: dict[str, str]) -> str:
    return _line(record) if isinstance(state, str) else compact_json(record)


def _written(kind: Kind, record: dict[str, Any], shown: list[str], rng: Rng) -> dict[str, str]:
    return {key: kind.trait(key).write(record[key], rng) for key in shown}


def _line(record: dict[str, str]) -> str:
    return "; ".join(f"{key.replace('_', ' ')} {value}" for key, value in record.items())


FAMILY = branch_family("which_record", "choice", draw, solve, render, held_out=True)
