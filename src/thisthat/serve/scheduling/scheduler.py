"""Which jobs run together, and when: one thread in front of one engine.

Every round takes a new batch, so a request joins as soon as the batch before it is done. Clients
take turns, so that what one of them sends waits in front of no other's. Single requests go first,
up to a budget of tokens; streams of many states share the rest of a batch, in turn, up to a smaller
budget, so that none of them delays a single request by more than one batch.

Where the engine can pause, jobs wait in lanes by length, and a job stops again and again for
shorter ones: a short request waits for a part of a long one. While they keep coming, it still gets
its share of the time. It ends where its caller has left. The accepted but unanswered work is
bounded, so that nobody waits long for a refusal.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from thisthat.decide.job import Job
from thisthat.decide.run import run_jobs
from thisthat.engine.protocol import Engine
from thisthat.serve.scheduling.admission import Admission
from thisthat.serve.scheduling.waiting import JobOutcome, Ticket, Waiting

__all__ = ["ClosedError", "DeadlineError", "JobOutcome", "Scheduler"]

_LONG_PREFIX = 4
"""A prefix counts a quarter for a job's length: it is mostly kept already."""

_LANES = (4, 1)
"""Jobs of up to a quarter of ``bulk_tokens`` have a lane, those of up to all, and longer ones.

The first do not pause: beside busy Python threads every stop may cost some milliseconds.
"""

_OTHERS_SHARE = 3.0
_OTHERS_AHEAD = 0.5
"""A job that pauses lets others have three times its own seconds, and so many in advance."""


class DeadlineError(Exception):
    """The job had not begun by its deadline."""


class _LeftError(Exception):
    """Nobody waits for the job any more."""


class ClosedError(Exception):
    """The scheduler accepts no more jobs."""


@dataclass(slots=True)
class _Turn:
    """A job that is computed with pauses, and the seconds that others have had in them."""

    ticket: Ticket
    started: float
    others: float = 0.0

    def own(self, now: float) -> float:
        """Seconds that it has been computed itself."""
        return now - self.started - self.others


