"""What callers need from any decider, here or on a server, and what a decider needs from a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from thisthat.decide.conditions import Conditions
from thisthat.decide.options import DecideKeywords
from thisthat.errors import InvalidInputError
from thisthat.questions import Decision, Question, Text

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Decides(Protocol):
    """The part of ``Decider`` that also works remotely."""

    def decide_many(
        self,
        states: Sequence[Text],
        questions: Mapping[str, Question],
        *,
        progress: Callable[[int, int], None] | None = None,
        **options: Unpack[DecideKeywords],
    ) -> Sequence[Decision]:
        """The same questions about many states, in their order."""

    def decide_each(
        self,
        states: Sequence[Text],
        questions: Mapping[str, Question],
        **options: Unpack[DecideKeywords],
    ) -> Sequence[Decision | InvalidInputError]:
        """Like ``decide_many``; a state that cannot be answered yields what is wrong with it."""

    def decide_pairs(
        self,
        pairs: Sequence[tuple[Text, Mapping[str, Question]]],
        *,
        progress: Callable[[int, int], None] | None = None,
        **options: Unpack[DecideKeywords],
    ) -> Sequence[Decision]:
        """Each state's own questions."""

    def conditions(self, **options: Unpack[DecideKeywords]) -> Conditions:
        """The conditions that answers with these options depend on."""


class Records(Protocol):
    """The part of a decision log that a decider uses."""

    def record(
        self,
        state: Text,
        questions: Mapping[str, Question],
        decision: Decision,
        request_id: str | None = None,
    ) -> None:
        """Record a decision; raises only if no decision may go unrecorded."""
