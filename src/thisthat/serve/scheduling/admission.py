"""How much may be accepted and unanswered: limited in tokens and in time.

Tokens say what waits, the pace of their engine says for how long. A server slowed down by others
therefore accepts less, and still answers in time what it accepts. Whoever runs jobs reports how
long they took.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from weakref import WeakKeyDictionary

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


class Paces:
    """The pace of every engine, for as long as somebody holds it."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[object, Pace] = WeakKeyDictionary()

    def of(self, engine: object) -> Pace:
        """What was learned of an engine."""
        return self._known.get(engine) or self._known.setdefault(engine, Pace())

    def seconds(self, tokens: Counter[object]) -> float:
        """How long the engines take for so many tokens of each."""
        return sum(self.of(engine).now * count for engine, count in dict(tokens).items())

    def idle_seconds(self, tokens: Counter[object]) -> float:
        """``seconds`` when nothing slows the engines."""
        return sum(self.of(engine).idle * count for engine, count in dict(tokens).items())


class Admission:
    """Counts what is accepted and unanswered, and refuses what would wait too long.

    Clients take turns, so one that asks for no more than its share of a full queue is accepted,
    whatever the others have in it.
    """

    def __init__(self, queue_tokens: int, bulk_tokens: int, paces: Paces | None = None) -> None:
        """``bulk_tokens`` is the most that streams of many states take of a batch."""
        self.paces = paces or Paces()
        self._queue_tokens = queue_tokens
        self._bulk_tokens = bulk_tokens
        self._single: Counter[object] = Counter()
        self._bulk: Counter[object] = Counter()
        self._by_client: Counter[object] = Counter()

    @property
    def unanswered_tokens(self) -> int:
        """Tokens of single requests accepted and not yet answered."""
        return self._single.total()

    @property
    def expected_seconds(self) -> float:
        """How long a request arriving now would wait."""
        return self.paces.seconds(self._single) + self._streamed_seconds()

    @property
    def retry_ms(self) -> int:
        """Milliseconds until there should be room again: never zero, never very long."""
        return round(min(max(self.expected_seconds * 1000, _LEAST_RETRY_MS), _MOST_RETRY_MS))

    def check(self, tokens: int, engine: object, client: object = None) -> None:
        """Raise OverloadedError when so many more tokens do not fit or would wait too long.

        A request that is alone is always accepted, however large.
        """
        if not self.unanswered_tokens:
            return
        together = Counter(dict(self._single))
        together[engine] += tokens
        total = together.total()
        now, idle = self.paces.seconds(together) / total, self.paces.idle_seconds(together) / total
        longest = max(MAX_WAIT_FACTOR * self._queue_tokens * idle, _LEAST_SECONDS)
        room = float(self._queue_tokens)
        if now:
            room = min(room, (longest - self._streamed_seconds()) / now)
        clients = len(self._by_client.keys() | {client})
        own = self._by_client[client] + tokens
        if total > room and own * clients > room:
            raise OverloadedError(self.retry_ms)

    def enter(self, tokens: int, bulk: bool, engine: object, client: object = None) -> None:
        """Count an accepted job; streams (``bulk``) are never refused here."""
        if bulk:
            self._bulk[engine] += tokens
        else:
            self.check(tokens, engine, client)
            self._single[engine] += tokens
            self._by_client[client] += tokens

    def leave(self, tokens: int, bulk: bool, engine: object, client: object = None) -> None:
        """Count a job that was answered, failed or was abandoned."""
        if bulk:
            _take(self._bulk, engine, tokens)
        else:
            _take(self._single, engine, tokens)
            _take(self._by_client, client, tokens)

    def _streamed_seconds(self) -> float:
        """How long streams hold up a request: for their share of a batch."""
        waiting = self._bulk.total()
        share = min(1.0, self._bulk_tokens / waiting) if waiting else 0.0
        return share * self.paces.seconds(self._bulk)


def _take(counts: Counter[object], key: object, tokens: int) -> None:
    counts[key] -= tokens
    if not counts[key]:
        del counts[key]
