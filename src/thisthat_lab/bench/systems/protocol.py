"""Anything that answers questions: what a measurement asks of it, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from thisthat.items.item import Item
from thisthat_lab.bench.systems.replies import Reply

if TYPE_CHECKING:
    from thisthat.engine.select import EngineName

Done = Callable[[int, Reply], None]


@dataclass(frozen=True)
class Identity:
    """Which system answered: what a result file says about it."""

    name: str
    kind: str
    version: str = ""
    lam: float | None = None
    engine: str = ""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready, with λ under its own name."""
        row = asdict(self)
        row["lambda"] = row.pop("lam")
        return row


class System(Protocol):
    """Answers questions; calls ``done`` with each question's number as its reply arrives.

    ``independent`` says that an answer does not depend on the other questions asked, so that it
    may be kept and used again.
    """

    independent: ClassVar[bool]

    @property
    def identity(self) -> Identity:
        """Which system this is."""

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """Answer all items. A question that cannot be answered gets a reply that says why."""


@dataclass(frozen=True)
class SystemOptions:
    """How a system is opened; fields that a kind of system does not know are not used by it."""

    lam: float | None = None
    engine: EngineName = "auto"
    form: str | None = None
    dtype: str = "auto"
    model: str = ""
    key: str | None = None
    concurrency: int = 8
    timeout: float = 60.0
    patience: float = 180.0
    answer_tokens: int = 1024
    token_budget: int | None = None
    record: Path | None = None
    replay: Path | None = None
