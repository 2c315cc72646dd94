"""Choice: which field of a request breaks the specification, if any?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.records import specs
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.tables import Tables


@dataclass(frozen=True)
class Case:
    """A specification and a payload with one fault at most."""

    spec: tuple[specs.Parameter, ...]
    payload: Mapping[str, Any]
    setting: Setting


def draw(rng: Rng, setting: Setting) -> Case:
    """Every field is the faulty one equally often, and so is none of them."""
    spec = specs.draw_spec(rng, min(9, 2 + setting.clauses + setting.distractors // 3))
    payload = specs.draw_payload(rng, spec)
    place = rng.below(len(spec) + 1)
    if place < len(spec):
        payload = specs.break_field(rng, spec[place], payload)
    return Case(spec, payload, setting)


def solve(case: Case) -> int:
    """The place of the faulty field in the specification, or one past its end."""
    wrong = specs.fault(case.spec, case.payload)
    return [parameter.name for parameter in case.spec].index(wrong[0]) if wrong else len(case.spec)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same specification with another field broken."""
    place = rng.below(len(case.spec))
    payload = specs.break_field(rng, case.spec[place], specs.draw_payload(rng, case.spec))
    return turned(case, [Case(case.spec, payload, case.setting)], solve)


def render(case: Case, rng: Rng) -> Asked:
    """The specification as a schema or as documentation, then the payload."""
    written = specs.write_request(
        rng,
        case.spec,
        case.payload,
        schema_title="schema",
        text_title="fields",
        payload_titles=("message", "body", "input"),
    )
    none = rng.choice(NONE)
    options = [(parameter.name, None) for parameter in case.spec] + [(none, None)]
    question = rng.choice(QUESTIONS).format(none=none)
    return ask(
        rng,
        written.sections,
        question,
        options,
        deciding=specs.deciding_pieces(case.spec, case.payload),
        rule=[written.spec],
        setting=case.setting,
    )


_TABLES = Tables(__file__)
NONE = _TABLES.words("none")
QUESTIONS = _TABLES.words("questions")
FAMILY = branch_family("invalid_field", "choice", draw, solve, render, twin, abstains=False)
