"""The one facade: open a checkpoint, decide one state or many, sync and async.

Everything a server or a command answers comes through here, so all of them give the same numbers.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from thisthat.calibrate.conditions import Conditions
from thisthat.calibrate.identity import temperatures_hash
from thisthat.calibrate.order import Order, Places, in_declared_order, orders_of, reordered
from thisthat.calibrate.temperature import Temperatures, softmax
from thisthat.engine.rows import Engine, Row, RowResult
from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.prompt.builder import ChatFrame, Place, PromptBuilder, Rendered
from thisthat.prompt.format import Keep, Layout, Packing
from thisthat.prompt.sharing import share, with_longer_trunk
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
    declared_options,
)
from thisthat.schema import TypedDecision, schema_of
from thisthat.whole_parts import in_whole_parts

if TYPE_CHECKING:
    from types import TracebackType

    from thisthat.audit.log import DecisionLog
    from thisthat.calibrate.policy import Policy
    from thisthat.checkpoint import Checkpoint

T = TypeVar("T")
EngineName: TypeAlias = Literal["auto", "onnx", "torch"]
Questions: TypeAlias = Mapping[str, "Question | str"]

_CHUNK_TOKENS = 16_384


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
    def ask(self, state: Text, question: str | Boolean, **how: Any) -> BooleanAnswer: ...
    @overload
    def ask(self, state: Text, question: Choice, **how: Any) -> ChoiceAnswer: ...
    @overload
    def ask(self, state: Text, question: Score, **how: Any) -> ScoreAnswer: ...
    def ask(self, state: Text, question: Question | str, **how: Any) -> Answer:
        """The answer to one question; a plain text is a boolean. Takes what ``decide`` takes."""
        if how.get("explain"):
            raise InvalidInputError("explain", "is for decide, whose decision carries evidence")
        return self.decide(state, {"question": question}, **how).answers["question"]

    @overload
    def decide(
        self,
        state: Text,
        questions: Questions,
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
        explain: bool = False,
        policy: Policy | None = None,
        request_id: str | None = None,
    ) -> Decision: ...
    @overload
    def decide(
        self,
        state: Text,
        questions: type[T],
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
        explain: bool = False,
        policy: Policy | None = None,
        request_id: str | None = None,
    ) -> TypedDecision[T]: ...
    def decide(
        self,
        state: Text,
        questions: Questions | type[T],
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
        explain: bool = False,
        policy: Policy | None = None,
        request_id: str | None = None,
    ) -> Decision | TypedDecision[T]:
        """Answer all questions about one state in one pass.

        ``questions`` is a mapping of names to questions (a plain text is a boolean) or a class
        whose fields are the questions. ``layout`` puts the state or the questions first,
        ``packing`` keeps questions from seeing each other ("apart") or not ("together"),
        ``keep`` allows a state that is too long to be cut, ``order`` "average" makes the answers
        to choices independent of the order of their options, ``explain`` adds the parts of the
        state that each answer rests on, ``policy`` puts an outcome into the answers it was
        fitted for, ``request_id`` goes into the decision log. Raises InvalidInputError.
        """
        if explain:
            from thisthat.calibrate.evidence import explained

            schema = schema_of(questions) if isinstance(questions, type) else None
            asked = schema.questions if schema else _declared(questions)  # type: ignore[arg-type]
            conditions = self.conditions(layout, packing, order)
            if policy is not None:
                policy.check(asked, conditions)
            decision = explained(
                self, state, asked, layout=layout, packing=packing, keep=keep, order=order
            )
            decision = self.conclude(state, asked, decision, conditions, policy, request_id)
            return schema.typed(decision) if schema else decision
        return self.decide_many(
            [state],
            questions,
            layout=layout,
            packing=packing,
            keep=keep,
            order=order,
            policy=policy,
            request_id=request_id,
        )[0]

    @overload
    def decide_many(
        self,
        states: Iterable[Text],
        questions: Questions,
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
        policy: Policy | None = None,
        request_id: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Decision]: ...
    @overload
    def decide_many(
        self,
        states: Iterable[Text],
        questions: type[T],
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
        policy: Policy | None = None,
        request_id: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[TypedDecision[T]]: ...
    def decide_many(
        self,
        states: Iterable[Text],
        questions: Questions | type[T],
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
        policy: Policy | None = None,
        request_id: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Decision] | list[TypedDecision[T]]:
        """The same questions about many states, in the caller's order, batched by length.

        ``progress`` is called with (states done, states in all) as the work goes on.
        """
        schema = schema_of(questions) if isinstance(questions, type) else None
        asked = schema.questions if schema else _declared(questions)  # type: ignore[arg-type]
        decisions = self.decide_pairs(
            [(state, asked) for state in states],
            layout=layout,
            packing=packing,
            keep=keep,
            order=order,
            policy=policy,
            request_id=request_id,
            progress=progress,
        )
        return [schema.typed(decision) for decision in decisions] if schema else decisions

    def decide_pairs(
        self,
        pairs: Sequence[tuple[Text, Questions]],
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
        policy: Policy | None = None,
        request_id: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Decision]:
        """Like ``decide_many``, with questions of its own for every state."""
        many = len(pairs) > 1
        conditions = self.conditions(layout, packing, order)
        jobs: list[Job] = []
        for number, (state, questions) in enumerate(pairs):
            try:
                jobs.append(
                    self.prepare(
                        state, questions, layout=layout, packing=packing, keep=keep, order=order
                    )
                )
                if policy is not None:
                    policy.check(jobs[-1].questions, conditions)
            except InvalidInputError as error:
                raise (error.under(f"states[{number}]") if many else error) from None
        decisions: list[Decision | None] = [None] * len(jobs)
        done = 0
        for chunk in _chunks([job.rendered for job in jobs]):
            for place, decision in self.run([jobs[number] for number in chunk]):
                number = chunk[place]
                decisions[number] = self.conclude(
                    pairs[number][0],
                    jobs[number].questions,
                    decision,
                    conditions,
                    policy,
                    request_id,
                )
            done += len(chunk)
            if progress is not None:
                progress(done, len(jobs))
        return [decision for decision in decisions if decision is not None]

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
            temperatures=temperatures_hash(self.reading.temperatures),
        )

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
        started = time.perf_counter()
        chosen = self._layout(layout)
        declared = _declared(questions)
        orders = tuple(orders_of(question, order) for question in declared.values())
        if order == "average" and packing != "apart":
            raise InvalidInputError(
                "order", f'"average" needs packing "apart", not {packing!r}: orders are branches'
            )
        rendered = self.builder.render(
            state,
            [
                reordered(question, places)
                for question, asked in zip(declared.values(), orders, strict=True)
                for places in asked
            ],
            layout=chosen,
            packing=packing,
            limit=self.reading.path_tokens,
            state_limit=self.reading.state_tokens,
            keep=keep,
        )
        if order == "average":
            rows = tuple(with_longer_trunk(row) for row in rendered.rows)
            rendered = replace(rendered, rows=rows)
        return Job(declared, rendered, chosen, time.perf_counter() - started, orders)

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Decision]]:
        """The second half of ``decide`` for several jobs: (number of the job, its decision).

        Decisions come as they finish. Where the engine computes every row apart, a job's numbers
        do not depend on the others; an engine that batches may move their last bits.
        """
        apart = getattr(self.engine, "rows_apart", False)
        groups = [[number] for number in range(len(jobs))] if apart else [list(range(len(jobs)))]
        for group in groups:
            started = time.perf_counter()
            results = self._results([jobs[number].rendered for number in group])
            answered = [
                self._answers(jobs[number], result)
                for number, result in zip(group, results, strict=True)
            ]
            share = (time.perf_counter() - started) / max(len(group), 1)
            for number, answers, result in zip(group, answered, results, strict=True):
                yield number, self._decision(jobs[number], answers, result, share)

    def run_sharing(self, jobs: Sequence[Job]) -> tuple[list[Decision], int]:
        """``run`` for jobs whose states begin alike: what neighbours share is read once.

        Returns the decisions, and how many tokens were read for all of them.
        """
        started = time.perf_counter()
        shared = share([row for job in jobs for row in job.rendered.rows])
        separate = iter(shared.apart(self.engine.run(shared.rows) if shared.rows else []))
        results = [[next(separate) for _ in job.rendered.rows] for job in jobs]
        answered = [self._answers(job, each) for job, each in zip(jobs, results, strict=True)]
        share_of_time = (time.perf_counter() - started) / max(len(jobs), 1)
        decisions = [
            self._decision(job, answers, each, share_of_time)
            for job, answers, each in zip(jobs, answered, results, strict=True)
        ]
        return decisions, shared.tokens

    def prompt_text(
        self,
        state: Text,
        questions: Questions,
        *,
        layout: Layout | None = None,
        packing: Packing = "apart",
        keep: Keep | None = None,
        order: Order = "as-given",
    ) -> list[str]:
        """What the model would read, a text per row, with the slots marked."""
        job = self.prepare(state, questions, layout=layout, packing=packing, keep=keep, order=order)
        return [show_row(row, self.decode) for row in job.rendered.rows]

    async def ask_async(self, state: Text, question: Question | str, **how: Any) -> Answer:
        """``ask`` without blocking the event loop."""
        return await asyncio.to_thread(lambda: self.ask(state, question, **how))

    async def decide_async(self, state: Text, questions: Questions, **how: Any) -> Decision:
        """``decide`` without blocking the event loop."""
        return await asyncio.to_thread(lambda: self.decide(state, questions, **how))

    async def decide_many_async(
        self, states: Iterable[Text], questions: Questions, **how: Any
    ) -> list[Decision]:
        """``decide_many`` without blocking the event loop."""
        return await asyncio.to_thread(lambda: self.decide_many(states, questions, **how))

    def close(self) -> None:
        """Free the engine's memory."""
        close = getattr(self.engine, "close", None)
        if close is not None:
            close()

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
            each = [
                in_declared_order(
                    self._probabilities(question, next(places), results, job.layout), order
                )
                for order in orders
            ]
            probabilities = each[0] if len(each) == 1 else np.mean(each, axis=0)
            answers[name] = answer_for(question, in_whole_parts(probabilities).tolist())
        return answers

    def _probabilities(
        self, question: Question, place: Place, results: Sequence[RowResult], layout: Layout
    ) -> NDArray[np.float64]:
        options = len(declared_options(question))
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


