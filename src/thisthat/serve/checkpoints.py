"""The checkpoint being served: loading, warming up, names, and switching without a gap.

A switch replaces the whole set at once; running jobs keep the decider they started with.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timezone

from thisthat.audit.log import DecisionLog
from thisthat.decide.decider import Decider
from thisthat.questions import Boolean, Choice, Question
from thisthat.serve.memory import give_back
from thisthat.serve.problems import Problem, invalid_at
from thisthat.serve.settings import Settings

Open = Callable[[str, "float | None"], Decider]

ALWAYS = ("default", "jev-latest")


@dataclass(frozen=True)
class Loaded:
    """Deciders of one checkpoint by λ; ``main`` answers by default.

    ``released`` is the checkpoint's date; for weights without one, the day they were loaded.
    """

    ref: str
    main: Decider
    by_lambda: dict[float, Decider]
    released: date

    @property
    def name(self) -> str:
        """The card's name."""
        return self.main.source.name


class Checkpoints:
    """The loaded checkpoint. Everything but ``load`` and ``prepare`` is quick and safe from any
    thread."""

    def __init__(
        self, open_decider: Open, settings: Settings, log: DecisionLog | None = None
    ) -> None:
        self._open = open_decider
        self._log = log
        self._aliases = settings.aliases
        self._also = settings.also_lambdas
        self._loaded: Loaded | None = None
        self._loading = threading.Lock()

    @property
    def loaded(self) -> Loaded | None:
        """The checkpoint that answers, or None until the first one is ready."""
        return self._loaded

    def load(self, ref: str, lam: float | None) -> Loaded:
        """Open and warm up, then switch. If anything raises, the old checkpoint stays."""
        loaded = self.switch(self.prepare(ref, lam))
        let_go()
        return loaded

    def switch(self, loaded: Loaded) -> Loaded:
        """Answer with what was prepared from now on."""
        self._loaded = loaded
        return loaded

    def prepare(self, ref: str, lam: float | None) -> Loaded:
        """Open and warm up beside the checkpoint that answers."""
        with self._loading:
            main = self.warmed(self._open(ref, lam))
            by_lambda = {main.source.lam: main}
            for other in self._also:
                if other not in by_lambda:
                    by_lambda[other] = self.warmed(self._open(ref, other))
            return _loaded(ref, main, by_lambda)

    def use(self, ref: str, main: Decider) -> Loaded:
        """Answer with a decider that is warm from now on."""
        return self.switch(_loaded(ref, main, {main.source.lam: main}))

    def current(self) -> Loaded:
        """The loaded checkpoint. Raises Problem (503) until there is one."""
        if self._loaded is None:
            raise Problem(503, "loading", "the checkpoint is still loading", retry_ms=500)
        return self._loaded

    def main(self) -> Decider:
        """The decider that answers by default. Raises Problem (503) until there is one."""
        return self.current().main

    def names(self) -> list[str]:
        """Every name the loaded checkpoint answers to, the card's own first."""
        return list(dict.fromkeys((self.current().name, *ALWAYS, *self._aliases)))

    def find(self, model: str, lam: float | None = None) -> Decider:
        """The decider for a model name and λ. Raises Problem: 404 for a name, 422 for a λ."""
        loaded = self.current()
        names = self.names()
        if model not in names:
            known = ", ".join(names)
            message = f"the model {model[:200]!r} is not known here; known are {known}"
            raise Problem(404, "model_not_found", message)
        if lam is None:
            return loaded.main
        if lam not in loaded.by_lambda:
            known = ", ".join(f"{value:g}" for value in sorted(loaded.by_lambda))
            raise invalid_at(("lambda",), f"{lam:g} is not loaded; loaded are {known}")
        return loaded.by_lambda[lam]

    def warmed(self, decider: Decider) -> Decider:
        """The decider, ready to answer and to write the log."""
        questions: dict[str, Question | str] = {
            "ready": Boolean("Is it ready?"),
            "kind": Choice(["a", "b", "c"], "Which?"),
        }
        for layout in decider.reading.layouts:
            decider.decide("The server starts.", questions, layout=layout)
        decider.open_all()
        decider.log = self._log
        return decider


def let_go() -> None:
    """Free what nobody uses any more: weights read on the way and old engines stand in circles."""
    gc.collect()
    give_back()


def _loaded(ref: str, main: Decider, by_lambda: dict[float, Decider]) -> Loaded:
    released = main.source.released or datetime.now(timezone.utc).date()
    return Loaded(ref, main, by_lambda, released)
