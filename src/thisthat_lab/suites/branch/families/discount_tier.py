"""Discount tier: which reduction does an order, a member or a delivery get?"""

from __future__ import annotations

from thisthat_lab.suites.branch.machinery.bands import draw_bands
from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.outcomes import OutcomeWords, outcome_family

FAMILY = outcome_family(
    "discount_tier",
    "choice",
    domains("customer order", "farm delivery", "hotel booking", "equipment rental", "energy meter"),
    OutcomeWords(
        thing="tier",
        asks=(
            "Which tier applies to {id}?",
            "What tier does this {noun} fall into?",
            "Which of the reductions is right for this {noun}?",
        ),
        names=(
            ("no discount", "5% off", "8% off", "12% off", "20% off", "30% off"),
            ("bronze", "silver", "gold", "platinum", "basic", "diamond"),
            ("tier A", "tier B", "tier C", "tier D", "tier E", "tier F"),
            ("list price", "volume price", "partner price", "staff price", "trial price"),
        ),
        headings=("Price list", "Discounts", "Tiers", "Rebate scheme"),
    ),
    (4, 4),
    draw_rules=draw_bands,
)
