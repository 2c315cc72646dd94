"""Which labels taught a checkpoint: hashes in its card, by which they are known again.

What such labels say about the checkpoint does not hold for others. Neither the format of the file
nor the order of its rows counts, and a file that was added to or cut is known too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from thisthat.checkpoint import Card, read_card
from thisthat.checkpoint.card import CARD_FILE, Parent
from thisthat.checkpoint.opening import MOST_LAYERS
from thisthat.decide.heads import question_key
from thisthat.identity import state_hash
from thisthat.items.labels import LabelledStates
from thisthat.questions import Question, Text

MOST_TAUGHT = 0.1
"""The share of labels that taught a checkpoint, above which they support no guarantee for it."""

SAMPLE = 512
_HASH = 10

Label: TypeAlias = tuple[Text, Question, int]
"""A state, a question about it, and the index of the right option."""


def hashes(labels: Iterable[Label]) -> dict[str, Any]:
    """What a card keeps of labels: their number, a hash of all, the smallest hashes of single ones.

    The smallest are a sample whatever the labels are, and the same one of any file.
    """
    given = list(labels)
    single = sorted({_hash(label) for label in given})
    return {
        "labels": len(given),
        "labels_sha256": _whole(given),
        "labels_sample": " ".join(single[:SAMPLE]),
    }


def taught_share(ref: str, lam: float | None, labelled: LabelledStates) -> float:
    """The share of the labels that taught the checkpoint, or one below it in its stack.

    Only the cards of folders are looked at, without opening the checkpoint; layers at lambda 0 do
    not count. An estimate where more labels taught than the card has hashes of.
    """
    labels = [
        (state, labelled.questions[name], label)
        for state, right in zip(labelled.states, labelled.labels, strict=True)
        for name, label in right.items()
    ]
    return max((_share(card.provenance, labels) for card in _cards(ref, lam)), default=0.0)


def _share(provenance: Mapping[str, Any], labels: list[Label]) -> float:
    if provenance.get("labels_sha256") == _whole(labels):
        return 1.0
    sample = str(provenance.get("labels_sample", "")).split()
    single = [_hash(label) for label in labels]
    if len(sample) == SAMPLE:
        single = [each for each in single if each <= sample[-1]]
    known = set(sample)
    return sum(each in known for each in single) / len(single) if single else 0.0


def _cards(ref: str, lam: float | None) -> Iterator[Card]:
    """The cards of a stack from the top, as far as they lie in folders."""
    folder = Path(ref).expanduser()
    for _ in range(MOST_LAYERS):
        if not (folder / CARD_FILE).is_file():
            return
        card = read_card(folder / CARD_FILE)
        if (card.lam if lam is None else lam) > 0:
            yield card
        if not isinstance(card.base, Parent):
            return
        folder, lam = folder / card.base.ref, card.base.lam


def _hash(label: Label) -> str:
    state, question, right = label
    name = question.declared[right].name
    return state_hash([state_hash(state), question_key(question), name])[:_HASH]


def _whole(labels: Iterable[Label]) -> str:
    lines = {f"{state_hash(state)} {question_key(asked)} {right}" for state, asked, right in labels}
    return state_hash("\n".join(sorted(lines)))
