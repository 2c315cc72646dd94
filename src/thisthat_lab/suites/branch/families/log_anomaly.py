"""Log anomaly severity: how bad is what a log window or a machine report shows?"""

from __future__ import annotations

from thisthat_lab.suites.branch.families.severity import draw_rubric
from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.outcomes import OutcomeWords, outcome_family

FAMILY = outcome_family(
    "log_anomaly",
    "score",
    domains("log window", "maintenance report"),
    OutcomeWords(
        thing="anomaly level",
        asks=(
            "How anomalous is {id}?",
            "Which anomaly level does the table give?",
            "How serious is what this {noun} shows?",
        ),
        names=(
            ("normal", "suspicious", "anomalous"),
            ("ok", "notice", "warning", "error"),
            ("quiet", "odd", "degraded", "failing", "down"),
        ),
        headings=("Alert table", "Thresholds", "Monitoring rules"),
    ),
    (3, 5),
    held_out=True,
    draw_rules=draw_rubric,
)
