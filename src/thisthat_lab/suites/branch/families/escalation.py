"""Escalation: does a ticket, message, complaint or incident have to go to the next level?"""

from __future__ import annotations

from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.verdicts import Words, verdict_family

FAMILY = verdict_family(
    "escalation",
    domains(
        "support ticket",
        "patient message",
        "customer complaint",
        "service incident",
        "content report",
        "energy meter",
    ),
    Words(
        outcome="the case is escalated",
        opposite="the case stays with the first line",
        asks=(
            "Should this be escalated?",
            "Does {id} go to the next level?",
            "Is escalation required for this {noun}?",
            "Must a senior colleague take over?",
        ),
        opposite_asks=(
            "Should this stay with the first line?",
            "Can {id} be handled without escalation?",
            "Is escalation unnecessary for this {noun}?",
            "May the first line keep this case?",
        ),
        heading=("Escalation rule", "Runbook", "Handling rules", "Triage policy"),
    ),
)
