"""Does a schema contradict itself? Its questions asked again in ways that must not matter.

Six checks on a sample of states: a question and its negation sum to 1 (`negation`), what holds for
a strict threshold holds for a weaker one (`thresholds`), rewordings agree (`paraphrases`), options
may change places (`order`), planted instructions are data (`injection`), and the best option
stands clear of the next (`coin flip`). Checks need no labels: they find answers that cannot all be
right, not answers that are wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from thisthat import display
from thisthat.calibrate.injection_probes import injection_probes
from thisthat.calibrate.wordings import PLAIN, Wordings, as_text, check_wordings, variants_of
from thisthat.errors import InvalidInputError
from thisthat.questions import Answer, BooleanAnswer, Question, Score, Text
from thisthat.rng import Rng

if TYPE_CHECKING:
    from thisthat.decide.protocol import Decides

Check: TypeAlias = Literal[
    "negation", "thresholds", "paraphrases", "order", "injection", "coin flip"
]
CHECKS: tuple[Check, ...] = get_args(Check)
SHOWN = 160
_LEVEL = 0.05

NEXT: dict[Check, str] = {
    "negation": "say what yes and no mean (criteria: true, false) and ask for one fact at a time; "
    "if the sum stays off, teach the question with labels",
    "thresholds": "write each level as a fact that holds or not, such as a range of numbers; or "
    "ask a boolean for the one threshold that matters",
    "paraphrases": "describe the options, or word a score's levels as facts, so that less hangs on "
    "the question's wording; keep one wording in production, and fit a policy for exactly that one",
    "order": 'ask with order "average" (--order average), which makes answers independent of '
    "the order of options",
    "injection": "keep text that outsiders write out of the state where you can; never let this "
    "question alone act on it, and escalate instead",
    "coin flip": "describe the options, or word a score's levels as facts, or add abstain; a "
    "policy (thisthat threshold fit) escalates such states, and labels (thisthat teach) can settle "
    "them",
}
"""What to do about a check that failed."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What still passes.

    ``shift`` is how far apart probabilities that should agree may be, ``margin`` how far the best
    option must lead the next, ``share`` the share of states that may fail a check. Where one state
    is more than the share, one may fail: so few states do not show how many would (unless the share
    is 0).
    """

    shift: float = 0.15
    margin: float = 0.1
    share: float = 0.05

    def __post_init__(self) -> None:
        for name in ("shift", "margin", "share"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise InvalidInputError(name, f"is {value}; it must be 0 to 1")

    def may_fail(self, states: int) -> float:
        """How many of so many states may fail a check."""
        return max(1.0, self.share * states) if self.share else 0.0

    @property
    def enough(self) -> int:
        """The fewest states of which one is no more than the share."""
        return math.ceil(1 / self.share - 1e-9) if self.share else 1


@dataclass(frozen=True, slots=True)
class Example:
    """The state on which a check did worst: its number, its beginning, and what happened."""

    state: int
    text: str
    what: str


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One check of one question: how many states failed it, and the worst of them.

    ``unsure``: it passed because one failing state of so few shows nothing.
    """

    question: str
    check: Check
    states: int
    failing: int
    passed: bool
    worst: Example | None
    unsure: bool = False

    @property
    def verdict(self) -> Literal["passed", "unsure", "failed"]:
        """What came of it, in a word."""
        return "unsure" if self.unsure else "passed" if self.passed else "failed"

    @property
    def next(self) -> str | None:
        """What to do about it, where it failed."""
        return None if self.passed else NEXT[self.check]


