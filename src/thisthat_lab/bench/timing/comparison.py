"""Our engine beside other ways to the same decisions: workloads, turns, ratios and their bars.

All of it is timed in one run on one machine, in turns. The questions stay the same from call to
call, as they do in a program; the states do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.decide.options import DecideKeywords
from thisthat.items import metrics
from thisthat.prompt_format import Layout, Packing
from thisthat.questions import Boolean, Choice, Question, Score
from thisthat.rng import Rng
from thisthat_lab.bench.result import Bar, Line, Timing, kernels_of
from thisthat_lab.bench.systems.competitors import COMPETITORS, Absent, Competitor, Listed
from thisthat_lab.bench.timing.contest import Chosen, Entry, Limits, Turn, TurnJournal, hold
from thisthat_lab.bench.timing.texts import MATTERS, THINGS, state_of

BOOLEAN: dict[str, Question] = {"refund": Boolean("Does the customer want money back?")}
TRIAGE: dict[str, Question] = {
    "urgent": Boolean("Does this ticket need an answer today?"),
    "team": Choice(
        {
            "billing": "charges, refunds and invoices",
            "shipping": "parcels, addresses and delays",
            "returns": "goods that were sent back",
            "account": "login, password and personal data",
        },
        "Which team should take this ticket?",
    ),
    "harm": Score(
        ["none", "an annoyance", "a loss of money", "a lost customer"],
        "How bad is it for the customer?",
    ),
    "reply": Choice(
        {"template": "a prepared text will do", "personal": "somebody has to write it"},
        "What kind of reply fits?",
    ),
}
_OPTIONS = [f"{thing} {matter}" for thing in THINGS for matter in MATTERS]
INTENTS: dict[str, Question] = {"intent": Choice(_OPTIONS, "What is this message about?")}
UNREAD_INTENTS: dict[str, Question] = {"intent": Choice(_OPTIONS, "Which matter is raised here?")}
"""The same options under a question that no other workload has asked, so that no prefix is kept."""
MANY = 1000
OURS = "(a) thisthat"
CAVEATS = (
    "Systems take turns in one process, a short pause between turns; every system decides the same "
    "states. Ratios are of medians, (a) is this engine.",
    "Cold: the state stands first and nothing that was computed is kept from an earlier call "
    "(the token ids of the questions' texts are). Warm: the questions stand first and were read "
    "in an earlier call.",
    "(b) reads the same checkpoint; (c1), (c2) and (d) read its base, whose arithmetic is the "
    "same. They are timed, not scored.",
)


@dataclass(frozen=True, eq=False)
class Workload:
    """What is asked of how long a state, and how our engine is told to read it."""

    name: str
    tokens: int
    questions: Mapping[str, Question]
    layout: Layout
    packing: Packing = "apart"
    states: int = 10**9

    @property
    def warm(self) -> bool:
        """Whether what was kept of the questions may be used."""
        return self.layout == "schema-first"

    @property
    def ways(self) -> DecideKeywords:
        """The settings of a call of our engine."""
        return {"layout": self.layout, "packing": self.packing}


BOOLEAN_COLD = Workload("one boolean, 60 tokens, cold", 60, BOOLEAN, "state-first")
BOOLEAN_WARM = Workload("one boolean, 60 tokens, warm", 60, BOOLEAN, "schema-first")
TRIAGE_COLD = Workload(
    "triage, 4 questions, 200 tokens, state-first apart, cold", 200, TRIAGE, "state-first"
)
TRIAGE_WARM = Workload(
    "triage, 4 questions, 200 tokens, schema-first together, warm",
    200,
    TRIAGE,
    "schema-first",
    "together",
)
INTENT_COLD = Workload("77 options, 60 tokens, cold", 60, INTENTS, "state-first")
INTENT_WARM = Workload("77 options, 60 tokens, warm", 60, INTENTS, "schema-first")
LONG = Workload("triage, 4 questions, 4,000 tokens", 4000, TRIAGE, "state-first")
COMPARED = (BOOLEAN_COLD, BOOLEAN_WARM, TRIAGE_COLD, TRIAGE_WARM, INTENT_COLD, INTENT_WARM, LONG)
FOUR = Workload("4 questions against 1, 1,000 tokens", 1000, TRIAGE, "state-first")
STATES = Workload(
    f"{MANY:,} states under one schema, 77 options, 60 tokens",
    60,
    UNREAD_INTENTS,
    "schema-first",
    states=MANY,
)
FOUR_LABEL, ONE_LABEL = f"{OURS}, 4 questions", f"{OURS}, 1 question"
SCHEMA_LABEL, STATE_LABEL = f"{OURS}, schema-first", f"{OURS}, state-first"
WORKLOADS = (*COMPARED, FOUR, STATES)
QUICK_WORKLOADS = (BOOLEAN_WARM, TRIAGE_COLD, TRIAGE_WARM, FOUR)
"""Those of which no system needs more than a few seconds a turn."""
LEFT_OUT = "left out of a quick run"
VNNI, FOR_VNNI = "vnni", "set for two cores with AVX-512 VNNI"
"""Kernels that have bars of their own, and what such a bar says."""


@dataclass(frozen=True)
class Ratios:
    """How many times as long as ours the triage has to take other systems."""

    transformers_cold: float
    transformers_warm: float
    llama_cpp: float
    outlines: float


RATIOS, VNNI_RATIOS = Ratios(5, 10, 3.5, 10), Ratios(6, 14, 5, 12)
MOST_OF_FOUR = 1.2
"""Times one question that four about the same thousand tokens may take."""
WARM_UP_TOKENS = 30
AT_ONCE = 20


@dataclass(frozen=True)
class ComparisonResult:
    """Everything the comparison found."""

    lines: list[Line]
    timings: list[Timing]
    bars: list[Bar]
    caveats: list[str]
    turns: dict[str, dict[str, list[float]]]


def compare(
    decider: Decider,
    competitors: Mapping[Listed, Competitor],
    absent: Sequence[Absent],
    journal: TurnJournal,
    limits: Limits,
    seed: int,
    advance: Callable[[int], None],
    workloads: Sequence[Workload] = WORKLOADS,
) -> ComparisonResult:
    """Time every workload; one that the checkpoint cannot read is left out and named."""
    held: dict[Workload, dict[str, list[Turn]]] = {}
    caveats = [*CAVEATS]
    caveats += [f"{listed.label}: {known.settings}." for listed, known in competitors.items()]
    caveats += [f"{missing.listed.label}: absent. {missing.reason}." for missing in absent]
    longest = decider.reading.state_tokens
    left_out = [workload for workload in WORKLOADS if workload not in workloads]
    caveats += [f"{workload.name}: {LEFT_OUT}." for workload in left_out]
    for workload in workloads:
        if workload.tokens > longest:
            caveats.append(f"{workload.name}: longer than this checkpoint reads; left out.")
        else:
            held[workload] = _hold(decider, competitors, workload, limits, journal, seed)
        advance(1)
    timings = [timing for workload in held for timing in _timings(workload, held[workload])]
    lines, saving = _many_states(decider, held.get(STATES, {}), seed, caveats)
    return ComparisonResult(
        lines,
        timings,
        _bars(
            held,
            saving,
            left_out,
            {missing.listed.letter: missing.reason for missing in absent},
            kernels_of(decider.engine.description),
        ),
        caveats,
        {
            workload.name: {label: _per_state(turns) for label, turns in by_entry.items()}
            for workload, by_entry in held.items()
        },
    )


def _hold(
    decider: Decider,
    competitors: Mapping[Listed, Competitor],
    workload: Workload,
    limits: Limits,
    journal: TurnJournal,
    seed: int,
) -> dict[str, list[Turn]]:
    make = partial(_state, decider, workload, seed)
    return hold(
        workload.name,
        _entries(decider, competitors, workload),
        lru_cache(AT_ONCE)(make),
        limits,
        journal,
        states=workload.states,
        warm_up=state_of(decider, Rng("warm up", seed, workload.name), WARM_UP_TOKENS),
    )


def _state(decider: Decider, workload: Workload, seed: int, number: int) -> str:
    return state_of(decider, Rng("comparison", seed, workload.name, number), workload.tokens)


def _entries(
    decider: Decider, competitors: Mapping[Listed, Competitor], workload: Workload
) -> list[Entry]:
    if workload is FOUR:
        one = {"urgent": TRIAGE["urgent"]}
        return [
            Entry(FOUR_LABEL, partial(ask_ours, decider, TRIAGE, workload.ways)),
            Entry(ONE_LABEL, partial(ask_ours, decider, one, workload.ways)),
        ]
    if workload is STATES:
        entries = [
            Entry(
                label,
                partial(ask_ours, decider, UNREAD_INTENTS, ways),
                AT_ONCE,
                partial(ask_ours, decider, BOOLEAN, ways),
            )
            for label, ways in ((SCHEMA_LABEL, STATES.ways), (STATE_LABEL, INTENT_COLD.ways))
        ]
    else:
        entries = [Entry(OURS, partial(ask_ours, decider, workload.questions, workload.ways))]
    for listed, competitor in competitors.items():
        ask = partial(_theirs, competitor, workload.questions, workload.warm)
        entries.append(Entry(listed.label, ask))
    return entries


def ask_ours(
    decider: Decider, questions: Mapping[str, Question], ways: DecideKeywords, states: Sequence[str]
) -> list[Chosen]:
    """What our engine chooses for every state."""
    return [
        {name: answer.best_name for name, answer in decision.answers.items()}
        for decision in decider.decide_many(states, questions, **ways)
    ]


def _theirs(
    competitor: Competitor, questions: Mapping[str, Question], warm: bool, states: Sequence[str]
) -> list[Chosen]:
    return [competitor.answer(state, questions, warm=warm) for state in states]


def _per_state(turns: Sequence[Turn]) -> list[float]:
    return [round(turn.milliseconds / turn.states, 3) for turn in turns]


def _timings(workload: Workload, held: Mapping[str, Sequence[Turn]]) -> list[Timing]:
    found: list[Timing] = []
    for label, turns in held.items():
        found.append(
            timing_of(
                workload.name,
                label,
                "state" if workload.states == MANY else "call",
                _per_state(turns),
                found[0].p50 if found else None,
                (sum(turn.same for turn in turns), sum(turn.compared for turn in turns)),
            )
        )
    return found


def timing_of(
    workload: str,
    system: str,
    per: str,
    milliseconds: Sequence[float],
    first: float | None,
    agreement: tuple[int, int],
) -> Timing:
    """Spread and median of some calls; ``first`` is the first system's median, if not its own."""
    values = np.array(milliseconds)
    middle = metrics.bootstrap_statistic(lambda rows: float(np.median(values[rows])), values.size)
    p25, p75, p90 = (float(np.percentile(values, share)) for share in (25, 75, 90))
    same, compared = agreement
    return Timing(
        workload=workload,
        system=system,
        per=per,
        calls=values.size,
        p50=middle.value,
        p90=p90,
        low=middle.low,
        high=middle.high,
        p25=p25,
        p75=p75,
        ratio=middle.value / (middle.value if first is None else first),
        same=same,
        compared=compared,
    )


