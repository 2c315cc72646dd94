"""Jobs that wait for the engine, and which of them go next."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
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
    """A job that waits, and whose it is; those of higher ``lane`` are longer."""

    engine: Engine
    job: Job
    future: asyncio.Future[JobOutcome]
    loop: asyncio.AbstractEventLoop
    deadline: float
    entered: float
    client: object
    stream: object | None
    lane: int
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
class Turns:
    """Clients take turns, and so do the streams of a client; each stream keeps its order."""

    _queues: OrderedDict[object, OrderedDict[object, OrderedDict[Ticket, None]]] = field(
        default_factory=OrderedDict
    )

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __iter__(self) -> Iterator[Ticket]:
        for streams in self._queues.values():
            for queue in streams.values():
                yield from queue

    def add(self, ticket: Ticket) -> None:
        """Queue the ticket."""
        streams = self._queues.setdefault(ticket.client, OrderedDict())
        streams.setdefault(ticket.stream, OrderedDict())[ticket] = None

    def remove(self, ticket: Ticket) -> None:
        """Remove the ticket, if it is still queued."""
        streams = self._queues.get(ticket.client, OrderedDict())
        queue = streams.get(ticket.stream, OrderedDict())
        queue.pop(ticket, None)
        if not queue:
            streams.pop(ticket.stream, None)
        if not streams:
            self._queues.pop(ticket.client, None)

    @property
    def next(self) -> Ticket:
        """Whose turn it is."""
        return next(iter(self))

    def take(self) -> Ticket:
        """Remove the next ticket; its client and its stream have had their turn."""
        ticket = self.next
        self.remove(ticket)
        if ticket.client in self._queues:
            self._queues.move_to_end(ticket.client)
            if ticket.stream in self._queues[ticket.client]:
                self._queues[ticket.client].move_to_end(ticket.stream)
        return ticket


@dataclass(slots=True)
class Waiting:
    """Waiting jobs: single ones, and those of streams of many states."""

    singles: Turns = field(default_factory=Turns)
    streams: Turns = field(default_factory=Turns)
    _since_stream: int = 0

    def __bool__(self) -> bool:
        return bool(self.singles or self.streams)

    @property
    def single_tokens(self) -> int:
        """Tokens of single jobs."""
        return sum(ticket.tokens for ticket in self.singles)

    def add(self, ticket: Ticket) -> None:
        """Queue the ticket."""
        (self.singles if ticket.stream is None else self.streams).add(ticket)

    def remove(self, ticket: Ticket) -> None:
        """Remove the ticket, if it is still queued."""
        (self.singles if ticket.stream is None else self.streams).remove(ticket)

    def take(self, batch_tokens: int, bulk_tokens: int) -> list[Ticket]:
        """The next batch, at least one job if any waits: single ones, then streams.

        Clients take turns; what one of them sends is in order of arrival. Where jobs are no faster
        together, a batch has one of each client, so that whoever comes next waits for no more; one
        of a stream goes along after every ``bulk_tokens`` of single ones.
        """
        batch: list[Ticket] = []
        tokens = 0
        while self.singles:
            ticket = self.singles.next
            full = tokens + ticket.tokens > batch_tokens
            again = ticket.apart and any(each.client == ticket.client for each in batch)
            if batch and (full or again):
                break
            batch.append(self.singles.take())
            tokens += ticket.tokens
        self._since_stream += tokens
        bulk = 0
        while self.streams:
            ticket = self.streams.next
            early = ticket.apart and self._since_stream < bulk_tokens
            if (batch and early) or (bulk and tokens + ticket.tokens > bulk_tokens):
                break
            self._since_stream = 0
            batch.append(self.streams.take())
            tokens += ticket.tokens
            bulk += 1
        return batch
