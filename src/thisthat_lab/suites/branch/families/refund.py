"""Refund within policy: is a refund due for an order, booking, ticket, subscription or journey?"""

from __future__ import annotations

from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.verdicts import Words, verdict_family

FAMILY = verdict_family(
    "refund",
    domains(
        "online order",
        "hotel booking",
        "concert ticket",
        "software subscription",
        "train journey",
    ),
    Words(
        outcome="the refund is granted",
        opposite="the refund is refused",
        asks=(
            "Should the refund be granted?",
            "Is this {noun} within the refund policy?",
            "Does {id} qualify for a refund?",
            "Can the money be paid back?",
        ),
        opposite_asks=(
            "Should the refund be refused?",
            "Is this {noun} outside the refund policy?",
            "Does {id} fail to qualify for a refund?",
            "Must the request for a refund be turned down?",
        ),
        heading=("Refund policy", "Policy", "Terms", "Refund rules"),
    ),
)