def total_milliseconds(turns: Sequence[Turn], states: int) -> float:
    """All states: the first turn, which pays for the schema, and the rest as the others took."""
    first, others = turns[0], turns[1:]
    done = sum(turn.states for turn in turns)
    taken = sum(turn.milliseconds for turn in turns)
    if done >= states or not others:
        return taken * states / done
    later = sum(turn.milliseconds for turn in others) / sum(turn.states for turn in others)
    return first.milliseconds + later * (states - first.states)


def tokens_ratio(decider: Decider, seed: int, sample: int = 20) -> float:
    """m(|P| + |S| + N) over |P| + m(|S| + N), the tokens of the two layouts for m states."""
    prefix, fresh, whole = 0, 0.0, 0.0
    for number in range(sample):
        state = _state(decider, STATES, seed, number)
        job = decider.prepare(state, STATES.questions, layout="schema-first")
        prefix = sum(len(row.prefix) for row in job.rendered.rows)
        fresh += job.fresh_tokens / sample
        whole += (
            decider.prepare(state, STATES.questions, layout="state-first").rendered.tokens / sample
        )
    return MANY * whole / (prefix + MANY * fresh)


def _many_states(
    decider: Decider, held: Mapping[str, Sequence[Turn]], seed: int, caveats: list[str]
) -> tuple[list[Line], tuple[float, float] | None]:
    """Lines of the totals; the saving of the schema-first layout measured and by tokens."""
    lines = []
    totals = {label: total_milliseconds(turns, MANY) for label, turns in held.items()}
    for label, total in totals.items():
        timed = sum(turn.states for turn in held[label])
        lines.append(Line(f"{MANY:,} states, {label}: seconds", total / 1000, unit="number"))
        if timed < MANY:
            caveats.append(
                f"{MANY:,} states, {label}: timed on {timed}; the first call counts once, the rest "
                f"is scaled to {MANY:,}."
            )
    if not totals:
        return lines, None
    measured = totals[STATE_LABEL] / totals[SCHEMA_LABEL]
    expected = tokens_ratio(decider, seed)
    lines.append(Line("schema-first saves, by the token formula", expected, unit="number"))
    return lines, (measured, expected)


