"""Access request: may data, rooms, files, equipment or seats be opened to the requester?"""

from __future__ import annotations

from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.verdicts import Words, verdict_family

FAMILY = verdict_family(
    "access",
    domains(
        "data access request",
        "door badge request",
        "file share link",
        "library account",
        "student enrolment",
        "marketplace seller",
    ),
    Words(
        outcome="access is given",
        opposite="access is denied",
        asks=(
            "Should access be given?",
            "May {id} go through?",
            "Is this {noun} allowed under the rules?",
            "Does the {noun} meet the conditions for access?",
        ),
        opposite_asks=(
            "Should access be denied?",
            "Must {id} be rejected?",
            "Is this {noun} against the rules?",
            "Does the {noun} miss the conditions for access?",
        ),
        heading=("Access policy", "Rules", "Access control", "Conditions"),
    ),
)
