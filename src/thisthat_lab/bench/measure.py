"""What a measurement is, and how one is run: open a system, ask, journal, score, write.

A measurement is one module with one function ``run(context) -> Findings``. It decides which
questions to ask and what to say about the answers; asking, resuming, progress and files are here.
"""

from __future__ import annotations

import shlex
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from rich import progress
from rich.console import Console

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat_lab.bench import result as results
from thisthat_lab.bench.anchors import Price, prices
from thisthat_lab.bench.journal import Journal, key_of, set_hash
from thisthat_lab.bench.registry import REGISTRY
from thisthat_lab.bench.result import Bar, Group, Line, Result, Timing
from thisthat_lab.bench.systems.opening import EngineSystem, open_system
from thisthat_lab.bench.systems.protocol import Identity, System, SystemOptions
from thisthat_lab.bench.systems.replies import Reply, count_problems

QUICK_PER_FAMILY = 60
SEED = 2026
T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """What the person running a measurement decides."""

    system: str = "default"
    options: SystemOptions = field(default_factory=SystemOptions)
    quick: bool = False
    out: Path = Path("results")
    data: Path | None = None
    seed: int | None = None
    watts: float | None = None
    dollars_per_kwh: float = 0.30
    prices: Mapping[str, Price] = field(default_factory=prices)


@dataclass(frozen=True)
class Findings:
    """What a measurement found. ``items`` and ``replies`` are the questions it rests on."""

    lines: Sequence[Line]
    items: Sequence[Item] = ()
    replies: Sequence[Reply] = ()
    groups: Sequence[Group] = ()
    series: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, Any] = field(default_factory=dict)
    caveats: Sequence[str] = ()
    timings: Sequence[Timing] = ()
    bars: Sequence[Bar] = ()
    system: Identity | None = None
    """What was measured, where that is not the system of the setting."""


@dataclass(frozen=True)
class Measurement:
    """A named measurement.

    ``engines_only`` ones need one of our engines; those without ``has_subset`` ask the same
    questions when the setting is quick, those without ``seeded`` whatever the seed. ``caveats``
    hold for every run of it, ``trained`` for checkpoints of the recipes listed.
    """

    name: str
    title: str
    run: Callable[[Context], Findings]
    engines_only: bool = False
    has_subset: bool = True
    seeded: bool = True
    caveats: Sequence[str] = ()
    trained: Mapping[str, Sequence[str]] = field(default_factory=dict)


def registered(
    name: str, run: Callable[[Context], Findings], file: str | None = None, **blanks: Any
) -> Measurement:
    """The registered measurement of that name with ``run``; one of a file is named after it too."""
    entry = REGISTRY[name]
    title = entry.title.format(file=file, **blanks)
    named = name if file is None else f"{name}-{file.partition('.')[0]}"
    own = entry.engines_only, entry.has_subset, entry.seeded, entry.caveats, entry.trained
    return Measurement(named, title, run, *own)


