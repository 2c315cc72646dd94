"""One question on its way to a training row: what is asked, among what, with which target.

Between an item (what a file or suite gives) and a rendered prompt. Augmentation and abstention
turn one draft into another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.items.item import Item
from thisthat.questions import Boolean, Choice, Kind, Option, Question, Score

OptionPair = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Draft:
    """``target`` is a distribution over ``options``, and ``abstain`` after them where it is set."""

    kind: Kind
    question: str
    options: tuple[OptionPair, ...]
    target: tuple[float, ...]
    abstain: OptionPair | None = None

    @classmethod
    def of(cls, item: Item) -> Draft:
        """The item's question as it stands."""
        target = item.target or tuple(float(i == item.answer) for i in range(len(item.options)))
        return cls(item.kind, item.question, item.options, target)

    @property
    def certain(self) -> bool:
        """True when the whole target lies on one option."""
        return max(self.target) == 1.0

    @property
    def best(self) -> int:
        """The index of the most probable option of the target."""
        return max(range(len(self.target)), key=self.target.__getitem__)

    def arranged(self, order: list[int]) -> Draft:
        """The draft with option ``order[i]`` at place i; options left out lose their target."""
        return replace(
            self,
            options=tuple(self.options[i] for i in order),
            target=tuple(self.target[i] for i in order),
        )

    def as_question(self) -> Question:
        """The question a caller would declare."""
        abstain = None if self.abstain is None else Option(*self.abstain)
        if self.kind == "choice":
            options = [Option(name, text) for name, text in self.options]
            return Choice(options, self.question, abstain)
        if self.kind == "boolean":
            (_, false), (_, true) = self.options
            return Boolean(self.question, true, false, abstain)
        return Score([text or name for name, text in self.options], self.question, abstain)
