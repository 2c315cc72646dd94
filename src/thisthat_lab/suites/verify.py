"""A choice asked as a boolean: one option is proposed, is it the right one?"""

from __future__ import annotations

from dataclasses import replace

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import YES_NO

WORDINGS = (
    "{question} Proposed answer: {name}. Is it right?",
    'Someone was asked "{question}" and said "{name}". Is that correct?',
    "Is '{name}' the right answer to this question: {question}",
    "{question} Is the answer {name}?",
    "Question: {question} Claim: {name}. Does the claim hold?",
    "Check the answer '{name}' to the question: {question} Is it true?",
)


def as_verification(item: Item, rng: Rng) -> Item:
    """The item as a yes-or-no question about one of its options, right half of the time.

    Raises ValueError for an item that is no choice or has one option.
    """
    if item.kind != "choice" or len(item.options) < 2:
        raise ValueError(f"a {item.kind} with {len(item.options)} options cannot be verified")
    right = rng.chance(0.5)
    others = [index for index in range(len(item.options)) if index != item.answer]
    proposed = item.answer if right else rng.choice(others)
    wording = rng.choice(WORDINGS)
    return replace(
        item,
        family=f"{item.family}_verified",
        kind="boolean",
        question=wording.format(question=item.question, name=item.options[proposed][0]),
        options=YES_NO,
        answer=int(right),
        target=None,
    )
