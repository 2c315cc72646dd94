"""Many options in rounds: small groups first, then their winners, until one group is left.

A wide choice asks a model to hold a long list of labels apart; a tournament only ever shows it a
short one. The probability of an option is the product of what it gets in its groups, so the
result is a distribution over all options. Whether rounds answer better than one wide softmax
depends on the checkpoint: `thisthat bench wide` measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from thisthat.decide.exact_probabilities import quantized
from thisthat.decide.job import Job, JobResult
from thisthat.decide.options import DecideOptions
from thisthat.decide.processor import Processor
from thisthat.errors import InvalidInputError
from thisthat.questions import Answer, Choice, Decision, Question, Text, Usage, answer_for

WIDE = 32
"""A choice with more options than this is asked in rounds."""

GROUP = 16
LARGEST_GROUP = 32


class Tournament:
    """The procedure in rounds: one state's questions, one job per round.

    All groups of a round, and in the first round all questions that are not wide, are branches of
    one pass. Options are dealt out in turn, so that neighbours meet as late as possible. An abstain
    option takes part in the last round only.
    """

    take_tokenises: ClassVar[bool] = True
    counted = "in one round"

    def __init__(
        self,
        processor: Processor,
        state: Text,
        questions: Mapping[str, Question],
        options: DecideOptions,
        *,
        wide: int = WIDE,
        group: int = GROUP,
    ) -> None:
        """Prepare the first round: choices of more than ``wide`` options in groups of ``group``.

        Raises what ``decide`` raises, and InvalidInputError for a group outside 2 to 32.
        """
        if not 2 <= group <= LARGEST_GROUP:
            raise InvalidInputError("group", f"is {group}; it must be 2 to {LARGEST_GROUP}")
        self._processor = processor
        self._state = state
        self.questions = questions
        self._options = options
        self._contests = {
            name: _Contest(question, group)
            for name, question in questions.items()
            if isinstance(question, Choice)
            and len(question.options) > wide
            # A head was taught on all options at once, and is asked so.
            and not (processor.heads is not None and processor.heads.knows(question))
        }
        self._answers: dict[str, Answer] = {}
        self._rounds: list[Decision] = []
        self._asked: list[str] = []
        self._job = self._prepared()

    @property
    def tokens(self) -> int:
        """See Procedure."""
        return 0 if self._job is None else self._job.rendered.tokens

    def next_job(self) -> Job | None:
        """This round's job; None after the last."""
        return self._job

    def take(self, result: JobResult) -> None:
        """Use the result of this round and prepare the next one."""
        assert self._job is not None
        decision = self._processor.decision(self._job, result)
        self._rounds.append(decision)
        given: dict[str, list[Answer]] = {}
        for name, answer in zip(self._asked, decision.answers.values(), strict=True):
            given.setdefault(name, []).append(answer)
        for name, answers in given.items():
            if name not in self._contests:
                self._answers[name] = answers[0]
                continue
            contest = self._contests[name]
            contest.take([list(answer.probabilities.values()) for answer in answers])
            if contest.answer is not None:
                self._answers[name] = contest.answer
        self._job = self._prepared()

    @property
    def decision(self) -> Decision:
        """All answers, with the usage and the time of all rounds."""
        rounds = self._rounds
        return replace(
            rounds[0],
            answers={name: self._answers[name] for name in self.questions},
            usage=Usage(
                input_tokens=sum(each.usage.input_tokens for each in rounds),
                cached_tokens=sum(each.usage.cached_tokens for each in rounds),
                extra_tokens=sum(each.usage.extra_tokens for each in rounds),
            ),
            seconds=sum(each.seconds for each in rounds),
        )

    def _prepared(self) -> Job | None:
        asked: list[tuple[str, Question]] = []
        for name, question in self.questions.items():
            if name in self._answers:
                continue
            contest = self._contests.get(name)
            groups = [question] if contest is None else contest.groups()
            asked += [(name, each) for each in groups]
        self._asked = [name for name, _ in asked]
        if not asked:
            return None
        numbered = {str(number): question for number, (_, question) in enumerate(asked)}
        return self._processor.job(self._state, numbered, self._options)


class _Contest:
    """One wide choice: which options remain, and every option's probability so far."""

    def __init__(self, question: Choice, group: int) -> None:
        self.answer: Answer | None = None
        self._question = question
        self._group = group
        self._shares = np.ones(len(question.options))
        self._contenders = [[place] for place in range(len(question.options))]
        self._heads = list(range(len(question.options)))

    def groups(self) -> list[Choice]:
        """The groups to ask in this round."""
        question = self._question
        abstain = question.abstain if self._is_last() else None
        return [
            Choice(
                [question.options[self._heads[member]] for member in members],
                question.instructions,
                abstain,
            )
            for members in self._dealt()
        ]

    def take(self, given: Sequence[Sequence[float]]) -> None:
        """Use the groups' results; in the last round they make the answer."""
        last, dealt = self._is_last(), self._dealt()
        for members, probabilities in zip(dealt, given, strict=True):
            for member, probability in zip(members, probabilities, strict=False):
                self._shares[self._contenders[member]] *= probability
        if last:
            everything = [*self._shares, *given[0][len(self._heads) :]]
            whole = quantized(np.array(everything)).tolist()
            self.answer = answer_for(self._question, whole)
            return
        self._heads = [
            self._heads[members[int(np.argmax(probabilities))]]
            for members, probabilities in zip(dealt, given, strict=True)
        ]
        self._contenders = [
            [place for member in members for place in self._contenders[member]] for members in dealt
        ]

    def _is_last(self) -> bool:
        return len(self._heads) <= self._group

    def _dealt(self) -> list[list[int]]:
        count = -(-len(self._heads) // self._group)
        return [list(range(start, len(self._heads), count)) for start in range(count)]
