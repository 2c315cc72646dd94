"""Which reader answers for which family: adding a family is adding a line here."""

from __future__ import annotations

from collections.abc import Callable

from tests.lab.suites.oracle import (
    calendars,
    identity_text,
    limits,
    lookups,
    outputs,
    records,
    requests,
    scenes,
    sums,
    verdicts,
)
from thisthat.items.item import Item
from thisthat_lab.suites.scenes import families

ANSWERS: dict[str, Callable[[Item], int]] = {
    **dict.fromkeys(verdicts.WORDS, verdicts.verdict),
    **dict.fromkeys(
        ("rate_limit", "discount_tier", "shipping", *verdicts.SCORES), verdicts.outcome
    ),
    "deploy_blocker": verdicts.blocker,
    "routing": verdicts.route,
    **dict.fromkeys(records.CHECKS, records.check),
    **dict.fromkeys(("expense_level", "retention_action", "sla_tier"), records.route),
    **dict.fromkeys(
        (
            "candidate_fit", "expense_compliance", "format_grade", "password_score",
            "reorder_urgency", "risk_points", "rubric_score", "travel_level",
        ),
        records.rating,
    ),
    "facts_hold": records.facts_hold,
    "facts_across": records.facts_across,
    "count_matching": records.count_matching,
    "duplicate_ticket": records.duplicates,
    "record_agreement": records.record_agreement,
    "change_level": records.change_level,
    "which_record": identity_text.which_record,
    "meeting_conflict": calendars.meeting_conflict,
    "which_slot": calendars.which_slot,
    "instruction_check": outputs.instruction_check,
    "which_instruction": outputs.which_instruction,
    "request_valid": requests.request_valid,
    "invalid_field": requests.invalid_field,
    "inventory_reorder": limits.inventory_reorder,
    "sla_breach": limits.sla_breach,
    "safety_check": limits.safety_check,
    "incident_owner": lookups.incident_owner,
    "first_event": lookups.first_event,
    "tool_selection": lookups.tool_selection,
    "expression": sums.expression_value,
    "expression_compare": sums.expression_compare,
    "word_problem": sums.word_problem,
    "word_problem_band": sums.word_problem_band,
    "word_problem_check": sums.word_problem_check,
    **dict.fromkeys((family.name for family in families()), scenes.answer),
}  # fmt: skip
