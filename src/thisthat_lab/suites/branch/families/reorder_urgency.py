"""Score: how urgently must stock be reordered?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family

TYPES = read_types(
    """
stock line SK: days of cover left # 0-60 | supplier lead time # days 1-45 | open customer orders #
  0-80 | on promotion ? | shelf class = A, B, C, D | units on hand # 0-400 | substitute ~
  available ? | last delivery @
pharmacy item PH: packs on shelf # 0-120 | packs dispensed per week # 0-60 | prescription only ? |
  storage = cold, dry, secure, open | days until next delivery # 0-21 | back-order ~ placed ? |
  patients waiting # 0-15
spare part bin SB: parts in bin # 0-200 | machines depending on it # 0-12 | long lead item ? | bin
  colour = blue, red, yellow, grey | weeks since last use # 0-52 | second source ~ approved ? |
  counted on @
kitchen ingredient KI: portions left # 0-200 | bookings tonight # 0-150 | perishable ? | supplier
  = market, wholesaler, farm, importer | days to expiry # 0-30 | dishes using it # 1-12 | delivery
  ~ confirmed ?
blood product BP: units in stock # 0-90 | units used yesterday # 0-40 | donor drive ~ scheduled ?
  | group = O, A, B, AB | surgeries tomorrow # 0-20 | days to expiry # 1-42 | neighbouring bank ~
  stocked ?
fuel depot FD: tank level # % 0-100 | trucks booked # 0-30 | storm warning ~ active ? | grade =
  diesel, petrol, heating oil, jet | distance to refinery # km 5-600/5 | days since refill # 0-40
school supply SU: boxes left # 0-90 | classes waiting # 0-25 | needed for exams ? | item = paper,
  chalk, glue, notebooks | weeks to term end # 0-16 | budget left # $ 0-900/10 | delivery slot ~
  booked ?
"""
)
WORDING = RatingWording(
    questions=(
        "How urgent is the reorder?",
        "Rate the urgency of restocking {name}.",
        "How soon should the {noun} be ordered?",
        "Which urgency level applies to {noun} {name}?",
        "Set the reorder priority.",
    ),
    headings=("urgency_rules", "replenishment guide", "scale", "reorder policy"),
    scales=(
        ("can wait", "order soon", "order now"),
        ("none", "watch", "soon", "immediate"),
        ("no action", "next cycle", "this week", "tomorrow", "today"),
    ),
)
FAMILY = rating_family("reorder_urgency", TYPES, WORDING)
