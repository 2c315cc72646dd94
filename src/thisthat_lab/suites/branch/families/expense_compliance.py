"""Score: how compliant is an expense report?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family

TYPES = read_types(
    """
expense report ER: total # $ 20-4000/10 | receipts missing # 0-9 | days since the trip # 0-120 |
  manager comment ~ present ? | category = meals, lodging, taxi, tools, gifts | guests # 0-12 |
  card = company, private, cash | submitted on @
mileage claim MC: distance # km 5-900/5 | rate # cents 10-80 | passengers # 0-4 | route map ~
  attached ? | vehicle = own car, pool car, motorbike, bicycle | toll # $ 0-60 | purpose ~ stated
  ? | trip date @
hospitality claim HC: cost per head # $ 8-200/2 | guests # 1-20 | alcohol share # % 0-80/5 | guest
  list ~ attached ? | venue = restaurant, bar, office, hotel | approval number ~ given ? | staff
  members present # 1-10
hotel claim HT: nights # 1-14 | nightly rate # $ 50-500/5 | minibar charge # $ 0-90 | booked
  through the portal ? | city tier = one, two, three, four | invoice ~ in the company name ? |
  room class = standard, superior, suite | arrival date @
equipment claim EQ: price # $ 10-3000/10 | quotes obtained # 0-5 | asset tag ~ assigned ? | type =
  laptop, phone, chair, licence | warranty # months 0-36 | budget line ~ named ? | delivery days #
  0-60
training claim TR: course fee # $ 50-4000/50 | hours # 1-80 | certificate ~ attached ? | provider
  = internal, university, vendor, online | prior approval ~ obtained ? | exam attempts # 0-4 |
  claimed on @
relocation claim RL: moving cost # $ 200-9000/100 | boxes moved # 5-200/5 | distance # km
  20-2000/20 | quotes obtained # 0-4 | family members # 1-7 | storage weeks # 0-12 | contract ~
  signed ? | housing = rent, buy, shared
"""
)
WORDING = RatingWording(
    questions=(
        "How compliant is the {noun}?",
        "Score the compliance of {name}.",
        "Which compliance level does the policy give {noun} {name}?",
        "Rate the {noun} against the expense policy.",
        "Where on the compliance scale is {name}?",
    ),
    headings=("expense_policy", "compliance scale", "audit guide"),
    things=("claim", "report", "expense"),
    scales=(
        ("non-compliant", "needs correction", "compliant"),
        ("violates policy", "several gaps", "one gap", "clean"),
        ("reject", "query", "accept with note", "accept", "exemplary"),
    ),
)
FAMILY = rating_family(
    "expense_compliance", TYPES, WORDING, methods=("points", "count", "ladder", "first", "lowest")
)
