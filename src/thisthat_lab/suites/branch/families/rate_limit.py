"""Rate limit verdict: what happens to a client's, a seller's or a reader's next request?"""

from __future__ import annotations

from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.outcomes import OutcomeWords, outcome_family

FAMILY = outcome_family(
    "rate_limit",
    "choice",
    domains("api client", "network host", "marketplace seller", "file share link"),
    OutcomeWords(
        thing="verdict",
        asks=(
            "What happens to the next request of {id}?",
            "Which verdict does this {noun} get?",
            "How does the limiter treat {id}?",
            "What should be done with this {noun} under the limits?",
        ),
        names=(
            ("allow", "throttle", "block", "challenge", "queue"),
            ("pass", "slow down", "reject", "ask for a captcha", "hold for review"),
            ("accept", "delay", "deny", "sample", "redirect"),
            ("green", "amber", "red", "blue", "grey"),
        ),
        headings=("Limits", "Rate limits", "Gateway rules", "Limiter configuration"),
    ),
    (4, 4),
)