def open_decider(
    ref: str | Path = "default",
    *,
    lam: float | None = None,
    engine: EngineName = "auto",
    form: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    threads: int | None = None,
) -> Decider:
    """Open a checkpoint and an engine for it.

    ``ref`` is "default", a folder, a GGUF file or a Hub id; ``lam`` in [0, 1] scales the
    checkpoint's delta. ``engine`` "auto" takes onnx on a CPU where the architecture allows it and
    torch otherwise. ``form`` is the onnx numeric form ("int8", "block8" or "float32");
    ``device`` and ``dtype`` are torch's. Raises CheckpointError, FetchError, MissingExtraError
    or InvalidInputError.
    """
    from thisthat.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(ref, lam)
    builder = PromptBuilder(checkpoint.encode, checkpoint.card.prompt, _chat_frame(checkpoint))
    opened = _open_engine(checkpoint, builder, engine, form, device, dtype, threads)
    card = checkpoint.card
    reading = Reading(
        layout=card.layout,
        layouts=card.layouts,
        path_tokens=min(card.limits.row_tokens, opened.longest),
        state_tokens=card.limits.state_tokens,
        temperatures=card.temperatures,
    )
    source = Source(card.name, card.version, checkpoint.lam)
    return Decider(builder, opened, reading, source, checkpoint.decode)


