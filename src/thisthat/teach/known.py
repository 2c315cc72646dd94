"""Which labels taught a checkpoint: hashes in its card, by which they are known again.

What such labels say about the checkpoint does not hold for others. Neither the format of the file
nor the order of its rows counts, and a file that was added to or cut is known too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

from thisthat.checkpoint import Card, read_card
from thisthat.checkpoint.card import CARD_FILE, Parent
from thisthat.checkpoint.opening import MOST_LAYERS
from thisthat.decide.heads import question_key
from thisthat.errors import InvalidInputError
from thisthat.identity import state_hash
from thisthat.items.labels import LabelledStates
from thisthat.questions import Question, Text
from thisthat.teach.rows import Rows

MOST_TAUGHT = 0.1
"""The share of labels that taught a checkpoint, above which they support no guarantee for it and
teach it nothing more."""

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
    labels = (
        (state, labelled.questions[name], label)
        for state, right in zip(labelled.states, labelled.labels, strict=True)
        for name, label in right.items()
    )
    return share_of(ref, lam, labels)


def share_of(ref: str, lam: float | None, labels: Iterable[Label]) -> float:
    """``taught_share`` of labels that stand in no file."""
    given = list(labels)
    return max((_share(card.provenance, given) for card, _ in _cards(ref, lam)), default=0.0)


def last_taught(ref: str, lam: float | None, labels: Iterable[Label]) -> int | None:
    """The place of the last label that is known to have taught the checkpoint, None without any."""
    given = list(labels)
    found = [_recognised(card.provenance, given) for card, _ in _cards(ref, lam)]
    return max((place for each in found for place, known in each.items() if known), default=None)


def told(share: float, name: str) -> str:
    """How many labels taught a checkpoint, in words."""
    which = "these labels" if share == 1 else f"about {share:.0%} of these labels"
    return f"{which} taught {name}"


def labels_of(labelled: Mapping[str, Rows]) -> Iterator[Label]:
    """The labels of rows by question."""
    for rows in labelled.values():
        for state, label in zip(rows.states, rows.labels, strict=True):
            yield state, rows.question, label


def refuse_taught(
    source: str, ref: str, lam: float | None, labels: Iterable[Label], *, tell_ref: bool = True
) -> str | None:
    """What to say of the few labels that taught the checkpoint to teach; None where none did.

    Raises InvalidInputError about ``source`` for more than a few: the checkpoint knows their
    answers, so they would teach it to trust itself, and no row could tell. With ``tell_ref`` the
    message says where its parent lies, which is nothing for the clients of a server.
    """
    given = list(labels)
    known = [(_share(card.provenance, given), card.name, below) for card, below in _cards(ref, lam)]
    # Of equals the lowest: what taught it is below it nowhere.
    share, name, below = max(reversed(known), key=itemgetter(0), default=(0.0, "", None))
    if share == 0:
        return None
    if share > MOST_TAUGHT:
        where = f" (--checkpoint {below})" if tell_ref and below is not None else ""
        message = f"{told(share, name)}; teach all labels on its parent{where}, or only new ones"
        message += " on top"
        raise InvalidInputError(source, message)
    return f"{told(share, name)}: it was fitted on those, so the shares shown are a little too high"


def _share(provenance: Mapping[str, Any], labels: list[Label]) -> float:
    told = _recognised(provenance, labels)
    return sum(told.values()) / len(told) if told else 0.0


def _recognised(provenance: Mapping[str, Any], labels: list[Label]) -> dict[int, bool]:
    """By place, whether a label taught; only of those that the card can tell."""
    if provenance.get("labels_sha256") == _whole(labels):
        return dict.fromkeys(range(len(labels)), True)
    sample = str(provenance.get("labels_sample", "")).split()
    known = set(sample)
    last = sample[-1] if len(sample) == SAMPLE else None
    hashed = enumerate(map(_hash, labels))
    return {place: each in known for place, each in hashed if last is None or each <= last}


def _cards(ref: str, lam: float | None) -> Iterator[tuple[Card, str | None]]:
    """The cards of a stack from the top, as far as they lie in folders, and what each stands on."""
    folder = Path(ref).expanduser()
    for _ in range(MOST_LAYERS):
        if not (folder / CARD_FILE).is_file():
            return
        card = read_card(folder / CARD_FILE)
        used = (card.lam if lam is None else lam) > 0
        if not isinstance(card.base, Parent):
            if used:
                yield card, None
            return
        folder = Path(os.path.normpath(folder / card.base.ref))
        if used:
            yield card, str(folder) if folder.exists() else card.base.ref
        lam = card.base.lam


def _hash(label: Label) -> str:
    state, question, right = label
    name = question.declared[right].name
    return state_hash([state_hash(state), question_key(question), name])[:_HASH]


def _whole(labels: Iterable[Label]) -> str:
    lines = {f"{state_hash(state)} {question_key(asked)} {right}" for state, asked, right in labels}
    return state_hash("\n".join(sorted(lines)))
