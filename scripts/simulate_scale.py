"""A billion decisions a day on paper: how many machines, what they cost, what breaks first.

Rates are measured (docs/performance.md, docs/scale.md); prices, failures and the shape of the day
are assumed, and printed. python scripts/simulate_scale.py [decisions a day]
"""

import sys
from dataclasses import dataclass

import numpy as np

DAY = 86_400


@dataclass(frozen=True)
class Machine:
    """What answers: so many decisions a second, measured; a price by the hour, assumed."""

    name: str
    rate: float
    price: float


MACHINES = (
    Machine("H200, 256 tokens, one question a state", 4_769.0, 4.00),
    Machine("H200, 256 tokens, four questions, schema first", 17_447.0, 4.00),
    Machine("2 x86 cores, native, 64 tokens, one question", 38.0, 0.08),
    Machine("2 x86 cores, native, 256 tokens, one question", 10.9, 0.08),
)
PEAK = 1.8
"""The busiest second of the day over the mean one; the quietest is 0.2 of it."""
LOST_HOURS, BACK_SECONDS = 720.0, 600.0
"""A machine is lost once in so many hours, and another one takes its place after so long."""
WAIT = 1.0
"""Online: 99 of 100 decisions start within so many seconds."""

SURVEY, REST = 50.2e-6, 97.3e-6
"""Seconds a row for checking a batch's input, and for reading, columns and parts; one core."""
REQUEST = {"Ray's proxy": 8.1e-3, "front": 11.7e-3}
"""Seconds of CPU time for a request with one state, on Ray Serve."""


def arrivals(a_day: float, chance: np.random.Generator) -> np.ndarray:
    """Decisions that come in every second of a day."""
    seconds = np.arange(DAY)
    curve = 1 - (PEAK - 1) * np.cos(2 * np.pi * seconds / DAY)
    return chance.poisson(a_day / DAY * curve)


def up(count: int, chance: np.random.Generator) -> np.ndarray:
    """How many of the machines work, every second."""
    working = np.full(DAY, count)
    for at in chance.uniform(0, DAY, chance.poisson(count * DAY / 3600 / LOST_HOURS)):
        working[int(at) : int(at + BACK_SECONDS)] -= 1
    return np.maximum(working, 0)


def wait(come: np.ndarray, working: np.ndarray, rate: float) -> float:
    """How long the 99th of 100 decisions waits, in seconds."""
    room = working * rate
    owed = np.cumsum(come - room)
    backlog = owed - np.minimum(np.minimum.accumulate(owed), 0)
    found = np.divide(backlog, room, out=np.full(DAY, np.inf), where=room > 0)
    order = np.argsort(found)
    share = np.cumsum(come[order]) / come.sum()
    return float(found[order][np.searchsorted(share, 0.99)])


def enough(machine: Machine, count: int, a_day: float, online: bool, days: int = 5) -> bool:
    """Whether so many machines keep the wait, or finish the day's rows, on every simulated day."""
    for seed in range(days):
        chance = np.random.default_rng(seed)
        come, working = arrivals(a_day, chance), up(count, chance)
        if online and wait(come, working, machine.rate) > WAIT:
            return False
        if working.sum() * machine.rate < a_day:
            return False
    return True


def needed(machine: Machine, a_day: float, online: bool) -> int:
    """The fewest machines that are enough."""
    low = int(a_day / DAY / machine.rate)
    high = 4 * low + 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(machine, middle, a_day, online) else (middle, high)
    return high


def main(a_day: float = 1e9) -> None:
    """Print the table of machines, and what one driver and one front can take."""
    mean = a_day / DAY
    print(f"{a_day:.3g} decisions a day: {mean:,.0f} a second, {PEAK} times that at the peak")
    print("| machines | overnight | dollars a day | online | dollars a day | used |")
    print("|---|---:|---:|---:|---:|---:|")
    for machine in MACHINES:
        cells = [machine.name]
        for online in (False, True):
            count = needed(machine, a_day, online)
            cells += [f"{count:,}", f"{count * machine.price * 24:,.0f}"]
        cells.append(f"{mean / machine.rate / count:.0%}")
        print(f"| {' | '.join(cells)} |")
    hours = a_day * (SURVEY + REST) / 3600
    print(f"one driver of `batch`: {1 / REST:,.0f} rows a second after {1 / SURVEY:,.0f} checked;")
    print(f"  the day's rows take {hours:.0f} hours of one core")
    for name, seconds in REQUEST.items():
        cores = mean * PEAK * seconds
        print(f"{name}: {seconds * 1000:.1f} ms a request, {cores:,.0f} cores at the peak")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
