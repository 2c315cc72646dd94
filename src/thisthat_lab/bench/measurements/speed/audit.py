"""What the decision log costs: the same decisions with and without it, in turns, in one process.

Lines are written 100 ms after their decision, by a thread of the log. Decisions are therefore timed
in blocks, so that most of the writing falls into the block that caused it; what is left of it is
waited for before the other side's turn, and belongs to neither.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thisthat.audit.entry import entries_of
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.decide.decider import Decider
from thisthat.items import metrics
from thisthat.questions import Decision, Question
from thisthat.rng import Rng
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.measurements.speed.latency import WORKLOADS, words_for
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.timing.busy import busy_caveats
from thisthat_lab.bench.timing.texts import ticket

Array = NDArray[np.float64]

WARM_UP = 5
BLOCK = 25
PAIRS, QUICK_PAIRS = 24, 4
APPENDS, QUICK_APPENDS = 200, 40
MANY_LINES = 1_000
MOST_TIMES = 1.05
_LABEL = "time with the log, of time without"
CAVEATS = (
    f"A SQLite log. Blocks of {BLOCK} decisions about the same states, with the log and without in "
    "turns; which goes first changes from pair to pair.",
    "The log lies in the folder of the result while it is measured: a sync is that disk's.",
)


@dataclass(frozen=True)
class _Turns:
    """Milliseconds of every block, and how many decisions differed between the two."""

    plain: Array
    logged: Array
    unequal: int


def run(context: Context) -> Findings:
    """Time one question of 64 tokens with and without a log, then appends by themselves."""
    caveats = [*busy_caveats(), *CAVEATS]
    decider = context.engine.decider
    questions = WORKLOADS[0].declared()
    quick = context.setting.quick
    pairs, appends = (QUICK_PAIRS, QUICK_APPENDS) if quick else (PAIRS, APPENDS)
    rng = Rng("audit", context.seed)
    words = words_for(decider, WORKLOADS[0], rng)
    blocks = [[ticket(rng, words) for _ in range(BLOCK)] for _ in range(pairs)]
    context.setting.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=context.setting.out, prefix="audit-") as folder:
        decision = _warmed_up(decider, blocks[0][0], questions)
        log = DecisionLog(Path(folder) / "turns.sqlite")
        with log, context.progress("audit", pairs) as advance:
            turns = _turns(decider, log, blocks, questions, advance)
        alone = _appends(Path(folder), blocks[0][0], questions, decision, appends)
    missing = pairs * BLOCK * len(questions) - log.health.written
    return Findings(
        _lines(turns, alone, missing),
        bars=[Bar(_LABEL, _times(turns), MOST_TIMES, False, "share")],
        series={"audit": {"without": turns.plain.tolist(), "with": turns.logged.tolist()}},
        caveats=caveats,
    )


def _warmed_up(decider: Decider, state: str, questions: Mapping[str, Question]) -> Decision:
    for _ in range(WARM_UP):
        decision = decider.decide(state, dict(questions))
    return decision


def _turns(
    decider: Decider,
    log: DecisionLog,
    blocks: Sequence[Sequence[str]],
    questions: Mapping[str, Question],
    advance: Callable[[int], None],
) -> _Turns:
    times: dict[bool, list[float]] = {False: [], True: []}
    unequal = 0
    gc.collect()
    for number, states in enumerate(blocks):
        answers = {}
        for logged in (False, True) if number % 2 else (True, False):
            with _keeping(decider, log if logged else None):
                started = time.perf_counter()
                decided = [decider.decide(state, dict(questions)) for state in states]
                times[logged].append((time.perf_counter() - started) * 1000)
            log.flush()
            answers[logged] = [decision.answers for decision in decided]
        pairs = zip(answers[False], answers[True], strict=True)
        unequal += sum(one != other for one, other in pairs)
        advance(1)
    return _Turns(np.array(times[False]), np.array(times[True]), unequal)


@contextmanager
def _keeping(decider: Decider, log: DecisionLog | None) -> Iterator[None]:
    before, decider.log = decider.log, log
    try:
        yield
    finally:
        decider.log = before


def _appends(
    folder: Path, state: str, questions: Mapping[str, Question], decision: Decision, count: int
) -> dict[str, Array]:
    """Milliseconds of handing a decision over, of one line to disk, and of a line among many."""
    line = entries_of(time.time(), state, questions, decision, None, keep_state=False)[:1]
    with DecisionLog(folder / "handed.sqlite") as log:
        handed = [_timed(lambda: log.record(state, questions, decision)) for _ in range(count)]
    store = SQLiteStore(folder / "appended.sqlite")
    store.append(line)
    one = [_timed(lambda: store.append(line)) for _ in range(count)]
    many = [_timed(lambda: store.append(line * MANY_LINES)) / MANY_LINES for _ in range(5)]
    store.close()
    return {
        "handing a decision over, p50": np.array(handed),
        "one line written and synced, p50": np.array(one),
        f"a line among {MANY_LINES:,} written and synced at once, p50": np.array(many),
    }


def _timed(act: Callable[[], None]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def _times(turns: _Turns) -> float:
    return float(np.median(turns.logged / turns.plain))


def _lines(turns: _Turns, alone: Mapping[str, Array], missing: int) -> list[Line]:
    ratios = turns.logged / turns.plain
    times = metrics.bootstrap_statistic(lambda rows: float(np.median(ratios[rows])), ratios.size)
    label = f"{_LABEL} (median of {ratios.size} pairs of blocks)"
    return [
        Line.of(label, times),
        Line("a decision without the log, p50", _each(turns.plain), unit="ms"),
        Line("a decision with the log, p50", _each(turns.logged), unit="ms"),
        *(_median(label, values) for label, values in alone.items()),
        Line("lines missing in the log", float(missing), unit="number"),
        Line("decisions that differ between the two", float(turns.unequal), unit="number"),
    ]


def _each(blocks: Array) -> float:
    return float(np.median(blocks)) / BLOCK


def _median(label: str, values: Array) -> Line:
    middle = metrics.bootstrap_statistic(lambda rows: float(np.median(values[rows])), values.size)
    return Line.of(f"{label} (n = {values.size})", middle, unit="ms")
