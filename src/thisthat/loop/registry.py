"""Which checkpoints there are, which one answers, and who changed that when.

One file of events, only ever appended to; what holds now follows from reading it. A line is
synced before the call returns, and a last line that a crash cut short was never acknowledged, so
it is left out.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from thisthat.checkpoint.locks import locked
from thisthat.errors import InvalidInputError

Alias: TypeAlias = Literal["champion", "candidate"]
Happening: TypeAlias = Literal["registered", "evaluated", "pointed"]

FILE = "registry.jsonl"


@dataclass(frozen=True, slots=True)
class Event:
    """One change: what happened to which version, by whom, when, and why."""

    number: int
    time: float
    what: Happening
    version: str
    by: str
    reason: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Version:
    """A registered checkpoint: where it is, what it is, and how it was found to be."""

    name: str
    reference: str
    identity: str
    parent: str | None
    data: str | None
    evaluations: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Holding:
    """What holds after all events."""

    versions: Mapping[str, Version]
    champions: tuple[str, ...]
    candidate: str | None

    @property
    def champion(self) -> str | None:
        """The version that answers."""
        return self.champions[-1] if self.champions else None


class Registry:
    """A folder's registry; safe for several processes."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE
        self._clock = clock

    def history(self) -> list[Event]:
        """All events, oldest first."""
        if not self._path.exists():
            return []
        whole = self._path.read_bytes().split(b"\n")[:-1]
        return [_event(line, f"{self._path}, line {n}") for n, line in enumerate(whole, 1)]

    def now(self) -> Holding:
        """What holds after all events."""
        return _replayed(self.history())

    def register(
        self,
        name: str,
        reference: str,
        identity: str,
        by: str,
        parent: str | None = None,
        data: str | None = None,
    ) -> Version:
        """Add a version; a name is given once."""
        with self._writing() as (held, append):
            if name in held.versions:
                raise InvalidInputError("version", f"{name!r} is registered already")
            if parent is not None and parent not in held.versions:
                raise InvalidInputError("parent", f"{parent!r} is not registered")
            facts = {"reference": reference, "identity": identity, "parent": parent, "data": data}
            append("registered", name, by, "", facts)
        return Version(name, reference, identity, parent, data)

    def evaluated(self, name: str, evaluation: Mapping[str, Any], by: str) -> None:
        """Keep an evaluation with a version."""
        with self._writing() as (held, append):
            _known(name, held)
            append("evaluated", name, by, "", dict(evaluation))

    def point(self, alias: Alias, name: str, by: str, reason: str) -> None:
        """Let an alias name a version: promotion, when the alias is ``champion``."""
        with self._writing() as (held, append):
            _known(name, held)
            append("pointed", name, by, reason, {"alias": alias})

    def roll_back(self, by: str, reason: str) -> str:
        """Make the champion before this one the champion again; its name."""
        with self._writing() as (held, append):
            if len(held.champions) < 2:
                raise InvalidInputError("champion", "has no version before it to go back to")
            before = held.champions[-2]
            append("pointed", before, by, reason, {"alias": "champion", "back": True})
        return before

    @contextmanager
    def _writing(self) -> Iterator[tuple[Holding, Callable[..., None]]]:
        """The file locked for this process; what holds, and how to add to it."""
        with locked(self._path.with_suffix(".lock")), self._path.open("a+b") as file:
            events = self.history()

            def append(
                what: Happening, version: str, by: str, reason: str, facts: Mapping[str, Any]
            ) -> None:
                event = Event(len(events) + 1, self._clock(), what, version, by, reason, facts)
                line = json.dumps(asdict(event), ensure_ascii=False, sort_keys=True).encode()
                size = _whole_size(self._path)
                if size != file.seek(0, os.SEEK_END):
                    file.truncate(size)
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())

            yield _replayed(events), append


def _whole_size(path: Path) -> int:
    """How many bytes end in a whole line; what follows was cut short."""
    return path.read_bytes().rfind(b"\n") + 1


def _event(line: bytes, where: str) -> Event:
    try:
        return Event(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise InvalidInputError(where, f"is not an event of a registry: {error}") from None


def _known(name: str, held: Holding) -> None:
    if name not in held.versions:
        known = ", ".join(held.versions) or "none"
        raise InvalidInputError("version", f"{name!r} is not registered; there are: {known}")


def _replayed(events: list[Event]) -> Holding:
    versions: dict[str, Version] = {}
    champions: list[str] = []
    candidate: str | None = None
    for event in events:
        if event.what == "registered":
            versions[event.version] = Version(event.version, **event.facts)
        elif event.what == "evaluated":
            known = versions[event.version]
            evaluations = (*known.evaluations, event.facts)
            versions[event.version] = Version(
                known.name, known.reference, known.identity, known.parent, known.data, evaluations
            )
        elif event.facts["alias"] == "candidate":
            candidate = event.version
        elif event.facts.get("back"):
            champions.pop()
        else:
            champions.append(event.version)
            candidate = None if candidate == event.version else candidate
    return Holding(versions, tuple(champions), candidate)
