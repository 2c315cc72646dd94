"""Does the loop keep its promises? In simulated worlds of known truth, and on real servers."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thisthat.calibrate.drift import sure_cell, sureness
from thisthat.items import metrics
from thisthat.loop.canary import CanarySettings, evidence
from thisthat.loop.off_policy import Logged, doubly_robust, ips
from thisthat.rng import Rng
from thisthat_lab.bench.loop_servers import kills, rollback, slowdown
from thisthat_lab.bench.loop_servers.world import make_world
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.timing.busy import busy_caveats
from thisthat_lab.bench.timing.texts import state_of

ALPHA = 0.05
MARGIN = 0.01
SHARE = 0.1
USUAL, WORSE = 0.9, 0.85
LEAST_PROPENSITY = 0.05
STATE_TOKENS = 48
_BLOCK = 100
_Z_ALPHA, _Z_POWER = 1.645, 1.645


def run(context: Context) -> Findings:
    """Simulate, then measure servers of the system: processor time, rollbacks, lost outcomes."""
    simulated, served = simulate(context), serve(context)
    return replace(
        simulated,
        lines=[*simulated.lines, *served.lines],
        bars=[*simulated.bars, *served.bars],
        series={**simulated.series, **served.series},
        caveats=served.caveats,
        system=context.engine.identity,
    )


def serve(context: Context) -> Findings:
    """What real servers do, in processes of their own."""
    setting, quick = context.setting, context.setting.quick
    blocks, rounds, each = (4, 1, 4) if quick else (40, 5, 20)
    caveats = busy_caveats()
    decider = context.engine.decider
    rng = Rng("loop", context.seed)
    asked = max(slowdown.WARM_UP, blocks * slowdown.BLOCK)
    states = [state_of(decider, rng, STATE_TOKENS) for _ in range(asked)]
    given = setting.system, setting.options
    steps = 1 + blocks + rounds + kills.KILLS + 1
    with (
        tempfile.TemporaryDirectory(prefix="thisthat-loop-") as folder,
        context.progress("servers", steps) as advance,
    ):
        world = make_world(Path(folder), *given)
        advance(1)
        slower = slowdown.measure(world, *given, states, blocks, advance)
        back = rollback.measure(world, setting.options, rounds, advance)
        kept = kills.measure(world, setting.options, each, advance)
    return Findings(
        [line for part in (slower, back, kept) for line in part[0]],
        bars=[bar for part in (slower, back, kept) for bar in part[1]],
        series={"slowdown": slower[2], "rollback": back[2], "kills": kept[2]},
        caveats=caveats,
    )


def simulate(context: Context) -> Findings:
    """Canaries, estimates and alarms; nothing is asked of the system."""
    quick = context.setting.quick
    nulls, null_length = (200, 800) if quick else (2_000, 4_000)
    harmful, length = (50, 20_000) if quick else (400, 30_000)
    logs, streams, decisions = (60, 4, 5_000) if quick else (500, 40, 100_000)
    rng = np.random.default_rng(context.seed)
    steps = nulls // _BLOCK + math.ceil(harmful / _BLOCK) + logs + streams
    with context.progress("simulations", steps) as advance:
        back, better = _nulls(rng, nulls, null_length, advance)
        found = _harmful(rng, harmful, length, advance)
        held, widths = _estimates(rng, logs, advance)
        alarms = _drift(rng, streams, decisions, advance)
    caught = int(np.isfinite(found).sum())
    lines = [
        Line.of("equal candidates rolled back", metrics.wilson(back, nulls)),
        Line.of("equal candidates called better", metrics.wilson(better, nulls)),
        Line.of("candidates worse by 5 points rolled back", metrics.wilson(caught, harmful)),
        Line("median outcomes until then", _median(found), unit="number"),
        Line("outcomes of a fixed test of 95 % power", _fixed_test(), unit="number"),
        Line.of("doubly robust intervals that hold the truth", metrics.wilson(held[1], logs)),
        Line.of("inverse propensity intervals that hold it", metrics.wilson(held[0], logs)),
        Line("their width, doubly robust over inverse propensity", widths[1] / widths[0]),
        Line.of("streams without drift that alarm", metrics.wilson(alarms, streams)),
    ]
    bars = [
        Bar("equal candidates rolled back", back / nulls, ALPHA, False, "share"),
        Bar("equal candidates called better", better / nulls, ALPHA, False, "share"),
        Bar("worse candidates rolled back", caught / harmful, 0.95, True, "share"),
        Bar("doubly robust intervals that hold", held[1] / logs, 0.95, True, "share"),
        Bar("inverse propensity intervals that hold", held[0] / logs, 0.95, True, "share"),
        Bar("width, doubly robust over inverse propensity", widths[1] / widths[0], 1.0, False),
        Bar("streams without drift that alarm", alarms / streams, ALPHA, False, "share"),
    ]
    details = {
        "null": {"canaries": nulls, "outcomes": null_length},
        "harmful": {"canaries": harmful, "outcomes": length, "share": SHARE, "margin": MARGIN},
        "logs": logs,
        "drift": {"streams": streams, "decisions": decisions},
    }
    return Findings(lines, [], [], [], details, bars=bars)


def _simulated(
    rng: np.random.Generator, share: NDArray[np.float64], worse: float, margin: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Canaries with outcomes of which a fifth never comes, and the others in another order."""
    candidate = rng.random(share.shape) < share
    reward = (rng.random(share.shape) < np.where(candidate, worse, USUAL)).astype(float)
    arrival = np.arange(share.shape[1]) + rng.random(share.shape) * 50
    arrival[rng.random(share.shape) < 0.2] = math.inf
    kept = np.argsort(arrival, axis=1)[:, : share.shape[1] * 3 // 4]
    taken = [np.take_along_axis(each, kept, axis=1) for each in (candidate, share, reward)]
    return evidence(taken[0], taken[1], taken[2], margin)


def _nulls(
    rng: np.random.Generator, count: int, length: int, advance: Callable[[int], None]
) -> tuple[int, int]:
    """How many canaries of an equal candidate are rolled back, and called better."""
    back = better = 0
    ramp = np.tile(np.repeat([0.02, 0.05, 0.2, 0.5], length // 4), (_BLOCK, 1))
    for _ in range(count // _BLOCK):
        harm, _ = _simulated(rng, ramp, USUAL, CanarySettings(MARGIN, ALPHA).margin)
        _, fine = _simulated(rng, ramp, USUAL, 0.0)
        back += int((harm.max(axis=1) >= 1 / ALPHA).sum())
        better += int((fine.max(axis=1) >= 1 / ALPHA).sum())
        advance(1)
    return back, better


def _harmful(
    rng: np.random.Generator, count: int, length: int, advance: Callable[[int], None]
) -> NDArray[np.float64]:
    """After how many outcomes each worse candidate is rolled back; infinite where it is not."""
    found: list[float] = []
    while len(found) < count:
        rows = min(_BLOCK, count - len(found))
        harm, _ = _simulated(rng, np.full((rows, length), SHARE), WORSE, MARGIN)
        hit = harm >= 1 / ALPHA
        first = np.where(hit.any(axis=1), hit.argmax(axis=1) + 1.0, math.inf)
        found += first.tolist()
        advance(1)
    return np.array(found)


def _median(found: NDArray[np.float64]) -> float | None:
    """The median, unless half of the candidates were never rolled back."""
    middle = float(np.median(found))
    return middle if math.isfinite(middle) else None


def _fixed_test() -> float:
    """Outcomes that a one-sided z-test of the same margin needs, looked at once."""
    spread = WORSE * (1 - WORSE) / SHARE + USUAL * (1 - USUAL) / (1 - SHARE)
    return math.ceil(spread * ((_Z_ALPHA + _Z_POWER) / (USUAL - WORSE - MARGIN)) ** 2)


def _estimates(
    rng: np.random.Generator, count: int, advance: Callable[[int], None]
) -> tuple[list[int], list[float]]:
    """How many intervals hold the truth, and how wide they are in all: IPS, doubly robust."""
    held, widths = [0, 0], [0.0, 0.0]
    for _ in range(count):
        logged, truth = _logged(rng, 1_500)
        for place, estimate in enumerate((ips, doubly_robust)):
            found = estimate(logged, LEAST_PROPENSITY, ALPHA)
            held[place] += found.low <= truth <= found.high
            widths[place] += found.high - found.low
        advance(1)
    return held, widths


def _logged(rng: np.random.Generator, rows: int) -> tuple[Logged, float]:
    """Decisions between two options, explored more and more; a fifth of the outcomes missing."""
    x = rng.random(rows)
    earned = np.stack([0.25 + 0.5 * x, 0.75 - 0.5 * x], axis=1)
    explored = np.repeat([LEAST_PROPENSITY, 0.1, 0.2], rows // 3)
    action = (rng.random(rows) < explored).astype(int)
    wanted = np.where(x > 0.5, 0, 1)
    at = np.arange(rows)
    reward = (rng.random(rows) < earned[at, action]).astype(float)
    model = 0.15 + 0.7 * earned
    chance = np.where(action == 1, explored, 1 - explored)
    came = rng.random(rows) < 0.8
    columns = (chance, (action == wanted) * 1.0, reward, model[at, action], model[at, wanted])
    return Logged(*(column[came] for column in columns)), 0.625


def _drift(
    rng: np.random.Generator, count: int, length: int, advance: Callable[[int], None]
) -> int:
    """How many streams without drift ever alarm."""
    alarms = 0
    for seed in range(count):
        bets = sureness(rng.beta(5, 2, 500).tolist(), seed)
        for value in rng.beta(5, 2, length).tolist():
            bets.add(sure_cell(value))
        alarms += bets.drifted(ALPHA)
        advance(1)
    return alarms
