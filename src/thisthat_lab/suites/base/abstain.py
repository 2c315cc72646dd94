"""The option that says "this cannot be decided from what is given", in many words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.tables import Tables

Options = tuple[tuple[str, str | None], ...]

_TABLES = Tables(__file__)
ABSTAIN_OPTIONS = _TABLES.read("abstain_options", Options)


def with_abstain(
    rng: Rng, options: Sequence[tuple[str, str | None]], facts: Mapping[str, Any], offered: bool
) -> tuple[Options, dict[str, Any]]:
    """Options and facts of an item, with an abstain option last and named, if it is offered."""
    if not offered:
        return tuple(options), dict(facts)
    option = rng.choice(ABSTAIN_OPTIONS)
    return (*options, option), {**facts, "abstain": option[0]}
