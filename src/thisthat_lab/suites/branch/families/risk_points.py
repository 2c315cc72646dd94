"""Score: risk points added up and put into a band."""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family

TYPES = read_types(
    """
payment PY: amount # $ 5-9000/5 | attempts in last hour # 0-15 | made on a new device ? | billing
  country = Malta, Peru, India, Ireland | account age # days 0-900/5 | address ~ matching ? | made
  at night ? | items # 1-12
vendor VN: critical systems touched # 0-9 | years as supplier # 0-20 | security audit ~ passed ? |
  data held = none, names, payments, health | subcontractors # 0-15 | incidents last year # 0-8 |
  insurance ~ current ?
patient PT: age # years 18-99 | medicines taken # 0-15 | falls last year # 0-6 | living alone ? |
  mobility = independent, stick, frame, wheelchair | systolic pressure # mmHg 85-200 | sight ~
  impaired ?
loan book LB: days in arrears # 0-120 | restructurings # 0-4 | collateral ~ registered ? | sector
  = fishing, hotels, retail, energy | exposure # $ 1000-90000/500 | covenant breaches # 0-5 |
  guarantor ~ solvent ?
change request CH: services touched # 1-15 | hours of downtime # 0-8 | rollback ~ tested ? |
  weekday = Monday, Wednesday, Friday, Sunday | reviewers # 0-5 | database ~ migrated ? | past
  failures # 0-6
shipment SH: value # $ 100-50000/100 | border crossings # 0-6 | sealed ? | mode = road, sea, rail,
  air | days in transit # 1-50 | carrier claims # 0-9 | hazard label ~ attached ?
wildfire zone WZ: temperature # degrees 10-45 | humidity # % 5-95 | wind # km/h 0-90 | days
  without rain # 0-60 | vegetation = grass, pine, scrub, mixed | campsite ~ open ? | patrols per
  day # 0-8
login LG: distance from last login # km 0-9000/50 | failed attempts # 0-10 | from a known network
  ? | hour of day # 0-23 | role = guest, member, admin, owner | device age # days 0-600/5 | second
  factor ~ used ?
bridge BR: age # years 1-120 | cracks found # 0-20 | daily vehicles # 50-9000/50 | on a flood
  plain ? | material = steel, stone, timber, concrete | load limit # tonnes 3-60 | inspection ~
  overdue ?
"""
)
WORDING = RatingWording(
    questions=(
        "What is the risk level?",
        "Which risk band does {noun} {name} fall into?",
        "Add up the points: how risky is {name}?",
        "Rate the risk of this {noun}.",
        "How high is the risk by the table?",
    ),
    headings=("risk_table", "risk model", "points table"),
    things=("subject", "facts", "case"),
    scales=(
        ("low", "elevated", "high"),
        ("minimal", "guarded", "serious", "extreme"),
        ("very low", "low", "medium", "high", "very high"),
    ),
)
FAMILY = rating_family("risk_points", TYPES, WORDING, methods=("points",), levels=(3, 4, 5, 6))