def _bars(
    held: Mapping[Workload, Mapping[str, Sequence[Turn]]],
    saving: tuple[float, float] | None,
    left_out: Sequence[Workload],
    absent: Mapping[str, str],
    kernels: str | None,
) -> list[Bar]:
    labels = {listed.letter: listed.label for listed in COMPETITORS}

    def median(workload: Workload, label: str) -> float | None:
        turns = held.get(workload, {}).get(label)
        return float(np.median(_per_state(turns))) if turns else None

    set_for = FOR_VNNI if kernels == VNNI else ""
    ratios = VNNI_RATIOS if set_for else RATIOS

    def over(letter: str, workload: Workload, limit: float, of: str = "") -> Bar:
        ours, theirs = median(workload, OURS), median(workload, labels[letter])
        value = theirs / ours if ours and theirs else None
        reason = LEFT_OUT if workload in left_out else absent.get(letter, "")
        note = reason if value is None else of
        return Bar(f"{workload.name}: ({letter})/(a)", value, limit, True, "ratio", note)

    four, one = median(FOUR, FOUR_LABEL), median(FOUR, ONE_LABEL)
    measured, expected = saving or (None, None)
    near = measured / expected if measured and expected else None
    many = LEFT_OUT if STATES in left_out else ""
    return [
        over("b", TRIAGE_COLD, ratios.transformers_cold, set_for),
        over("b", TRIAGE_WARM, ratios.transformers_warm, set_for),
        over("c1", TRIAGE_WARM, ratios.llama_cpp, set_for),
        over("c2", TRIAGE_WARM, ratios.outlines, set_for),
        over("d", INTENT_COLD, 20),
        over("d", INTENT_WARM, 100),
        Bar(
            f"{BOOLEAN_WARM.name}: p50",
            median(BOOLEAN_WARM, OURS),
            100,
            False,
            "ms",
            "set for two Neoverse-N1 cores",
            "aarch64",
        ),
        Bar(FOUR.name, four / one if four and one else None, MOST_OF_FOUR, False, "ratio"),
        Bar(f"{STATES.name}: state-first/schema-first", measured, 6, True, "ratio", many),
        Bar("the same, over what the token formula says", near, 0.85, True, "ratio", many),
    ]
