"""The one path from a request to a decision, shared by every wire format.

Caller, rate limit, checkpoint, tokens, queue, deadline and disconnects are all handled here. Wire
formats parse before it and render after it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request

from thisthat.audit.beside import RequestId
from thisthat.audit.log import DecisionLog
from thisthat.audit.played import is_played
from thisthat.audit.protocol import LogError
from thisthat.audit.watch import DriftCheck, DriftWatch
from thisthat.decide.decider import Decider
from thisthat.decide.job import Job
from thisthat.decide.options import DecideOptions
from thisthat.decide.policy import Policy
from thisthat.decide.procedures import Procedure
from thisthat.engine.statistics import EngineStatistics
from thisthat.errors import DeviceMemoryError, InvalidInputError
from thisthat.loop.explore import Exploration, explorer
from thisthat.loop.registry import Registry
from thisthat.questions import Decision, Question, Text
from thisthat.remote.untaught_header import untaught_header
from thisthat.serve.checkpoints import Checkpoints, Open
from thisthat.serve.formats.fields import MOST_CHARACTERS
from thisthat.serve.formats.wire import source_as_json
from thisthat.serve.http.body import read_body
from thisthat.serve.http.cancellable import CancelScope, ScopeCancelledError
from thisthat.serve.http.keys import KeyRing, Keys, RateLimit, Scope
from thisthat.serve.http.strict_json import JsonLimits, read_json
from thisthat.serve.logs import log as log_line
from thisthat.serve.memory import Holding, Memory, give_back
from thisthat.serve.metrics import Metrics
from thisthat.serve.problems import (
    Place,
    Problem,
    fault_of,
    from_invalid_input,
    invalid,
    invalid_at,
)
from thisthat.serve.scheduling.admission import OverloadedError
from thisthat.serve.scheduling.deadline import Deadline, read_deadline
from thisthat.serve.scheduling.scheduler import ClosedError, DeadlineError, JobOutcome, Scheduler
from thisthat.serve.settings import Settings
from thisthat.serve.teaching.teacher import Teacher
from thisthat.serve.traces import Span, Traces
from thisthat.serve.trials import Trials

T = TypeVar("T")

_LARGE_BODY = 16_384
_RECORDING = 32
"""Decisions that wait for the disk together with ``--log-sync``."""
TOKEN_BYTES = 40
"""What a token takes until the engine has read it: a place in a tuple, and a number."""
_TOKENISING_BYTES = 200
"""What it takes while the tokenizer is at work; there may be one for every character."""


@dataclass(frozen=True)
class ParsedRequest:
    """A parsed request: a model, a state, questions by name.

    ``state_at`` is the state's place in the format, for errors about it. ``legend``: questions are
    worded, and put into one pass, as the makers of the served checkpoint do on this wire.
    ``turns``: of a conversation, who said what before the question.
    """

    model: str
    state: Text
    questions: Mapping[str, Question]
    state_at: Place = ("state",)
    legend: bool = False
    turns: Sequence[tuple[str, str]] = ()

    def read_by(self, decider: Decider) -> ParsedRequest:
        """The request as that checkpoint reads it: one of the family flock no speakers of turns."""
        if decider.builder.form.family != "flock" or not self.turns:
            return self
        return replace(self, state="\n\n".join(text for _, text in self.turns if text))

    def worded(self, decider: Decider) -> Decider:
        """The decider that words questions as the makers of its checkpoint do on this wire."""
        return decider.worded(decider.builder.with_legend) if self.legend else decider


class ClientDisconnectedError(Exception):
    """The client disconnected before its answer was ready."""


class Service:
    """Everything one server holds: settings, checkpoint, scheduler, metrics, keys."""

    def __init__(
        self,
        settings: Settings,
        open_decider: Open,
        traces: Traces | None = None,
        log: DecisionLog | None = None,
        registry: Registry | None = None,
        teacher: Teacher | None = None,
    ) -> None:
        self.settings = settings
        self.teacher = teacher
        self.known_hosts = settings.known_hosts
        self.log = log
        self.metrics = Metrics()
        report = partial(_report_drift, self.metrics)
        self._drift = None if log is None else DriftWatch(log, report, settings.drift_decisions)
        # Waiting for the disk must block neither the event loop nor tokenising.
        self._recording = (
            ThreadPoolExecutor(_RECORDING, "recording")
            if log is not None and log.required
            else None
        )
        self.checkpoints = Checkpoints(open_decider, settings, log)
        # Not the reader's thread: what one large body leaves must be gone before the next.
        trimmer = ThreadPoolExecutor(1, "thisthat-trim")
        self.memory = Memory(settings.memory_bytes, lambda: trimmer.submit(give_back))
        self._json_limits = JsonLimits(settings.depth, settings.values, settings.text_bytes)
        # One thread: large bodies are expanded, parsed and tokenised one after the other.
        self._reader = ThreadPoolExecutor(1, "thisthat-read")
        if log is not None:
            self.metrics.watch_log(log)
        self.metrics.watch_engine(self._engine_statistics)
        self.keys = KeyRing(
            Keys("decide", settings.keys, settings.keys_file),
            Keys("admin", settings.admin_keys, settings.admin_keys_file),
        )
        self.rates = RateLimit(settings.requests_per_minute)
        self.traces = traces or Traces()
        self.scheduler = Scheduler(
            batch_tokens=settings.batch_tokens,
            bulk_tokens=settings.bulk_tokens,
            queue_tokens=settings.queue_tokens,
            on_batch=self._count_batch,
        )
        self._exploration = Exploration.of(settings.explore, settings.explore_near)
        self.trials = None
        if registry is not None and log is not None:
            self.trials = Trials(registry, log, self.checkpoints, open_decider, self.scheduler)
        self.draining = False
        self.in_flight = 0
        self.metrics.expected_wait.set_function(lambda: self.scheduler.admission.expected_seconds)
        self.metrics.unanswered.set_function(lambda: self.scheduler.admission.unanswered_tokens)
        self.metrics.waiting.set_function(lambda: self.scheduler.waiting_tokens)
        self.metrics.in_flight.set_function(lambda: self.in_flight)
        self.metrics.memory.set_function(lambda: self.memory.used)
        self.streams = 0
        # One of several servers that answer as one reloads with them, and reports for all.
        self.reload = self.checkpoints.load
        self.metrics_page = self.metrics.page

    def admit(self, request: Request, scope: Scope = "decide") -> str:
        """The caller's name. Raises Problem (401, 403 or 429)."""
        caller = self.keys.caller(request, scope)
        request.state.fields["caller"] = caller
        request.state.salt = caller if self.keys.guards("decide") else None
        self.rates.spend(caller)
        return caller

    async def read(self, request: Request, parse: Callable[[Any], T]) -> T:
        """What ``parse`` makes of the JSON object that an admitted request sends.

        Its deadline starts now. Raises Problem or ClientDisconnectedError.
        """
        self.admit(request)
        request.state.arrived = time.monotonic()
        request.state.deadline = read_deadline(
            request.scope["headers"], self.settings.deadline_seconds, request.state.arrived
        )
        return await self.read_value(request, lambda value: parse(_object(value)))

    async def read_value(self, request: Request, parse: Callable[[Any], T]) -> T:
        """What ``parse`` makes of a request's JSON. Raises Problem or ClientDisconnectedError."""
        body = await read_body(request, self.settings, self._reader)
        held: Holding = request.state.memory

        def parsed() -> T:
            return read_json(body, self._json_limits, parse, held.add)

        # Parsing and tokenising a large body would block every other request.
        request.state.size = len(body)
        request.state.large = len(body) > _LARGE_BODY
        if request.state.large:
            work = asyncio.get_running_loop().run_in_executor(self._reader, parsed)
            value = await unless_disconnected(request, work)
        else:
            value = parsed()
        held.add(-len(body))
        return value

    async def decide(self, request: Request, asked: ParsedRequest) -> Decision:
        """The decision about one state. Raises Problem or ClientDisconnectedError."""
        champion = self.checkpoints.find(asked.model)
        answer = partial(self._answer, request, asked)
        if self.trials is None or champion is not self.checkpoints.main():
            return await answer(champion)
        decision = await self.trials.decide(request, champion, answer)
        self.trials.shadow(request, asked.read_by(champion).state, asked.questions)
        return decision

    async def _answer(self, request: Request, asked: ParsedRequest, decider: Decider) -> Decision:
        deadline: Deadline = request.state.deadline
        asked, decider = asked.read_by(decider), asked.worded(decider)
        note_untaught(request, decider, asked.questions)
        self._check_room(request, decider)
        own = request.state.request_id
        options = DecideOptions(packing=decider.builder.packing, request_id=own)
        with self.tokenising(own) as span:
            procedure = await self._begin(decider, asked, options, request)
            tell_job(span, procedure.next_job())
        work = self.run(decider, procedure, lambda: deadline, request)
        outcome = await unless_disconnected(request, work)
        self.note(request, procedure.decision, outcome, asked.state)
        return await self.conclude(decider, asked.state, procedure, options)

    async def conclude(
        self, decider: Decider, state: Text, procedure: Procedure, options: DecideOptions
    ) -> Decision:
        """The decision, on record. Raises Problem (503) when it must be on disk and is not."""
        if self._exploration is not None and isinstance(options.request_id, RequestId):
            options = replace(options, request_id=options.request_id.again())
        change = explorer(self._exploration, procedure.questions, state, options)
        work = partial(decider.conclude, state, procedure, options, change)
        if self._recording is None:
            return work()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._recording, work)
        except LogError as error:
            message = f"the decision log cannot be written: {error}"
            raise Problem(503, "not_recorded", message, retry_ms=1000) from None

    @contextmanager
    def tokenising(self, request_id: str | None, states: int = 1) -> Iterator[Span]:
        """The trace stage in which states become tokens."""
        with self.traces.stage("tokenise") as span:
            span.tell({"request_id": request_id, "states": states})
            yield span

    def count_policy(self, policy: Policy, request_id: str | None) -> None:
        """Count a recorded decision towards its policy's drift check, unless in play."""
        if self._drift is not None and not is_played(request_id):
            self._drift.count(policy)

    def close_log(self) -> None:
        """Finish what reads the decision log, and flush it."""
        if self.trials is not None:
            self.trials.close()
        if self._drift is not None:
            self._drift.close()
        if self._recording is not None:
            self._recording.shutdown()
        if self.log is not None:
            self.log.close()

    def check_tokens(self, tokens: int, what: str = "with all questions") -> None:
        """Raise Problem (422) for more tokens than one state may take."""
        most = self.settings.request_tokens
        if tokens > most:
            raise invalid_at((), f"{tokens} tokens {what}; a request may have at most {most}")

    async def run(
        self,
        decider: Decider,
        procedure: Procedure,
        deadline: Callable[[], Deadline],
        request: Request,
        stream: object | None = None,
    ) -> JobOutcome:
        """Run a procedure through the scheduler, job after job; returns the last result.

        Errors become problems; ``deadline`` is called for every job's.
        """
        request_id, salt = request.state.request_id, request.state.salt
        client = request.state.fields["caller"]
        while (job := procedure.next_job()) is not None:
            self.check_tokens(procedure.tokens, procedure.counted)
            until = deadline()
            if salt is not None:
                job = job.salted(salt)
            work = self.scheduler.submit(decider.engine, job, until.at, stream, client)
            outcome = await self._scheduled(work, until)
            # Send the answer before waiting for anything else.
            asyncio.get_running_loop().call_soon(self._count, decider, job, outcome, request_id)
            if procedure.take_tokenises:
                with self.tokenising(request_id) as span:
                    await asyncio.to_thread(procedure.take, outcome.result)
                    tell_job(span, procedure.next_job())
            else:
                procedure.take(outcome.result)
        return outcome

    async def _scheduled(self, work: Awaitable[T], deadline: Deadline) -> T:
        try:
            return await work
        except OverloadedError as error:
            raise _overloaded(error) from None
        except ClosedError:
            raise draining() from None
        except DeadlineError:
            self.metrics.late.labels(deadline.set_by).inc()
            raise deadline.problem(self.scheduler.admission.retry_ms) from None
        except InvalidInputError as error:
            raise from_invalid_input(error) from None
        except DeviceMemoryError as error:
            raise Problem(413, "device_memory", str(error)) from None

    def note(self, request: Request, decision: Decision, outcome: JobOutcome, state: Text) -> None:
        """Add what is known about the answer to the request's log line."""
        fields = request.state.fields
        fields |= source_as_json(decision.source)
        fields |= {"states": 1, "questions": len(decision.answers)}
        fields["tokens"] = decision.usage.input_tokens
        fields["cached_tokens"] = decision.usage.cached_tokens
        fields["batch_size"] = outcome.batch
        fields["queue_ms"] = round((outcome.started - outcome.entered) * 1000, 2)
        fields["prefill_ms"] = round((outcome.finished - outcome.started) * 1000, 2)
        if self.settings.log_states:
            fields["state"] = state

    def _check_room(self, request: Request, decider: Decider) -> None:
        """Shed load before tokenising: an overloaded server must not work for refusals."""
        try:
            self.scheduler.admission.check(1, decider.engine, request.state.fields["caller"])
        except OverloadedError as error:
            raise _overloaded(error) from None

    async def begin_large(self, request: Request, size: int, begin: Callable[[], T]) -> T:
        """What ``begin`` tokenises: about ``size`` characters, after other large requests."""
        held: Holding = request.state.memory

        def begun() -> T:
            held.add(size * _TOKENISING_BYTES)
            try:
                return begin()
            finally:
                held.add(-size * _TOKENISING_BYTES)

        work = asyncio.get_running_loop().run_in_executor(self._reader, begun)
        return await unless_disconnected(request, work)

    async def _begin(
        self, decider: Decider, asked: ParsedRequest, options: DecideOptions, request: Request
    ) -> Procedure:
        given = ([asked.state], asked.questions, options)
        try:
            if request.state.large:
                size = min(request.state.size, MOST_CHARACTERS)
                [begun] = await self.begin_large(request, size, lambda: decider.begin_many(*given))
            else:
                [begun] = decider.begin_many(*given)
            if isinstance(begun, InvalidInputError):
                raise begun
            return begun
        except InvalidInputError as error:
            fault = fault_of(error)
            if fault.at[:1] == ("state",):
                fault = replace(fault, at=(*asked.state_at, *fault.at[1:]))
            raise invalid([fault]) from None

    def _count(
        self, decider: Decider, job: Job, outcome: JobOutcome, request_id: str | None
    ) -> None:
        cached = outcome.result.cached_tokens
        self.metrics.tokens.labels("computed").inc(job.rendered.tokens - cached)
        self.metrics.tokens.labels("cache").inc(cached)
        if not job.questions:
            return
        stages = self.metrics.stages
        stages.labels("tokenise").observe(job.seconds)
        stages.labels("queue").observe(outcome.started - outcome.entered)
        stages.labels("prefill").observe(outcome.finished - outcome.started)
        for question in job.questions.values():
            self.metrics.decisions.labels(question.kind).inc()
        spans = {
            "queue": (outcome.entered, outcome.started),
            "prefill": (outcome.started, outcome.finished),
        }
        facts = {"request_id": request_id, "states": 1, **facts_of(job)}
        facts |= {"cached_tokens": cached, "batch_size": outcome.batch}
        self.traces.stages(spans, facts | source_as_json(decider.source))

    def _count_batch(self, jobs: int, tokens: int) -> None:
        self.metrics.batch_size.observe(jobs)
        self.metrics.batch_tokens.observe(tokens)

    def _engine_statistics(self) -> EngineStatistics | None:
        loaded = self.checkpoints.loaded
        return None if loaded is None else loaded.main.engine.statistics


