"""The procedures that take a decision: at once, in rounds, explained.

A procedure says what to run and takes the results; whoever has the engine drives it. The library,
the server and batch calls do so alike: ``run`` here, ``serve.service`` there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

from thisthat.decide.evidence import Explained
from thisthat.decide.job import Job, JobResult
from thisthat.decide.options import DecideOptions
from thisthat.decide.processor import EncodedState, PlannedQuestions, Processor
from thisthat.decide.tournament import Tournament
from thisthat.errors import InvalidInputError
from thisthat.questions import Decision, Question, Text


class Procedure(Protocol):
    """Run ``next_job`` and ``take`` its result until there is none; then read ``decision``.

    ``take_tokenises`` means that taking a result tokenises what comes next, which may take long.
    """

    take_tokenises: ClassVar[bool]

    @property
    def questions(self) -> Mapping[str, Question]:
        """The questions."""

    @property
    def tokens(self) -> int:
        """Tokens to run, as limits count them."""

    @property
    def counted(self) -> str:
        """What ``tokens`` counts, worded to follow a number of tokens."""

    def next_job(self) -> Job | None:
        """The job to run next; None once there is a decision."""

    def take(self, result: JobResult) -> None:
        """Use the result of ``next_job``, which then moves on. Raises InvalidInputError."""

    @property
    def decision(self) -> Decision:
        """The decision, once nothing is left to run."""


class AtOnce:
    """One job, whose answers are the decision."""

    take_tokenises: ClassVar[bool] = False
    counted = "with all questions"

    def __init__(self, processor: Processor, job: Job) -> None:
        self.questions = job.questions
        self._processor = processor
        self._job = job
        self._decision: Decision | None = None

    @property
    def tokens(self) -> int:
        """See Procedure."""
        return self._job.rendered.tokens

    def next_job(self) -> Job | None:
        """See Procedure."""
        return self._job if self._decision is None else None

    def take(self, result: JobResult) -> None:
        """See Procedure."""
        self._decision = self._processor.decision(self._job, result)

    @property
    def decision(self) -> Decision:
        """See Procedure."""
        assert self._decision is not None
        return self._decision


def begin(
    processor: Processor,
    pairs: Sequence[tuple[Text, Mapping[str, Question]]],
    options: DecideOptions,
    piece_tokens: int | None = None,
) -> Iterator[Procedure | InvalidInputError]:
    """A procedure for every state with its questions, or what is wrong with that state.

    States are tokenised together where that helps, and identical question objects once. Rows that
    explain a decision come ``piece_tokens`` at a time, so that others can run in between.
    """
    encoded = (
        [EncodedState(state) for state, _ in pairs]
        if options.procedure != "at-once"
        else processor.encoded([state for state, _ in pairs])
    )
    planned: dict[int, PlannedQuestions] = {}

    def begun(each: EncodedState, questions: Mapping[str, Question]) -> Procedure:
        if options.procedure == "explained":
            return Explained(processor, each.state, questions, options, piece_tokens)
        if options.procedure == "in-rounds":
            return Tournament(processor, each.state, questions, options)
        plan = planned.get(id(questions))
        if plan is None:
            plan = processor.planned(questions, options)
            planned[id(questions)] = replace(plan, seconds=0.0)
        return AtOnce(processor, processor.filled(plan, each, options))

    for each, (_, questions) in zip(encoded, pairs, strict=True):
        try:
            yield begun(each, questions)
        except InvalidInputError as error:
            yield error
