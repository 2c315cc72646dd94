"""The attacks of tests/attacks, each repeated for a while; requests as long as are allowed.

Each goes to two servers. One has the small engine of the tests, 2 ms a row, which leaves attackers
the most room: there memory, health probes and held places are measured. The other serves the real
checkpoint: there an honest client at another address asks meanwhile, twenty times a second at
most, and before each attack when nothing else happens. What it waits (p99) may double. Long
requests go to the real checkpoint alone.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.attacks import test_bodies, test_connections
from tests.attacks.conftest import LONGEST_PROBE, MEBIBYTE, MOST_GROWTH, Seen, Target

from campaign.report import Finding
from campaign.served import serving

SECONDS = {"short": 3.0, "full": 20.0}
CALM_SECONDS = 3.0
"""Before attacks on the small engine, whose honest clients are not judged by their p99."""
FORK = multiprocessing.get_context("fork")


class Attacked(Target):
    """A target that is watched from another process."""

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        yield


def long_request(target: Target) -> None:
    questions = {f"q{number}": "Is it? " + "why " * 100 for number in range(120)}
    body = test_bodies.systemone(state="word " * 1500, questions=questions)
    assert target.post("/v1/systemone", body)[0] in (200, 503)


def long_states(target: Target) -> None:
    body = {"states": ["word " * 5000] * 16, "questions": test_bodies.QUESTIONS}
    assert target.post("/v1/decide", json.dumps(body).encode())[0] in (200, 503)


def attacks() -> dict[str, Callable[[Target], None]]:
    bodies = {name: cache(make) for name, make in test_bodies.BODIES.items()}
    test_bodies.BODIES.update(bodies)
    found: dict[str, Callable[[Target], None]] = {
        name: partial(_named, test_bodies.test_one_request, name) for name in bodies
    }
    found |= {
        f"stream: {name}": partial(_named, test_bodies.test_one_stream, name)
        for name in test_bodies.STREAMS
    }
    for module in (test_bodies, test_connections):
        plain = [name for name in vars(module) if name.startswith("test_") and "_one_" not in name]
        found |= {name[5:].replace("_", " "): getattr(module, name) for name in plain}
    return found


LONG = {"requests of 16,000 tokens": long_request, "states of 5,000 tokens": long_states}


def _named(test: Callable[[Target, str], None], name: str, target: Target) -> None:
    test(target, name)


def repeat(attack: Callable[[Target], None], target: Target, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(AssertionError, OSError):
            attack(target)


@dataclass(frozen=True)
class Attack:
    """What was seen before an attack and during it; places still held two seconds after it."""

    calm: Seen
    seen: Seen
    grown: float
    places: int


def attack_all(
    attacks: Mapping[str, Callable[[Target], None]],
    calm_seconds: float,
    seconds: float,
    *words: str,
    **more: Any,
) -> dict[str, Attack]:
    with serving(*words, **more) as served:
        target = Attacked(served.process, served.port)  # type: ignore[arg-type]
        return {
            name: attacked(target, attack, calm_seconds, seconds)
            for name, attack in attacks.items()
        }


def run(size: str) -> list[Finding]:
    seconds = SECONDS[size]
    with tempfile.TemporaryDirectory() as folder:
        small = [sys.executable, "-m", "tests.attacks.server", str(Path(folder) / "log.sqlite")]
        held = attack_all(attacks(), CALM_SECONDS, seconds / 2, command=small)
    asked = attack_all(attacks(), seconds, seconds)
    long = attack_all(LONG, 2 * seconds, 3 * seconds)
    found = [finding(name, held[name], asked[name]) for name in held]
    return found + [finding(name, attack, attack) for name, attack in long.items()]


def attacked(
    target: Target, attack: Callable[[Target], None], calm_seconds: float, seconds: float
) -> Attack:
    with target.observed() as calm:
        time.sleep(calm_seconds)
    attacker = FORK.Process(target=repeat, args=(attack, target, seconds), daemon=True)
    with target.observed() as seen:
        attacker.start()
        attacker.join(seconds + 30)
        attacker.kill()
        attacker.join()
        time.sleep(2)
    places = int(target.metric("thisthat_requests_in_flight"))
    return Attack(calm, seen, (seen.most - target.base) / MEBIBYTE, places)


def finding(name: str, held: Attack, asked: Attack) -> Finding:
    """One row: memory, probes and places of one attack, an honest client's waits of another."""
    before, during = p99(asked.calm), p99(asked.seen)
    longest, usual = max(held.seen.probes), max(held.calm.probes)
    refused = sorted((held.seen.statuses | asked.seen.statuses) - {200})
    shown = (
        f"{held.grown:.0f} MiB, {longest:.2f} s (calm {usual:.2f}), {held.places}; "
        f"p99 {before * 1000:.0f} → {during * 1000:.0f} ms of {len(asked.seen.honest)}"
    )
    if refused:
        shown += f", refused: {refused}"
    kept = (
        held.grown <= MOST_GROWTH / MEBIBYTE
        and longest <= max(LONGEST_PROBE, usual)
        and not held.places
        and during <= 2 * before
        and not refused
    )
    return Finding(name, shown, "≤ 256 MiB, ≤ 0.5 s, 0 places; p99 ≤ 2 ×", kept)


def p99(seen: Seen) -> float:
    return float(np.percentile(seen.honest, 99))
