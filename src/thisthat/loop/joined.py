"""Decisions with what happened after them, as it was known at a moment. Depends on no order.

- An outcome that names a request means the server's id, or else the client's own. If that asks the
  same question about several states, and no state is named, the outcome is ambiguous and not used;
  their decisions without another outcome are unassigned once their window is over.
- Of decisions that repeat request, question and state, the first gets the outcome.
- Outcomes that contradict each other are all kept; the latest recorded one counts.
- One without its decision waits for it as an orphan; one that happened before it is not used.
- A decision is mature when its window is over. What came later counts, as late; what never came
  is censored, not zero.
- What the playground asked is no decision here; an outcome of it is an orphan.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from thisthat.audit.beside import CLIENT_REQUESTS
from thisthat.audit.entry import Entry
from thisthat.audit.played import is_played
from thisthat.audit.protocol import Store
from thisthat.errors import InvalidInputError
from thisthat.loop.outcomes import CLOCKS, Received, option_said, received

Status: TypeAlias = Literal["known", "immature", "censored", "repeated", "unassigned"]
COUNTS = {
    "known": "decisions with an outcome",
    "immature": "decisions whose window is not over",
    "censored": "decisions whose window passed without an outcome",
    "repeated": "decisions that repeat one with an outcome",
    "unassigned": "decisions past their window whose outcome does not say which state it is about",
    "late": "outcomes after their decision's window",
    "contradictory": "decisions with contradictory outcomes",
    "orphan": "outcomes without a decision",
    "ambiguous": "outcomes of a request about several states",
    "early": "outcomes from before their decision",
}


@dataclass(frozen=True, slots=True)
class Joined:
    """A decision and what is known of it: the right ``option``, or a ``reward``.

    Of a boolean, "happened" is the option yes; of other questions, the reward 1.
    """

    line: int
    entry: Entry
    status: Status
    mature: bool
    option: str | None = None
    reward: float | None = None
    contradictory: bool = False
    late: int = 0
    early: int = 0

    @property
    def options(self) -> list[str]:
        """The names of the options that were asked for."""
        return list(json.loads(self.entry.probabilities))


class JoinedView:
    """The decisions of a log before ``until`` with the outcomes recorded before it.

    ``mature_after`` is the window in seconds. ``counts`` is complete once ``decisions`` has ended;
    its names are those of ``COUNTS``. With ``newest``, only so many decisions are looked at, and
    only what is about them is held in memory. Raises LogError.
    """

    def __init__(
        self, store: Store, mature_after: float, until: float, newest: int | None = None
    ) -> None:
        if not mature_after >= 0:
            raise InvalidInputError("mature_after", f"must be 0 or more, not {mature_after:g}")
        self.counts: Counter[str] = Counter()
        self._unused: Counter[str] = Counter()
        self._store = store
        self._window = mature_after
        self._until = until
        self._newest = newest
        self._outcomes: dict[int, list[Received]] = {}
        self._again: set[int] = set()
        self._unassigned: set[int] = set()
        self._last = 0
        self._find()

    def decisions(self) -> Iterator[Joined]:
        """Every decision once, newest first."""
        self.counts = Counter(self._unused)
        for line, entry in self._lines():
            if line > self._last:
                continue  # it came while the outcomes were being found
            found = self._joined(line, entry)
            self.counts[found.status] += 1
            self.counts["late"] += found.late
            self.counts["early"] += found.early
            self.counts["contradictory"] += found.contradictory
            yield found

    def _find(self) -> None:
        """Find the line of every outcome; only what outcomes name is held in memory."""
        about = None if self._newest is None else _About(self._store, self._lines())
        by_line: dict[int, list[Received]] = {}
        by_name: dict[tuple[str, str], list[Received]] = {}
        for each in received(self._store):
            if each.recorded >= self._until or (about is not None and not about.names(each)):
                continue
            given = each.outcome
            if given.decision is not None:
                by_line.setdefault(given.decision, []).append(each)
            else:
                by_name.setdefault((given.request or "", given.question or ""), []).append(each)
        clients = (
            {str(own): str(client) for own, client, _ in self._store.rows(CLIENT_REQUESTS)}
            if about is None
            else about.clients
        )
        named: tuple[_Lines, _Lines] = {}, {}
        for line, entry in self._lines():
            self._last = max(self._last, line)
            if line in by_line:
                self._outcomes.setdefault(line, []).extend(by_line.pop(line))
            for names, request in zip(
                named, (entry.request, clients.get(str(entry.request))), strict=True
            ):
                if (key := (str(request), entry.question)) in by_name:
                    names.setdefault(key, {}).setdefault(entry.state_hash, []).append(line)
        self._unused["orphan"] = sum(map(len, by_line.values()))
        for key, outcomes in by_name.items():
            self._assign(named[0].get(key) or named[1].get(key) or {}, outcomes)

    def _lines(self) -> Iterator[tuple[int, Entry]]:
        found = self._store.lines({}, None, self._until, self._newest)
        return ((line, entry) for line, entry in found if not is_played(entry.request))

    def _assign(self, states: dict[str, list[int]], outcomes: list[Received]) -> None:
        for each in outcomes:
            wanted = each.outcome.state_hash
            matching = [lines for state, lines in states.items() if wanted in (None, state)]
            if len(matching) == 1:
                first, *again = sorted(matching[0])
                self._outcomes.setdefault(first, []).append(each)
                self._again.update(again)
            elif matching:
                self._unused["ambiguous"] += 1
                self._unassigned.update(*matching)
            else:
                self._unused["orphan"] += 1

    def _joined(self, line: int, entry: Entry) -> Joined:
        mature = entry.time + self._window <= self._until
        all_of_it = sorted(self._outcomes.get(line, ()), key=lambda each: each.order)
        used = [
            each
            for each in all_of_it
            if each.outcome.time is None or each.outcome.time >= entry.time - CLOCKS
        ]
        early = len(all_of_it) - len(used)
        if not used:
            silent: Status = "unassigned" if line in self._unassigned else "censored"
            missing: Status = silent if mature else "immature"
            status = "repeated" if line in self._again else missing
            return Joined(line, entry, status, mature, early=early)
        values = [value_of(each, entry) for each in used]
        options = [value for value in values if isinstance(value, str)]
        rewards = [value for value in values if isinstance(value, float)]
        return Joined(
            line,
            entry,
            "known",
            mature,
            option=options[-1] if options else None,
            reward=rewards[-1] if rewards else None,
            contradictory=len(set(options)) > 1 or len(set(rewards)) > 1,
            late=sum(each.time > entry.time + self._window for each in used),
            early=early,
        )


class _About:
    """Which outcomes are about some lines; clients' own names of their requests."""

    def __init__(self, store: Store, lines: Iterable[tuple[int, Entry]]) -> None:
        self._lines: set[int] = set()
        self._named: set[tuple[str, str]] = set()
        for line, entry in lines:
            self._lines.add(line)
            self._named.add((str(entry.request), entry.question))
        requests = {request for request, _ in self._named}
        self.clients = {
            str(own): str(client)
            for own, client, _ in store.rows(CLIENT_REQUESTS)
            if own in requests
        }
        self._named |= {
            (self.clients[request], question)
            for request, question in self._named
            if request in self.clients
        }

    def names(self, each: Received) -> bool:
        given = each.outcome
        if given.decision is not None:
            return given.decision in self._lines
        return (given.request, given.question) in self._named


_Lines: TypeAlias = "dict[tuple[str, str], dict[str, list[int]]]"
"""Lines by state, of a request and a question."""


def value_of(each: Received, entry: Entry) -> str | float:
    """What an outcome says about a decision: the right option, or a reward."""
    given, said = each.outcome, option_said(each.outcome, entry)
    if said is not None:
        return said
    if given.reward is not None:
        return given.reward
    if entry.kind == "boolean":
        return "yes" if given.happened else "no"
    return 1.0 if given.happened else 0.0
