"""Many clients at once for a while: every answer must be there and belong to its question.

Answers are compared with the library's for the same state, bit for bit, and carry the id that only
this request had. Memory is read from the server's process. With ``overload`` twice the sustained
rate follows: what is shed must say when to come back, and what is accepted must not wait long.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.errors import InvalidInputError
from thisthat.questions import Boolean
from thisthat.rng import Rng
from thisthat_lab.bench.measure import Context, Findings, Measurement, registered
from thisthat_lab.bench.measurements.speed.latency import WORKLOADS, words_for
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.timing.served import Served, serving
from thisthat_lab.bench.timing.texts import ticket

POOL = 64
_ASKED = "Does the customer want money back?"
_SETTLED = 0.2
"""The first part of a run, in which caches fill, does not count for memory."""

_FULL_QUEUES = 4
"""Overload lasts as long as this many full queues, if there is time, so that there is one."""


@dataclass
class Tally:
    """What the clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)
    swapped: int = 0
    failed: int = 0
    without_retry: int = 0


def measurement_of(clients: int, seconds: float, overload: bool) -> Measurement:
    """A load of so many clients for so long. Raises InvalidInputError for nonsense."""
    if clients < 1 or not seconds > 0:
        raise InvalidInputError("load", "needs at least 1 client and more than 0 seconds")

    def run(context: Context) -> Findings:
        setting = context.setting
        pool = _pool(context.engine.decider, context.seed)
        with serving(setting.system, setting.options) as served:
            return asyncio.run(_load(served, pool, clients, seconds, overload))

    return registered("load", run, clients=clients, seconds=seconds)


def _pool(decider: Decider, seed: int) -> list[tuple[str, float]]:
    """States and the library's answer to each."""
    rng = Rng("load", seed)
    words = words_for(decider, WORKLOADS[0], rng)
    states = [ticket(rng, words) for _ in range(POOL)]
    return [(state, decider.ask(state, Boolean(_ASKED)).yes) for state in states]


async def _load(
    served: Served, pool: list[tuple[str, float]], clients: int, seconds: float, overload: bool
) -> Findings:
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=clients * 2)
    async with httpx.AsyncClient(base_url=served.address, timeout=300, limits=limits) as client:
        tally, memory = Tally(), []
        started = time.monotonic()
        workers = [
            asyncio.ensure_future(_client(client, pool, tally, started + seconds, number))
            for number in range(clients)
        ]
        while not all(worker.done() for worker in workers):
            memory.append((time.monotonic() - started, served.resident_bytes()))
            await asyncio.wait(workers, timeout=max(0.5, seconds / 100))
        rate = tally.statuses[200] / (time.monotonic() - started)
        lines = _steady_lines(tally, rate, memory, seconds)
        if overload:
            batch = await _batch_ms(client, pool)
            pressing = min(seconds, max(seconds / 4, _FULL_QUEUES * batch / 1000))
            pressed = await _press(client, pool, 2 * rate, pressing)
            lines += _overload_lines(pressed, batch)
    caveats = ["Clients and server share the machine; the rate is that of both together."]
    return Findings(lines, series={"memory": memory}, caveats=caveats)


async def _client(
    client: Any, pool: list[tuple[str, float]], tally: Tally, until: float, number: int
) -> None:
    turn = number
    while time.monotonic() < until:
        await _ask(client, pool, tally, turn)
        turn += POOL + 1


async def _ask(client: Any, pool: list[tuple[str, float]], tally: Tally, turn: int) -> None:
    import httpx

    state, expected = pool[turn % POOL]
    name = f"q{turn}"
    question = {"type": "noul", "instructions": _ASKED}
    body = {"model": "default", "state": state, "questions": {name: question}}
    started = time.monotonic()
    try:
        answer = await client.post("/v1/systemone", json=body)
    except httpx.HTTPError:
        tally.failed += 1
        return
    tally.statuses[answer.status_code] += 1
    if answer.status_code == 200:
        tally.milliseconds.append((time.monotonic() - started) * 1000)
        answers = answer.json()["answers"]
        tally.swapped += list(answers) != [name] or answers[name]["noul"] != expected
    elif answer.status_code in (429, 503):
        tally.without_retry += "retry-after-ms" not in answer.headers


async def _batch_ms(client: Any, pool: list[tuple[str, float]]) -> float:
    """How long a queue's worth of requests takes when nothing else runs."""
    tally = Tally()
    started = time.monotonic()
    await asyncio.gather(*(_ask(client, pool, tally, turn) for turn in range(2 * POOL)))
    return (time.monotonic() - started) * 1000


async def _press(client: Any, pool: list[tuple[str, float]], rate: float, seconds: float) -> Tally:
    """Requests at a fixed rate, whether or not answers come back."""
    tally = Tally()
    sent: list[asyncio.Task[None]] = []
    started = time.monotonic()
    while (now := time.monotonic() - started) < seconds:
        while len(sent) < now * rate:
            sent.append(asyncio.ensure_future(_ask(client, pool, tally, len(sent))))
        await asyncio.sleep(0.005)
    await asyncio.gather(*sent)
    return tally


def _steady_lines(
    tally: Tally, rate: float, memory: list[tuple[float, int | None]], seconds: float
) -> list[Line]:
    times = np.array(tally.milliseconds or [float("nan")])
    held = [used for at, used in memory if used is not None and at >= seconds * _SETTLED]
    growth = held[-1] / held[0] - 1 if held else None
    errors = sum(n for status, n in tally.statuses.items() if status != 200) + tally.failed
    return [
        Line("answers", float(tally.statuses[200]), unit="number"),
        Line("errors", float(errors), unit="number"),
        Line("lost or swapped answers", float(tally.swapped), unit="number"),
        Line("answers per second", rate, unit="number"),
        Line("p50", float(np.percentile(times, 50)), unit="ms"),
        Line("p99", float(np.percentile(times, 99)), unit="ms"),
        Line("growth of the server's memory", growth),
    ]


def _overload_lines(tally: Tally, batch_ms: float) -> list[Line]:
    shed = tally.statuses[429] + tally.statuses[503]
    total = sum(tally.statuses.values()) + tally.failed
    times = np.array(tally.milliseconds or [float("nan")])
    return [
        Line("at twice the rate: shed", shed / max(total, 1)),
        Line(
            "at twice the rate: shed without retry-after-ms",
            float(tally.without_retry),
            unit="number",
        ),
        Line(
            "at twice the rate: lost or swapped", float(tally.swapped + tally.failed), unit="number"
        ),
        Line("at twice the rate: p99 of accepted", float(np.percentile(times, 99)), unit="ms"),
        Line("a full queue on an idle server", batch_ms, unit="ms"),
    ]