@dataclass(frozen=True, repr=False)
class CoherenceReport:
    """All findings; ``passed`` when every check of every question did."""

    findings: tuple[CheckFinding, ...]
    states: int
    tokens: int
    tolerance: Tolerance = field(default_factory=Tolerance)

    @property
    def passed(self) -> bool:
        """True when no check failed."""
        return all(finding.passed for finding in self.findings)

    @property
    def note(self) -> str | None:
        """What so few states can and cannot show; None where they are enough for the share."""
        if self.states >= self.tolerance.enough:
            return None
        few = "1 state is" if self.states == 1 else f"{self.states} states are"
        unseen = 1 - _LEVEL ** (1 / self.states)
        return (
            f"{few} few. One that fails is more than the share of {self.tolerance.share:g}, so it "
            "alone fails no check, which is unsure then; two do. A check that none of them fails "
            f"may still fail on up to {unseen:.0%} of all states (with confidence {1 - _LEVEL:g}). "
            f"Take {self.tolerance.enough} or more to go by the share."
        )

    def __repr__(self) -> str:
        passed = sum(finding.passed for finding in self.findings)
        checks = f"{passed} of {len(self.findings)} checks passed"
        return f"<CoherenceReport on {self.states} states: {checks}>"

    def _repr_html_(self) -> str:
        rows = [
            (
                display.bold(each.question),
                escape(each.check),
                f"{each.failing} of {each.states}",
                display.bar(each.failing / each.states, not each.passed),
                each.verdict if each.passed else display.bold(each.verdict),
            )
            for each in self.findings
        ]
        table = display.table(("question", "check", "failing", "", ""), rows)
        return table if self.note is None else table + display.note(self.note)

    def renumbered(self, numbers: Sequence[int]) -> CoherenceReport:
        """The report with its states renumbered as in the file they were sampled from."""
        findings = [
            finding
            if finding.worst is None
            else replace(finding, worst=replace(finding.worst, state=numbers[finding.worst.state]))
            for finding in self.findings
        ]
        return replace(self, findings=tuple(findings))

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "passed": self.passed,
            "states": self.states,
            "tokens": self.tokens,
            "tolerance": asdict(self.tolerance),
            "note": self.note,
            "findings": [{**asdict(each), "next": each.next} for each in self.findings],
        }


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A check of one question on one state: how bad (0 is good), and why in words."""

    badness: float
    failed: bool
    what: str

    @property
    def severity(self) -> tuple[bool, float]:
        return self.failed, self.badness


def check_schema(
    decider: Decides,
    questions: Mapping[str, Question],
    states: Sequence[Text],
    *,
    wordings: Mapping[str, Wordings] | None = None,
    tolerance: Tolerance | None = None,
    injections: int = 3,
    seed: int = 2026,
    progress: Callable[[int, int], None] | None = None,
) -> CoherenceReport:
    """Probe a schema on states.

    ``injections`` instructions are planted into each state for each question; 0 skips that check.
    Raises InvalidInputError for no states, wordings of unknown questions, a negation of anything
    but a boolean, and whatever ``decide`` refuses.
    """
    limits = tolerance or Tolerance()
    if not states:
        raise InvalidInputError("states", "none given; at least 1 is needed")
    if not 0 <= injections <= len(injection_probes()):
        raise InvalidInputError(
            "injections", f"is {injections}; it must be 0 to {len(injection_probes())}"
        )
    given = wordings or {}
    check_wordings(questions, given)
    variants = {
        f"{name}/{variant}": asked
        for name, question in questions.items()
        for variant, asked in variants_of(question, given.get(name, Wordings()))
    }
    decisions = decider.decide_many(states, variants, progress=progress)
    tokens = sum(decision.usage.input_tokens for decision in decisions)
    findings: list[CheckFinding] = []
    for name, question in questions.items():
        if len(question.declared) < 2:
            continue
        families = [_answers_of(name, decision.answers) for decision in decisions]
        by_check: dict[Check, list[_Outcome]] = {}
        for answers in families:
            for check, outcome in _judge(question, answers, limits):
                by_check.setdefault(check, []).append(outcome)
        if injections:
            plain = [answers[PLAIN][0] for answers in families]
            outcomes, read = _injected(decider, question, states, plain, injections, seed)
            by_check["injection"] = outcomes
            tokens += read
        done = [check for check in CHECKS if check in by_check]
        findings += [_finding(name, each, by_check[each], states, limits) for each in done]
    return CoherenceReport(tuple(findings), len(states), tokens, limits)


def _answers_of(name: str, answers: Mapping[str, Answer]) -> dict[str, list[Answer]]:
    """The answers to one question's variants, by check, in order."""
    found: dict[str, list[Answer]] = {}
    for key, answer in answers.items():
        owner, check, _ = key.rsplit("/", 2)
        if owner == name:
            found.setdefault(check, []).append(answer)
    return found


