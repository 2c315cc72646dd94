"""The attacks of tests/attacks, each repeated for a while; requests as long as are allowed.

An honest client asks meanwhile, twenty times a second at most, and before each attack when nothing
else happens: what it waits (p99) may double. The small engine of the tests, 2 ms a row, shows what
the server adds; long requests are sent to the real checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.attacks import test_bodies, test_connections
from tests.attacks.conftest import LONGEST_PROBE, MEBIBYTE, MOST_GROWTH, Seen, Target

from campaign.report import Finding
from campaign.served import serving

SECONDS = {"short": 3.0, "full": 20.0}
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


def attack_all(
    attacks: Mapping[str, Callable[[Target], None]], seconds: float, *words: str, **more: Any
) -> list[Finding]:
    with serving(*words, **more) as served:
        target = Attacked(served.process, served.port)  # type: ignore[arg-type]
        return [measured(target, name, attack, seconds) for name, attack in attacks.items()]


def run(size: str) -> list[Finding]:
    seconds = SECONDS[size]
    with tempfile.TemporaryDirectory() as folder:
        small = [sys.executable, "-m", "tests.attacks.server", str(Path(folder) / "log.sqlite")]
        found = attack_all(attacks(), seconds, command=small)
    return found + attack_all(LONG, 5 * seconds)


def measured(
    target: Target, name: str, attack: Callable[[Target], None], seconds: float
) -> Finding:
    with target.observed() as calm:
        time.sleep(seconds)
    attacker = FORK.Process(target=repeat, args=(attack, target, seconds), daemon=True)
    with target.observed() as seen:
        attacker.start()
        attacker.join(seconds + 30)
        attacker.kill()
        attacker.join()
        time.sleep(2)
    places = int(target.metric("thisthat_requests_in_flight"))
    grown = (seen.most - target.base) / MEBIBYTE
    before, during = p99(calm), p99(seen)
    refused = sorted(seen.statuses - {200})
    shown = (
        f"{grown:.0f} MiB, {max(seen.probes):.2f} s (calm {max(calm.probes):.2f}), "
        f"p99 {before * 1000:.0f} → {during * 1000:.0f} ms of {len(seen.honest)}, {places}"
    )
    if refused:
        shown += f", refused: {refused}"
    probe = max(seen.probes) <= max(LONGEST_PROBE, max(calm.probes))
    kept = grown <= MOST_GROWTH / MEBIBYTE and probe and during <= 2 * before and not refused
    return Finding(name, shown, "≤ 256 MiB, ≤ 0.5 s, p99 ≤ 2 ×, 0 places", kept and not places)


def p99(seen: Seen) -> float:
    return float(np.percentile(seen.honest, 99))
