"""The decision log: lines are queued in microseconds and written by a background thread.

A log that cannot be written never stops or slows a decision. Lines wait while the database is
locked; lines that do not fit the queue, and lines that the database refuses, are dropped and
counted; every failure is counted and reported. With ``wait=True`` a decision returns only when its
lines are on disk (or have failed); with ``required=True`` one whose lines are not raises.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from thisthat.audit.entry import Entry, entries_of
from thisthat.audit.places import check_folder
from thisthat.audit.protocol import LogError, Store
from thisthat.audit.store import open_store
from thisthat.errors import InvalidInputError
from thisthat.questions import Decision, Question, Text

MOST_WAITING = 10_000
_BATCH = 1_000
_RETRY_SECONDS = 0.2
_CLOSE_SECONDS = 10.0
_APART_SECONDS = 0.02
"""Writes begin at least so far apart: a sync costs the same for one line as for hundreds.

A crash loses what was acknowledged since: the write under way and the next one. A busy machine,
whose writes take longer than this, does not wait between them.
"""

_logger = logging.getLogger("thisthat.audit")


@dataclass(frozen=True, slots=True)
class LogHealth:
    """How the log is doing: lines written, waiting and lost; failed writes and the last reason."""

    written: int
    waiting: int
    dropped: int
    failures: int
    last_failure: str | None


@dataclass(slots=True)
class _Ticket:
    """How many lines of one decision are still queued, and how many were dropped."""

    queued: int
    dropped: int = 0


class DecisionLog:
    """An append-only log of decisions in a SQLite file or at an SQLAlchemy URL.

    Give it to a decider (``decider.log = DecisionLog("decisions.sqlite")``). ``keep_states``
    writes states beside their hashes; ``wait`` makes every decision durable before it returns;
    ``required`` also raises LogError for a decision that is not durable within 10 seconds; at most
    ``most_waiting`` lines wait for a database that cannot be written. Close it after the last
    decision: those after that are dropped, and a warning says so once. Raises InvalidInputError
    for a file whose folder is not there.
    """

    def __init__(
        self,
        place: str | Path | Store,
        *,
        keep_states: bool = False,
        wait: bool = False,
        required: bool = False,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        if most_waiting < 1:
            raise InvalidInputError("most_waiting", f"is {most_waiting}; at least 1 is needed")
        if isinstance(place, (str, Path)):
            check_folder(place)
            place = open_store(place)
        self.store = place
        self.required = required
        self._keep_states = keep_states
        self._wait = wait or required
        self._most_waiting = most_waiting
        self._waiting: deque[tuple[Entry, _Ticket]] = deque()
        self._changed = threading.Condition()
        self._written = self._dropped = self._failures = 0
        self._left = 0  # lines no longer queued, written or not
        self._last_failure: str | None = None
        self._failing = self._closing = self._told_closed = False
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def health(self) -> LogHealth:
        """Counts of what was written, waits, was dropped and failed."""
        with self._changed:
            return LogHealth(
                self._written,
                len(self._waiting),
                self._dropped,
                self._failures,
                self._last_failure,
            )

    def begin(self) -> None:
        """Begin the log before its first line, which would take longer than others.

        A failure is counted and reported; the first line tries again.
        """
        try:
            self.store.append([])
        except Exception as error:  # drivers raise their own types; a log never stops a program
            with self._changed:
                self._failures += 1
                self._failing = True
                self._last_failure = str(error)
            _logger.warning("decision log: %s; decisions continue", error)

    def record(
        self,
        state: Text,
        questions: Mapping[str, Question],
        decision: Decision,
        request_id: str | None = None,
    ) -> None:
        """Queue one decision.

        Raises LogError when its lines are ``required`` and not on disk, and nothing otherwise.
        """
        entries = entries_of(time.time(), state, questions, decision, request_id, self._keep_states)
        ticket = _Ticket(len(entries))
        with self._changed:
            room = self._most_waiting - len(self._waiting)
            if self._closing or len(entries) > room:
                self._dropped += len(entries)
                if self.required:
                    raise LogError(self._last_failure or "the log is closed")
                self._tell_closed()
                return
            self._waiting.extend((entry, ticket) for entry in entries)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._write_on, name="decision-log", daemon=True
                )
                self._thread.start()
                atexit.register(self.close)
            self._changed.notify_all()
            if self.required:
                self._changed.wait_for(lambda: ticket.dropped or not ticket.queued, _CLOSE_SECONDS)
                if ticket.queued or ticket.dropped:
                    raise LogError(self._last_failure or "writing takes too long")
        if self._wait and not self.required:
            self.flush()

    def _tell_closed(self) -> None:
        """Say once that decisions go on without a log that was closed."""
        if self._closing and not self._told_closed:
            self._told_closed = True
            _logger.warning(
                "decision log: it was closed, so later decisions are not recorded; "
                "keep it open as long as its decider is used"
            )

    def flush(self, seconds: float = _CLOSE_SECONDS) -> bool:
        """Wait until the lines queued so far are on disk (True) or a write has failed (False).

        Lines queued in the meantime are not waited for.
        """
        until = time.monotonic() + seconds
        with self._changed:
            failures = self._failures
            goal = self._left + len(self._waiting)
            while self._left < goal and self._failures == failures:
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            return self._left >= goal

    def close(self) -> None:
        """Write what is queued and close the database; lines that cannot be written are dropped.

        A log still open when the program ends is closed then.
        """
        atexit.unregister(self.close)
        with self._changed:
            self._closing = True
            self._ends.set()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)
        with self._changed:
            self._dropped += len(self._waiting)
            self._left += len(self._waiting)
            for _, ticket in self._waiting:
                ticket.dropped += 1
            self._waiting.clear()
            self._changed.notify_all()
        self.store.close()

    def __enter__(self) -> DecisionLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_on(self) -> None:
        began = -_APART_SECONDS
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
            left = 0.0 if self._wait else began + _APART_SECONDS - time.monotonic()
            if left > 0:
                # Not by the condition: every line would wake this thread.
                self._ends.wait(left)
            began = time.monotonic()
            with self._changed:
                batch = [self._waiting[i][0] for i in range(min(len(self._waiting), _BATCH))]
            written, refused, failure = self._try(batch)
            with self._changed:
                for number in range(min(written + len(refused), len(self._waiting))):
                    ticket = self._waiting.popleft()[1]
                    ticket.queued -= 1
                    ticket.dropped += number in refused
                self._left += written + len(refused)
                self._written += written
                self._dropped += len(refused)
                if failure is not None:
                    self._failures += 1
                    self._last_failure = failure
                failed_before, self._failing = self._failing, failure is not None
                self._changed.notify_all()
                if failure is not None and not failed_before:
                    _logger.warning("decision log: %s; decisions continue", failure)
                if written + len(refused) < len(batch):
                    if self._closing and failed_before:
                        return
                    self._changed.wait_for(lambda: self._closing, _RETRY_SECONDS)

    def _try(self, batch: list[Entry], start: int = 0) -> tuple[int, set[int], str | None]:
        """How many lines were written, which ones were refused, and why anything failed.

        A line that the database refuses takes no other one with it: its batch is halved until it
        stands alone. Whatever a retry may help stays queued, in order.
        """
        try:
            self.store.append(batch)
        except LogError as error:
            return 0, set(), str(error)
        except Exception as error:  # an unexpected driver error must not end the writing thread
            if len(batch) == 1:
                return 0, {start}, f"{type(error).__name__}: {error}"
        else:
            return len(batch), set(), None
        half = len(batch) // 2
        written, refused, failure = self._try(batch[:half], start)
        if written + len(refused) < half:
            return written, refused, failure
        more, others, later = self._try(batch[half:], start + half)
        return written + more, refused | others, later or failure
