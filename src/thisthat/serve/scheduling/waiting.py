"""Jobs that wait for the engine, and which of them go next."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Literal

from thisthat.decide.job import Job, JobResult
from thisthat.engine.protocol import Engine


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """A job's result and when it was queued, started and finished (monotonic seconds).

    ``batch`` is how many jobs ran together.
    """

    result: JobResult
    entered: float
    started: float
    finished: float
    batch: int


@dataclass(eq=False, slots=True)
class Ticket:
    """A job that waits; ``long`` ones run pass by pass."""

    engine: Engine
    job: Job
    future: asyncio.Future[JobOutcome]
    loop: asyncio.AbstractEventLoop
    deadline: float
    entered: float
    stream: object | None
    long: bool
    stage: Literal["waits", "begun", "given up"] = "waits"

    @property
    def tokens(self) -> int:
        """Tokens to compute."""
        return self.job.fresh_tokens

    @property
    def apart(self) -> bool:
        """Whether it takes as long among others as alone."""
        return self.engine.capabilities.rows_apart


@dataclass(slots=True)
class Waiting:
    """Waiting jobs: single ones in order of arrival, and a queue per stream."""

    singles: OrderedDict[Ticket, None] = field(default_factory=OrderedDict)
    streams: OrderedDict[object, deque[Ticket]] = field(default_factory=OrderedDict)
    single_tokens: int = 0

    def __bool__(self) -> bool:
        return bool(self.singles or self.streams)

    def add(self, ticket: Ticket) -> None:
        """Queue the ticket."""
        if ticket.stream is None:
            self.singles[ticket] = None
            self.single_tokens += ticket.tokens
        else:
            self.streams.setdefault(ticket.stream, deque()).append(ticket)

    def remove(self, ticket: Ticket) -> None:
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

    def take(self, batch_tokens: int, bulk_tokens: int) -> list[Ticket]:
        """The next batch, at least one job: single ones in order of arrival, then streams.

        Not by length: late, short requests would overtake, batch after batch.
        """
        batch: list[Ticket] = []
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
