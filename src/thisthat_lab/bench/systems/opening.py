"""Opening a system by its name, and our own engines as systems.

A system is named by one text: ``default``, a checkpoint folder or a Hub id (our engines);
``base`` (the same checkpoint with λ = 0); ``majority``, ``constant``, ``bag-of-words``,
``letters``, ``nearest:WHEEL`` (baselines); ``chat+URL``, ``systemone+URL``, ``decisions+URL``
(endpoints).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from thisthat.errors import DeviceMemoryError, InvalidInputError, StateTooLongError
from thisthat.items.item import Item, render_state
from thisthat.prompt_format import Packing
from thisthat.questions import Question, Text
from thisthat_lab.bench.systems.protocol import Done, Identity, System, SystemOptions
from thisthat_lab.bench.systems.replies import Reply, from_probabilities, unanswered

if TYPE_CHECKING:
    from thisthat.decide.decider import Decider
    from thisthat.engine.select import EngineName

ENDPOINTS = ("chat", "systemone", "decisions")
TOGETHER = ("local_geometry", "context_ladder")
"""Sets whose four questions the published scripts of this-that-model ask in one pass, numbered."""


def open_system(name: str, options: SystemOptions) -> System:
    """The system of that name. Raises InvalidInputError or CheckpointError when there is none."""
    scheme, plus, url = name.partition("+")
    if plus and scheme in ENDPOINTS:
        from thisthat_lab.bench.systems.endpoints import open_endpoint

        return open_endpoint(scheme, url, options)
    if name in ("majority", "constant", "bag-of-words"):
        from thisthat_lab.bench.systems import baselines

        return baselines.BASELINES[name]()
    if name == "letters" or name.startswith("letters:"):
        from thisthat_lab.bench.systems.letters import LetterSystem

        return LetterSystem.open(name.partition(":")[2] or "default", options.lam)
    if name.startswith("nearest:"):
        from thisthat_lab.bench.systems.nearest import NearestOption

        return NearestOption.open(name.partition(":")[2])
    if name == "base":
        name, options = "default", replace(options, lam=0.0)
    return EngineSystem.open(
        name, lam=options.lam, engine=options.engine, form=options.form, dtype=options.dtype
    )


class EngineSystem:
    """One of our engines behind the library's own facade.

    Questions that stand together and share a state are asked together, each in a branch of its
    own, so that none sees another; this-that-model gets those of ``TOGETHER`` as published. A
    state that is too long, and memory that does not suffice, are replies without an answer, not
    errors. ``answered`` counts answers, not those a journal kept.
    """

    independent: ClassVar[bool] = True

    def __init__(self, decider: Decider, recipes: Sequence[str] = ()) -> None:
        self.decider, self.recipes = decider, tuple(recipes)
        source, engine = decider.source, decider.engine.description
        self._identity = Identity(source.name, "engine", source.version, source.lam, engine)
        self.answered = 0
        # A GPU wants large batches; on a CPU small ones keep the progress bar and journal moving.
        self._at_once = 1024 if decider.engine.capabilities.on_gpu else 64

    @classmethod
    def open(
        cls,
        ref: str,
        *,
        lam: float | None,
        engine: EngineName,
        form: str | None = None,
        dtype: str = "auto",
    ) -> EngineSystem:
        """Open a checkpoint by name, folder or Hub id; its card says which recipes trained it."""
        from thisthat.checkpoint import open_checkpoint
        from thisthat.decide.opening import open_decider

        decider = open_decider(ref, lam=lam, engine=engine, form=form, dtype=dtype)
        known = open_checkpoint(ref, lam).card.provenance.get("recipes", ())
        return cls(decider, [Path(str(each)).stem for each in known] if decider.source.lam else ())

    @property
    def family(self) -> str:
        """Whose prompt format the checkpoint reads."""
        return self.decider.builder.form.family

    @property
    def identity(self) -> Identity:
        """The checkpoint, its λ and the engine."""
        return self._identity

    def temperature_of(self, item: Item) -> float:
        """What the logits of a question are divided by."""
        reading = self.decider.reading
        return reading.temperatures.of(item.kind, len(item.options), reading.layout)

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """See System."""
        batch: list[list[int]] = []
        waiting = 0
        for _, members in groupby(range(len(items)), key=lambda n: render_state(items[n].state)):
            batch.append(list(members))
            waiting += len(batch[-1])
            if waiting >= self._at_once:
                self._answer_batch(items, batch, done)
                batch, waiting = [], 0
        if batch:
            self._answer_batch(items, batch, done)

    def _answer_batch(self, items: Sequence[Item], batch: list[list[int]], done: Done) -> None:
        published = self.family == "flock" and items[0].family in TOGETHER
        packing: Packing = "together" if published else "apart"
        pairs = [
            (items[members[0]].state, {str(n): items[n].as_question() for n in members})
            for members in batch
        ]
        try:
            self._decide(pairs, done, packing)
        except (InvalidInputError, DeviceMemoryError, MemoryError) as error:
            if len(batch) > 1:
                for members in batch:
                    self._answer_batch(items, [members], done)
                return
            problem = _engine_problem(error)
            for number in batch[0]:
                done(number, unanswered(problem))

    def _decide(
        self, pairs: list[tuple[Text, dict[str, Question]]], done: Done, packing: Packing
    ) -> None:
        for decision in self.decider.decide_pairs(pairs, packing=packing):
            self.answered += len(decision.answers)
            share = decision.usage.input_tokens // max(1, len(decision.answers))
            for number, answer in decision.answers.items():
                reply = from_probabilities(tuple(answer.probabilities.values()), input_tokens=share)
                done(int(number), reply)


class OneAtATime:
    """An engine asked one call after another, so that every reply has a latency of its own.

    A call holds the questions that stand together and share a state, or a single question.
    """

    independent: ClassVar[bool] = True

    def __init__(self, engine: EngineSystem, *, questions_apart: bool = False) -> None:
        self._engine = engine
        self._apart = questions_apart
        how = "one question at a time" if questions_apart else "one state at a time"
        known = engine.identity
        self.identity = replace(known, engine=f"{known.engine}, {how}")

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """See System."""
        numbers = range(len(items))
        if self._apart:
            calls = [[number] for number in numbers]
        else:
            grouped = groupby(numbers, key=lambda number: render_state(items[number].state))
            calls = [list(members) for _, members in grouped]
        for members in calls:
            replies: dict[int, Reply] = {}
            before = time.perf_counter()
            self._engine.answer([items[number] for number in members], replies.__setitem__)
            seconds = time.perf_counter() - before
            for place, number in enumerate(members):
                done(number, replace(replies[place], seconds=seconds))


def _engine_problem(error: Exception) -> str:
    if isinstance(error, StateTooLongError):
        return "too long"
    return "refused" if isinstance(error, InvalidInputError) else "out of memory"