class Context:
    """What a measurement gets to work with.

    One context may serve several measurements: the system is opened once, and questions that were
    already asked of it are not asked again until ``finish``.
    """

    def __init__(self, setting: Setting, console: Console | None = None) -> None:
        self.setting = setting
        self.console = console or Console(stderr=True)
        self._systems: dict[float | None, System] = {}
        self._made: dict[str, list[Item]] = {}
        self._journals: dict[Identity, Journal] = {}

    @property
    def seed(self) -> int:
        """The seed of generated questions."""
        return SEED if self.setting.seed is None else self.setting.seed

    @property
    def system(self) -> System:
        """The system being measured."""
        return self.system_at(self.setting.options.lam)

    @property
    def engine(self) -> EngineSystem:
        """The system as one of our engines. Raises InvalidInputError when it is something else."""
        system = self.system
        if not isinstance(system, EngineSystem):
            raise InvalidInputError(
                "system", f"{system.identity.name!r} is none of our engines; this measures one"
            )
        return system

    @property
    def published(self) -> bool:
        """Whether the system is this-that-model, which is asked as its published scripts ask it."""
        return getattr(self.system, "family", "") == "flock"

    def seen_in_training(self, trained: Mapping[str, Sequence[str]]) -> list[str]:
        """Those caveats, each with its recipes, that hold for how the system was trained."""
        recipes = set(getattr(self.system, "recipes", ()))
        return [caveat for caveat, names in trained.items() if recipes & set(names)]

    def price_of(self, replies: Iterable[Reply]) -> tuple[float, str] | None:
        """What those replies cost at an endpoint's listed price, and whose list; None without."""
        price = self.setting.prices.get(self.system.identity.name)
        if price is None:
            return None
        tokens = [(reply.input_tokens, reply.output_tokens) for reply in replies]
        return price.dollars(sum(i for i, _ in tokens), sum(o for _, o in tokens)), price.source

    def system_at(self, lam: float | None) -> System:
        """The measured checkpoint at another λ."""
        if lam not in self._systems:
            options = replace(self.setting.options, lam=lam)
            self._systems[lam] = open_system(self.setting.system, options)
        return self._systems[lam]

    def forget(self, lam: float | None) -> None:
        """Drop the system at that λ, to make room for the next."""
        self._systems.pop(lam, None)

    def ask(self, name: str, items: Sequence[Item], system: System | None = None) -> list[Reply]:
        """Replies to all items in order.

        What this system was asked before in this run, or in one that was interrupted, is not asked
        again. ``name`` stands at the progress bar.
        """
        if not items:
            raise InvalidInputError("questions", f"{name}: there are none to ask")
        answering = system or self.system
        if not answering.independent:
            whole: dict[int, Reply] = {}
            answering.answer(items, whole.__setitem__)
            return [whole[number] for number in range(len(items))]
        journal = self._journal(answering)
        fresh = {key_of(item): item for item in items if journal.find(item) is None}
        left = list(fresh.values())
        if left:
            with self.progress(name, len(items), len(items) - len(left)) as advance:

                def done(number: int, reply: Reply) -> None:
                    journal.add(left[number], reply)
                    advance(1)

                answering.answer(left, done)
        replies = [journal.find(item) for item in items]
        answered = [reply for reply in replies if reply is not None]
        if len(answered) < len(items):
            missing = len(items) - len(answered)
            raise RuntimeError(f"{answering.identity.name} left {missing} questions unreported")
        return answered

    def _journal(self, system: System) -> Journal:
        if system.identity not in self._journals:
            journal = Journal(self.setting.out, system.identity.as_dict())
            if journal.damaged:
                self.console.print(f"{journal.damaged} damaged journal lines; asked again")
            self._journals[system.identity] = journal
        return self._journals[system.identity]

    def finish(self) -> None:
        """The run is complete: a later one asks everything anew."""
        for journal in self._journals.values():
            journal.finish()
        self._journals.clear()

    def progress(self, title: str, total: int, completed: int = 0) -> _Bar:
        """A progress bar with a time estimate; use as ``with`` and call the result to advance."""
        return _Bar(self.console, title, total, completed)

    def once(self, name: str, make: Callable[[], list[Item]]) -> list[Item]:
        """The questions of that name, made the first time they are asked for."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def quick(self, items: Iterable[Item], per_family: int = QUICK_PER_FAMILY) -> list[Item]:
        """The items, or the fixed fair subset of them when the setting asks for it."""
        return fair_subset(items, per_family) if self.setting.quick else list(items)


class _Bar:
    def __init__(self, console: Console, title: str, total: int, completed: int) -> None:
        self._progress = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TaskProgressColumn(show_speed=True),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task(title, total=total, completed=completed)

    def __enter__(self) -> Callable[[int], None]:
        self._progress.start()
        return lambda steps: self._progress.advance(self._task, steps)

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def fair_subset(items: Iterable[Item], per_family: int) -> list[Item]:
    """At most ``per_family`` items of each family, its answers in turn, in the original order.

    Which ones depends only on the items' fingerprints: the same on every machine.
    """
    everything = list(items)
    buckets: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, item in enumerate(everything):
        buckets[item.family][item.answer].append(number)
    kept: list[int] = []
    for by_answer in buckets.values():
        queues = [
            sorted(numbers, key=lambda n: everything[n].fingerprint)
            for _, numbers in sorted(by_answer.items())
        ]
        kept.extend(_in_turn(queues)[:per_family])
    return [everything[number] for number in sorted(kept)]


def _in_turn(queues: Sequence[Sequence[T]]) -> list[T]:
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


def run_measurement(
    measurement: Measurement, context: Context, command: Sequence[str]
) -> tuple[Path, Result]:
    """Run it, write its result file into the setting's folder, and return both."""
    started = time.perf_counter()
    if measurement.engines_only:
        _ = context.engine
    findings = measurement.run(context)
    items = findings.items
    known = [] if findings.system else context.seen_in_training(measurement.trained)
    caveats = [*measurement.caveats, *known, *findings.caveats]
    quick = context.setting.quick and measurement.has_subset
    if quick:
        caveats.append("Quick: a fixed, smaller set of questions, the same on every machine.")
    identity = findings.system or context.system.identity
    damaged = 0 if findings.system else getattr(context.system, "damaged_lines", 0)
    if damaged:
        caveats.append(f"The recording had {damaged} unreadable lines.")
    problems = count_problems(findings.replies)
    if problems:
        caveats.append("Unanswered questions count as wrong.")
    outcome = Result(
        measurement=measurement.name,
        title=measurement.title,
        system=identity.as_dict(),
        questions={
            "count": len(items),
            "states": len({item.state_hash for item in items}),
            "sha256": set_hash(items),
            "quick": quick,
        },
        lines=list(findings.lines),
        groups=list(findings.groups),
        timings=list(findings.timings),
        bars=list(findings.bars),
        problems=problems,
        series=findings.series,
        rows=findings.rows,
        caveats=caveats,
        hardware=results.hardware(),
        versions=results.versions(),
        command=shlex.join(command),
        seconds=round(time.perf_counter() - started, 1),
        finished=results.now(),
    )
    path = context.setting.out / f"{measurement.name}.json"
    results.write_result(path, outcome)
    return path, outcome
