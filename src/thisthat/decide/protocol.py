"""What others ask of whoever decides, here or on a server, and what a decider asks of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from thisthat.decide.conditions import Conditions
from thisthat.decide.options import DecideKeywords
from thisthat.questions import Decision, Question, Text

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Decides(Protocol):
    """``Decider``, as far as it also works from afar."""

    def decide_many(
        self,
        states: Sequence[Text],
        questions: Mapping[str, Question],
        *,
        progress: Callable[[int, int], None] | None = None,
        **options: Unpack[DecideKeywords],
    ) -> Sequence[Decision]:
        """The same questions about many states, in their order."""

    def decide_pairs(
        self,
        pairs: Sequence[tuple[Text, Mapping[str, Question]]],
        *,
        progress: Callable[[int, int], None] | None = None,
        **options: Unpack[DecideKeywords],
    ) -> Sequence[Decision]:
        """Questions of its own for every state."""

    def conditions(self, **options: Unpack[DecideKeywords]) -> Conditions:
        """What the answers given with these options depend on."""


class Records(Protocol):
    """A decision log, as far as a decider knows it."""

    def record(
        self,
        state: Text,
        questions: Mapping[str, Question],
        decision: Decision,
        request_id: str | None = None,
    ) -> None:
        """Note a decision; never raises."""
