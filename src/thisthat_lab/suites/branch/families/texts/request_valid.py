"""Boolean: does a request body keep to its specification?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.records import specs
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
ENDPOINTS = _TABLES.words("endpoints")


@dataclass(frozen=True)
class Case:
    """A specification and a payload."""

    endpoint: str
    spec: tuple[specs.Parameter, ...]
    payload: Mapping[str, Any]
    valid_asked: bool
    setting: Setting


def draw(rng: Rng, setting: Setting) -> Case:
    """A payload with no fault or one."""
    spec = specs.draw_spec(rng, min(12, setting.clauses + setting.distractors // 2 + 1))
    payload = specs.draw_payload(rng, spec)
    if rng.chance(0.5):
        payload = specs.break_field(rng, rng.choice(spec), payload)
    return Case(rng.choice(ENDPOINTS), spec, payload, rng.chance(0.6), setting)


def solve(case: Case) -> int:
    """Yes when nothing breaks the specification (or something does, if that is asked)."""
    return int((not specs.fault(case.spec, case.payload)) == case.valid_asked)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same payload under a specification that accepts it, or one that does not."""
    wrong = specs.fault(case.spec, case.payload)
    return turned(case, (_with_other_spec(case, wrong, rng) for _ in range(20)), solve)


def _with_other_spec(case: Case, wrong: Sequence[str], rng: Rng) -> Case:
    fresh = {parameter.name: parameter for parameter in specs.draw_spec(rng, 10)}
    names = wrong or [rng.choice(case.spec).name]
    spec = tuple(
        fresh.get(parameter.name, replace(parameter, required=not parameter.required))
        if parameter.name in names
        else parameter
        for parameter in case.spec
    )
    return replace(case, spec=spec)


def render(case: Case, rng: Rng) -> Asked:
    """The specification as a schema or as documentation, then the payload."""
    written = specs.write_request(
        rng,
        case.spec,
        case.payload,
        schema_title="specification",
        text_title=f"{case.endpoint} takes",
        payload_titles=("request", "body", "payload"),
    )
    question = rng.choice(VALID if case.valid_asked else INVALID).format(endpoint=case.endpoint)
    return ask(
        rng,
        written.sections,
        question,
        deciding=specs.deciding_pieces(case.spec, case.payload),
        rule=[written.spec],
        setting=case.setting,
    )


VALID = _TABLES.words("valid")
INVALID = _TABLES.words("invalid")
FAMILY = branch_family("request_valid", "boolean", draw, solve, render, twin, abstains=False)
