"""A candidate against the champion on decisions of the log, before it acts.

Where the right option is known, both answer the same states again: *paired replay*. Where only the
reward of what was done is known, decisions of a canary tell by the chances that were logged
(*off-policy*), and decisions explored under a policy tell what another policy would earn. Where
acting was deterministic, the log cannot tell, and that is said.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal, TypeAlias

import numpy as np

from thisthat.audit.beside import ASSIGNMENTS
from thisthat.audit.protocol import Store
from thisthat.decide.policy import Policy
from thisthat.decide.protocol import Decides
from thisthat.errors import InvalidInputError, shown
from thisthat.identity import schema_hash
from thisthat.loop.acting import Acting, acting
from thisthat.loop.canary import CanarySettings
from thisthat.loop.joined import Joined, JoinedView
from thisthat.loop.off_policy import Estimate, Logged, difference, doubly_robust, ips, snips
from thisthat.loop.registry import verdict_told
from thisthat.loop.replay import Replay, paired
from thisthat.loop.taught_on import TaughtOn
from thisthat.questions import Answer, Decision, Question, Source
from thisthat.teach.known import Label

Costs: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By question, by the right option, by the option that was taken."""
Verdict: TypeAlias = Literal["better", "worse", "not worse", "no difference shown", "cannot tell"]
Progress: TypeAlias = Callable[[int, int], None]

_FOLDS = 5
_PERIODS = 4
_LEAST_ROWS = 30
_WIDTH = 0.02
EXCLUDED = {
    "immature": "the window is not over (--mature shortens it)",
    "censored": "no outcome came",
    "repeated": "repeats a decision with an outcome",
    "unassigned": "the outcome does not say which of the request's states it is about",
    "contradictory": "outcomes contradict each other",
    "unknown option": "the outcome is not one of the options",
    "another schema": "asked with another schema",
    "no state": "the log keeps no states",
    "deterministic": "only a reward is known, and no chance was logged",
    "explored": "made under a policy, and only a reward is known; --policy is what it would act by",
}


@dataclass(frozen=True)
class OffPolicy:
    """What the candidate would have earned where only the reward of what was done is known."""

    rows: int
    estimates: tuple[Estimate, ...]
    self_normalised: float
    gain: Estimate

    def lines(self) -> list[str]:
        """The estimates for people."""
        told = [f"off-policy, {self.rows} decisions of canaries"]
        for each in (*self.estimates, self.gain):
            found = f"{each.mean:.3f} [{each.low:.3f}, {each.high:.3f}]"
            told.append(f"  {each.method}: {found}, worth {each.effective_rows:.0f} rows")
        return [*told, f"  self-normalised: {self.self_normalised:.3f}, without an interval"]


@dataclass(frozen=True)
class CandidateEvaluation:
    """What the log says about a candidate; ``parts`` are questions, slices and times.

    ``labels`` are the replayed decisions with what was right, by the time of the decision;
    ``taught`` says how many of them taught the candidate.
    """

    champion: Source
    candidate: Source
    margin: float
    replay: Replay | None = None
    parts: Mapping[str, Mapping[str, Replay]] = field(default_factory=dict)
    off_policy: OffPolicy | None = None
    acting: Acting | None = None
    excluded: Counter[str] = field(default_factory=Counter)
    needed: str | None = None
    labels: tuple[tuple[float, Label], ...] = ()
    taught: TaughtOn | None = None

    @property
    def verdict(self) -> Verdict:
        """What the whole interval says: of acting, if a policy was given; else of the answers.

        Replay comes before off-policy, being the sharper one.
        """
        estimated = None if self.off_policy is None else self.off_policy.gain
        gain = self.acting or self.replay or estimated
        if gain is None:
            return "cannot tell"
        if gain.high < 0:
            return "worse"
        if gain.low > 0:
            return "better"
        return "not worse" if gain.low > -self.margin else "no difference shown"

    def lines(self) -> list[str]:
        """The result for people."""
        lines = [f"candidate {_named(self.candidate)}", f"champion  {_named(self.champion)}"]
        if self.replay is not None:
            lines.append(f"paired replay of {self.replay.rows} decisions: {_told(self.replay)}")
            for kind, parts in self.parts.items():
                lines += [f"  {kind} {name}: {_told(part)}" for name, part in parts.items()]
        lines += [] if self.off_policy is None else self.off_policy.lines()
        lines += [] if self.acting is None else self.acting.lines()
        lines += [
            f"  {self.excluded[name]} left out: {why}"
            for name, why in EXCLUDED.items()
            if self.excluded[name]
        ]
        lines += [] if self.needed is None else [self.needed]
        return [*lines, verdict_told(self.as_dict())]

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        parts = {
            kind: {name: _numbers(part) for name, part in parts.items()}
            for kind, parts in self.parts.items()
        }
        return {
            "candidate": _source(self.candidate),
            "champion": _source(self.champion),
            "verdict": self.verdict,
            "taught": None if self.taught is None else self.taught.as_dict(),
            "replay": None if self.replay is None else _numbers(self.replay),
            **parts,
            "off_policy": None if self.off_policy is None else asdict(self.off_policy),
            "acting": None if self.acting is None else asdict(self.acting),
            "excluded": dict(self.excluded),
            "needed": self.needed,
        }


