"""The one facade: decide one state or many, sync and async.

Everything a server or a command answers comes through here, so all of them give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from thisthat.decide.asking import Asks, Progress, Questions, declared
from thisthat.decide.conditions import Conditions
from thisthat.decide.heads import Heads
from thisthat.decide.job import Job
from thisthat.decide.options import DecideKeywords, DecideOptions
from thisthat.decide.procedures import Procedure, begin
from thisthat.decide.processor import Processor, Reading
from thisthat.decide.protocol import Records
from thisthat.decide.run import run_in_waves, run_procedures, runs_in_waves
from thisthat.display import source_line
from thisthat.engine.protocol import Engine
from thisthat.errors import AlreadyClosedError, InvalidInputError
from thisthat.identity import temperatures_hash
from thisthat.prompt.builder import PromptBuilder
from thisthat.prompt.show import Decode, show_row
from thisthat.questions import Decision, Question, Source, Text, check_many

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Decider(Asks):
    """Answers typed questions about states with one checkpoint.

    Open one with ``thisthat.open()``. It may be used from several threads.
    """

    def __init__(
        self,
        builder: PromptBuilder,
        engine: Engine,
        reading: Reading,
        source: Source,
        decode: Decode,
        log: Records | None = None,
        heads: Heads | None = None,
    ) -> None:
        self.builder, self.decode, self.engine = builder, decode, engine
        self.reading, self.source, self.log, self.heads = reading, source, log, heads
        self._closed = False

    def __repr__(self) -> str:
        return f"<Decider {source_line(self.source)}: {self.engine.description}>"

    def worded(self, builder: PromptBuilder) -> Decider:
        """This decider with another builder's wording; itself for its own."""
        if builder is self.builder:
            return self
        own = self.engine, self.reading, self.source, self.decode, self.log, self.heads
        return Decider(builder, *own)

    @property
    def processor(self) -> Processor:
        """Prepares this decider's jobs and reads their results."""
        return Processor(self.builder, self.reading, self.source, self.heads)

    def decide_pairs(
        self,
        pairs: Sequence[tuple[Text, Questions]],
        *,
        progress: Progress | None = None,
        **options: Unpack[DecideKeywords],
    ) -> list[Decision]:
        """Like ``decide_many``, with each state's own questions."""
        chosen = DecideOptions.of(**options)
        pairs = list(pairs)
        decisions: dict[int, Decision] = {}
        for number, procedure in self._run(len(pairs), partial(self._begun, pairs, chosen), chosen):
            decisions[number] = self.conclude(pairs[number][0], procedure, chosen)
            if progress is not None:
                progress(len(decisions), len(pairs))
        return [decisions[number] for number in range(len(pairs))]

    def decide_each(
        self, states: Sequence[Text], questions: Questions, **options: Unpack[DecideKeywords]
    ) -> list[Decision | InvalidInputError]:
        """Like ``decide_many``, but a state that cannot be answered yields what is wrong with it.

        Raises InvalidInputError for questions and options that cannot be used.
        """
        check_many(states)
        chosen, asked = DecideOptions.of(**options), declared(questions)
        self.processor.planned(asked, chosen)
        found: dict[int, Decision | InvalidInputError] = {}

        def begun(numbers: Sequence[int]) -> dict[int, Procedure]:
            each = self.begin_many([states[number] for number in numbers], asked, chosen)
            procedures: dict[int, Procedure] = {}
            for number, one in zip(numbers, each, strict=True):
                if isinstance(one, InvalidInputError):
                    found[number] = one
                else:
                    procedures[number] = one
            return procedures

        for number, procedure in self._run(len(states), begun, chosen):
            found[number] = self.conclude(states[number], procedure, chosen)
        return [found[number] for number in range(len(states))]

    def _run(
        self,
        count: int,
        begun: Callable[[Sequence[int]], Mapping[int, Procedure]],
        options: DecideOptions,
    ) -> Iterator[tuple[int, Procedure]]:
        if self._closed:
            raise AlreadyClosedError("this decider was closed; thisthat.open() opens another")
        if options.procedure == "at-once" and runs_in_waves(self.engine, count):
            return run_in_waves(self.engine, begun, range(count))
        return run_procedures(self.engine, begun(range(count)))

    def _begun(
        self,
        pairs: Sequence[tuple[Text, Questions]],
        options: DecideOptions,
        numbers: Sequence[int],
    ) -> dict[int, Procedure]:
        """Begin the pairs with these numbers. Raises InvalidInputError naming the state."""
        conditions = self.conditions_for(options)
        read: dict[int, dict[str, Question]] = {}
        begun: dict[int, Procedure] = {}
        asked = []
        try:
            for number in numbers:
                state, questions = pairs[number]
                if id(questions) not in read:
                    read[id(questions)] = declared(questions)
                asked.append((state, read[id(questions)]))
            for number, each in zip(numbers, begin(self.processor, asked, options), strict=True):
                if isinstance(each, InvalidInputError):
                    raise each
                if options.policy is not None:
                    options.policy.check(each.questions, conditions)
                begun[number] = each
        except InvalidInputError as error:
            raise (error.under(f"states[{number}]") if len(pairs) > 1 else error) from None
        return begun

    def begin_many(
        self,
        states: Sequence[Text],
        questions: Questions,
        options: DecideOptions,
        piece_tokens: int | None = None,
    ) -> list[Procedure | InvalidInputError]:
        """The same questions about many states, for the caller to run and ``conclude``.

        A fault in one state concerns that state only; see ``procedures.begin``. Raises
        InvalidInputError for questions that cannot be asked.
        """
        asked = declared(questions)
        pairs = [(state, asked) for state in states]
        return list(begin(self.processor, pairs, options, piece_tokens))

    def conclude(
        self,
        state: Text,
        procedure: Procedure,
        options: DecideOptions,
        change: Callable[[Decision], Decision] = lambda decision: decision,
    ) -> Decision:
        """The last step of ``decide``: apply the policy, ``change`` it, write the decision log.

        Raises InvalidInputError for a policy fitted for something else, and what the log raises.
        """
        decision = procedure.decision
        if options.policy is not None:
            conditions = self.conditions_for(options)
            decision = change(options.policy.apply(decision, procedure.questions, conditions))
        if self.log is not None:
            self.log.record(state, procedure.questions, decision, options.request_id)
        return decision

    def conditions(self, **options: Unpack[DecideKeywords]) -> Conditions:
        """The conditions that answers with these options depend on. Raises InvalidInputError."""
        return self.conditions_for(DecideOptions.of(**options))

    def conditions_for(self, options: DecideOptions) -> Conditions:
        """``conditions`` for a ``DecideOptions`` object."""
        return Conditions(
            checkpoint=self.source.name,
            version=self.source.version,
            lam=self.source.lam,
            layout=self.reading.chosen(options.layout),
            packing=options.packing,
            order=options.order,
            temperatures=self._temperatures_hash,
            weights=self.source.weights,
        )

    @cached_property
    def _temperatures_hash(self) -> str:
        return temperatures_hash(self.reading.temperatures)

    def prepare(self, state: Text, questions: Questions, **options: Unpack[DecideKeywords]) -> Job:
        """The first job for a state: its rows, tokenised. Raises InvalidInputError."""
        pairs = [(state, questions)]
        job = self._begun(pairs, DecideOptions.of(**options), [0])[0].next_job()
        assert job is not None
        return job

    def prompt_text(
        self, state: Text, questions: Questions, **options: Unpack[DecideKeywords]
    ) -> list[str]:
        """What the model would read, one text per row, with the slots marked.

        With ``wide="in-rounds"``, the first round.
        """
        job = self.prepare(state, questions, **options)
        return [show_row(row, self.decode) for row in job.rendered.rows]

    def open_all(self) -> None:
        """Open now what the engine would otherwise open on demand, so that no call waits for it."""
        self.engine.open_all()

    def close(self) -> None:
        """Free the engine's memory; nothing can be asked afterwards."""
        self._closed = True
        self.engine.close()

    def __enter__(self) -> Decider:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
