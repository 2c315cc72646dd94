"""Score: any record, any rubric, two to ten levels. The broadest of the score families."""

from __future__ import annotations

from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family

WORDING = RatingWording(
    questions=(
        "Which level fits the {noun}?",
        "Rate {noun} {name}.",
        "On which level does {name} stand?",
        "What does the rubric give for this {noun}?",
        "Score the {noun} by the guide.",
        "How far up the scale is {name}?",
        "Grade {name}.",
        "Place the {noun} on the scale.",
    ),
    headings=("rubric", "scale", "scoring guide", "criteria", "grading key", "how to rate"),
)
FAMILY = rating_family(
    "rubric_score", record_types(), WORDING, levels=(2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 10)
)
