"""Processor time of a decision with a canary and a log, over that of one without, in turns.

Both servers run on one core, and each is counted only while it is asked: a block of requests, then
the same block of the other. Waiting threads cost time by themselves, hence one core. The units are
the champion's, so that both do the same work but for the loop's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thisthat.items import metrics
from thisthat_lab.bench.loop_servers.world import Client, World, units, wait
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.timing.served import Served, serving, serving_loop

BLOCK = 20
WARM_UP = 10
SHARE = 0.05
MOST = 1.02
LABEL = "processor time of a decision with canary and log, of one without"
_SETTLE_SECONDS = 0.3
"""The log writes its last lines that long after they were made."""

Array = NDArray[np.float64]


def measure(
    world: World,
    system: str,
    options: SystemOptions,
    states: list[str],
    blocks: int,
    advance: Callable[[int], None],
) -> tuple[list[Line], list[Bar], dict[str, list[float]]]:
    """Ask both servers in turns, each about the same states, of which a block has ``BLOCK``."""
    core = min(os.sched_getaffinity(0)) if Path("/proc/self/stat").exists() else None
    if core is None:
        return [], [Bar(LABEL, None, MOST, False, "share", "Linux only")], {}
    tried = world.canary(SHARE)
    unit, probe = units(tried, SHARE)
    with (
        serving(system, options, core) as plain,
        serving_loop(world.folder, options, core=core) as looped,
    ):
        servers = {"without": plain, "with": looped}
        clients = {name: Client(each.address) for name, each in servers.items()}
        champion = clients["with"].ask(states[0], unit).checkpoint
        wait(lambda: clients["with"].ask(states[0], probe).checkpoint != champion, "canary")
        for client in clients.values():
            for asked in states[:WARM_UP]:
                client.ask(asked, unit)
        spent: dict[str, list[float]] = {name: [] for name in servers}
        for number in range(blocks):
            some = states[number * BLOCK : (number + 1) * BLOCK]
            for name in sorted(servers, reverse=bool(number % 2)):
                spent[name].append(_cpu(servers[name], clients[name], some, unit))
            advance(1)
    world.registry.change("ended", tried.name, "bench", "measured", {})
    return (*_found(np.array(spent["with"]), np.array(spent["without"])), spent)


def _cpu(server: Served, client: Client, states: list[str], unit: str) -> float:
    """Processor seconds of a block, the writing of its log lines included."""
    before = server.cpu_seconds()
    for asked in states:
        client.ask(asked, unit)
    time.sleep(_SETTLE_SECONDS)
    return server.cpu_seconds() - before


def _found(looped: Array, plain: Array) -> tuple[list[Line], list[Bar]]:
    def ratio(rows: NDArray[np.intp]) -> float:
        return float(looped[rows].sum() / plain[rows].sum())

    found = metrics.bootstrap_statistic(ratio, len(plain))
    middle = float(np.median(looped / plain))
    lines = [
        Line.of(LABEL, found),
        Line("median of that over blocks", middle),
        Line(
            "processor time of one without",
            float(plain.sum() / plain.size / BLOCK * 1000),
            unit="ms",
        ),
    ]
    return lines, [Bar(LABEL, found.value, MOST, False, "share")]
