"""Which wording and token boundaries a checkpoint was trained with; part of its card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Family: TypeAlias = Literal["thisthat", "decider", "flock"]
Layout: TypeAlias = Literal["state-first", "schema-first"]
Packing: TypeAlias = Literal["apart", "together"]
Keep: TypeAlias = Literal["head", "tail", "ends"]


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """How state and questions become text and tokens.

    ``family`` selects the wording and where the text is split before tokenising. ``chat`` wraps the
    prompt in the checkpoint's chat template. ``isolated_levels`` asks a score level by level.
    ``cell_tokens`` gives every cell of a grid in the state a token of its own. ``open_state`` lets
    the tokens of a state see each other, not only those before them. ``legend`` moves descriptions
    of options into the question, as the flock checkpoint's own HTTP server does; no card says so.
    """

    family: Family = "thisthat"
    chat: bool = False
    isolated_levels: bool = False
    cell_tokens: bool = False
    open_state: bool = False
    legend: bool = False
