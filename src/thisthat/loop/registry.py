"""Which checkpoints there are, which one answers, what is tried, and who changed that when.

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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from thisthat.checkpoint.locks import locked
from thisthat.errors import InvalidInputError
from thisthat.loop.experiment import Experiment, experiment_from_json

Alias: TypeAlias = Literal["champion", "candidate"]
Happening: TypeAlias = Literal[
    "registered", "evaluated", "pointed", "started", "ramped", "ready", "ended"
]

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

    @property
    def told(self) -> str:
        """What it was about and why, in words."""
        facts = self.facts
        if self.what == "started":
            about = f"{facts['name']}, {facts['share']:.1%} of the units"
        elif self.what == "pointed":
            again = " again" if facts.get("back") else ""
            about = f"{facts['alias']}{again}{_at(facts.get('lam'))}"
        elif self.what == "evaluated":
            about = verdict_told(facts)
        else:
            about = str(facts.get("reference" if self.what == "registered" else "experiment") or "")
        return ", ".join(part for part in (about, self.reason) if part)


def verdict_told(evaluation: Mapping[str, Any]) -> str:
    """The verdict of an evaluation as the registry keeps it, marked where it is no evidence."""
    taught = evaluation.get("taught")
    if taught is None or evaluation.get("acting") is not None:
        return str(evaluation["verdict"])
    count = f"{taught['decisions']} of {taught['replayed']}"
    return f"{evaluation['verdict']}, on decisions that taught it ({count})"


def _at(lam: float | None) -> str:
    return "" if lam is None else f", λ = {lam:g}"


@dataclass(frozen=True, slots=True)
class Version:
    """A registered checkpoint: where it is, what it is, and how it was found to be."""

    name: str
    reference: str
    identity: str
    parent: str | None
    data: str | None
    evaluations: tuple[Mapping[str, Any], ...] = ()

    @property
    def told(self) -> str:
        """Which one it is, for people: its name alone is often a bare number."""
        return f"version {self.name} ({self.reference})"


@dataclass(frozen=True, slots=True)
class Pointed:
    """A version and its λ; None is the card's own."""

    version: str
    lam: float | None


@dataclass(frozen=True)
class RegistryState:
    """What holds after all events; ``running`` are the experiments, oldest first."""

    versions: Mapping[str, Version]
    champions: tuple[Pointed, ...]
    candidate: str | None
    running: Mapping[str, Experiment]

    @property
    def champion(self) -> str | None:
        """The version that answers."""
        return self.champions[-1].version if self.champions else None


class Registry:
    """A folder's registry; safe for several processes."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """The folder is made when the first version is registered."""
        self._path = folder / FILE
        self._clock = clock

    def stamp(self) -> tuple[int, int]:
        """Changes whenever an event is added."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return (0, 0)
        return found.st_mtime_ns, found.st_size

    def history(self) -> list[Event]:
        """All events, oldest first."""
        if not self._path.exists():
            return []
        whole = self._path.read_bytes().split(b"\n")[:-1]
        return [_event(line, f"{self._path}, line {n}") for n, line in enumerate(whole, 1)]

    def now(self) -> RegistryState:
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
        self._path.parent.mkdir(parents=True, exist_ok=True)
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

    def point(
        self, alias: Alias, name: str, by: str, reason: str, lam: float | None = None
    ) -> None:
        """Let an alias name a version: promotion, when the alias is ``champion``.

        A promotion ends all experiments: they compared with another champion.
        """
        with self._writing() as (held, append):
            _known(name, held)
            append("pointed", name, by, reason, {"alias": alias, "lam": lam})

    def roll_back(self, by: str, reason: str) -> str:
        """Make the champion before this one the champion again; its name."""
        with self._writing() as (held, append):
            if len(held.champions) < 2:
                raise InvalidInputError("champion", "has no version before it to go back to")
            before = held.champions[-2]
            facts = {"alias": "champion", "back": True, "lam": before.lam}
            append("pointed", before.version, by, reason, facts)
        return before.version

    def start(self, wanted: Experiment, by: str) -> Experiment:
        """Start an experiment against the champion; it gets its name here."""
        with self._writing() as (held, append):
            _known(wanted.version, held)
            champion = check_start(held, held.versions[wanted.version])
            number, now = append.number, self._clock()
            name = f"{wanted.kind}-{number}"
            begun = replace(wanted, name=name, champion=champion, started=now)
            append("started", wanted.version, by, "", begun.as_json())
        return begun

    def change(
        self,
        what: Literal["ramped", "ready", "ended"],
        experiment: str,
        by: str,
        reason: str,
        numbers: Mapping[str, Any],
    ) -> bool:
        """Note what became of a running experiment; False if it does not run, or is there already.

        ``ramped`` needs its new ``share`` among the ``numbers``.
        """
        with self._writing() as (held, append):
            found = held.running.get(experiment)
            if found is None or (what == "ready" and found.ready):
                return False
            if what == "ramped" and numbers["share"] <= found.share:
                return False
            append(what, found.version, by, reason, {"experiment": experiment, **numbers})
        return True

    def check_there(self) -> None:
        """Raise InvalidInputError if nothing was ever registered in the folder."""
        if not self._path.exists():
            why = f"{self._path.parent}: there is none; `thisthat loop promote` begins one"
            raise InvalidInputError("registry", why)

    @contextmanager
    def _writing(self) -> Iterator[tuple[RegistryState, _Append]]:
        """The file locked for this process; what holds, and how to add to it."""
        if not self._path.parent.is_dir():
            self.check_there()
        with locked(self._path.with_suffix(".lock")), self._path.open("a+b") as file:
            events = self.history()
            yield _replayed(events), _Append(file, len(events) + 1, self._clock)


