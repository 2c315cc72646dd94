"""Record matching: do two records describe the same person, company or thing, by a stated rule?"""

from __future__ import annotations

from typing import Any

from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base import wording
from thisthat_lab.suites.base.family import Difficulty
from thisthat_lab.suites.base.fields import Domain, Flag
from thisthat_lab.suites.base.layout import Page, Policy, Sheet
from thisthat_lab.suites.branch.machinery.identities import KINDS, SAME_MEANING, Kind, near_miss
from thisthat_lab.suites.branch.machinery.verdicts import Words, verdict_family
from thisthat_lab.tables import Tables


def _agreements(kind: Kind) -> Domain:
    """The pair of records as a record of what agrees."""
    flags = tuple(
        Flag(trait.key, f"the {trait.plural} agree", f"the {trait.plural} differ")
        for trait in kind.traits
    )
    return Domain(kind.noun, kind.prefix, flags)


_KIND_OF = {kind.noun: kind for kind in KINDS}


def pair_page(sheet: Sheet, policy: Policy, difficulty: Difficulty, rng: Rng) -> Page:
    """Two records whose values agree, differ or are missing as the sheet says."""
    kind = _KIND_OF[sheet.domain.noun]
    first: dict[str, str | None] = {}
    second: dict[str, str | None] = {}
    for trait in kind.traits:
        own = Rng(rng.raw())
        value = trait.draw(own)
        agrees = sheet.record.get(trait.key)
        other = value if agrees else near_miss(value, trait, own)
        if trait.key in {field.key for field in sheet.fields}:
            first[trait.key] = trait.write(value, own)
            second[trait.key] = None if agrees is None else trait.write(other, own)
    if rng.chance(0.5):
        first, second = second, first
    titles = rng.choice((("record A", "record B"), ("left", "right"), ("entry 1", "entry 2")))
    if rng.chance(0.4):
        return _pair_object((first, second), titles, policy, difficulty, rng)
    spans: dict[str, tuple[str, ...]] = {}
    blank = rng.choice(("unknown", "-", "not given"))
    blocks = []
    for record, title in zip((first, second), titles, strict=True):
        lines = []
        for key, shown in record.items():
            lines.append(f"{key.replace('_', ' ')}: {shown or blank}")
            spans[key] = (*spans.get(key, ()), lines[-1])
        blocks.append((f"{title[:1].upper()}{title[1:]}", "\n".join(lines)))
    blocks += [(heading, text) for heading, text, _ in policy]
    blocks.append(("Note", SAME_MEANING))
    return Page(wording.sections(blocks, rng, difficulty.length), spans)


def _pair_object(
    pair: tuple[dict[str, str | None], dict[str, str | None]],
    titles: tuple[str, str],
    policy: Policy,
    difficulty: Difficulty,
    rng: Rng,
) -> Page:
    parts: list[tuple[str, Any]] = [
        (title.replace(" ", "_"), record) for title, record in zip(titles, pair, strict=True)
    ]
    parts += [(heading.lower().replace(" ", "_"), text) for heading, text, _ in policy]
    parts.append(("note", SAME_MEANING))
    state: Text = wording.state_object(parts, rng, difficulty.distractors, difficulty.length)
    spans = {key: tuple(wording.json_span(key, record[key]) for record in pair) for key in pair[0]}
    return Page(state, spans)


_DOMAINS = tuple(_agreements(kind) for kind in KINDS)
_WORDS = Tables(__file__).read("words", Words)
FAMILY = verdict_family("same_record", _DOMAINS, _WORDS, page=pair_page)
