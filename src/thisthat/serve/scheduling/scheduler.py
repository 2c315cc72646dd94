"""Which jobs run together, and when: one thread in front of one engine.

Every round takes a new batch, so a request joins as soon as the batch before it is done. Single
requests go first, up to a budget of tokens; streams of many states share the rest of a batch, in
turn, up to a smaller budget, so that none of them delays a single request by more than one batch.
If the engine runs rows separately, a batch has one job of a stream: more would only delay the
others. The accepted but unanswered work is bounded, so that nobody waits long for a refusal.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from thisthat.decide.job import Job, JobResult
from thisthat.decide.run import run_jobs
from thisthat.engine.protocol import Engine
from thisthat.serve.scheduling.admission import Admission


class DeadlineError(Exception):
    """The job had not begun by its deadline."""


class ClosedError(Exception):
    """The scheduler accepts no more jobs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job's result and when it was queued, started and finished (monotonic seconds).

    ``batch`` is how many jobs ran together.
    """

    result: JobResult
    entered: float
    started: float
    finished: float
    batch: int


@dataclass(eq=False, slots=True)
class _Ticket:
    engine: Engine
    job: Job
    future: asyncio.Future[Outcome]
    loop: asyncio.AbstractEventLoop
    deadline: float
    entered: float
    stream: object | None
    stage: Literal["waits", "begun", "given up"] = "waits"

    @property
    def tokens(self) -> int:
        return self.job.fresh_tokens

    @property
    def apart(self) -> bool:
        """Whether it takes as long among others as alone."""
        return self.engine.capabilities.rows_apart


@dataclass(slots=True)
class _Waiting:
    """Waiting jobs: single ones in order of arrival, and a queue per stream."""

    singles: OrderedDict[_Ticket, None] = field(default_factory=OrderedDict)
    streams: OrderedDict[object, deque[_Ticket]] = field(default_factory=OrderedDict)
    single_tokens: int = 0

    def __bool__(self) -> bool:
        return bool(self.singles or self.streams)

    def add(self, ticket: _Ticket) -> None:
        if ticket.stream is None:
            self.singles[ticket] = None
            self.single_tokens += ticket.tokens
        else:
            self.streams.setdefault(ticket.stream, deque()).append(ticket)

    def remove(self, ticket: _Ticket) -> None:
        """Remove the ticket, if it is still queued."""
        if ticket.stream is None:
            if ticket in self.singles:
                del self.singles[ticket]
                self.single_tokens -= ticket.tokens
            return
        queue = self.streams.get(ticket.stream, deque())
        if ticket not in queue:
            return
        queue.remove(ticket)
        if not queue:
            del self.streams[ticket.stream]

    def take(self, batch_tokens: int, bulk_tokens: int) -> list[_Ticket]:
        """The next batch, at least one job: single ones in order of arrival, then streams.

        Not by length: late, short requests would overtake, batch after batch.
        """
        batch: list[_Ticket] = []
        tokens = 0
        while self.singles:
            ticket = next(iter(self.singles))
            if batch and tokens + ticket.tokens > batch_tokens:
                break
            self.remove(ticket)
            batch.append(ticket)
            tokens += ticket.tokens
        bulk = 0
        while self.streams:
            stream = next(iter(self.streams))
            ticket = self.streams[stream][0]
            if bulk and (ticket.apart or tokens + ticket.tokens > bulk_tokens):
                break
            self.remove(ticket)
            if stream in self.streams:
                self.streams.move_to_end(stream)
            batch.append(ticket)
            tokens += ticket.tokens
            bulk += 1
        return batch


class Scheduler:
    """Runs jobs in batches. ``start`` it in the event loop that submits; ``close`` ends it."""

    def __init__(
        self,
        *,
        batch_tokens: int,
        bulk_tokens: int,
        queue_tokens: int,
        on_batch: Callable[[int, int], None] = lambda jobs, tokens: None,
    ) -> None:
        """``on_batch`` gets the jobs and tokens of every batch, in the engine's thread.

        ``admission`` says how much is unanswered, and how long a further request would wait.
        """
        self._batch_tokens = batch_tokens
        self._bulk_tokens = min(bulk_tokens, batch_tokens)
        self.admission = Admission(queue_tokens, self._bulk_tokens)
        self._on_batch = on_batch
        self._waiting = _Waiting()
        self._lock = threading.Lock()
        # Released when there is work; a condition would take far more steps.
        self._bell = threading.Lock()
        self._closing = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the engine's thread, even after ``close``."""
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="thisthat-engine", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish queued jobs, then stop. Blocks until the thread has ended."""
        with self._lock:
            self._closing = True
            self._ring()
        if self._thread is not None:
            self._thread.join()

    @property
    def waiting_tokens(self) -> int:
        """Tokens of single requests waiting for a batch."""
        return self._waiting.single_tokens

    async def submit(
        self, engine: Engine, job: Job, deadline: float, stream: object | None = None
    ) -> Outcome:
        """Run a job and return its result; cancelling the call abandons a job not yet begun.

        ``deadline`` is in monotonic seconds; a job that has begun by then is finished. Jobs of one
        ``stream`` stay in order. Raises OverloadedError when it would wait too long, DeadlineError
        when the deadline comes first, ClosedError when the scheduler is closing, and whatever the
        engine raises.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()
        ticket = _Ticket(engine, job, future, loop, deadline, time.monotonic(), stream)
        with self._lock:
            if self._closing:
                raise ClosedError
            self.admission.enter(ticket.tokens, stream is not None)
            self._waiting.add(ticket)
            self._ring()
        alarm = loop.call_later(max(0.0, deadline - ticket.entered), self._expire, ticket)
        try:
            return await future
        finally:
            alarm.cancel()
            if future.cancelled():
                self._give_up(ticket)

    def _give_up(self, ticket: _Ticket) -> bool:
        """Give up a job not yet begun; False if it has begun or is already given up."""
        with self._lock:
            if ticket.stage != "waits":
                return False
            ticket.stage = "given up"
            self._waiting.remove(ticket)
            self._finish(ticket)
            return True

    def _finish(self, ticket: _Ticket) -> None:
        self.admission.leave(ticket.tokens, ticket.stream is not None)

    def _expire(self, ticket: _Ticket) -> None:
        if self._give_up(ticket):
            _deliver(ticket.future, DeadlineError())

    def _begins(self, ticket: _Ticket) -> bool:
        """Whether to run a job whose turn has come: it may have been abandoned within its batch."""
        if time.monotonic() >= ticket.deadline and self._give_up(ticket):
            self._tell(ticket, DeadlineError())
        with self._lock:
            if ticket.stage == "waits":
                ticket.stage = "begun"
            return ticket.stage == "begun"

    def _work(self) -> None:
        while batch := self._next_batch():
            tokens = sum(ticket.tokens for ticket in batch)
            engines = {id(ticket.engine): ticket.engine for ticket in batch}
            for engine in engines.values():
                together = [ticket for ticket in batch if ticket.engine is engine]
                apart = together[0].apart
                for group in [[each] for each in together] if apart else [together]:
                    self._run(engine, group, len(batch))
            self._on_batch(len(batch), tokens)

    def _next_batch(self) -> list[_Ticket]:
        """Wait for work; empty when the scheduler is closed and done."""
        while True:
            with self._lock:
                if self._waiting:
                    return self._waiting.take(self._batch_tokens, self._bulk_tokens)
                if self._closing:
                    return []
            self._bell.acquire()

    def _ring(self) -> None:
        """Wake the engine's thread; the caller holds the lock."""
        if self._bell.locked():
            self._bell.release()

    def _run(self, engine: Engine, tickets: Sequence[_Ticket], batch: int) -> None:
        tickets = [ticket for ticket in tickets if self._begins(ticket)]
        if not tickets:
            return
        started = time.monotonic()
        left = dict(enumerate(tickets))
        try:
            for number, result in run_jobs(engine, [ticket.job for ticket in tickets]):
                finished = time.monotonic()
                ticket = left.pop(number)
                self.admission.pace.learn(finished - started, ticket.tokens)
                self._settle(ticket, Outcome(result, ticket.entered, started, finished, batch))
                started = finished
        # Everything: engines raise their runtime's own types, the thread must survive, and one
        # job that cannot be run must not take the others down with it.
        except Exception as error:
            if len(tickets) == 1:
                self._settle(tickets[0], error)
            else:
                for ticket in left.values():
                    self._run(engine, [ticket], batch)

    def _settle(self, ticket: _Ticket, result: Outcome | Exception) -> None:
        with self._lock:
            self._finish(ticket)
        self._tell(ticket, result)

    def _tell(self, ticket: _Ticket, result: Outcome | Exception) -> None:
        # The loop is gone if the server had to stop at once; then nobody waits either.
        if not ticket.loop.is_closed():
            ticket.loop.call_soon_threadsafe(_deliver, ticket.future, result)


def _deliver(future: asyncio.Future[Outcome], result: Outcome | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
