"""A running experiment judged by the outcomes in the log, in the order of its chain.

Every server that reads the same log comes to the same numbers. What counts once does not count
again: a canary takes the first outcome of each unit, since the unit's arm was drawn once; a shadow
takes the first of each decision.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

from thisthat.audit.beside import OUTCOMES, SHADOWS
from thisthat.audit.entry import Entry
from thisthat.audit.protocol import Store
from thisthat.loop.assignment_log import assignment
from thisthat.loop.canary import Canary, Verdict
from thisthat.loop.experiment import Experiment
from thisthat.loop.joined import value_of
from thisthat.loop.outcomes import CLOCKS, Received, lines_of, received_of

_WAIT_SECONDS = 60.0
"""How long an outcome waits for its decision, or the shadow's answer, to be written."""
_MOST_POINTS = 200


class Judge:
    """What the outcomes so far say about an experiment. Any thread may call it."""

    def __init__(self, store: Store, experiment: Experiment) -> None:
        self._store = store
        self._experiment = experiment
        self._lock = threading.Lock()
        self._place = -1
        self._waiting: list[Received] = []
        self._counted: set[str] = set()
        self.canary = Canary(experiment.settings)
        self.sums = {"champion": [0, 0.0], "candidate": [0, 0.0]}
        self.points: list[tuple[int, float, float]] = []
        self._stride = 1

    def update(self) -> Verdict:
        """Take in what was recorded since; what follows from all of it. Raises LogError."""
        with self._lock:
            new = self._waiting + list(self._new())
            self._waiting = []
            for each in new:
                if not self._take(each) and each.recorded > time.time() - _WAIT_SECONDS:
                    self._waiting.append(each)
                if self.canary.verdict in ("roll back", "shares broken"):
                    break
            return self.canary.verdict

    def numbers(self) -> dict[str, Any]:
        """What the verdict rests on, for the record."""
        test = self.canary
        arms = {
            arm: {"outcomes": count, "mean": round(total / count, 4) if count else None}
            for arm, (count, total) in self.sums.items()
        }
        return {
            "outcomes": test.outcomes,
            **arms,
            "harm": round(test.harm.highest, 4),
            "not_worse": round(test.fine.highest, 4),
            "bound": round(1 / test.settings.alpha, 4),
            "margin": test.settings.margin,
            "verdict": test.verdict,
        }

    def _new(self) -> Iterator[Received]:
        for place, row in self._store.rows_after(OUTCOMES, self._place):
            self._place = self._place if place is None else place
            found = received_of(row)
            if found.recorded >= self._experiment.started:
                yield found

    def _take(self, given: Received) -> bool:
        """Count an outcome, if it counts; False if what it is about is not in the log yet."""
        found = list(lines_of(self._store, given.outcome))
        if not found:
            return False
        only = self._experiment.question
        states = {entry.state_hash for _, entry in found}
        line, entry = min(found)
        early = given.outcome.time is not None and given.outcome.time < entry.time - CLOCKS
        if len(states) == 1 and not early and only in (None, entry.question):
            value = value_of(given, entry)
            if self._experiment.kind == "canary":
                self._compare(entry, value)
            elif isinstance(value, str):
                return self._pair(line, entry, value)
        return True

    def _compare(self, entry: Entry, value: str | float) -> None:
        """Two arms, each with its own units."""
        assigned = assignment(self._store, str(entry.request), self._experiment.name)
        reward = reward_of(entry.best, entry, value)
        if assigned is None or reward is None or assigned.unit in self._counted:
            return
        self._counted.add(assigned.unit)
        candidate = assigned.arm == "candidate"
        self.canary.assigned(candidate, assigned.share)
        self.canary.outcome(candidate, assigned.share, reward)
        self._count("candidate" if candidate else "champion", reward)
        self._point()

    def _pair(self, line: int, entry: Entry, value: str) -> bool:
        """Both answers to the same state, of which only the champion's was given.

        False while the shadow's is not written: it is asked after the champion has answered.
        """
        key = shadow_key(self._experiment.name, entry)
        row = next(self._store.rows(SHADOWS, {"key": key}), None)
        if row is None:
            return False
        reward = reward_of(entry.best, entry, value)
        if reward is None or str(line) in self._counted:
            return True
        self._counted.add(str(line))
        shadow = float(str(row[-2]) == value)
        self.canary.pair(reward, shadow)
        self._count("champion", reward)
        self._count("candidate", shadow)
        self._point()
        return True

    def _count(self, arm: str, reward: float) -> None:
        self.sums[arm][0] += 1
        self.sums[arm][1] += reward

    def _point(self) -> None:
        """Keep a curve of at most so many points."""
        if self.canary.outcomes % self._stride:
            return
        self.points.append(
            (self.canary.outcomes, self.canary.harm.e_value, self.canary.fine.e_value)
        )
        if len(self.points) > _MOST_POINTS:
            self.points, self._stride = self.points[1::2], self._stride * 2


def reward_of(said: str, entry: Entry, value: str | float) -> float | None:
    """What an answer earned: 1 or 0 where the right option is known; None for an unknown one."""
    if isinstance(value, float):
        return value
    return float(said == value) if value in json.loads(entry.probabilities) else None


def shadow_key(experiment: str, entry: Entry) -> str:
    """The key under which a shadow's answer is recorded."""
    return f"{experiment} {entry.request} {entry.state_hash[:32]} {entry.question}"[:200]
