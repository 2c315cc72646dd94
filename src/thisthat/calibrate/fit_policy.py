"""Fitting a policy: answer labelled states, then cut-offs, sets, level maps and recalibration.

Cut-offs and sets stand on the checkpoint's own probabilities, not on recalibrated ones: a map
fitted on the same labels would take their guarantee away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thisthat.calibrate.isotonic import fit_isotonic
from thisthat.calibrate.recalibrate import choose_recalibration
from thisthat.calibrate.sets import fewest_labels, fit_least_probability
from thisthat.calibrate.threshold import Cutoff, Scored, fit_cutoffs, least_labels
from thisthat.decide.conditions import Conditions
from thisthat.decide.option_order import Order
from thisthat.decide.options import DecideKeywords
from thisthat.decide.policy import (
    ConditionsPart,
    CutoffPart,
    MapPart,
    Policy,
    QuestionPart,
    RecalibrationPart,
    ReferencePart,
    SetPart,
)
from thisthat.decide.recalibration import MonotoneMap
from thisthat.decide.target import Target
from thisthat.display import listed, option_told
from thisthat.errors import InvalidInputError
from thisthat.identity import question_hash, schema_hash
from thisthat.items.item import render_state
from thisthat.items.labels import LabelledStates, find_option
from thisthat.prompt_format import Layout, Packing
from thisthat.questions import Answer, Question, Score, ScoreAnswer

if TYPE_CHECKING:
    from thisthat.decide.protocol import Decides

CONFIDENCE = 0.95
SET_COVERAGE = 0.95
_MOST_REFERENCE = 512
_LEAST_LEVEL_ROWS = 50


class UnsupportedTargetError(InvalidInputError):
    """The labels cannot support the target.

    ``labels_needed`` of one question (``error``) or option could, ``labels_missing`` more than it
    has; the message names it.
    """

    def __init__(self, message: str, labels_needed: int, labels_missing: int) -> None:
        super().__init__("target", message)
        self.labels_needed = labels_needed
        self.labels_missing = labels_missing


class TooFewLabelsError(UnsupportedTargetError):
    """The labels are too few for the target even if every answer is right; nothing was asked."""


def fit_policy(
    decider: Decides,
    labelled: LabelledStates,
    target: Target,
    *,
    confidence: float = CONFIDENCE,
    coverage: float | None = None,
    options: Sequence[str] | None = None,
    layout: Layout | None = None,
    packing: Packing = "apart",
    order: Order = "as-given",
    progress: Callable[[int, int], None] | None = None,
) -> Policy:
    """Answer the labelled states and fit a policy.

    ``options`` limits which options are acted on, in every question that has them. ``coverage`` is
    how often a choice's prediction set is to hold the right option (None: 0.95); a choice with too
    few labels for that has no set. A question whose labels support no cut-off is never acted on
    and leaves the others alone. Raises InvalidInputError for bad settings and TooFewLabelsError for
    too few labels, before anything is asked, and UnsupportedTargetError when no option of any
    question can keep the target with these labels.
    """
    check_settings(labelled.questions, labelled.counts, target, confidence, coverage, options)
    check_counts(labelled.questions, labelled.counts, target, confidence, options)
    how: DecideKeywords = {"layout": layout, "packing": packing, "order": order}
    decisions = decider.decide_many(labelled.states, labelled.questions, progress=progress, **how)
    answers: dict[str, list[Answer]] = {name: [] for name in labelled.questions}
    labels: dict[str, list[int]] = {name: [] for name in labelled.questions}
    for decision, right in zip(decisions, labelled.labels, strict=True):
        for name, label in right.items():
            answers[name].append(decision[name])
            labels[name].append(label)
    conditions = decider.conditions(**how)
    return policy_from_answers(
        labelled.questions, answers, labels, target, conditions, confidence, coverage, options
    )


def policy_from_answers(
    questions: Mapping[str, Question],
    answers: Mapping[str, Sequence[Answer]],
    labels: Mapping[str, Sequence[int]],
    target: Target,
    conditions: Conditions,
    confidence: float = CONFIDENCE,
    coverage: float | None = None,
    options: Sequence[str] | None = None,
) -> Policy:
    """``fit_policy`` for answers already obtained.

    The confidence holds for everything the policy acts on: the questions with an option to act on
    share 1 - confidence (Bonferroni). A question on which nothing is acted on cannot miss a target,
    so it takes no share. Which questions those are follows from the schema, ``target`` and
    ``options`` alone; if the labels influenced it, the guarantee would not hold.
    """
    asked = {name: question for name, question in questions.items() if answers.get(name)}
    counts = {name: len(labels[name]) for name in asked}
    check_settings(asked, counts, target, confidence, coverage, options)
    check_counts(asked, counts, target, confidence, options)
    acting = {name: _acting_options(asked[name], target, options) for name in asked}
    delta = _delta(acting, confidence)
    cutoffs: dict[str, dict[str, Cutoff]] = {}
    for name, question in asked.items():
        names = [option.name for option in question.declared]
        places = [names.index(option) for option in acting[name]]
        distributions = [list(a.probabilities.values()) for a in answers[name]]
        if _acts_whichever_is_best(question, target, acting[name]):
            scored = Scored.of_option(distributions, labels[name], places[0])
        else:
            scored = Scored.from_distributions(distributions, labels[name])
        fitted = fit_cutoffs(scored, places, target, delta)
        cutoffs[name] = {names[index]: cutoff for index, cutoff in fitted.items()}
    by_labels = _by_labels(asked, cutoffs, target)
    if all(cutoff.value is None for cutoff in by_labels.values()):
        questions_acting = sum(map(bool, acting.values()))
        raise _unsupported(target, confidence, by_labels, questions_acting)
    return Policy(
        target=str(target),
        confidence=confidence,
        schema_hash=schema_hash(questions),
        conditions=ConditionsPart(**asdict(conditions)),
        questions={
            name: _part(question, answers[name], labels[name], cutoffs[name], coverage, target)
            for name, question in asked.items()
        },
    )


def check_settings(
    questions: Mapping[str, Question],
    counts: Mapping[str, int],
    target: Target,
    confidence: float = CONFIDENCE,
    coverage: float | None = None,
    options: Sequence[str] | None = None,
) -> None:
    """Raise InvalidInputError for settings that so many labels by question cannot support.

    A question without labels is not in ``counts``.
    """
    if not isinstance(target, Target):
        raise InvalidInputError(
            "target", f"must be a Target, not {target!r}; parse_target reads one from text"
        )
    if not 0 < confidence < 1:
        raise InvalidInputError("confidence", f"is {confidence:g}; it must lie between 0 and 1")
    if not counts:
        raise InvalidInputError("labels", "none given")
    if coverage is not None:
        choices = [name for name in counts if questions[name].kind == "choice"]
        _check_coverage(coverage, {name: counts[name] for name in choices})
    if options is None:
        return
    if not options:
        raise InvalidInputError("options", "none given; leave it out to act on all of them")
    asked = [questions[name] for name in counts]
    known = dict.fromkeys(option_told(each, name) for each in asked for name in _names(each))
    unknown = [option for option in options if not any(_meant(each, option) for each in asked)]
    if unknown:
        raise InvalidInputError(
            "options",
            f"{unknown[0]!r} is not an option of any labelled question; known are "
            f"{', '.join(known)}",
        )


def check_counts(
    questions: Mapping[str, Question],
    counts: Mapping[str, int],
    target: Target,
    confidence: float,
    options: Sequence[str] | None,
) -> None:
    """Raise TooFewLabelsError, naming every question, where none has as many as it needs."""
    acting = {name: _acting_options(questions[name], target, options) for name in counts}
    delta = _delta(acting, confidence)
    needed = {
        name: least_labels(target.wrong_rate, delta / (1 if target.aim == "error" else len(each)))
        for name, each in acting.items()
        if each
    }
    missing = {name: least - counts[name] for name, least in needed.items()}
    nearest = min(missing, key=missing.__getitem__)
    if missing[nearest] <= 0:
        return
    each = "" if target.aim == "error" else " for each option"
    told = [
        f"{name!r} has {counts[name]} labels and needs at least {needed[name]}{each}, {more} more"
        for name, more in missing.items()
    ]
    shared = ""
    if len(needed) > 1:
        alone = _delta({nearest: acting[nearest]}, confidence)
        least = least_labels(
            target.wrong_rate, alone / (1 if target.aim == "error" else len(acting[nearest]))
        )
        shared = (
            f"\nThe questions share the risk: {nearest!r} by itself needs at least {least}{each} "
            "(--question fits one alone)"
        )
    raise TooFewLabelsError(
        f"{target} at confidence {confidence:g} cannot be supported even if every answer is right:"
        f"{listed(told)}{shared}",
        needed[nearest],
        missing[nearest],
    )


def _delta(acting: Mapping[str, Sequence[str]], confidence: float) -> float:
    """The share of the risk that each question has with an option to act on."""
    return (1 - confidence) / sum(map(bool, acting.values()))


def _check_coverage(coverage: float, choices: Mapping[str, int]) -> None:
    if not 0 < coverage < 1:
        raise InvalidInputError("coverage", f"is {coverage:g}; it must lie between 0 and 1")
    if not choices:
        raise InvalidInputError("coverage", "is for choices, and no choice is labelled")
    most, needed = max(choices, key=choices.__getitem__), fewest_labels(coverage)
    if choices[most] < needed:
        raise InvalidInputError(
            "coverage",
            f"is {coverage:g}, which needs at least {needed} labels of a choice; {most!r} has the "
            f"most, {choices[most]}",
        )


def _acting_options(question: Question, target: Target, options: Sequence[str] | None) -> list[str]:
    """The options of a question that may be acted on; none if it has none of those given."""
    names = _names(question)
    if options is not None:
        meant = {_meant(question, option) for option in options}
        return [name for name in names if name in meant]
    # A false positive of a boolean is a yes that should be a no.
    return ["yes"] if target.aim == "cost" and question.kind == "boolean" else names


def _acts_whichever_is_best(question: Question, target: Target, acting: Sized) -> bool:
    """Whether the option acted on is judged by its own probability, as ``Policy`` applies it."""
    return question.abstain is None and target.acts_whichever_is_best(question.declared, acting)


def _meant(question: Question, option: str) -> str | None:
    """The name of the option that is meant, as a label would name it; None if it is not here."""
    place = find_option(question, option)
    return None if place is None else question.declared[place].name


def _names(question: Question) -> list[str]:
    abstain = question.abstain.name if question.abstain else None
    return [option.name for option in question.declared if option.name != abstain]


def _part(
    question: Question,
    answers: Sequence[Answer],
    labels: Sequence[int],
    cutoffs: Mapping[str, Cutoff],
    coverage: float | None,
    target: Target,
) -> QuestionPart:
    names = [option.name for option in question.declared]
    p = np.array([list(answer.probabilities.values()) for answer in answers])
    best = [answer.best_name for answer in answers]
    sure = p.max(axis=1)
    if _acts_whichever_is_best(question, target, cutoffs):
        acted = sum(cutoff.acted for cutoff in cutoffs.values())
    else:
        acted = sum(
            cut.value is not None and s >= cut.value
            for s, name in zip(sure, best, strict=True)
            if (cut := cutoffs.get(name)) is not None
        )
    compared = choose_recalibration(p, labels)
    chosen = compared.chosen
    return QuestionPart(
        question=question_hash(question),
        options=names,
        legend=list(map(render_state, question.levels)) if isinstance(question, Score) else [],
        labels=len(labels),
        coverage=acted / len(labels),
        cutoffs={name: CutoffPart(**asdict(cutoff)) for name, cutoff in cutoffs.items()},
        set=_set(question, p, labels, SET_COVERAGE if coverage is None else coverage),
        levels=_levels(answers, labels),
        recalibration=RecalibrationPart(
            way=chosen.method,
            temperature=chosen.temperature,
            biases=list(chosen.biases),
            maps=[_map_part(each) for each in chosen.maps],
            held_out_nll={str(method): value for method, value in compared.held_out_nll.items()},
        ),
        reference=ReferencePart(best=dict(Counter(best)), sure=_thinned(sure.tolist())),
    )


def _set(
    question: Question, p: NDArray[np.float64], labels: Sequence[int], coverage: float
) -> SetPart | None:
    if question.kind != "choice" or len(labels) < fewest_labels(coverage):
        return None
    truths = p[np.arange(len(labels)), np.asarray(labels)].tolist()
    return SetPart(coverage=coverage, least=fit_least_probability(truths, coverage))


def _levels(answers: Sequence[Answer], labels: Sequence[int]) -> MapPart | None:
    """The monotone map from a score's mean level to the mean labelled level."""
    rated = [
        (answer.expected, label)
        for answer, label in zip(answers, labels, strict=True)
        if isinstance(answer, ScoreAnswer) and label < len(answer.levels)
    ]
    if len(rated) < _LEAST_LEVEL_ROWS:
        return None
    return _map_part(fit_isotonic([x for x, _ in rated], [y for _, y in rated]))


