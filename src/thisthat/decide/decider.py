"""The one facade: decide one state or many, sync and async.

Everything a server or a command answers comes through here, so all of them give the same numbers.
Knows nothing of checkpoints: ``opening`` makes a decider from one.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.conditions import Conditions
from thisthat.decide.distribution import distribution
from thisthat.decide.exact_probabilities import in_whole_parts
from thisthat.decide.option_order import (
    AS_GIVEN,
    Order,
    Places,
    in_declared_order,
    orders_of,
    reordered,
)
from thisthat.decide.options import DecideKeywords, DecideOptions
from thisthat.decide.tournament import Tournament
from thisthat.engine.flat_pass import pack
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Row, RowResult, Tokens
from thisthat.errors import InvalidInputError
from thisthat.identity import temperatures_hash
from thisthat.prompt.builder import Place, Plan, PromptBuilder, Rendered
from thisthat.prompt.format import Keep, Layout, Packing
from thisthat.prompt.sharing import with_longer_trunk
from thisthat.prompt.show import Decode, show_row
from thisthat.questions import (
    Answer,
    Boolean,
    BooleanAnswer,
    Choice,
    ChoiceAnswer,
    Decision,
    Question,
    Score,
    ScoreAnswer,
    Source,
    Text,
    Usage,
    answer_for,
)
from thisthat.schema import Schema, TypedDecision, schema_of
from thisthat.temperature import Temperatures, softmax

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from thisthat.audit.log import DecisionLog
    from thisthat.calibrate.policy import Policy

T = TypeVar("T")
Questions: TypeAlias = Mapping[str, "Question | str"]
Progress: TypeAlias = Callable[[int, int], None]

_Finished: TypeAlias = tuple[int, Mapping[str, "Question"], Decision]
"""The number of a state, what was asked about it, its decision."""

_CHUNK_TOKENS = 16_384
_FIRST_WAVE, _LARGEST_WAVE = 32, 128
"""States that are read while the device answers those before them: few at first, to begin soon."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a checkpoint is read: its layouts, limits and temperatures."""

    layout: Layout
    layouts: tuple[Layout, ...]
    path_tokens: int
    state_tokens: int
    temperatures: Temperatures


@dataclass(frozen=True, slots=True)
class Job:
    """A state with its questions, rendered and ready to run; ``seconds`` is what that took."""

    questions: Mapping[str, Question]
    rendered: Rendered
    layout: Layout
    seconds: float
    orders: tuple[tuple[Places, ...], ...]

    @property
    def extra_tokens(self) -> int:
        """Tokens that the second and later orders of its questions add."""
        places = iter(self.rendered.places)
        later = [[next(places) for _ in asked][1:] for asked in self.orders]
        slots = [at for group in later for place in group for at in place.at]
        return sum(self.rendered.added_by(row, slot) for row, slot in slots)

    @property
    def fresh_tokens(self) -> int:
        """Tokens that must be computed when every prefix is already kept."""
        return sum(row.fresh_tokens for row in self.rendered.rows)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Questions made ready for any number of states; ``seconds`` is what that took."""

    questions: Mapping[str, Question]
    orders: tuple[tuple[Places, ...], ...]
    layout: Layout
    plan: Plan
    seconds: float


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A state's tokens where they are known already, and the seconds they took."""

    tokens: Tokens | None = None
    seconds: float = 0.0


_NOT_AHEAD = _Ahead()