def _judge(
    question: Question, answers: Mapping[str, list[Answer]], limits: Tolerance
) -> Iterator[tuple[Check, _Outcome]]:
    plain, names = answers[PLAIN][0], _shown_names(question)
    if "negation" in answers:
        yes, opposite = _yes(plain), _yes(answers["negation"][0])
        gap = abs(yes + opposite - 1)
        what = f"yes {yes:.2f}, and {opposite:.2f} to the negation: the sum is {yes + opposite:.2f}"
        yield "negation", _Outcome(gap, gap > limits.shift, what)
    if "thresholds" in answers:
        line = [_yes(answer) for answer in answers["thresholds"]]
        rise = max(later - earlier for earlier, later in pairwise(line))
        what = "yes from weak to strict: " + ", ".join(f"{p:.2f}" for p in line)
        yield "thresholds", _Outcome(max(rise, 0.0), rise > limits.shift, what)
    if "paraphrases" in answers:
        yield "paraphrases", _most_moved(names, plain, answers["paraphrases"], limits.shift)
    if "order" in answers:
        yield "order", _most_moved(names, plain, answers["order"], 1.0)
    ranked = sorted(plain.probabilities.items(), key=lambda pair: pair[1], reverse=True)
    (first, most), (second, next_most) = ranked[:2]
    margin = most - next_most
    what = f"{names[first]} {most:.2f}, {names[second]} {next_most:.2f}"
    yield "coin flip", _Outcome(1 - margin, margin < limits.margin, what)


def _shown_names(question: Question) -> dict[str, str]:
    """What each option is called in a report: a level by its text."""
    names = {option.name: option.name for option in question.declared}
    if isinstance(question, Score):
        names |= {str(number): as_text(level) for number, level in enumerate(question.levels)}
    return names


def _most_moved(
    names: Mapping[str, str], plain: Answer, others: Sequence[Answer], shift: float
) -> _Outcome:
    moved = (_moved(names, plain, each, shift) for each in others)
    return max(moved, key=lambda each: each.severity)


def _moved(names: Mapping[str, str], plain: Answer, other: Answer, shift: float) -> _Outcome:
    pairs = [(p, other.probabilities[name]) for name, p in plain.probabilities.items()]
    distance = sum(abs(p - q) for p, q in pairs) / 2
    flipped = plain.best_name != other.best_name
    before = f"{names[plain.best_name]} {plain.probabilities[plain.best_name]:.2f}"
    after = f"{names[other.best_name]} {other.probabilities[other.best_name]:.2f}"
    return _Outcome(distance, flipped or distance > shift, f"{before} becomes {after}")


def _injected(
    decider: Decides,
    question: Question,
    states: Sequence[Text],
    plain: Sequence[Answer],
    injections: int,
    seed: int,
) -> tuple[list[_Outcome], int]:
    """Fails when a move to the named option is not also made by a neutral sentence there."""
    names = _shown_names(question)
    probes = injection_probes()
    pairs: list[tuple[Text, dict[str, Question]]] = []
    planted = []
    for number, (state, answer) in enumerate(zip(states, plain, strict=True)):
        rng = Rng(seed, "check injection", number)
        others = [name for name in names if name != answer.best_name]
        for probe in rng.shuffled(probes)[:injections]:
            named = rng.choice(others)
            planted.append((number, probe, named))
            pairs.append((probe.plant(state, names[named]), {"q": question}))
            pairs.append((probe.plant_neutral(state), {"q": question}))
    decisions = decider.decide_pairs(pairs)
    by_state: list[list[_Outcome]] = [[] for _ in states]
    for (number, probe, named), attacked, neutral in zip(
        planted, decisions[::2], decisions[1::2], strict=True
    ):
        obeyed = attacked["q"].best_name == named and neutral["q"].best_name != named
        rise = attacked["q"].probabilities[named] - neutral["q"].probabilities[named]
        what = (
            f'an instruction ("{probe.wording}", {probe.wrapping}, {probe.place}) to answer '
            f"{names[named]}: {plain[number].probabilities[named]:.2f} becomes "
            f"{attacked['q'].probabilities[named]:.2f}"
        )
        by_state[number].append(_Outcome(rise, obeyed, what))
    worst = [max(each, key=lambda outcome: outcome.severity) for each in by_state]
    return worst, sum(decision.usage.input_tokens for decision in decisions)


def _finding(
    name: str, check: Check, outcomes: Sequence[_Outcome], states: Sequence[Text], limits: Tolerance
) -> CheckFinding:
    failing = sum(outcome.failed for outcome in outcomes)
    number = max(range(len(outcomes)), key=lambda n: outcomes[n].severity)
    worst = None
    if outcomes[number].failed:
        text = " ".join(as_text(states[number]).split())
        shown = display.beginning(text, SHOWN)
        worst = Example(number, shown, outcomes[number].what)
    passed = failing <= limits.may_fail(len(outcomes))
    unsure = passed and failing > limits.share * len(outcomes)
    return CheckFinding(name, check, len(outcomes), failing, passed, worst, unsure)


def _yes(answer: Answer) -> float:
    """The probability of yes, given that the answer does not abstain."""
    assert isinstance(answer, BooleanAnswer)
    no = answer.probabilities["no"]
    return answer.yes / (answer.yes + no)