def _map_part(fitted: MonotoneMap) -> MapPart:
    return MapPart(x=list(fitted.x), y=list(fitted.y))


def _thinned(values: list[float]) -> list[float]:
    ordered = sorted(values)
    if len(ordered) <= _MOST_REFERENCE:
        return ordered
    places = np.linspace(0, len(ordered) - 1, _MOST_REFERENCE).round().astype(int)
    return [ordered[place] for place in places]


def _by_labels(
    questions: Mapping[str, Question],
    cutoffs: Mapping[str, Mapping[str, Cutoff]],
    target: Target,
) -> dict[str, Cutoff]:
    """Every cut-off with the labels behind it; under ``error`` a question's options share one."""
    found: dict[str, Cutoff] = {}
    for name, each in cutoffs.items():
        for option, cutoff in each.items():
            options = list(each) if target.aim == "error" else [option]
            told = " or ".join(repr(option_told(questions[name], one)) for one in options)
            every = len(options) == len(_names(questions[name])) or _acts_whichever_is_best(
                questions[name], target, each
            )
            found[f"of {name!r}{'' if every else f' where the best option is {told}'}"] = cutoff
    return found


def _unsupported(
    target: Target, confidence: float, cutoffs: Mapping[str, Cutoff], questions: int
) -> UnsupportedTargetError:
    """The refusal: what each cut-off lacks, and how many labels the one that lacks least does."""
    lacking = {
        name: needed - cutoff.labels
        for name, cutoff in cutoffs.items()
        if (needed := _needed(cutoff)) is not None
    }
    nearest = min(lacking, key=lacking.__getitem__, default=None)
    further = ["Fitting again with more labels counts as a further try."] if lacking else []
    if questions > 1:
        shared = "The questions share the risk: --question fits one alone, which is a further try"
        further.append(f"{shared}{' too' if lacking else ''}.")
    why = listed([_why(name, cutoff) for name, cutoff in cutoffs.items()])
    return UnsupportedTargetError(
        "\n".join([f"{target} at confidence {confidence:g} cannot be supported:{why}", *further]),
        max(each.least_labels for each in cutoffs.values())
        if nearest is None
        else cutoffs[nearest].labels + lacking[nearest],
        0 if nearest is None else lacking[nearest],
    )


def _needed(cutoff: Cutoff) -> int | None:
    """How many labels would support a cut-off, as far as these tell; None where none would."""
    if cutoff.labels < cutoff.least_labels:
        return cutoff.least_labels
    return None if cutoff.likely_labels is None else cutoff.likely_labels


def _why(which: str, cutoff: Cutoff) -> str:
    """What the labels behind a cut-off lack, in words."""
    needed, given = _needed(cutoff), cutoff.labels
    if needed is None:
        return f"the surest answers {which} are wrong too often for more labels to help"
    if given < cutoff.least_labels:
        return (
            f"{given} labels {which}, and at least {needed} are needed even if every answer is "
            f"right: {needed - given} more"
        )
    return (
        f"{given} labels {which} are too few: some answers are wrong, or too few are as sure as "
        f"the cut-offs tested; if further labels look like these, at least {needed - given} more "
        f"{which} are needed, and so many may not do"
    )
