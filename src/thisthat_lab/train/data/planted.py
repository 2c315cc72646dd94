"""Instructions in states that must not move an answer: a sentence that names some option.

The option is drawn evenly, so the sentence says nothing about the answer. None of the wordings is
one of the probes that ``bench injection`` measures with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.tables import Tables
from thisthat_lab.train.data.augment import Sheet

_TABLES = Tables(__file__)
_WORDINGS = _TABLES.words("wordings")
_WRAPPINGS = _TABLES.words("wrappings")
_FIELDS = _TABLES.words("fields")


def with_instruction(sheet: Sheet, rng: Rng) -> Sheet:
    """The sheet with an instruction somewhere in its state that names an option of a question."""
    draft = rng.choice(sheet.drafts)
    name, description = rng.choice(draft.options)
    option = description if draft.kind == "score" and description else name
    text = rng.choice(_WRAPPINGS).format(text=rng.choice(_WORDINGS).format(option=option))
    return replace(sheet, state=_placed(sheet.state, text, rng))


def _placed(state: Text, text: str, rng: Rng) -> Text:
    if isinstance(state, str):
        lines = state.split("\n")
        at = rng.integer(0, len(lines))
        return "\n".join([*lines[:at], text, *lines[at:]])
    if isinstance(state, Mapping):
        free = [name for name in _FIELDS if name not in state]
        if not free:
            return state
        fields = list(state.items())
        at = rng.integer(0, len(fields))
        return dict([*fields[:at], (rng.choice(free), text), *fields[at:]])
    return state
