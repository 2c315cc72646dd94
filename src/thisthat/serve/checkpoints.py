"""The checkpoint being served: loading, warming up, names, and switching without a gap.

A switch replaces the whole set at once; running jobs keep the decider they started with.
"""

from __future__ import annotations

import gc
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timezone
from weakref import WeakSet

from thisthat.audit.log import DecisionLog
from thisthat.decide.decider import Decider
from thisthat.errors import CheckpointError, ThisThatError
from thisthat.questions import Boolean, Choice, Question
from thisthat.serve.memory import give_back
from thisthat.serve.problems import Problem, invalid_at
from thisthat.serve.settings import Settings

Open = Callable[[str, "float | None"], Decider]

_FOREIGN = "jev-latest"
"""A name that clients made for Jev, a hosted service, send whatever answers them."""
ALWAYS = ("default", _FOREIGN)
MOST_LEFT = 1
"""Deciders that were switched away from and may still be in use when another one is opened."""
_NAMED = re.compile(r"([\w.-]+)=(.+)")
_LOOK_SECONDS = 1.0
"""Between two looks; each collects garbage, which holds up everybody for a moment."""


@dataclass(frozen=True)
class Loaded:
    """Deciders of one checkpoint by λ; ``main`` answers by default.

    ``released`` is the checkpoint's date; for weights without one, the day they were loaded. ``at``
    gives a decider for any λ, where that takes no other weights.
    """

    ref: str
    main: Decider
    by_lambda: dict[float, Decider]
    released: date
    at: Callable[[float], Decider] | None = None

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
        self._also_checkpoints = settings.also_checkpoints
        self._loaded: Loaded | None = None
        self._others: dict[str, Loaded] | None = None
        self._beside: dict[str, Loaded] = {}
        self._loading, self._switching = threading.Lock(), threading.Lock()
        self._left: WeakSet[Decider] = WeakSet()
        self._patience = settings.deadline_seconds

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
        """Answer with what was prepared from now on; what stood beside the old one goes with it."""
        with self._switching:
            if self._loaded is not None:
                self._left.add(self._loaded.main)
            self._loaded, self._beside = loaded, {}
        return loaded

    def stand_beside(self, name: str, loaded: Loaded, most: int) -> str | None:
        """Answer to ``name`` too, with at most so many others; the name that had to go, if any.

        Raises Problem (409) for what stands on another engine than the one that answers.
        """
        with self._switching:
            if loaded.main.engine is not self.main().engine:
                why = (
                    "the checkpoint was switched in the meantime; what was taught is the old one's"
                )
                raise Problem(409, "switched", why)
            kept = dict(self._beside)
            dropped = next(iter(kept)) if len(kept) >= most and name not in kept else None
            if dropped is not None:
                del kept[dropped]
            self._beside = {**kept, name: loaded}
        return dropped

    def beside(self) -> dict[str, Loaded]:
        """What answers beside the loaded checkpoint, by name, oldest first."""
        return dict(self._beside)

    def others(self) -> dict[str, Loaded]:
        """The other checkpoints that answer, each with weights of its own, by name."""
        return dict(self._others or {})

    def prepare(self, ref: str, lam: float | None) -> Loaded:
        """Open and warm up beside the checkpoint that answers; the first time, the others too.

        Requests keep the decider that they began with, so many changes in a row would hold as many
        weights: this waits while more than ``MOST_LEFT`` old ones are in use, and raises
        CheckpointError where that takes long.
        """
        with self._loading:
            self._wait_for_left()
            main = self.warmed(self._open(ref, lam))
            by_lambda = {main.source.lam: main}
            for other in self._also:
                if other not in by_lambda:
                    by_lambda[other] = self.warmed(self._open(ref, other))
            if self._others is None:
                self._others = self._open_others({main.source.name, *ALWAYS, *self._aliases})
            if main.source.name in self._others:
                why = f"another checkpoint is called {main.source.name!r} here"
                raise CheckpointError(f"{why}; --also-checkpoint NAME=REF names that one otherwise")
            return _loaded(ref, main, by_lambda)

    def _open_others(self, taken: set[str]) -> dict[str, Loaded]:
        """What --also-checkpoint names, warm. Raises CheckpointError, also for a name twice."""
        found: dict[str, Loaded] = {}
        for given in self._also_checkpoints:
            named = _NAMED.fullmatch(given)
            ref = named[2] if named else given
            try:
                main = self._open(ref, None)
            except ThisThatError as error:
                raise CheckpointError(f"--also-checkpoint {given}: {error}") from error
            name = named[1] if named else main.source.name
            if name in taken or name in found:
                why = f"{name!r} is the name of another one here"
                free = "other" if "base" in taken or "base" in found else "base"
                raise CheckpointError(
                    f"--also-checkpoint {given}: {why}; give it its own, for example {free}={ref}"
                )
            found[name] = _loaded(ref, self.warmed(main), {main.source.lam: main})
        return found

    def _wait_for_left(self) -> None:
        until = time.monotonic() + self._patience
        while self._left_in_use() > MOST_LEFT:
            if time.monotonic() > until:
                raise CheckpointError(
                    "requests still wait for answers of earlier checkpoints; try again later"
                )
            time.sleep(_LOOK_SECONDS)

    def _left_in_use(self) -> int:
        if len(self._left) > MOST_LEFT:
            gc.collect()  # A decider stands in a circle with its engine: only this lets go of it.
        return len(set(self._left) - {self._loaded.main if self._loaded else None})

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
        """Every name that is answered to, the loaded checkpoint's own first."""
        return list(self.by_name())

    def by_name(self) -> dict[str, Loaded]:
        """What answers to each name, the loaded checkpoint's own first."""
        loaded, beside = self.current(), self._beside
        own = (loaded.name, *ALWAYS, *self._aliases)
        return {**dict.fromkeys(own, loaded), **self.others(), **beside}

    def named(self, model: str) -> Loaded:
        """What answers to a name. Raises Problem (404)."""
        found = self.by_name()
        if model not in found:
            known = ", ".join(name for name in found if name != _FOREIGN)
            message = f"the model {model[:200]!r} is not known here; known are {known}"
            raise Problem(404, "model_not_found", message)
        return found[model]

    def find(self, model: str, lam: float | None = None) -> Decider:
        """The decider for a model name and λ. Raises Problem: 404 for a name, 422 for a λ."""
        loaded = self.named(model)
        if lam is None:
            return loaded.main
        if lam not in loaded.by_lambda and loaded.at is not None:
            return loaded.at(lam)
        if lam not in loaded.by_lambda:
            known = ", ".join(f"{value:g}" for value in sorted(loaded.by_lambda))
            told = f"{lam:g} is not loaded; loaded are {known}"
            if loaded is self._loaded:
                told += f" (thisthat serve --also-lambda {lam:g} loads it too)"
            raise invalid_at(("lambda",), told)
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
