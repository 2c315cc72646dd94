"""Records and rules laid out as a state: lines, prose, tables or JSON, among idle material.

Keeps, for every field of a record, the exact piece of the state that states it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base import wording
from thisthat_lab.suites.base.family import Difficulty
from thisthat_lab.suites.base.fields import Domain, Field, Record, Value

Policy: TypeAlias = "Sequence[tuple[str, str, Any]]"

_BLANKS = ("not recorded", "unknown", "pending", "(blank)", "n/a")


@dataclass(frozen=True)
class Sheet:
    """A record to be shown: its identifier, its fields in order, the facts that are known.

    A field of ``fields`` whose value is unknown is shown blank; one left out is not shown.
    """

    domain: Domain
    name: str
    fields: tuple[Field, ...]
    record: Record


@dataclass(frozen=True)
class Page:
    """A finished state and, by field key, the pieces of it that state the fact."""

    state: Text
    spans: Mapping[str, tuple[str, ...]]

    def deciding(self, keys: Sequence[str]) -> list[str]:
        """The pieces for these keys, those that are shown, each once."""
        return list(dict.fromkeys(piece for key in keys for piece in self.spans.get(key, ())))

    def rule(self, policy: Policy) -> list[str]:
        """The pieces that state the policy, in whichever form it is shown."""
        return wording.as_shown(self.state, *(form for _, *forms in policy for form in forms))


MakePage: TypeAlias = "Callable[[Sheet, Policy, Difficulty, Rng], Page]"


def draw_sheet(
    domain: Domain, record: Mapping[str, Value], needed: Sequence[str], extra: int, rng: Rng
) -> Sheet:
    """A sheet that shows the needed keys and up to ``extra`` other fields, in random order."""
    others = [field for field in domain.fields if field.key not in needed]
    shown = [domain.field(key) for key in dict.fromkeys(needed)]
    shown += rng.sample(others, min(extra, len(others)))
    return Sheet(domain, wording.reference(rng, domain.prefix), tuple(rng.shuffled(shown)), record)


def lay_out(sheet: Sheet, policy: Policy, difficulty: Difficulty, rng: Rng) -> Page:
    """The record and the policy parts as one state.

    A policy part is a heading, its text, and its JSON form (or the text again).
    """
    if rng.chance(0.4):
        return _as_object(sheet, policy, difficulty, rng)
    return _as_text(sheet, policy, difficulty, rng)


def _as_object(sheet: Sheet, policy: Policy, difficulty: Difficulty, rng: Rng) -> Page:
    body: dict[str, Any] = {}
    spans: dict[str, tuple[str, ...]] = {}
    for field in sheet.fields:
        value = field.plain(sheet.record.get(field.key))
        if value is None and rng.chance(0.4):
            value = rng.choice(_BLANKS)
        body[field.key] = value
        spans[field.key] = (wording.json_span(field.key, value),)
    key = _key(sheet.domain.noun)
    parts: list[tuple[str, Any]] = []
    if rng.chance(0.3) and not policy:
        parts = [("id", sheet.name), ("type", sheet.domain.noun), *body.items()]
    elif rng.chance(0.3) and len(body) > 3:
        names = list(body)
        half = len(names) // 2
        nested = {
            "id": sheet.name,
            **{name: body[name] for name in names[:half]},
            rng.choice(("details", "data", "attributes")): {
                name: body[name] for name in names[half:]
            },
        }
        parts = [(key, nested)]
    else:
        parts = [(key, {"id": sheet.name, **body})]
    for heading, text, plain in policy:
        parts.append((_key(heading), plain if rng.chance(0.5) else text))
    idle = max(0, difficulty.distractors - (len(sheet.fields) // 2))
    state = wording.state_object(parts, rng, idle, difficulty.length)
    return Page(state, spans)


def _as_text(sheet: Sheet, policy: Policy, difficulty: Difficulty, rng: Rng) -> Page:
    title = f"{sheet.domain.noun} {sheet.name}"
    style = rng.weighted(("lines", "prose", "table", "log"), (4, 4, 1, 1))
    blank = rng.choice(_BLANKS)
    spans: dict[str, tuple[str, ...]] = {}
    lines: list[str] = []
    for field in sheet.fields:
        value = sheet.record.get(field.key)
        shown = blank if value is None else field.show(value, rng)
        if style == "prose":
            lines.append(wording.sentence(field.sentence(value, rng)))
        elif style == "table":
            lines.append(f"| {_caption(field)} | {shown} |")
        elif style == "log":
            lines.append(f"{field.key}={shown}")
        else:
            lines.append(f"{_caption(field)}: {shown}")
        spans[field.key] = (lines[-1],)
    idle = max(0, difficulty.distractors - (len(sheet.fields) // 2))
    if style == "prose":
        lines = _mixed(lines, wording.remarks(rng, idle), rng)
        body = f"{wording.sentence(f'this is {title}')} {' '.join(lines)}"
    elif style == "table":
        body = f"| field | value |\n|---|---|\n| id | {sheet.name} |\n" + "\n".join(lines)
    elif style == "log":
        body = f"{_key(sheet.domain.noun)}={sheet.name}; " + "; ".join(lines)
    else:
        lines = _mixed(lines, wording.extra_lines(rng, idle), rng)
        body = f"{title[:1].upper()}{title[1:]}\n" + "\n".join(lines)
    parts = [(heading, text) for heading, text, _ in policy]
    if not parts and not difficulty.length:
        return Page(body, spans)
    heading = rng.choice((title, "record", "case", "facts", sheet.domain.noun))
    return Page(
        wording.sections(
            [(heading[:1].upper() + heading[1:], body), *parts], rng, difficulty.length
        ),
        spans,
    )


def _mixed(lines: Sequence[str], idle: Sequence[str], rng: Rng) -> list[str]:
    """The lines in their order with idle ones dropped in at random."""
    mixed = list(lines)
    for line in idle:
        mixed.insert(rng.integer(0, len(mixed)), line)
    return mixed


def _caption(field: Field) -> str:
    return field.key.replace("_", " ").capitalize()


def _key(text: str) -> str:
    return text.lower().replace(" ", "_").replace("-", "_")
