"""What fitting and checking ask of whoever decides: a decider here, or a server elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from thisthat.decide.conditions import Conditions
from thisthat.decide.option_order import Order
from thisthat.prompt.format import Layout, Packing
from thisthat.questions import Decision, Question, Text


class Decides(Protocol):
    """``Decider``, as far as it also works from afar."""

    def decide_many(
        self,
        states: Sequence[Text],
        questions: Mapping[str, Question],
        *,
        progress: Callable[[int, int], None] | None = None,
        layout: Layout | None = None,
        packing: Packing = "apart",
        order: Order = "as-given",
    ) -> Sequence[Decision]:
        """The same questions about many states, in their order."""

    def decide_pairs(
        self,
        pairs: Sequence[tuple[Text, Mapping[str, Question]]],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Sequence[Decision]:
        """Questions of its own for every state."""

    def conditions(
        self, layout: Layout | None = None, packing: Packing = "apart", order: Order = "as-given"
    ) -> Conditions:
        """What the answers given this way depend on."""
