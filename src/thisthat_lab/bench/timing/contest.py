"""Several ways of doing the same work, timed in turns on one machine, by the clock, resumable.

Every round gives each entry one turn, in rotating order, so that whatever else the machine does
falls on all of them. A slow entry gets fewer turns. Turns are on disk as they end; a contest that
was stopped goes on with the turns it lacks.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Chosen = Mapping[str, str]
PAUSE = 0.05
"""Seconds between turns, in which the threads of the entry before stop spinning."""


@dataclass(frozen=True)
class Entry:
    """One way of doing the work: ``ask`` takes states and gives what was chosen for each.

    ``warm_up`` is called instead of ``ask`` before the clock starts, where ``ask`` would keep
    something that is to be paid for.
    """

    label: str
    ask: Callable[[Sequence[str]], Sequence[Chosen]]
    at_once: int = 1
    warm_up: Callable[[Sequence[str]], object] | None = None


@dataclass(frozen=True)
class Turn:
    """One timed call: the states it decided; of the answers that the first entry gave too, how
    many were the same."""

    milliseconds: float
    states: int
    same: int = 0
    compared: int = 0


@dataclass(frozen=True)
class Limits:
    """When an entry has had enough turns.

    It gets turns until it has used ``seconds``, and then as many as bring it to ``least`` as long
    as it has used less than ``patience`` seconds; at least one, at most ``most``.
    """

    seconds: float
    patience: float
    least: int = 5
    most: int = 60

    def enough(self, turns: Sequence[Turn], states: int) -> bool:
        """Whether these turns are enough, of work that has so many states in all."""
        if not turns:
            return False
        used = sum(turn.milliseconds for turn in turns) / 1000
        if len(turns) >= self.most or sum(turn.states for turn in turns) >= states:
            return True
        return used >= (self.seconds if len(turns) >= self.least else self.patience)


class TurnJournal:
    """Turns on disk, by workload and entry. Unreadable lines are left out, and timed again."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        text = json.dumps(identity, sort_keys=True, default=str)
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"turns-{name}.partial.jsonl"
        self._turns: dict[tuple[str, str], list[Turn]] = {}
        if self._path.exists():
            for line in self._path.read_bytes().split(b"\n"):
                self._read(line)

    def _read(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            self.of(row.pop("workload"), row.pop("entry")).append(Turn(**row))
        except (ValueError, TypeError, KeyError, AttributeError):
            return

    def of(self, workload: str, entry: str) -> list[Turn]:
        """The turns of an entry so far."""
        return self._turns.setdefault((workload, entry), [])

    def add(self, workload: str, entry: str, turn: Turn) -> None:
        """Keep one turn."""
        row = {"workload": workload, "entry": entry, **asdict(turn)}
        with self._path.open("ab") as file:
            file.write(b"\n" + json.dumps(row).encode())
        self.of(workload, entry).append(turn)

    def finish(self) -> None:
        """Everything is timed: a later run times anew."""
        self._path.unlink(missing_ok=True)


def hold(
    name: str,
    entries: Sequence[Entry],
    state: Callable[[int], str],
    limits: Limits,
    journal: TurnJournal,
    *,
    states: int,
    warm_up: str,
) -> dict[str, list[Turn]]:
    """The turns of every entry.

    ``state`` gives the state of a number, the same to every entry; ``states`` is how many the work
    has in all. ``warm_up`` is a state that every entry decides once before the clock starts.
    """
    waiting = [
        entry for entry in entries if not limits.enough(journal.of(name, entry.label), states)
    ]
    for entry in waiting:
        (entry.warm_up or entry.ask)([warm_up])
    first: dict[int, Chosen] = {}
    round_number = 0
    while waiting:
        shift = round_number % len(waiting)
        played: list[tuple[Entry, float, dict[int, Chosen]]] = []
        for entry in [*waiting[shift:], *waiting[:shift]]:
            done = sum(turn.states for turn in journal.of(name, entry.label))
            numbers = range(done, min(done + entry.at_once, states))
            given = [state(number) for number in numbers]
            time.sleep(PAUSE)
            started = time.perf_counter()
            chosen = entry.ask(given)
            milliseconds = (time.perf_counter() - started) * 1000
            played.append((entry, milliseconds, dict(zip(numbers, chosen, strict=True))))
            if entry is entries[0]:
                first.update(played[-1][2])
        for entry, milliseconds, answers in played:
            journal.add(name, entry.label, _turn(milliseconds, answers, first))
        waiting = [
            entry for entry in waiting if not limits.enough(journal.of(name, entry.label), states)
        ]
        round_number += 1
    return {entry.label: journal.of(name, entry.label) for entry in entries}


def _turn(milliseconds: float, chosen: Mapping[int, Chosen], first: Mapping[int, Chosen]) -> Turn:
    pairs = [
        (first[number].get(name), best)
        for number in chosen
        if number in first
        for name, best in chosen[number].items()
    ]
    same = sum(one == other for one, other in pairs)
    return Turn(round(milliseconds, 3), len(chosen), same, len(pairs))