@dataclass(frozen=True, slots=True)
class _Row:
    """A decision with an outcome, and both answers to it."""

    found: Joined
    name: str
    champion: Answer
    candidate: Answer

    @property
    def both(self) -> tuple[str, str]:
        return self.champion.best_name, self.candidate.best_name


def evaluate(
    store: Store,
    champion: Decides,
    candidate: Decides,
    questions: Mapping[str, Question],
    *,
    mature_after: float,
    until: float,
    since: float = 0.0,
    margin: float = 0.01,
    alpha: float = 0.05,
    costs: Costs | None = None,
    slice_by: str | None = None,
    policy: Policy | None = None,
    progress: Progress | None = None,
) -> CandidateEvaluation:
    """Compare two checkpoints on decisions from ``since`` on, as known at ``until``.

    ``costs`` prices what was taken for what; ``slice_by`` names a field of states that are JSON
    objects; ``policy`` is what the candidate would act by. Raises LogError, and InvalidInputError
    for costs of unknown questions or options, for a policy that is not the candidate's, and for
    margins and levels that mean nothing.
    """
    CanarySettings(margin, alpha)
    check_costs(costs, questions)
    excluded: Counter[str] = Counter()
    known = list(_usable(store, questions, mature_after, until, since, excluded))
    sources: list[Source] = []
    answers = []
    for decider in (champion, candidate):
        by = policy if decider is candidate else None
        decisions = _answered(decider, known, questions, by, progress)
        conditions = decider.conditions()
        sources.append(Source(conditions.checkpoint, conditions.version, conditions.lam))
        answers.append(decisions)
    rows = [
        _Row(found, name, *(each[number].answers[name] for each in answers))
        for number, (found, name) in enumerate(known)
    ]
    full = [row for row in rows if row.found.option is not None]
    rewards = {
        id(row): tuple(_reward(costs, row.name, row.found.option, said) for said in row.both)
        for row in full
    }

    def replayed(some: Sequence[_Row]) -> Replay:
        pairs = [rewards[id(row)] for row in some]
        return paired([pair[0] for pair in pairs], [pair[1] for pair in pairs], alpha)

    rewarded = [row for row in rows if row.found.option is None]
    under_policy = [row for row in rewarded if row.found.entry.policy is not None]
    off_policy, needed = _off_policy(
        store,
        [row for row in rewarded if row.found.entry.policy is None],
        sources,
        excluded,
        alpha,
    )
    if policy is None and under_policy:
        excluded["explored"] += len(under_policy)
    return CandidateEvaluation(
        sources[0],
        sources[1],
        margin,
        replay=replayed(full) if full else None,
        parts={
            kind: {name: replayed(some) for name, some in parts.items()}
            for kind, parts in _parts(full, slice_by).items()
        },
        off_policy=off_policy,
        acting=None
        if policy is None
        else acting(
            store,
            [row.found for row in under_policy],
            [row.candidate for row in under_policy],
            alpha,
        ),
        excluded=excluded,
        needed=needed,
        labels=tuple(_label(row, questions[row.name]) for row in full),
    )


