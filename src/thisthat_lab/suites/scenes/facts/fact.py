"""What every kind of fact can do, and how claims and questions are put."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thisthat.questions import JSONValue, Kind
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import YES_NO
from thisthat_lab.suites.base.wording import sentence
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_CLAIMS = _TABLES.words("claims")
_DENIED = _TABLES.words("denied")
_OPEN = _TABLES.words("open")
_DIRECT = 0.5

Options = tuple[tuple[str, str | None], ...]
Fill = Mapping[str, str]


@dataclass(frozen=True)
class Stage:
    """What the facts of one scene share: its people, and words that stand in every sentence."""

    people: tuple[str, ...]
    fill: Fill


@dataclass(frozen=True)
class Ask:
    """One question about a fact: ``about`` is what it proposes or chooses among.

    ``denies`` turns a boolean round; ``seed`` decides the wording.
    """

    kind: Kind
    about: Any
    denies: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Fact(ABC):
    """One fact of a table. ``field`` names it in records."""

    field: str

    @property
    @abstractmethod
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of questions that ask for it."""

    @abstractmethod
    def draw(self, rng: Rng, stage: Stage) -> Any:
        """A value, every answer as likely as the others."""

    @abstractmethod
    def other(self, value: Any, rng: Rng) -> Any:
        """Another value, to be mistaken for this one; None where mistakes cannot be told."""

    @abstractmethod
    def say(self, value: Any, stage: Stage, rng: Rng) -> list[str]:
        """Sentences that state the value, in order, and nothing else."""

    def before(self, value: Any, stage: Stage, rng: Rng) -> list[str]:
        """Sentences that must come before those, mistaken or not."""
        return []

    def after(self, value: Any, stage: Stage, rng: Rng) -> list[str]:
        """Sentences that come after those, mistaken or not."""
        return []

    @abstractmethod
    def claim(self, value: Any, stage: Stage) -> str:
        """The value as a clause that can follow "that"."""

    @abstractmethod
    def record(self, value: Any, stage: Stage, rng: Rng) -> dict[str, JSONValue]:
        """The value as fields of a record."""

    @abstractmethod
    def ask(self, value: Any, kind: Kind, stage: Stage, rng: Rng) -> Ask:
        """A question; the answer of a boolean is drawn before what it proposes."""

    @abstractmethod
    def solve(self, value: Any, ask: Ask) -> int:
        """The index of the right option; for a boolean whether the proposal holds."""

    @abstractmethod
    def turned(self, value: Any, ask: Ask, rng: Rng) -> Any:
        """Another value under which the question has another answer."""

    @abstractmethod
    def question(self, ask: Ask, stage: Stage, rng: Rng) -> tuple[str, Options]:
        """The words of the question and its options."""

    def excludes(self, one: Any, other: Any) -> bool:
        """Whether what is said of one value is wrong of the other."""
        return bool(one != other)

    def offers(self, value: Any, ask: Ask) -> bool:
        """Whether the question has an option for the value."""
        return True

    def answer(self, value: Any, ask: Ask) -> int:
        """The index of the right option of the question as it is asked."""
        solved = self.solve(value, ask)
        return 1 - solved if ask.denies else solved


def yes_or_no(claim: str, direct: Sequence[str], ask: Ask, rng: Rng) -> tuple[str, Options]:
    """A boolean about a claim, asked directly or as a statement to judge."""
    if ask.denies:
        form = rng.choice(_DENIED)
    elif direct and rng.chance(_DIRECT):
        return rng.choice(direct), YES_NO
    else:
        form = rng.choice(_CLAIMS)
    return form.format(claim=claim, Claim=sentence(claim)[:-1]), YES_NO


def open_question(wordings: Sequence[str], rng: Rng) -> str:
    """An open question, now and then with an opening."""
    asked = rng.choice(wordings)
    if rng.chance(_DIRECT):
        return asked
    return rng.choice(_OPEN).format(question=asked, lowered=asked[:1].lower() + asked[1:])


def spoken(template: str, stage: Stage, **named: str) -> str:
    """A template with the scene's words filled in, as a sentence."""
    text = template.format_map({**stage.fill, **named})
    return text[:1].upper() + text[1:]


def clause(template: str, stage: Stage, **named: str) -> str:
    """A template with the scene's words filled in."""
    return template.format_map({**stage.fill, **named})


def another(rng: Rng, count: int, than: int) -> int:
    """One of ``count`` places that is not ``than``."""
    return (than + rng.integer(1, count - 1)) % count
