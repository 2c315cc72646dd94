"""Shipping method: how does a parcel or a container travel?"""

from __future__ import annotations

from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.outcomes import OutcomeWords, outcome_family

FAMILY = outcome_family(
    "shipping",
    "choice",
    domains("delivery parcel", "cargo container"),
    OutcomeWords(
        thing="method",
        asks=(
            "How should {id} be sent?",
            "Which way of shipping applies?",
            "Which carrier takes this {noun}?",
        ),
        names=(
            ("courier", "parcel post", "freight", "pick-up point", "bike messenger", "air cargo"),
            ("overnight", "economy", "tracked", "pallet", "locker", "white glove"),
            ("van", "rail", "ship", "plane", "tram", "truck"),
        ),
        headings=("Shipping rules", "Dispatch", "Carrier selection", "Methods"),
    ),
    (4, 4),
    held_out=True,
)