def _label(row: _Row, question: Question) -> tuple[float, Label]:
    names, entry = [option.name for option in question.declared], row.found.entry
    return entry.time, (str(entry.state), question, names.index(str(row.found.option)))


def check_costs(costs: Costs | None, questions: Mapping[str, Question]) -> None:
    """Raise InvalidInputError for costs that belong to no question or option, or are no costs."""
    for name, table in _object({} if costs is None else costs, "costs").items():
        if name not in questions:
            raise InvalidInputError(f"costs.{name}", "is not a question of the schema")
        options = [option.name for option in questions[name].declared]
        for right, row in _object(table, f"costs.{name}").items():
            for said, cost in _object(row, f"costs.{name}.{right}").items():
                where = f"costs.{name}.{right}.{said}"
                if right not in options or said not in options:
                    raise InvalidInputError(where, f"names no option; there are {options}")
                if not (isinstance(cost, (int, float)) and math.isfinite(cost) and cost >= 0):
                    raise InvalidInputError(where, f"must be a number of 0 or more, not {cost!r}")


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(where, f"must be an object, not {shown(value)}")
    return value


def _reward(costs: Costs | None, name: str, right: str | None, said: str) -> float:
    """1 for what costs nothing, 0 for the dearest mistake."""
    table = (costs or {}).get(name)
    if table is None:
        return float(said == right)
    most = max((cost for row in table.values() for cost in row.values()), default=0.0)
    paid = table.get(str(right), {}).get(said, 0.0 if said == right else most)
    return 1.0 - paid / most if most else 1.0


def _usable(
    store: Store,
    questions: Mapping[str, Question],
    mature_after: float,
    until: float,
    since: float,
    excluded: Counter[str],
) -> Iterator[tuple[Joined, str]]:
    names: dict[tuple[str, str], str | None] = {}
    whole = schema_hash(questions)
    for found in JoinedView(store, mature_after, until).decisions():
        entry = found.entry
        if entry.time < since:
            continue
        key = entry.schema, entry.question
        if key not in names:
            same = [n for n, q in questions.items() if schema_hash({key[1]: q}) == key[0]]
            if key[0] == whole and key[1] in questions:
                same = [key[1]]
            names[key] = same[0] if same else None
        name = names[key]
        reason = _reason(found, name)
        if reason is None and name is not None:
            yield found, name
        else:
            excluded[str(reason)] += 1


def _reason(found: Joined, name: str | None) -> str | None:
    if name is None:
        return "another schema"
    if not found.mature:
        return "immature"
    if found.status != "known":
        return found.status
    if found.contradictory:
        return "contradictory"
    if found.option is not None and found.option not in found.options:
        return "unknown option"
    return "no state" if found.entry.state is None else None


def _answered(
    decider: Decides,
    known: Sequence[tuple[Joined, str]],
    questions: Mapping[str, Question],
    policy: Policy | None,
    progress: Progress | None,
) -> list[Decision]:
    pairs = [(str(found.entry.state), {name: questions[name]}) for found, name in known]
    return list(decider.decide_pairs(pairs, progress=progress, policy=policy)) if pairs else []


def _parts(rows: Sequence[_Row], slice_by: str | None) -> dict[str, dict[str, list[_Row]]]:
    """By question, by a field of the states, by time; small parts say nothing and are left out."""
    found: dict[str, dict[str, list[_Row]]] = {"question": {}, "slice": {}, "time": {}}
    ordered = sorted(rows, key=lambda row: row.found.entry.time)
    for row in ordered:
        found["question"].setdefault(row.name, []).append(row)
        if slice_by is not None:
            found["slice"].setdefault(f"{slice_by} = {_field(row, slice_by)}", []).append(row)
    for number, some in enumerate(np.array_split(np.arange(len(ordered)), _PERIODS), 1):
        if len(some):
            first, last = (ordered[int(at)].found.entry.time for at in (some[0], some[-1]))
            name = f"{number} ({_moment(first)} to {_moment(last)})"
            found["time"][name] = [ordered[int(at)] for at in some]
    kept = {
        kind: {name: some for name, some in parts.items() if len(some) >= _LEAST_ROWS}
        for kind, parts in found.items()
    }
    return {kind: parts for kind, parts in kept.items() if len(parts) > 1}