def _report_drift(metrics: Metrics, check: DriftCheck) -> None:
    metrics.drift_checks.labels(check.outcome).inc()
    if check.begins:
        failure = f"the decision log cannot be checked for drift: {check.failure}"
        log_line(failure, logging.WARNING, policy=check.policy)
    for test in check.alarms:
        log_line(
            str(test),
            logging.WARNING,
            policy=check.policy,
            question=test.question,
            test=test.test,
            e_value=test.e_value,
            bound=test.bound,
            decisions=test.rows,
        )


def note_untaught(request: Request, decider: Decider, questions: Mapping[str, Question]) -> None:
    """Name questions that a taught checkpoint keeps nothing for, in a header and the log."""
    names = [] if decider.heads is None else decider.heads.unknown(questions)
    if names:
        request.state.fields["untaught"] = untaught_header(names)


async def unless_disconnected(request: Request, work: Awaitable[T]) -> T:
    """The result of ``work``; a client that leaves cancels it with ClientDisconnectedError."""
    block = CancelScope()
    gone = asyncio.ensure_future(_disconnected(request))
    gone.add_done_callback(block.cancel)
    try:
        with block:
            return await work
    except ScopeCancelledError:
        raise ClientDisconnectedError from None
    finally:
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def facts_of(job: Job) -> dict[str, int]:
    """A job's size, for a span."""
    return {"questions": len(job.questions), "tokens": job.rendered.tokens}


def tell_job(span: Span, job: Job | None) -> None:
    """Record a job's size in a span, if there is one."""
    span.tell({} if job is None else facts_of(job))


def _overloaded(error: OverloadedError) -> Problem:
    return Problem(503, "overloaded", str(error), retry_ms=error.retry_ms)


def draining() -> Problem:
    """503 for requests that arrive while the server is draining."""
    headers = {"connection": "close"}
    return Problem(503, "draining", "the server is shutting down", retry_ms=1000, headers=headers)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid_at((), f"must be a JSON object, not {_json_type(value)}")
    return value


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    names = {list: "an array", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "something else")