class Decider:
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
        log: DecisionLog | None = None,
    ) -> None:
        self.log = log
        self.builder = builder
        self.decode = decode
        self.engine = engine
        self.reading = reading
        self.source = source

    @overload
    def ask(
        self, state: Text, question: str | Boolean, **ways: Unpack[DecideKeywords]
    ) -> BooleanAnswer: ...
    @overload
    def ask(
        self, state: Text, question: Choice, **ways: Unpack[DecideKeywords]
    ) -> ChoiceAnswer: ...
    @overload
    def ask(self, state: Text, question: Score, **ways: Unpack[DecideKeywords]) -> ScoreAnswer: ...
    def ask(self, state: Text, question: Question | str, **ways: Unpack[DecideKeywords]) -> Answer:
        """The answer to one question; a plain text is a boolean."""
        if "explain" in ways:
            raise InvalidInputError("explain", "is for decide, whose decision carries evidence")
        return self.decide(state, {"question": question}, **ways).answers["question"]

    @overload
    def decide(
        self,
        state: Text,
        questions: Questions,
        *,
        explain: bool = False,
        **ways: Unpack[DecideKeywords],
    ) -> Decision: ...
    @overload
    def decide(
        self,
        state: Text,
        questions: type[T],
        *,
        explain: bool = False,
        **ways: Unpack[DecideKeywords],
    ) -> TypedDecision[T]: ...
    def decide(
        self,
        state: Text,
        questions: Questions | type[T],
        *,
        explain: bool = False,
        **ways: Unpack[DecideKeywords],
    ) -> Decision | TypedDecision[T]:
        """Answer all questions about one state in one pass.

        ``questions`` is a mapping of names to questions (a plain text is a boolean) or a class
        whose fields are the questions. ``explain`` adds the parts of the state that each answer
        rests on. ``ways`` are the settings of ``DecideOptions``: layout, packing, keep, order,
        wide, policy, request_id. Raises InvalidInputError.
        """
        if not explain:
            return self.decide_many([state], questions, **ways)[0]
        from thisthat.decide.evidence import explained

        way = DecideOptions(**ways)
        if way.wide == "in-rounds":
            raise InvalidInputError("explain", 'cannot be had together with wide "in-rounds"')
        schema, asked = _asked(questions)
        conditions = self.conditions(way.layout, way.packing, way.order)
        if way.policy is not None:
            way.policy.check(asked, conditions)
        decision = explained(self, state, asked, way)
        decision = self.conclude(state, asked, decision, conditions, way.policy, way.request_id)
        return schema.typed(decision) if schema else decision

    @overload
    def decide_many(
        self,
        states: Iterable[Text],
        questions: Questions,
        *,
        progress: Progress | None = None,
        **ways: Unpack[DecideKeywords],
    ) -> list[Decision]: ...
    @overload
    def decide_many(
        self,
        states: Iterable[Text],
        questions: type[T],
        *,
        progress: Progress | None = None,
        **ways: Unpack[DecideKeywords],
    ) -> list[TypedDecision[T]]: ...
    def decide_many(
        self,
        states: Iterable[Text],
        questions: Questions | type[T],
        *,
        progress: Progress | None = None,
        **ways: Unpack[DecideKeywords],
    ) -> list[Decision] | list[TypedDecision[T]]:
        """The same questions about many states, in the caller's order, batched by length.

        ``progress`` is called with (states done, states in all) as the work goes on; ``ways``
        as in ``decide``.
        """
        schema, asked = _asked(questions)
        pairs = [(state, asked) for state in states]
        decisions = self.decide_pairs(pairs, progress=progress, **ways)
        return [schema.typed(decision) for decision in decisions] if schema else decisions

    def decide_pairs(
        self,
        pairs: Sequence[tuple[Text, Questions]],
        *,
        progress: Progress | None = None,
        **ways: Unpack[DecideKeywords],
    ) -> list[Decision]:
        """Like ``decide_many``, with questions of its own for every state."""
        way = DecideOptions(**ways)
        conditions = self.conditions(way.layout, way.packing, way.order)
        pairs = list(pairs)
        begun = partial(self._all_begun, pairs, way, conditions)
        every = range(len(pairs))
        runs_ahead = way.wide == "at-once" and self.engine.capabilities.runs_ahead
        if runs_ahead and len(pairs) > _FIRST_WAVE:
            finished = self._finished_in_waves(begun, every)
        else:
            finished = self._finished(begun(every))
        decisions: dict[int, Decision] = {}
        for number, questions, decision in finished:
            decisions[number] = self.conclude(
                pairs[number][0], questions, decision, conditions, way.policy, way.request_id
            )
            if progress is not None:
                progress(len(decisions), len(pairs))
        return [decisions[number] for number in every]

    def _all_begun(
        self,
        pairs: Sequence[tuple[Text, Questions]],
        way: DecideOptions,
        conditions: Conditions,
        numbers: Sequence[int],
    ) -> dict[int, Job | Tournament]:
        """The pairs of these numbers, begun. Raises InvalidInputError naming the state."""
        begun: dict[int, Job | Tournament] = {}
        read = self._read_ahead([pairs[number][0] for number in numbers], way)
        known: dict[int, _Asking] = {}
        for number, ahead in zip(numbers, read, strict=True):
            state, questions = pairs[number]
            try:
                if way.wide == "in-rounds":
                    begun[number] = Tournament(self, state, _declared(questions), way)
                else:
                    # The same questions as before need not be read again.
                    asking = known.get(id(questions))
                    if asking is None:
                        asking = self._asking(questions, way)
                        known[id(questions)] = replace(asking, seconds=0.0)
                    begun[number] = self._job(state, asking, way, ahead)
                if way.policy is not None:
                    way.policy.check(begun[number].questions, conditions)
            except InvalidInputError as error:
                named = error.under(f"states[{number}]") if len(pairs) > 1 else error
                raise named from None
        return begun

    def _finished_in_waves(
        self, begun: Callable[[Sequence[int]], dict[int, Job | Tournament]], every: range
    ) -> Iterator[_Finished]:
        """As ``_finished``; some states are answered by the device while the next are read.

        All of this is one thread's work: two would wait for each other's turn in the interpreter.
        """
        running: list[tuple[dict[int, Job], float, Callable[[], list[RowResult]]]] = []
        for wave in _waves(every):
            jobs = {number: _next_job(each) for number, each in begun(wave).items()}
            started = time.perf_counter()
            rows = [row for job in jobs.values() for row in job.rendered.rows]
            results = self.engine.begin(rows)
            running.append((jobs, time.perf_counter() - started, results))
        for jobs, seconds, results in running:
            started = time.perf_counter()
            found = iter(results())
            share = (seconds + time.perf_counter() - started) / len(jobs)
            for number, job in jobs.items():
                own = list(itertools.islice(found, len(job.rendered.rows)))
                yield number, job.questions, self.read(job, own, share)

    def _read_ahead(self, states: Sequence[Text], way: DecideOptions) -> list[_Ahead]:
        """Several states tokenised together; one alone is not worth the threads."""
        if len(states) < 2 or way.wide != "at-once":
            return [_NOT_AHEAD] * len(states)
        started = time.perf_counter()
        tokens = self.builder.encode_states(states)
        share = (time.perf_counter() - started) / len(states)
        return [_Ahead(each, share) for each in tokens]

    def _finished(self, begun: Mapping[int, Job | Tournament]) -> Iterator[_Finished]:
        """Everything run, round after round; decisions come as they finish."""
        left = dict(begun)
        while left:
            jobs = [(number, _next_job(each)) for number, each in left.items()]
            for chunk in _chunks([job.rendered for _, job in jobs]):
                for place, decision in self.run([jobs[at][1] for at in chunk], together=True):
                    number = jobs[chunk[place]][0]
                    each = left[number]
                    if isinstance(each, Tournament):
                        each.take(decision)
                        if each.job is not None:
                            continue
                        decision = each.decision
                    del left[number]
                    yield number, each.questions, decision

    def conditions(
        self,
        layout: Layout | None = None,
        packing: Packing = "apart",
        order: Order = "as-given",
    ) -> Conditions:
        """What probabilities obtained this way depend on. Raises InvalidInputError."""
        return Conditions(
            checkpoint=self.source.name,
            version=self.source.version,
            lam=self.source.lam,
            layout=self._layout(layout),
            packing=packing,
            order=order,
            temperatures=self._temperatures_hash,
            weights=self.source.weights,
        )

    @cached_property
    def _temperatures_hash(self) -> str:
        return temperatures_hash(self.reading.temperatures)

    def conclude(
        self,
        state: Text,
        questions: Mapping[str, Question],
        decision: Decision,
        conditions: Conditions,
        policy: Policy | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """The last step of ``decide``: apply the policy, write the decision log.

        Raises InvalidInputError for a policy that was fitted for something else; the log never
        raises.
        """
        if policy is not None:
            decision = policy.apply(decision, questions, conditions)
        if self.log is not None:
            self.log.record(state, questions, decision, request_id)
        return decision

    def prepare(
        self,
        state: Text,
        questions: Questions,
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
    ) -> Job:
        """The first half of ``decide``: check and tokenise, so that ``run`` can do the rest."""
        way = DecideOptions(layout, packing, keep, order)
        return self._job(state, self._asking(questions, way), way)

    def prepare_many(
        self, states: Sequence[Text], questions: Questions, way: DecideOptions
    ) -> list[Job | InvalidInputError]:
        """``prepare`` for the same questions about many states; what is wrong with one is its own.

        Raises InvalidInputError for questions that cannot be asked.
        """
        first = self._asking(questions, way)
        later = replace(first, seconds=0.0)
        prepared: list[Job | InvalidInputError] = []
        for number, ahead in enumerate(self._read_ahead(states, way)):
            try:
                prepared.append(self._job(states[number], later if number else first, way, ahead))
            except InvalidInputError as error:
                prepared.append(error)
        return prepared

    def _asking(self, questions: Questions, way: DecideOptions) -> _Asking:
        started = time.perf_counter()
        chosen = self._layout(way.layout)
        declared = _declared(questions)
        orders = tuple(orders_of(question, way.order) for question in declared.values())
        plan = self.builder.plan(
            [
                reordered(question, places)
                for question, asked in zip(declared.values(), orders, strict=True)
                for places in asked
            ],
            layout=chosen,
            packing=way.packing,
        )
        return _Asking(declared, orders, chosen, plan, time.perf_counter() - started)

    def _job(
        self, state: Text, asking: _Asking, way: DecideOptions, ahead: _Ahead = _NOT_AHEAD
    ) -> Job:
        started = time.perf_counter()
        rendered = self.builder.fill(
            asking.plan,
            state,
            limit=self.reading.path_tokens,
            state_limit=self.reading.state_tokens,
            keep=way.keep,
            state_tokens=ahead.tokens,
        )
        if way.order == "average":
            rows = tuple(with_longer_trunk(row) for row in rendered.rows)
            rendered = replace(rendered, rows=rows)
        seconds = asking.seconds + ahead.seconds + time.perf_counter() - started
        return Job(asking.questions, rendered, asking.layout, seconds, asking.orders)

    def run(self, jobs: Sequence[Job], *, together: bool = False) -> Iterator[tuple[int, Decision]]:
        """The second half of ``decide`` for several jobs: (number of the job, its decision).

        Decisions come as they finish. Run ``together``, jobs that an engine reads in one pass take
        less time in all and finish at once; each is said to have taken its share of the tokens.
        Where the engine computes every row apart, a job's numbers do not depend on the others; an
        engine that batches may move their last bits.
        """
        groups = [list(range(len(jobs)))]
        able = self.engine.capabilities
        if able.rows_apart:
            most = able.tokens_together if together else 0
            groups = pack([job.fresh_tokens for job in jobs], most)
        for group in groups:
            started = time.perf_counter()
            results = self._results([jobs[number].rendered for number in group])
            answered = [
                self._answers(jobs[number], result)
                for number, result in zip(group, results, strict=True)
            ]
            tokens = sum(jobs[number].fresh_tokens for number in group)
            each = (time.perf_counter() - started) / max(tokens, 1)
            for number, answers, result in zip(group, answered, results, strict=True):
                seconds = each * jobs[number].fresh_tokens
                yield number, self._decision(jobs[number], answers, result, seconds)

    def read(self, job: Job, results: Sequence[RowResult], seconds: float) -> Decision:
        """The decision that the results of a job's rows make; they took so many seconds."""
        return self._decision(job, self._answers(job, results), results, seconds)

    def prompt_text(
        self, state: Text, questions: Questions, **ways: Unpack[DecideKeywords]
    ) -> list[str]:
        """What the model would read, a text per row, with the slots marked.

        With ``wide="in-rounds"`` it is the first round.
        """
        way = DecideOptions(**ways)
        conditions = self.conditions(way.layout, way.packing, way.order)
        begun = self._all_begun([(state, questions)], way, conditions, [0])
        return [show_row(row, self.decode) for row in _next_job(begun[0]).rendered.rows]

    async def ask_async(
        self, state: Text, question: Question | str, **ways: Unpack[DecideKeywords]
    ) -> Answer:
        """``ask`` without blocking the event loop."""
        return await asyncio.to_thread(lambda: self.ask(state, question, **ways))

    async def decide_async(
        self, state: Text, questions: Questions, **ways: Unpack[DecideKeywords]
    ) -> Decision:
        """``decide`` without blocking the event loop."""
        return await asyncio.to_thread(lambda: self.decide(state, questions, **ways))

    async def decide_many_async(
        self, states: Iterable[Text], questions: Questions, **ways: Unpack[DecideKeywords]
    ) -> list[Decision]:
        """``decide_many`` without blocking the event loop."""
        return await asyncio.to_thread(lambda: self.decide_many(states, questions, **ways))

    def open_all(self) -> None:
        """Open now what the engine would open at its first need, so that no call waits for it."""
        self.engine.open_all()

    def close(self) -> None:
        """Free the engine's memory."""
        self.engine.close()

    def __enter__(self) -> Decider:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _layout(self, layout: Layout | None) -> Layout:
        chosen = self.reading.layout if layout is None else layout
        if chosen not in self.reading.layouts:
            known = ", ".join(self.reading.layouts)
            raise InvalidInputError(
                "layout", f"{chosen!r} is not one this checkpoint reads: {known}"
            )
        return chosen

    def _results(self, rendered: Sequence[Rendered]) -> list[list[RowResult]]:
        rows: list[Row] = [row for each in rendered for row in each.rows]
        results = iter(self.engine.run(rows) if rows else [])
        return [[next(results) for _ in each.rows] for each in rendered]

    def _answers(self, job: Job, results: Sequence[RowResult]) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        places = iter(job.rendered.places)
        for (name, question), orders in zip(job.questions.items(), job.orders, strict=True):
            if orders == (AS_GIVEN,):
                found = self._distribution(question, next(places), results, job.layout)
            else:
                each = [
                    in_declared_order(
                        self._probabilities(question, next(places), results, job.layout), order
                    )
                    for order in orders
                ]
                found = in_whole_parts(np.mean(each, axis=0)).tolist()
            answers[name] = answer_for(question, found)
        return answers

    def _distribution(
        self, question: Question, place: Place, results: Sequence[RowResult], layout: Layout
    ) -> list[float]:
        if len(place.at) != 1:
            found = self._probabilities(question, place, results, layout)
            spread: list[float] = in_whole_parts(found).tolist()
            return spread
        row, slot = place.at[0]
        logits = results[row].logits[slot]
        temperature = self.reading.temperatures.of(question.kind, len(logits), layout)
        return distribution(logits, temperature)

    def _probabilities(
        self, question: Question, place: Place, results: Sequence[RowResult], layout: Layout
    ) -> NDArray[np.float64]:
        options = len(question.declared)
        if not place.at:
            return np.ones(options)
        columns = len(results[place.at[0][0]].logits[place.at[0][1]])
        temperature = self.reading.temperatures.of(question.kind, columns, layout)
        each = [softmax(results[row].logits[slot], temperature) for row, slot in place.at]
        if len(each) == 1:
            return each[0]
        fits = np.array([fit[1] for fit in each])
        total = fits.sum()
        return fits / total if total > 0 else np.full(options, 1 / options)

    def _decision(
        self,
        job: Job,
        answers: dict[str, Answer],
        results: Sequence[RowResult],
        seconds: float,
    ) -> Decision:
        usage = Usage(
            input_tokens=job.rendered.tokens,
            cached_tokens=sum(result.cached_tokens for result in results),
            extra_tokens=job.extra_tokens,
        )
        return Decision(answers, self.source, usage, job.seconds + seconds, job.rendered.cut)


def _asked(questions: Questions | type[T]) -> tuple[Schema[T] | None, dict[str, Question]]:
    if isinstance(questions, type):
        schema = schema_of(questions)
        return schema, schema.questions
    return None, _declared(questions)


def _declared(questions: Questions) -> dict[str, Question]:
    if not isinstance(questions, Mapping):
        raise InvalidInputError(
            "questions", f"must be an object of named questions, not {type(questions).__name__}"
        )
    if not questions:
        raise InvalidInputError("questions", "none given; at least 1 is needed")
    declared: dict[str, Question] = {}
    for name, question in questions.items():
        if not isinstance(name, str) or not name:
            raise InvalidInputError("questions", f"has the name {name!r}; names are non-empty text")
        if isinstance(question, str):
            question = Boolean(question)
        if not isinstance(question, (Choice, Boolean, Score)):
            raise InvalidInputError(
                f"questions.{name}", f"is a {type(question).__name__}, not a question"
            )
        declared[name] = question
    return declared


def _waves(every: range) -> Iterator[range]:
    """Cuts that double until they are large."""
    start, size = 0, _FIRST_WAVE
    while start < len(every):
        yield every[start : start + size]
        start, size = start + size, min(2 * size, _LARGEST_WAVE)


def _next_job(begun: Job | Tournament) -> Job:
    job = begun.job if isinstance(begun, Tournament) else begun
    assert job is not None
    return job


def _chunks(rendered: Sequence[Rendered]) -> Iterator[list[int]]:
    """Job numbers, alike in prefix and length next to each other, cut by a token budget."""
    order = sorted(
        range(len(rendered)),
        key=lambda number: (
            hash(rendered[number].rows[0].prefix) if rendered[number].rows else 0,
            rendered[number].tokens,
        ),
    )
    chunk: list[int] = []
    tokens = 0
    for number in order:
        fresh = sum(row.fresh_tokens for row in rendered[number].rows)
        if chunk and tokens + fresh > _CHUNK_TOKENS:
            yield chunk
            chunk, tokens = [], 0
        chunk.append(number)
        tokens += fresh
    if chunk:
        yield chunk