@dataclass(frozen=True)
class _Append:
    """Adds the event with this number."""

    file: BinaryIO
    number: int
    clock: Callable[[], float]

    def __call__(
        self, what: Happening, version: str, by: str, reason: str, facts: Mapping[str, Any]
    ) -> None:
        event = Event(self.number, self.clock(), what, version, by, reason, facts)
        line = json.dumps(asdict(event), ensure_ascii=False, sort_keys=True).encode()
        self.file.seek(0)
        size = self.file.read().rfind(b"\n") + 1
        if size != self.file.seek(0, os.SEEK_END):
            self.file.truncate(size)  # what follows was cut short
        self.file.write(line + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())


def _event(line: bytes, where: str) -> Event:
    try:
        return Event(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise InvalidInputError(where, f"is not an event of a registry: {error}") from None


def check_start(held: RegistryState, version: Version) -> str:
    """The champion that a version can be tried against. Raises InvalidInputError if it cannot."""
    champion = held.champion
    if champion is None:
        raise InvalidInputError("champion", "there is none to compare with; promote one")
    if version.name == champion:
        raise InvalidInputError("version", f"{version.name!r} is the champion")
    if version.parent != champion:
        why = f"{version.name!r} was taught on {version.parent or 'a base'}"
        raise InvalidInputError("parent", f"{why}, not on the champion {champion}")
    for each in held.running.values():
        if each.version == version.name:
            raise InvalidInputError("version", f"is being tried already: {each.name}")
    return champion


def _known(name: str, held: RegistryState) -> None:
    if name not in held.versions:
        known = ", ".join(held.versions) or "none"
        raise InvalidInputError("version", f"{name!r} is not registered; there are: {known}")


def _replayed(events: list[Event]) -> RegistryState:
    versions: dict[str, Version] = {}
    champions: list[Pointed] = []
    candidate: str | None = None
    running: dict[str, Experiment] = {}
    for event in events:
        name, facts = event.version, event.facts
        if event.what == "registered":
            versions[name] = Version(name, **facts)
        elif event.what == "evaluated":
            known = versions[name]
            versions[name] = replace(known, evaluations=(*known.evaluations, facts))
        elif event.what == "started":
            begun = experiment_from_json(facts)
            running[begun.name], candidate = begun, name
        elif event.what == "ramped":
            running[facts["experiment"]] = running[facts["experiment"]].ramped(facts["share"])
        elif event.what == "ready":
            running[facts["experiment"]] = replace(running[facts["experiment"]], ready=True)
        elif event.what == "ended":
            running.pop(facts["experiment"], None)
        elif facts["alias"] == "candidate":
            candidate = name
        else:
            if facts.get("back"):
                champions.pop()
            else:
                champions.append(Pointed(name, facts.get("lam")))
            candidate = None if candidate == name else candidate
            running = {}
    return RegistryState(versions, tuple(champions), candidate, running)