class Scheduler:
    """Runs jobs in batches. ``start`` it in the event loop that submits; ``close`` ends it."""

    def __init__(
        self,
        *,
        batch_tokens: int,
        bulk_tokens: int,
        queue_tokens: int,
        on_batch: Callable[[int, int], None] = lambda jobs, tokens: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``on_batch`` gets the jobs and tokens of every batch, in the engine's thread.

        ``admission`` says how much is unanswered, and how long a further request would wait.
        """
        self._batch_tokens = batch_tokens
        self._bulk_tokens = min(bulk_tokens, batch_tokens)
        self.admission = Admission(queue_tokens, self._bulk_tokens)
        self._long_admission = Admission(queue_tokens, 0, self.admission.paces)
        self._on_batch = on_batch
        self._clock = clock
        self._lanes = [Waiting() for _ in range(len(_LANES) + 1)]
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
        """Tokens of single requests waiting for a batch; of long ones too."""
        with self._lock:
            return sum(lane.single_tokens for lane in self._lanes)

    async def submit(
        self,
        engine: Engine,
        job: Job,
        deadline: float,
        stream: object | None = None,
        client: object = None,
    ) -> JobOutcome:
        """Run a job and return its result; cancelling the call abandons a job not yet begun.

        ``deadline`` is in monotonic seconds; a job that has begun by then is finished. Jobs of one
        ``stream`` stay in order; clients take turns. Raises OverloadedError when it would wait too
        long, DeadlineError when the deadline comes first, ClosedError when the scheduler is
        closing, and whatever the engine raises.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[JobOutcome] = loop.create_future()
        lane = self._lane(job) if engine.capabilities.pauses else 0
        now = time.monotonic()
        ticket = Ticket(engine, job, future, loop, deadline, now, client, stream, lane)
        with self._lock:
            if self._closing:
                raise ClosedError
            self._enter(ticket)
            self._lanes[lane].add(ticket)
            self._ring()
        alarm = loop.call_later(max(0.0, deadline - ticket.entered), self._expire, ticket)
        try:
            return await future
        finally:
            alarm.cancel()
            if future.cancelled():
                self._give_up(ticket)

    def _give_up(self, ticket: Ticket) -> bool:
        """Give up a job not yet begun; False if it has begun or is already given up."""
        with self._lock:
            if ticket.stage != "waits":
                return False
            ticket.stage = "given up"
            self._lanes[ticket.lane].remove(ticket)
            self._finish(ticket)
            return True

    def _lane(self, job: Job) -> int:
        length = max(job.fresh_tokens, job.rendered.tokens / _LONG_PREFIX)
        return sum(length * part > self._bulk_tokens for part in _LANES)

    def _enter(self, ticket: Ticket) -> None:
        """Count an accepted job; a long one delays others no more than a stream does."""
        bulk, long = ticket.stream is not None, ticket.lane == len(_LANES)
        if long:
            self._long_admission.enter(ticket.tokens, bulk, ticket.engine, ticket.client)
        self.admission.enter(ticket.tokens, bulk or long, ticket.engine, ticket.client)

    def _finish(self, ticket: Ticket) -> None:
        bulk, long = ticket.stream is not None, ticket.lane == len(_LANES)
        if long:
            self._long_admission.leave(ticket.tokens, bulk, ticket.engine, ticket.client)
        self.admission.leave(ticket.tokens, bulk or long, ticket.engine, ticket.client)

    def _expire(self, ticket: Ticket) -> None:
        if self._give_up(ticket):
            _deliver(ticket.future, DeadlineError())

    def _begins(self, ticket: Ticket) -> bool:
        """Whether to run a job whose turn has come: it may have been abandoned within its batch."""
        if time.monotonic() >= ticket.deadline and self._give_up(ticket):
            self._tell(ticket, DeadlineError())
        with self._lock:
            if ticket.stage == "waits":
                ticket.stage = "begun"
            return ticket.stage == "begun"

    def _work(self) -> None:
        while batch := self._next_batch():
            self._run_batch(batch)

    def _run_batch(self, batch: Sequence[Ticket]) -> None:
        tokens = sum(ticket.tokens for ticket in batch)
        engines = {id(ticket.engine): ticket.engine for ticket in batch}
        for engine in engines.values():
            together = [ticket for ticket in batch if ticket.engine is engine]
            apart = together[0].apart
            for group in [[each] for each in together] if apart else [together]:
                self._run(engine, group, len(batch))
        self._on_batch(len(batch), tokens)

    def _next_batch(self) -> list[Ticket]:
        """Wait for work; empty when the scheduler is closed and done."""
        while True:
            with self._lock:
                batch = self._take(len(self._lanes), self._batch_tokens)
                if batch or self._closing:
                    return batch
            self._bell.acquire()

    def _take(self, lanes: int, batch_tokens: int) -> list[Ticket]:
        """A batch of the first so many lanes, if anything waits there; the caller holds the lock.

        Longer jobs are taken first, because shorter ones go first in their pauses.
        """
        for number in reversed(range(lanes)):
            if self._lanes[number]:
                most = (1, 1) if number else (batch_tokens, self._bulk_tokens)
                return self._lanes[number].take(*most)
        return []

    def _pause(self, turn: _Turn) -> None:
        """Before a part of a job: a small batch of shorter ones. Raises if nobody waits for it."""
        if turn.ticket.future.cancelled():
            raise _LeftError
        now = self._clock()
        if turn.others > _OTHERS_SHARE * turn.own(now) + _OTHERS_AHEAD:
            return
        with self._lock:
            shorter = self._take(turn.ticket.lane, self._bulk_tokens)
        if shorter:
            self._run_batch(shorter)
            turn.others += self._clock() - now

    def _ring(self) -> None:
        """Wake the engine's thread; the caller holds the lock."""
        if self._bell.locked():
            self._bell.release()

    def _run(self, engine: Engine, tickets: Sequence[Ticket], batch: int) -> None:
        tickets = [ticket for ticket in tickets if self._begins(ticket)]
        if not tickets:
            return
        started = time.monotonic()
        left, pace = dict(enumerate(tickets)), self.admission.paces.of(engine)
        turn = _Turn(tickets[0], self._clock())
        pause = partial(self._pause, turn) if tickets[0].lane else None
        try:
            jobs = [ticket.job for ticket in tickets]
            for number, result in run_jobs(engine, jobs, before_pass=pause):
                finished = time.monotonic()
                ticket = left.pop(number)
                pace.learn(finished - started - turn.others, ticket.tokens)
                self._settle(ticket, JobOutcome(result, ticket.entered, started, finished, batch))
                started = finished
        # Everything: engines raise their runtime's own types, the thread must survive, and one
        # job that cannot be run must not take the others down with it.
        except Exception as error:
            if len(tickets) == 1:
                self._settle(tickets[0], error)
            else:
                for ticket in left.values():
                    self._run(engine, [ticket], batch)

    def _settle(self, ticket: Ticket, result: JobOutcome | Exception) -> None:
        with self._lock:
            self._finish(ticket)
        self._tell(ticket, result)

    def _tell(self, ticket: Ticket, result: JobOutcome | Exception) -> None:
        # The loop is gone if the server had to stop at once; then nobody waits either.
        if not ticket.loop.is_closed():
            ticket.loop.call_soon_threadsafe(_deliver, ticket.future, result)


def _deliver(future: asyncio.Future[JobOutcome], result: JobOutcome | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
