"""What a taught answer costs: the same question with its head and without, in turns.

Both sides share one engine, as a taught layer and its parent do. The head is fitted first, on
tickets of the measured length labelled by what they wish.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.decide.heads import Head, Heads, question_key
from thisthat.errors import InvalidInputError
from thisthat.items import metrics
from thisthat.rng import Rng
from thisthat.teach.collect import collect_lessons
from thisthat.teach.fit_head import fit_head
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.timing.busy import busy_caveats
from thisthat_lab.bench.timing.comparison import BOOLEAN, BOOLEAN_COLD, ask_ours
from thisthat_lab.bench.timing.contest import Entry, Limits, TurnJournal, hold
from thisthat_lab.bench.timing.texts import state_of

TOKENS = BOOLEAN_COLD.tokens
LABELS, QUICK_LABELS = 200, 40
LIMITS = Limits(seconds=20, patience=60, least=100, most=1_000)
QUICK_LIMITS = Limits(seconds=1, patience=3, least=5, most=20)
STATES = 256
"""How many states take turns; more calls begin again with the first."""

MOST_TIMES = 1.03
WITHOUT, WITH = "without its head", "with its head"
_WISH = "money back"
_LABEL = "time with a head, of time without"
_ON_GPU = "set for a CPU; on CUDA a taught question is read outside the graphs"


def run(context: Context) -> Findings:
    """Teach one question, then time it both ways, a state a call."""
    caveats = busy_caveats()
    decider, quick = context.engine.decider, context.setting.quick
    rng = Rng("taught", context.seed)
    count = QUICK_LABELS if quick else LABELS
    head = learned(decider, [state_of(decider, rng, TOKENS) for _ in range(count)])
    states = [state_of(decider, rng, TOKENS) for _ in range(STATES)]
    identity = {**context.engine.identity.as_dict(), "seed": context.seed, "quick": quick}
    journal = TurnJournal(context.setting.out, {**identity, "of": "taught"})
    turns = hold(
        "taught",
        [
            Entry(WITHOUT, partial(ask_ours, decider, BOOLEAN, BOOLEAN_COLD.ways)),
            Entry(WITH, partial(ask_ours, with_head(decider, head), BOOLEAN, BOOLEAN_COLD.ways)),
        ],
        lambda number: states[number % STATES],
        QUICK_LIMITS if quick else LIMITS,
        journal,
        states=BOOLEAN_COLD.states,
        warm_up=states[-1],
    )
    journal.finish()
    times = {label: [turn.milliseconds for turn in each] for label, each in turns.items()}
    calls = min(map(len, times.values()))
    plain, moved = (np.array(times[label][:calls]) for label in (WITHOUT, WITH))
    ratio = metrics.bootstrap_statistic(
        lambda rows: float(np.median(moved[rows]) / np.median(plain[rows])), calls
    )
    note = _ON_GPU if decider.engine.capabilities.on_gpu else ""
    return Findings(
        [
            Line.of(f"{_LABEL} (of medians, n = {calls})", ratio, unit="ratio"),
            Line(f"{WITHOUT}, p50", float(np.median(plain)), unit="ms"),
            Line(f"{WITH}, p50", float(np.median(moved)), unit="ms"),
        ],
        bars=[Bar(_LABEL, ratio.value, MOST_TIMES, False, "ratio", note)],
        series={"taught": times},
        caveats=[
            *caveats,
            f"One boolean about {TOKENS} tokens a call, the state first, another state in every "
            f"call; both sides decide the same states, and which goes first changes. The head was "
            f"fitted on {count} such states.",
        ],
    )


def learned(decider: Decider, states: Sequence[str]) -> Head:
    """The head of the question that is timed. Raises InvalidInputError where none is learned."""
    (question,) = BOOLEAN.values()
    labels = np.array([int(_WISH in state) for state in states])
    collected, again = collect_lessons(decider, question, states)
    head = fit_head(question, collected, labels, again=again).head
    if head is None:
        raise InvalidInputError("system", f"learns nothing from {len(states)} tickets")
    return head


def with_head(decider: Decider, head: Head) -> Decider:
    """The decider with that head alone, on the same engine."""
    (question,) = BOOLEAN.values()
    heads = Heads(((1.0, {question_key(question): head}),), decider.decode)
    own = decider.builder, decider.engine, decider.reading, decider.source, decider.decode
    return Decider(*own, heads=heads)
