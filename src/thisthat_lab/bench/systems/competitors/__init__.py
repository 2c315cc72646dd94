"""Other ways to get the same decisions out of the same backbone, each behind one interface.

A competitor is one module with ``open_competitor(material)``. What is not installed, or cannot
read the checkpoint, is reported as absent with the reason.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from thisthat.errors import ThisThatError
from thisthat.questions import Question
from thisthat_lab.bench.systems.competitors.material import Material

__all__ = ["COMPETITORS", "Absent", "Competitor", "Listed", "Material", "open_competitors"]


class Competitor(Protocol):
    """Answers all questions about one state."""

    @property
    def settings(self) -> str:
        """How it is run, for the caveats: its best ordinary settings."""

    def answer(
        self, state: str, questions: Mapping[str, Question], *, warm: bool
    ) -> dict[str, str]:
        """The chosen option of every question.

        ``warm`` puts the questions before the state and lets the competitor use what it keeps of
        them; otherwise the state comes first and nothing is kept from an earlier call.
        """


@dataclass(frozen=True)
class Listed:
    """A competitor by name: what stands in the tables, and the module it is in."""

    letter: str
    title: str
    module: str

    @property
    def label(self) -> str:
        """As it is called in tables."""
        return f"({self.letter}) {self.title}"


@dataclass(frozen=True)
class Absent:
    """A competitor that cannot run here, and why."""

    listed: Listed
    reason: str


COMPETITORS = (
    Listed("b", "transformers float32, one pass per question", "one_pass"),
    Listed("c1", "llama.cpp Q8_0, JSON by a grammar", "llama_grammar"),
    Listed("c2", "outlines on transformers, JSON", "outlines_json"),
    Listed("d", "zero-shot, one pass per option", "option_passes"),
)


def open_competitors(material: Material) -> tuple[dict[Listed, Competitor], list[Absent]]:
    """Those that can run here, and those that cannot with the reason."""
    opened: dict[Listed, Competitor] = {}
    absent: list[Absent] = []
    for listed in COMPETITORS:
        module = importlib.import_module(f"{__name__}.{listed.module}")
        try:
            opened[listed] = module.open_competitor(material)
        except ThisThatError as error:
            absent.append(Absent(listed, str(error)))
    return opened, absent
