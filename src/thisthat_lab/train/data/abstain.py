"""Teaching "none of these" without giving it away.

An offered abstain option must not tell whether it is right. So one option is always taken out when
it is offered: the right one in a fixed share of the cases, in which abstaining is then right, and
a wrong one otherwise. Neither the offer nor the number of options says which case it is.

Booleans and scores keep their options, which are their meaning. There the state is withheld in the
fixed share of the cases, and abstaining is right because nothing can be told from what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import ABSTAIN, Question, Text
from thisthat.rng import Rng
from thisthat_lab.tables import Tables
from thisthat_lab.train.data.draft import Draft

_TABLES = Tables(__file__)
NAMES = (ABSTAIN, *_TABLES.words("names"))
_WITHHELD = _TABLES.words("withheld")


def can_abstain(draft: Draft) -> bool:
    """True for a choice with a certain answer, at least two options and none that abstains."""
    names = {name.lower() for name, _ in draft.options}
    return (
        draft.kind == "choice"
        and draft.abstain is None
        and draft.certain
        and len(draft.options) >= 2
        and not names & set(NAMES)
    )


def offer_abstention(draft: Draft, right: bool, name: str, rng: Rng) -> Draft:
    """The draft with an abstain option; it is the right answer exactly when ``right`` is true."""
    answer = draft.best
    places = range(len(draft.options))
    out = answer if right else rng.choice([i for i in places if i != answer])
    kept = draft.arranged([i for i in places if i != out])
    return replace(kept, abstain=(name, None), target=(*kept.target, float(right)))


def insert_abstention(draft: Draft, offer: float, base_rate: float, rng: Rng) -> Draft:
    """Offer abstention with probability ``offer``; it is right with probability ``base_rate``.

    Both are drawn whatever the draft says, so P(abstain is right | offered) is ``base_rate``.
    Drafts that cannot abstain come back unchanged.
    """
    if not can_abstain(draft) or not rng.chance(offer):
        return draft
    return offer_abstention(draft, rng.chance(base_rate), rng.choice(NAMES), rng)


def can_withhold(draft: Draft) -> bool:
    """True for a boolean or a score with a certain answer."""
    return draft.kind != "choice" and draft.abstain is None and draft.certain


def offer_withheld(
    draft: Draft, state: Text, right: bool, name: str, rng: Rng
) -> tuple[Text, Draft]:
    """The draft with an abstain option, and the state: without its content when ``right``."""
    target = tuple(0.0 for _ in draft.target) if right else draft.target
    offered = replace(draft, abstain=(name, None), target=(*target, float(right)))
    return (_withheld(state, rng) if right else state), offered


def insert_withheld(
    draft: Draft, state: Text, offer: float, base_rate: float, rng: Rng
) -> tuple[Text, Draft]:
    """``insert_abstention`` for booleans and scores; what cannot abstain comes back unchanged."""
    if not can_withhold(draft) or not offer or not rng.chance(offer):
        return state, draft
    return offer_withheld(draft, state, rng.chance(base_rate), rng.choice(NAMES), rng)


def _withheld(state: Text, rng: Rng) -> Text:
    """A record without its values, or words in place of a text."""
    if isinstance(state, Mapping) and state and rng.chance(0.5):
        return dict.fromkeys(state)
    return rng.choice(_WITHHELD)


@dataclass(frozen=True, slots=True)
class Leakage:
    """How a trained model uses an offered abstain option, on pairs of a right and a wrong offer.

    ``blank_auc`` is the chance that the abstain probability ranks a case where abstaining is right
    above one where it is wrong when the model does not see the state: 0.5 when neither the offer
    nor the options left tell anything. ``auc`` is the same with the state. ``mean`` is the mean
    abstain probability, to hold against ``base_rate``, 0.5 by construction. ``shift`` is the mean
    total variation that a wrong offer causes among the other options.
    """

    cases: int
    base_rate: float
    mean: float
    auc: float
    blank_auc: float
    accuracy: float
    shift: float


Distributions = Callable[[Sequence[tuple[Text, Question]]], Sequence[Sequence[float]]]


def measure_leakage(
    items: Sequence[Item], distributions: Distributions, seed: int = 0, blank: str = "(no context)"
) -> Leakage:
    """Ask every question twice with an abstain option, right and wrong, and once without.

    ``distributions`` answers (state, question) pairs with probabilities in declared order.
    Raises InvalidInputError when no item can take an abstain option.
    """
    rng = Rng("leakage", seed)
    drafts = [(item, Draft.of(item)) for item in items]
    usable = [pair for pair in drafts if can_abstain(pair[1]) or can_withhold(pair[1])]
    if not usable:
        raise InvalidInputError("items", "none has a certain answer among at least 2 options")
    rights, wrongs, bare = [], [], []
    for item, draft in usable:
        shown = item.state
        if can_withhold(draft):
            shown, right = offer_withheld(draft, item.state, True, ABSTAIN, rng)
            _, wrong = offer_withheld(draft, item.state, False, ABSTAIN, rng)
        else:
            right = offer_abstention(draft, True, ABSTAIN, rng)
            wrong = offer_abstention(draft, False, ABSTAIN, rng)
        rights.append((shown, right.as_question()))
        wrongs.append((item.state, wrong.as_question()))
        bare.append((item.state, replace(wrong, abstain=None).as_question()))
    p_right = [np.asarray(p) for p in distributions(rights)]
    p_wrong = [np.asarray(p) for p in distributions(wrongs)]
    p_bare = [np.asarray(p) for p in distributions(bare)]
    blank_right = [p[-1] for p in distributions([(blank, question) for _, question in rights])]
    blank_wrong = [p[-1] for p in distributions([(blank, question) for _, question in wrongs])]
    on_right = np.array([p[-1] for p in p_right])
    on_wrong = np.array([p[-1] for p in p_wrong])
    correct = [p.argmax() == len(p) - 1 for p in p_right]
    correct += [p.argmax() != len(p) - 1 for p in p_wrong]
    shifts = [
        np.abs(p[:-1] / max(p[:-1].sum(), 1e-12) - q).sum() / 2
        for p, q in zip(p_wrong, p_bare, strict=True)
    ]
    return Leakage(
        cases=2 * len(usable),
        base_rate=0.5,
        mean=float(np.concatenate([on_right, on_wrong]).mean()),
        auc=_auc(on_right, on_wrong),
        blank_auc=_auc(np.array(blank_right), np.array(blank_wrong)),
        accuracy=float(np.mean(correct)),
        shift=float(np.mean(shifts)),
    )


def _auc(high: np.ndarray, low: np.ndarray) -> float:
    order = np.sort(low)
    below = np.searchsorted(order, high, side="left")
    equal = np.searchsorted(order, high, side="right") - below
    return float((below + equal / 2).mean() / len(low))
