"""Insurance claim: does it clear without a human adjuster?"""

from __future__ import annotations

from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.verdicts import Words, verdict_family

FAMILY = verdict_family(
    "claim",
    domains(
        "car insurance claim",
        "household claim",
        "travel claim",
        "pet claim",
    ),
    Words(
        outcome="the claim is cleared for payment",
        opposite="the claim is sent to an adjuster",
        asks=(
            "Does the claim clear automatically?",
            "Can {id} be paid out straight away?",
            "Is this {noun} ready for payment?",
            "Should the claim be cleared?",
        ),
        opposite_asks=(
            "Does the claim need an adjuster?",
            "Must {id} be held back from payment?",
            "Is this {noun} one for an adjuster?",
            "Should clearing be withheld?",
        ),
        heading=("Clearing rules", "Policy wording", "Claims guideline", "Payment conditions"),
    ),
    held_out=True,
)
