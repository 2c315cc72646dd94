"""The last step of every family here: sections, notes and an abstain option put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thisthat.questions import JSONValue
from thisthat.rng import Rng
from thisthat_lab.suites.base.abstain import with_abstain
from thisthat_lab.suites.base.family import YES_NO, Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import as_shown, remarks
from thisthat_lab.suites.records.sheets import compose


def ask(
    rng: Rng,
    sections: Sequence[tuple[str, Any]],
    question: str,
    options: Sequence[tuple[str, str | None]] = YES_NO,
    *,
    deciding: Sequence[str],
    rule: Sequence[JSONValue] = (),
    setting: Setting,
    **facts: Any,
) -> Asked:
    """The sections in random order, with the idle notes and the abstain option of the setting.

    ``deciding`` are the facts that decide as they stand in the state, ``rule`` is what is applied
    to them, where that is among the sections.
    """
    parts = list(sections)
    if setting.length:
        parts.append(("notes", " ".join(remarks(rng, setting.length))))
    kept = {"deciding": list(dict.fromkeys(deciding)), **facts}
    answers, kept = with_abstain(rng, options, kept, setting.abstain)
    state = compose(rng, rng.shuffled(parts))
    return Asked(state, question, answers, kept | {"rule": as_shown(state, *rule)})


def numbered_levels(texts: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Level texts as the options of a score."""
    return tuple((str(index), text) for index, text in enumerate(texts))
