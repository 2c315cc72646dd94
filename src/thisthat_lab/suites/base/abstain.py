"""The option that says "this cannot be decided from what is given", in many words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thisthat.rng import Rng

Options = tuple[tuple[str, str | None], ...]

ABSTAIN_OPTIONS: Options = (
    ("cannot tell", "the facts given do not settle it"),
    ("not enough information", None),
    ("unknown", "a fact that decides is missing"),
    ("undetermined", "it depends on something that is not stated"),
    ("none of these", None),
    ("needs more information", None),
    ("abstain", "the record does not say enough"),
    ("unclear", None),
)


def with_abstain(
    rng: Rng,
    options: Sequence[tuple[str, str | None]],
    facts: Mapping[str, Any],
    offered: bool,
) -> tuple[Options, dict[str, Any]]:
    """Options and facts of an item, with an abstain option last and named, if it is offered."""
    if not offered:
        return tuple(options), dict(facts)
    option = rng.choice(ABSTAIN_OPTIONS)
    return (*options, option), {**facts, "abstain": option[0]}