def _chat_frame(checkpoint: Checkpoint) -> ChatFrame | None:
    if not checkpoint.card.prompt.chat or checkpoint.chat_template is None:
        return None
    from thisthat.prompt.chat import chat_frame

    return chat_frame(checkpoint.chat_template, checkpoint.encode_template)


def _open_engine(
    checkpoint: Checkpoint,
    builder: PromptBuilder,
    engine: EngineName,
    form: str | None,
    device: str,
    dtype: str,
    threads: int | None,
) -> Engine:
    if engine not in ("auto", "onnx", "torch"):
        raise InvalidInputError("engine", f"{engine!r} is none of auto, onnx, torch")
    if engine == "auto":
        engine = _fitting_engine(checkpoint, device)
    if engine == "onnx":
        from thisthat.engine.onnx_engine import OnnxEngine

        return OnnxEngine.from_checkpoint(
            checkpoint, builder.label_ids, form=form or "int8", threads=threads
        )
    if form is not None:
        raise InvalidInputError("form", f"{form!r} is for the onnx engine; torch takes dtype")
    try:
        from thisthat.engine.torch_engine import TorchEngine
    except ImportError as error:
        raise MissingExtraError(f"the checkpoint {checkpoint.card.name}", "torch") from error
    return TorchEngine.from_checkpoint(checkpoint, builder.label_ids, device=device, dtype=dtype)


def _fitting_engine(checkpoint: Checkpoint, device: str) -> EngineName:
    from thisthat.engine.llama_shape import supports

    wants_torch = device not in ("auto", "cpu") or (device == "auto" and _has_nvidia_gpu())
    if wants_torch and find_spec("torch") is not None:
        return "torch"
    return "onnx" if supports(checkpoint.config) else "torch"


def _has_nvidia_gpu() -> bool:
    # Importing torch to ask takes seconds; the driver's own marks do not.
    return Path("/proc/driver/nvidia/version").exists() or "CUDA_VISIBLE_DEVICES" in os.environ
