"""Score: up to which level of travel comfort is somebody entitled?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family

TYPES = read_types(
    """
trip TP: flight time # hours 1-16 | nights away # 0-20 | traveller grade = assistant, specialist,
  manager, director | paid by the client ? | days of notice # 0-60 | budget left # $ 0-9000/100 |
  medical note ~ on file ? | departure date @
rail journey RJ: ride length # minutes 20-600/10 | connections # 0-5 | overnight ? | traveller
  group = interns, staff, board, guests | luggage pieces # 0-6 | meetings on arrival # 0-5 | seat
  ~ reserved ?
conference visit CV: distance # km 20-12000/20 | talks given # 0-4 | visa ~ required ? | host =
  university, vendor, ministry, charity | days # 1-10 | visits this year # 0-12 | sponsor ~
  confirmed ?
site visit SV: days on site # 1-30 | crew members # 1-15 | remote ? | road type = motorway,
  gravel, track, ferry | tool load # kg 0-60 | years of service # 0-35 | safety course ~ passed ?
team offsite TO: people # 3-80 | nights # 0-5 | cost per person # $ 30-900/10 | season = spring,
  summer, autumn, winter | venue ~ shared ? | months since last offsite # 0-30 | executive sponsor
  ~ named ?
"""
)
WORDING = RatingWording(
    questions=(
        "Which travel level applies?",
        "Up to which level may {name} be booked?",
        "Find the travel entitlement for {noun} {name}.",
        "What comfort level does the policy give this {noun}?",
    ),
    headings=("travel_policy", "entitlement table", "booking guide"),
    things=("trip", "request", "journey"),
    scales=(
        ("economy", "premium economy", "business"),
        ("basic", "standard", "comfort", "premium"),
        ("bus", "second class", "first class", "sleeper", "private car"),
    ),
)
FAMILY = rating_family("travel_level", TYPES, WORDING, held_out=True)
