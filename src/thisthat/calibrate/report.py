"""A policy in words: its cut-offs, what they achieve, and how many more labels it would take."""

from __future__ import annotations

from collections.abc import Iterator

from thisthat.calibrate.binomial import lower_tail
from thisthat.calibrate.drift import LEAST_ROWS
from thisthat.calibrate.threshold import tested_labels
from thisthat.decide.policy import CutoffPart, Policy, QuestionPart
from thisthat.decide.target import Target
from thisthat.display import set_promise

_GROWTH = 1.05
_MOST_GROWTH = 1e5
_FAR_MORE = 20
"""Times the labels there are; beyond that a number helps nobody."""


def lines_about(policy: Policy) -> Iterator[str]:
    """One line for the guarantee, and a few per question."""
    conditions = policy.conditions
    yield (
        f"{policy.target} with confidence {policy.confidence:g}, for {conditions.checkpoint} "
        f"{conditions.version}, λ = {conditions.lam:g}"
    )
    if policy.tries > 1:
        yield f"chosen among {policy.tries} tries on the same labels: a weaker promise than it says"
    never = policy.never_acted_on
    otherwise = "abstains" if policy.parsed_target.aim == "cost" else "escalates"
    for name, part in policy.questions.items():
        if name in never:
            yield f"{name}: never acts; every answer {otherwise}; other questions still act"
        else:
            yield f"{name}: acts on {part.coverage:.1%} of {part.labels} labelled states"
        for options, cutoff in _by_options(policy, part).items():
            yield f"  {', '.join(map(part.told, options))}: {_about_cutoff(cutoff)}"
        yield from _about_tighter(policy, part)
        if part.set is not None:
            yield (
                f"  prediction set: the best option, and those at {part.set.least:.4g} or more "
                f"({set_promise(part.set.coverage)})"
            )
        if part.levels is not None:
            yield f"  mean level: calibrated by a monotone map with {len(part.levels.x)} knots"
        if part.recalibration.way != "none":
            losses = part.recalibration.held_out_nll
            yield (
                f"  probabilities recalibrated ({part.recalibration.way}): log loss on held-out "
                f"labels {losses['none']:.4f} to {losses[part.recalibration.way]:.4f}"
            )
    labels = {name: len(part.reference.sure) for name, part in policy.questions.items()}
    few = [f"{name} has {count}" for name, count in labels.items() if count < LEAST_ROWS]
    if few:
        yield f"to watch for drift, a question needs {LEAST_ROWS} labels: {', '.join(few)}"


def labels_for(cutoff: CutoffPart, target: Target, delta: float) -> int | None:
    """How many labels of this option in all may keep its cut-off under another target.

    None when, as far as the labels show, the cut-off is wrong too often for it.
    """
    rate = (cutoff.wrong + 0.5) / (cutoff.acted + 1)
    if cutoff.value is None or rate >= target.wrong_rate:
        return None
    growth = 1.0
    while growth < _MOST_GROWTH:
        labels = round(cutoff.labels * growth)
        trials = int(cutoff.acted * tested_labels(labels) / cutoff.labels)
        if lower_tail(round(trials * rate), trials, target.wrong_rate) <= delta:
            return labels
        growth *= _GROWTH
    return None


def _by_options(policy: Policy, part: QuestionPart) -> dict[tuple[str, ...], CutoffPart]:
    """The cut-offs by the options that share them and their labels: all, under ``error``."""
    if policy.parsed_target.aim == "error" and part.cutoffs:
        return {tuple(part.cutoffs): next(iter(part.cutoffs.values()))}
    return {(option,): cutoff for option, cutoff in part.cutoffs.items()}


def _about_cutoff(cutoff: CutoffPart) -> str:
    if cutoff.value is None:
        if cutoff.labels >= cutoff.least_labels and cutoff.likely_labels is None:
            return f"never acted on; wrong too often in {cutoff.labels} labels for more to help"
        needed = max(cutoff.least_labels, cutoff.likely_labels or 0)
        more = needed - cutoff.labels
        return f"never acted on; {cutoff.labels} labels, at least {more} more needed"
    return (
        f"from {cutoff.value:.4f}: {cutoff.acted} of {cutoff.labels} labels acted on, "
        f"{cutoff.wrong} of them wrong"
    )


def _about_tighter(policy: Policy, part: QuestionPart) -> Iterator[str]:
    cutoffs = _by_options(policy, part)
    supported = {options: cut for options, cut in cutoffs.items() if cut.value is not None}
    tighter = policy.parsed_target.tighter()
    if not supported or tighter is None:
        return
    acting = sum(bool(each.cutoffs) for each in policy.questions.values())
    delta = (1 - policy.confidence) / acting / len(cutoffs)
    needs = {options: labels_for(cutoff, tighter, delta) for options, cutoff in supported.items()}
    known = {
        options: n - supported[options].labels for options, n in needs.items() if n is not None
    }
    if len(known) < len(needs):
        yield f"  {tighter} would need higher cut-offs, whatever the number of labels"
    elif not any(known.values()):
        yield f"  {tighter} at these cut-offs needs no more labels"
    elif max(known.values()) > _FAR_MORE * part.labels:
        yield f"  {tighter} at these cut-offs needs more than {_FAR_MORE} times as many labels"
    elif all(cutoff.labels == part.labels for cutoff in supported.values()):
        yield f"  {tighter} at these cut-offs needs at least {max(known.values())} more labels"
    else:
        told = ", ".join(
            f"{n} where the best option is {' or '.join(map(part.told, options))}"
            for options, n in known.items()
        )
        yield f"  {tighter} at these cut-offs needs at least this many more labels: {told}"
