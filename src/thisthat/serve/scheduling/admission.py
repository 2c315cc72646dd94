"""How much may be accepted and unanswered: limited in tokens and in time.

Tokens say what waits, the engine's pace says for how long. A server slowed down by others therefore
accepts less, and still answers in time what it accepts. Whoever runs jobs reports how long they
took.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

MAX_WAIT_FACTOR = 1.25
"""Accepted requests may wait this many times as long as a full queue takes on an idle machine.

The aim is less than twice; the rest is for a machine that slows down further while they wait.
"""

_LEAST_SECONDS = 1.0
"""A shorter wait is never a reason to refuse: engines that batch are faster than they look."""

_HALF_TOKENS = 512
_BETTER_TOKENS = 4_096
_WORSE_SECONDS = 600.0
_LEAST_RETRY_MS = 50
_MOST_RETRY_MS = 30_000


class OverloadedError(Exception):
    """The queue is full; ``retry_ms`` is when there should be room."""

    def __init__(self, retry_ms: int) -> None:
        super().__init__(f"the queue is full; retry in {retry_ms} ms")
        self.retry_ms = retry_ms


@dataclass(slots=True)
class Pace:
    """Seconds per token: recently (``now``), and when nothing slows the engine (``idle``).

    Both are 0 until the first job. ``idle`` follows a faster pace within some thousand tokens and a
    slower one over ten minutes of work, so that overload does not become the new normal.
    """

    now: float = 0.0
    idle: float = 0.0
    _seconds: float = 0.0
    _tokens: float = 0.0

    def learn(self, seconds: float, tokens: int) -> None:
        """Count a job and its duration; older ones fade with every token."""
        fade = 0.5 ** (tokens / _HALF_TOKENS)
        self._seconds = self._seconds * fade + seconds
        self._tokens = self._tokens * fade + tokens
        self.now = self._seconds / max(self._tokens, 1.0)
        if not self.idle:
            self.idle = self.now
        better = self.now < self.idle
        share = tokens / _BETTER_TOKENS if better else seconds / _WORSE_SECONDS
        self.idle += (self.now - self.idle) * min(1.0, share)


class Admission:
    """Counts what is accepted and unanswered, and refuses what would wait too long.

    Clients take turns, so one that asks for no more than its share of a full queue is accepted,
    whatever the others have in it.
    """

    def __init__(self, queue_tokens: int, bulk_tokens: int, pace: Pace | None = None) -> None:
        """``bulk_tokens`` is the most that streams of many states take of a batch."""
        self.pace = pace or Pace()
        self._queue_tokens = queue_tokens
        self._bulk_tokens = bulk_tokens
        self._single = 0
        self._bulk = 0
        self._by_client: Counter[object] = Counter()

    @property
    def unanswered_tokens(self) -> int:
        """Tokens of single requests accepted and not yet answered."""
        return self._single

    @property
    def expected_seconds(self) -> float:
        """How long a request arriving now would wait."""
        return self._ahead() * self.pace.now

    @property
    def retry_ms(self) -> int:
        """Milliseconds until there should be room again: never zero, never very long."""
        return round(min(max(self.expected_seconds * 1000, _LEAST_RETRY_MS), _MOST_RETRY_MS))

    def check(self, tokens: int, client: object = None) -> None:
        """Raise OverloadedError when so many more tokens do not fit or would wait too long.

        A request that is alone is always accepted, however large.
        """
        if not self._single:
            return
        longest = max(MAX_WAIT_FACTOR * self._queue_tokens * self.pace.idle, _LEAST_SECONDS)
        room = float(self._queue_tokens)
        if self.pace.now:
            room = min(room, longest / self.pace.now - self._streamed())
        clients = len(self._by_client.keys() | {client})
        own = self._by_client[client] + tokens
        if self._single + tokens > room and own * clients > room:
            raise OverloadedError(self.retry_ms)

    def enter(self, tokens: int, bulk: bool, client: object = None) -> None:
        """Count an accepted job; streams (``bulk``) are never refused here."""
        if bulk:
            self._bulk += tokens
        else:
            self.check(tokens, client)
            self._single += tokens
            self._by_client[client] += tokens

    def leave(self, tokens: int, bulk: bool, client: object = None) -> None:
        """Count a job that was answered, failed or was abandoned."""
        if bulk:
            self._bulk -= tokens
        else:
            self._single -= tokens
            self._by_client[client] -= tokens
            if not self._by_client[client]:
                del self._by_client[client]

    def _ahead(self) -> int:
        return self._single + self._streamed()

    def _streamed(self) -> int:
        return min(self._bulk, self._bulk_tokens)