def _field(row: _Row, name: str) -> str:
    try:
        state = json.loads(str(row.found.entry.state))
        return str(state.get(name, "missing")) if isinstance(state, dict) else "missing"
    except ValueError:
        return "missing"


def _off_policy(
    store: Store,
    rows: Sequence[_Row],
    sources: Sequence[Source],
    excluded: Counter[str],
    alpha: float,
) -> tuple[OffPolicy | None, str | None]:
    """Estimates from rewards with chances, or what exploration would be needed."""
    chances: dict[str, float] = {}
    for row in store.rows(ASSIGNMENTS) if rows else ():
        request, question, arm, chance = row[1], row[2], row[4], row[7]
        if question is None and arm in ("champion", "candidate"):
            chances[str(request)] = float(chance or 0)
    names = [(source.name, source.version, source.lam) for source in sources]
    drawn = [
        row for row in rows if row.found.entry.request in chances and _entry_source(row) in names
    ]
    if len(drawn) < len(rows):
        excluded["deterministic"] += len(rows) - len(drawn)
    if len(drawn) < _LEAST_ROWS:
        differing = sum(row.both[0] != row.both[1] for row in rows)
        return None, _needed(differing / len(rows)) if rows else None
    said = [row.found.entry.best for row in drawn]
    agree = np.array([row.both[0] == row.both[1] for row in drawn])
    chance_of_arm = np.array([chances[str(row.found.entry.request)] for row in drawn])
    # What both arms answer is answered whichever is drawn.
    propensity = np.where(agree, 1.0, chance_of_arm)
    reward = np.array([float(row.found.reward or 0.0) for row in drawn])
    arms = []
    for place in (0, 1):
        best = [row.both[place] for row in drawn]
        target = np.array([float(one == what) for one, what in zip(best, said, strict=True)])
        of_said, of_best = (
            np.array(
                [row.candidate.probabilities[what] for row, what in zip(drawn, which, strict=True)]
            )
            for which in (said, best)
        )
        arms.append(Logged(propensity, target, reward, *_modelled(of_said, of_best, reward)))
    champion, candidate = arms
    least = float(min(propensity.min(), 1 - propensity[~agree].max(initial=0.0)))
    found = OffPolicy(
        len(drawn),
        (ips(candidate, least, alpha), doubly_robust(candidate, least, alpha)),
        snips(candidate, least),
        difference(candidate, champion, least, alpha),
    )
    return found, None


def _modelled(
    said: np.ndarray[Any, Any], best: np.ndarray[Any, Any], reward: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rewards by our own probabilities: a line fitted on the other folds."""
    predicted, expected = np.zeros(len(reward)), np.zeros(len(reward))
    folds = np.arange(len(reward)) % _FOLDS
    for fold in range(_FOLDS):
        here, others = folds == fold, folds != fold
        x = np.stack([np.ones(int(others.sum())), said[others]], axis=1)
        line = np.linalg.lstsq(x, reward[others], rcond=None)[0]
        predicted[here] = np.clip(line[0] + line[1] * said[here], 0, 1)
        expected[here] = np.clip(line[0] + line[1] * best[here], 0, 1)
    return predicted, expected


def _needed(differing: float) -> str:
    share, spread = 0.1, 0.25
    rows = math.ceil((1.96 / _WIDTH) ** 2 * spread * max(differing, 0.01) / share)
    return (
        "the log cannot tell what the candidate would have earned: acting was deterministic. The "
        f"candidate answers {differing:.0%} of these decisions otherwise; a canary of 10 % with "
        f"about {rows} outcomes would tell its reward within {_WIDTH:g}"
    )


def _entry_source(row: _Row) -> tuple[str, str, float]:
    entry = row.found.entry
    return entry.checkpoint, entry.version, entry.lam


def _told(found: Replay) -> str:
    gain = f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
    return f"{found.candidate:.3f} against {found.champion:.3f}, {gain}"


def _numbers(found: Replay) -> dict[str, float]:
    return {**asdict(found), "difference": found.difference}


def _named(source: Source) -> str:
    return f"{source.name} {source.version}, λ = {source.lam:g}"


def _source(source: Source) -> dict[str, Any]:
    return {"name": source.name, "version": source.version, "lambda": source.lam}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M")
