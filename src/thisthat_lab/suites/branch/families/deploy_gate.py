"""Deploy gate: may a release, a model, a firmware image or a purchase go ahead?"""

from __future__ import annotations

from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.verdicts import Words, verdict_family

FAMILY = verdict_family(
    "deploy_gate",
    domains(
        "release candidate",
        "model rollout",
        "firmware update",
        "purchase requisition",
        "clinical sample",
        "farm delivery",
    ),
    Words(
        outcome="the gate opens",
        opposite="the gate stays shut",
        asks=(
            "Does the gate open?",
            "May {id} go ahead?",
            "Is this {noun} cleared to proceed?",
            "Are the gate conditions met?",
        ),
        opposite_asks=(
            "Does the gate stay shut?",
            "Must {id} be held back?",
            "Is this {noun} stopped at the gate?",
            "Do the gate conditions fail?",
        ),
        heading=("Gate", "Gate conditions", "Checklist", "Acceptance rules"),
    ),
)
