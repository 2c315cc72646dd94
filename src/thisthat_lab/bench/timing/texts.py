"""States for timing: a customer's message and the history of the order, so many tokens long.

Sentences as tickets have them, not words at random: an engine that reads close calls twice takes
as long as the case is clear, and nothing is clear about words at random.
"""

from __future__ import annotations

from thisthat.decide.decider import Decider
from thisthat.rng import Rng

THINGS = (
    "card",
    "account",
    "transfer",
    "refund",
    "parcel",
    "invoice",
    "subscription",
    "password",
    "address",
    "delivery",
    "voucher",
)
MATTERS = {
    "lost": "My {thing} is lost",
    "late": "My {thing} is late",
    "wrong": "My {thing} is wrong",
    "blocked": "My {thing} is blocked",
    "declined": "My {thing} was declined",
    "charged twice": "I was charged twice for my {thing}",
    "needs a change": "My {thing} needs a change",
}
"""What can be the matter with each of ``THINGS``, and how a customer says it."""

_SINCE = ("since Monday", "again", "for the third time", "and nobody has told me why")
_WISHES = (
    "Give me my money back today, or I will go to another shop.",
    "Please send a new one this week; I still need it.",
    "It is not urgent, an answer next week is fine.",
    "A person should call me today, I have written four times.",
)
_EVENTS = (
    "the order was placed and paid by card, {amount} euros",
    "the warehouse confirmed that the item is in stock",
    "the parcel left the warehouse with {number} others",
    "the carrier could not deliver, nobody was at home",
    "the parcel was delivered and signed for by a neighbour",
    "the invoice of {amount} euros was sent by email",
    "an agent replied with the prepared text number {number}",
    "the customer sent {number} photos of the opened box",
    "the item came back to the shop, the seal was broken",
    "a voucher of {amount} euros was added to the account",
    "the address was changed by the customer after a login",
    "a payment of {amount} euros was declined by the bank",
)


def ticket(rng: Rng, words: int) -> str:
    """So many words: what the customer writes, then what happened before, cut off at the end."""
    thing, matter = rng.choice(THINGS), rng.choice(tuple(MATTERS.values()))
    parts = [f"{matter.format(thing=thing)} {rng.choice(_SINCE)}. {rng.choice(_WISHES)}"]
    length = len(parts[0].split())
    while length < words:
        day = f"2026-{rng.integer(1, 12):02}-{rng.integer(1, 28):02}"
        event = rng.choice(_EVENTS).format(amount=rng.integer(5, 900), number=rng.integer(2, 9))
        parts.append(f"On {day} {event}.")
        length += len(parts[-1].split())
    return " ".join(" ".join(parts).split()[:words])


def state_of(decider: Decider, rng: Rng, tokens: int) -> str:
    """A state of as many tokens, or as few fewer as whole words allow."""
    words = ticket(rng, tokens).split(" ")
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(decider.builder.encode_state(" ".join(words[:middle]))) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return " ".join(words[:low])
