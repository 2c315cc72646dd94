"""A server's part in the loop: which arm answers, what the outcomes say, and what follows.

The registry is the only word on what runs: every server that watches the folder follows it, and
whoever finds a verdict first writes it there. The champion stays open beside its candidates, so
that a rollback is one assignment.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from starlette.requests import Request

from thisthat.audit.beside import SHADOWS, RequestId, Row
from thisthat.audit.entry import entries_of
from thisthat.audit.log import DecisionLog
from thisthat.audit.played import is_played
from thisthat.audit.protocol import LogError
from thisthat.decide.decider import Decider
from thisthat.decide.options import DecideOptions
from thisthat.errors import InvalidInputError
from thisthat.loop.assignment import assign, place
from thisthat.loop.assignment_log import Assigned
from thisthat.loop.canary import Canary, CanarySettings
from thisthat.loop.experiment import Experiment
from thisthat.loop.judge import Judge, shadow_key
from thisthat.loop.registry import Pointed, Registry, RegistryState
from thisthat.questions import Decision, Question, Text
from thisthat.remote.unit_header import NAME as UNIT_HEADER
from thisthat.serve.checkpoints import Checkpoints, Open, let_go
from thisthat.serve.logs import log as log_line
from thisthat.serve.problems import Problem
from thisthat.serve.scheduling.scheduler import Scheduler

BY = "server"

_LOOK_SECONDS = 0.2
_MOST_SHADOWS = 32
MOST_CANDIDATES = 4
"""Candidates that are open at once beside two champions; later ones wait for one to end."""
_SHADOW_SECONDS = 30.0
_MOST_FAILURES = CanarySettings(margin=0.01, alpha=0.01)
_STOPS = ("roll back", "shares broken")


@dataclass(frozen=True, eq=False)
class Running:
    """An experiment whose candidate is open here."""

    experiment: Experiment
    decider: Decider
    judge: Judge
    failures: Canary = field(default_factory=lambda: Canary(_MOST_FAILURES))
    slowness: Canary = field(default_factory=lambda: Canary(_MOST_FAILURES))


@dataclass(frozen=True, slots=True)
class Arm:
    """Who answers a request (None: the champion), and what it is compared in, with its shares."""

    candidate: Running | None
    compared: tuple[tuple[Running, float], ...]


@dataclass(frozen=True, slots=True)
class Chooser:
    """Who answers each state of a request: its arm, until that is withdrawn or fails."""

    champion: Decider
    trials: Trials | None = None
    arm: Arm | None = None

    def decider(self) -> Decider:
        """The one to ask next."""
        tried = None if self.arm is None else self.arm.candidate
        if tried is None or self.trials is None or not self.trials.runs(tried):
            return self.champion
        return tried.decider

    def recorded(self, options: DecideOptions, decider: Decider) -> DecideOptions:
        """The options to record an answer with: the arm of a candidate belongs to its own only."""
        tried, own = None if self.arm is None else self.arm.candidate, options.request_id
        if tried is None or decider is tried.decider or not isinstance(own, RequestId):
            return options
        return replace(options, request_id=own.unassigned())

    def note(self, seconds: float | None) -> None:
        """Note how long an answer of the arm took; None: it failed."""
        if self.trials is not None and self.arm is not None:
            self.trials.note(self.arm, seconds)


def champion_of(registry: Registry) -> tuple[str, Pointed]:
    """The champion's reference, and itself. Raises InvalidInputError where there is none."""
    held = registry.now()
    if not held.champions:
        why = "names no champion; `thisthat loop promote default --registry …` makes one"
        raise InvalidInputError("--loop", why)
    champion = held.champions[-1]
    return held.versions[champion.version].reference, champion


