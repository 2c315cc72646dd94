"""What a drill asks about: one record of a kind that may never have existed, and its state.

Half of the kinds are put together from fields of several trades, so that no set of fields goes
with one noun. Kinds of record that only held-out families use do not appear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base.domains import ALL
from thisthat_lab.suites.base.family import Difficulty
from thisthat_lab.suites.base.fields import Domain, Field, Value
from thisthat_lab.suites.base.layout import draw_sheet, lay_out
from thisthat_lab.tables import Tables

HELD_OUT_NOUNS = frozenset(Tables(__file__).words("held_out_nouns"))


@dataclass(frozen=True)
class Subject:
    """A record as it is shown: the state, its noun and identifier, the fields, their values."""

    state: Text
    noun: str
    name: str
    fields: tuple[Field, ...]
    record: dict[str, Value]


def draw_subject(rng: Rng, extra_notes: float) -> Subject:
    """A record with three to ten fields; ``extra_notes`` is the share with idle material."""
    kind = _mixed_domain(rng) if rng.chance(0.5) else rng.choice(_domains())
    count = min(len(kind.fields), rng.integer(3, 10))
    shown = rng.sample(kind.fields, count)
    record = {field.key: field.draw(rng) for field in shown}
    sheet = draw_sheet(kind, record, [field.key for field in shown], 0, rng)
    noisy = rng.chance(extra_notes)
    length = rng.choice((2, 4, 8)) if noisy else 0
    idle = rng.integer(0, 4) + count // 2 if noisy else 0
    page = lay_out(sheet, (), Difficulty(1, idle, length), rng)
    return Subject(page.state, kind.noun, sheet.name, sheet.fields, record)


def _mixed_domain(rng: Rng) -> Domain:
    fields: dict[str, Field] = {}
    for field in rng.sample(_fields(), 14):
        fields.setdefault(field.key, field)
    like = rng.choice(_domains())
    return Domain(like.noun, like.prefix, tuple(fields.values()))


@cache
def _domains() -> tuple[Domain, ...]:
    return tuple(domain for domain in ALL if domain.noun not in HELD_OUT_NOUNS)


@cache
def _fields() -> tuple[Field, ...]:
    return tuple(field for domain in _domains() for field in domain.fields)
