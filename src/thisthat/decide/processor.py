"""Both ends of a pass: states and questions into jobs, the results of jobs into decisions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from thisthat.decide.answers import answers_of
from thisthat.decide.heads import Heads
from thisthat.decide.job import Job, JobResult
from thisthat.decide.option_order import Places, orders_of, reordered
from thisthat.decide.options import DecideOptions
from thisthat.engine.rows import Tokens
from thisthat.errors import InvalidInputError
from thisthat.prompt.builder import PromptBuilder, PromptPlan
from thisthat.prompt.sharing import with_longer_trunk
from thisthat.prompt_format import Layout
from thisthat.questions import Decision, Question, Source, Text, Usage
from thisthat.temperature import Temperatures


@dataclass(frozen=True, slots=True)
class Reading:
    """How a checkpoint is read: its layouts, limits and temperatures."""

    layout: Layout
    layouts: tuple[Layout, ...]
    path_tokens: int
    state_tokens: int
    temperatures: Temperatures

    def chosen(self, layout: Layout | None) -> Layout:
        """The layout, or the one the checkpoint prefers. Raises InvalidInputError."""
        chosen = self.layout if layout is None else layout
        if chosen not in self.layouts:
            message = f"{chosen!r} is not one this checkpoint reads: {', '.join(self.layouts)}"
            raise InvalidInputError("layout", message)
        return chosen


@dataclass(frozen=True, slots=True)
class PlannedQuestions:
    """Questions tokenised for any number of states; ``seconds`` is the time that took."""

    questions: Mapping[str, Question]
    orders: tuple[tuple[Places, ...], ...]
    layout: Layout
    plan: PromptPlan
    seconds: float
    layers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EncodedState:
    """A state, its tokens if already known, and the seconds they took."""

    state: Text
    tokens: Tokens | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Processor:
    """Prepares jobs for one checkpoint and reads their results."""

    builder: PromptBuilder
    reading: Reading
    source: Source
    heads: Heads | None = None

    def planned(
        self, questions: Mapping[str, Question], options: DecideOptions
    ) -> PlannedQuestions:
        """The questions, tokenised. Raises InvalidInputError."""
        started = time.perf_counter()
        layout = self.reading.chosen(options.layout)
        orders = tuple(orders_of(question, options.order) for question in questions.values())
        asked = [
            reordered(question, places)
            for question, each in zip(questions.values(), orders, strict=True)
            for places in each
        ]
        plan = self.builder.plan(asked, layout=layout, packing=options.packing)
        layers = () if self.heads is None else self.heads.layers_for(questions.values())
        seconds = time.perf_counter() - started
        return PlannedQuestions(questions, orders, layout, plan, seconds, layers)

    def encoded(self, states: Sequence[Text]) -> list[EncodedState]:
        """Several states tokenised together; a single one is not worth the threads."""
        if len(states) < 2:
            return [EncodedState(state) for state in states]
        started = time.perf_counter()
        tokens = self.builder.encode_states(states)
        share = (time.perf_counter() - started) / len(states)
        return [EncodedState(*each, share) for each in zip(states, tokens, strict=True)]

    def filled(
        self, planned: PlannedQuestions, encoded: EncodedState, options: DecideOptions
    ) -> Job:
        """The job of one state. Raises InvalidInputError."""
        started = time.perf_counter()
        rendered = self.builder.fill(
            planned.plan,
            encoded.state,
            limit=self.reading.path_tokens,
            state_limit=self.reading.state_tokens,
            keep=options.keep,
            state_tokens=encoded.tokens,
        )
        if options.order == "average":
            rows = tuple(with_longer_trunk(row) for row in rendered.rows)
            rendered = replace(rendered, rows=rows)
        if planned.layers:
            rows = tuple(replace(row, layers=planned.layers) for row in rendered.rows)
            rendered = replace(rendered, rows=rows)
        seconds = planned.seconds + encoded.seconds + time.perf_counter() - started
        return Job(
            planned.questions, rendered, planned.layout, seconds, planned.orders, planned.layers
        )

    def job(self, state: Text, questions: Mapping[str, Question], options: DecideOptions) -> Job:
        """A state with its questions, ready to run. Raises InvalidInputError."""
        return self.filled(self.planned(questions, options), EncodedState(state), options)

    def decision(self, job: Job, result: JobResult) -> Decision:
        """The decision that a job's results amount to."""
        started = time.perf_counter()
        answers = answers_of(job, result.rows, self.reading.temperatures, self.heads)
        tokens, cached = job.rendered.tokens, result.cached_tokens
        usage = Usage(tokens, cached, extra_tokens=job.extra_tokens)
        seconds = job.seconds + result.seconds + time.perf_counter() - started
        return Decision(answers, self.source, usage, seconds, job.rendered.cut)