class Trials:
    """The experiments of one server. ``start`` it before it is asked; ``close`` ends it."""

    def __init__(
        self,
        registry: Registry,
        log: DecisionLog,
        checkpoints: Checkpoints,
        open_decider: Open,
        scheduler: Scheduler,
    ) -> None:
        """``checkpoints`` will load the champion that the registry names now."""
        self.registry, self._log = registry, log
        self._checkpoints, self._open, self._scheduler = checkpoints, open_decider, scheduler
        self._running: tuple[Running, ...] = ()
        self._opened: dict[Pointed, Decider] = {}
        self._champion = champion_of(registry)[1]
        self._withdrawn: set[str] = set()
        self._opening: set[str] = set()
        self._stamp: tuple[int, int] | None = None
        self._waits = False
        self._seen: deque[tuple[Arm, float | None]] = deque(maxlen=100_000)
        self._answers: deque[Row] = deque(maxlen=10_000)
        self._shadowing: set[asyncio.Future[None]] = set()
        self._follows = threading.Lock()
        self._opener = ThreadPoolExecutor(1, "loop-open")
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="loop-watch", daemon=True)

    @property
    def running(self) -> tuple[Running, ...]:
        """The experiments whose candidates are open here."""
        return self._running

    def start(self) -> None:
        """Watch the registry, once the champion is loaded."""
        self._opened[self._champion] = self._checkpoints.main()
        with suppress(LogError):  # a log that does not exist yet; one that cannot, is told of later
            self._log.store.add(SHADOWS, [])
        self._thread.start()

    def close(self) -> None:
        """Stop watching and write what waits."""
        self._ends.set()
        if self._thread.is_alive():
            self._thread.join(10)
        self._opener.shutdown(wait=False, cancel_futures=True)
        self._write_shadows()

    # Answering -----------------------------------------------------------------------------------

    def arm(self, request: Request) -> Arm | None:
        """The arm of a request, on record with its decision; None without a canary, or for play."""
        own: RequestId = request.state.request_id
        canaries = [each for each in self._running if each.experiment.kind == "canary"]
        if not canaries or is_played(own):
            return None
        unit = request.headers.get(UNIT_HEADER, own)
        found = assign(unit, [(e.experiment.salt, e.experiment.share) for e in canaries])
        compared = tuple(
            (each, found.shares[number])
            for number, each in enumerate(canaries)
            if found.canary in (None, number)
        )
        hashed = hashlib.sha256(unit.encode()).hexdigest()[:32]
        champion = self._checkpoints.main().source.lam
        rows = []
        for each, share in compared:
            lam = champion if found.canary is None else each.decider.source.lam
            arm = "champion" if found.canary is None else "candidate"
            name, chance = each.experiment.name, found.propensity
            rows.append(Assigned(own, None, name, arm, lam, share, chance, hashed).row())
        own.assigned = tuple(rows)
        return Arm(None if found.canary is None else canaries[found.canary], compared)

    async def decide(
        self, request: Request, champion: Decider, answer: Callable[[Decider], Awaitable[Decision]]
    ) -> Decision:
        """What the request's arm answers; the champion, where a candidate fails."""
        arm = self.arm(request)
        if arm is None:
            return await answer(champion)
        started = time.perf_counter()
        try:
            decider = champion if arm.candidate is None else arm.candidate.decider
            decision = await answer(decider)
        except (Problem, InvalidInputError):
            raise
        # Everything: engines raise their runtime's own types.
        except Exception:
            self.note(arm, None)
            if arm.candidate is None:
                raise
            request.state.request_id.assigned = ()
            return await answer(champion)
        self.note(arm, time.perf_counter() - started)
        return decision

    def runs(self, tried: Running) -> bool:
        """Whether an experiment has not ended, as far as is known here."""
        return any(e.experiment.name == tried.experiment.name for e in self._running)

    def note(self, arm: Arm, seconds: float | None) -> None:
        """Note how long an arm took to answer; None: it failed."""
        self._seen.append((arm, seconds))

    def shadow(self, request: Request, state: Text, questions: Mapping[str, Question]) -> None:
        """Let shadows answer, too, where the request is among theirs; nobody waits for them."""
        own: RequestId = request.state.request_id
        if is_played(own):
            return
        unit = request.headers.get(UNIT_HEADER, own)
        for each in self._running:
            tried = each.experiment
            outside = tried.kind != "shadow" or place(unit, tried.salt) >= tried.share
            if outside or len(self._shadowing) >= _MOST_SHADOWS or request.state.large:
                continue
            task = asyncio.ensure_future(self._shadowed(each, own, state, questions))
            self._shadowing.add(task)
            task.add_done_callback(self._shadowing.discard)

    async def _shadowed(
        self, tried: Running, request: RequestId, state: Text, questions: Mapping[str, Question]
    ) -> None:
        options, until = DecideOptions(), time.monotonic() + _SHADOW_SECONDS
        begin = tried.decider.begin_many
        try:
            [begun] = await asyncio.to_thread(begin, [state], dict(questions), options)
            if isinstance(begun, InvalidInputError):
                return
            while (job := begun.next_job()) is not None:
                # As a stream of its own it takes turns with others, behind single requests.
                engine = tried.decider.engine
                done = await self._scheduler.submit(engine, job, until, tried, tried)
                begun.take(done.result)
        # Everything: a shadow that fails must disturb nobody.
        except Exception as error:
            log_line("shadow failed", logging.WARNING, error=f"{type(error).__name__}: {error}")
            return
        name, now = tried.experiment.name, time.time()
        for each in entries_of(now, state, questions, begun.decision, request, False):
            key = shadow_key(name, each)
            answer = (request, each.question, each.state_hash, each.probabilities, each.best)
            self._answers.append((key, name, *map(str, answer), now))

    # Following the registry and the outcomes -----------------------------------------------------

    def judge(self) -> None:
        """Take in new outcomes and do what follows. Raises LogError."""
        for each in self._running:
            verdict, numbers = each.judge.update(), each.judge.numbers()
            tried = each.experiment
            if verdict in _STOPS:
                self._end(each, verdict, numbers)
                continue
            if verdict == "not worse" and not tried.ready:
                self._change("ready", each, "not worse", numbers)
            due = tried.due(each.judge.canary.outcomes)
            if due > tried.share:
                self._change("ramped", each, f"share {due:g}", {**numbers, "share": due})

    def look(self) -> None:
        """Follow the registry, write shadows, judge. Raises LogError and InvalidInputError."""
        stamp = self.registry.stamp()
        if stamp != self._stamp or self._waits:
            held = self.registry.now()
            self._follow(held)
            self._stamp = stamp
        self._write_shadows()
        self._guard()
        self.judge()

    def _watch(self) -> None:
        failing = False
        while not self._ends.wait(_LOOK_SECONDS):
            try:
                self.look()
                failing = False
            # Everything: nothing may end the thread that rolls back.
            except Exception as error:
                if not failing:
                    log_line("the loop cannot go on", logging.WARNING, error=str(error))
                failing = True

    def _follow(self, held: RegistryState) -> None:
        with self._follows:
            self._running = tuple(
                replace(each, experiment=held.running[each.experiment.name])
                for each in self._running
                if each.experiment.name in held.running
            )
            if held.champions and held.champions[-1] != self._champion:
                self._champion = held.champions[-1]
                self._switch(held, self._champion)
            tried_here = {Pointed(e.version, e.lam) for e in held.running.values()}
            ended = set(self._opened) - tried_here - set(held.champions[-2:])
            for pointed in ended:
                del self._opened[pointed]
            if ended:
                self._opener.submit(let_go)
            known = {each.experiment.name for each in self._running} | self._withdrawn
            new = [each for each in held.running if each not in known | self._opening]
            room = max(0, MOST_CANDIDATES - len(self._running) - len(self._opening))
            self._waits = len(new) > room
            for name in new[:room]:
                self._opening.add(name)
                tried = held.running[name]
                ref = held.versions[tried.version].reference
                self._opener.submit(self._try, tried, ref)

    def _switch(self, held: RegistryState, champion: Pointed) -> None:
        """Let another champion answer: at once if it is open here."""
        ref, opened = held.versions[champion.version].reference, self._opened.get(champion)
        if opened is None:
            self._opener.submit(self._load, champion, ref)
        else:
            self._checkpoints.use(ref, opened)
            log_line("champion", version=champion.version, lam=opened.source.lam)

    def _load(self, champion: Pointed, ref: str) -> None:
        try:
            self._opened[champion] = self._checkpoints.load(ref, champion.lam).main
            log_line("champion", version=champion.version)
        # Everything: whatever opening raises, the old champion keeps answering.
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            log_line("the champion cannot be opened", logging.ERROR, ref=ref, error=what)

    def _try(self, tried: Experiment, ref: str) -> None:
        try:
            pointed = Pointed(tried.version, tried.lam)
            decider = self._opened.get(pointed)
            if decider is None:
                decider = self._checkpoints.warmed(self._open(ref, tried.lam))
            running = Running(tried, decider, Judge(self._log.store, tried))
            with self._follows:
                # It may have ended while it was being opened.
                current = self.registry.now().running.get(tried.name)
                if current is None:
                    self._opener.submit(let_go)
                    return
                self._opened[pointed] = decider
                running = replace(running, experiment=current)
                both = (*self._running, running)
                self._running = tuple(sorted(both, key=lambda e: e.experiment.started))
            log_line(f"{tried.kind} started", experiment=tried.name, version=tried.version)
        # Everything: a candidate that cannot be opened is not tried.
        except Exception as error:
            self._withdrawn.add(tried.name)
            reason = f"the candidate cannot be opened: {type(error).__name__}: {error}"
            self._record("ended", tried, reason, {})
        finally:
            self._opening.discard(tried.name)

    def _guard(self) -> None:
        """Stop a candidate that fails, or is slow, more often than the champion."""
        while self._seen:
            arm, seconds = self._seen.popleft()
            for running, share in arm.compared:
                candidate, slow_ms = arm.candidate is running, running.experiment.slow_ms
                running.failures.outcome(candidate, share, float(seconds is not None))
                if slow_ms is not None and seconds is not None:
                    running.slowness.outcome(candidate, share, float(seconds * 1000 <= slow_ms))
        for each in self._running:
            for what, test in (("failures", each.failures), ("slow answers", each.slowness)):
                if test.verdict in _STOPS:
                    evidence = {"decisions": test.outcomes, "harm": round(test.harm.highest, 4)}
                    self._end(each, what, evidence)

    def _end(self, ended: Running, why: str, numbers: Mapping[str, object]) -> None:
        """Withdraw a candidate: here at once, everywhere by the registry."""
        self._withdrawn.add(ended.experiment.name)
        with self._follows:
            gone = ended.experiment.name
            self._running = tuple(e for e in self._running if e.experiment.name != gone)
        self._change("ended", ended, why, numbers)

    def _change(self, what: str, each: Running, why: str, numbers: Mapping[str, object]) -> None:
        self._record(what, each.experiment, why, numbers)

    def _record(
        self, what: str, tried: Experiment, why: str, numbers: Mapping[str, object]
    ) -> None:
        """Into the registry, the chain and the server's log; only whoever is first does."""
        name, version = tried.name, tried.version
        if not self.registry.change(what, name, BY, why, numbers):  # type: ignore[arg-type]
            return
        said = f"{name} ({version}) {what}: {why}"
        about = {"experiment": name, "version": version, **numbers}
        log_line(said, logging.WARNING if what == "ended" else logging.INFO, **about)
        self._log.store.note({"what": said, **about})

    def _write_shadows(self) -> None:
        rows = [self._answers.popleft() for _ in range(len(self._answers))]
        try:
            if rows:
                self._log.store.add(SHADOWS, rows)
        except LogError:
            self._answers.extend(rows)
            raise
