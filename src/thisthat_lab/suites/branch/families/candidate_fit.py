"""Score: how well does a candidate fit, by a rubric with points?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family

TYPES = read_types(
    """
candidate CD: years of experience # 0-25 | interview score # points 1-10 | references # 0-5 |
  portfolio ~ submitted ? | degree = none, diploma, bachelor, master | notice period # weeks 0-16
  | skills * SQL, welding, sales, design, Python | available from @
driver applicant DR: licence years # 0-30 | accidents # 0-5 | night work ~ accepted ? | vehicle
  class = car, van, lorry, bus | route knowledge # points 0-10 | medical test ~ passed ? | penalty
  points # 0-12
tenant applicant TA: monthly income # $ 800-8000/100 | household members # 1-7 | references # 0-4
  | a smoker ? | occupation = nurse, student, engineer, artist, retired | pets # 0-4 | guarantor ~
  named ? | move-in date @
volunteer VO: hours per week # 1-30 | languages spoken # 1-6 | background check ~ cleared ? | area
  = kitchen, driving, tutoring, garden | months committed # 1-24 | trained in first aid ? | age #
  years 16-80
scholarship applicant SC: grade average # points 50-100 | essays # 0-4 | family income # $
  5000-90000/500 | first in the family ? | subject = law, music, chemistry, nursing | awards # 0-8
  | interview ~ held ?
supplier bid SB: price # $ 1000-90000/500 | delivery time # weeks 1-40 | certified ? | country =
  Italy, Ghana, Mexico, Korea | warranty # months 0-60 | past projects # 0-30 | sample ~ delivered
  ? | site visits # 0-4
foster home FH: rooms # 1-8 | garden ~ fenced ? | hours alone per day # 0-12 | other animals # 0-6
  | experience = none, some, much | car ~ available ? | visits done # 0-3
"""
)
WORDING = RatingWording(
    questions=(
        "How well does the {noun} fit?",
        "Score {noun} {name}.",
        "Which fit level does the rubric give {name}?",
        "Rate the {noun} for the position.",
        "How suitable is {name} by the scoring sheet?",
    ),
    headings=("scoring_sheet", "selection rubric", "screening guide"),
    things=("candidate", "application", "profile"),
    scales=(
        ("no fit", "possible fit", "clear fit"),
        ("decline", "reserve", "shortlist", "invite"),
        ("unsuitable", "weak", "possible", "good", "ideal"),
    ),
)
FAMILY = rating_family(
    "candidate_fit", TYPES, WORDING, methods=("points", "points", "count", "ladder", "band")
)
