"""Choice: which service tier does a contract, ticket or site fall under?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.routes import RouteWording, route_family

TYPES = read_types(
    """
support contract SC: monthly fee # $ 50-5000/50 | seats # 1-500 | phone support ~ included ? |
  region = Nordics, Gulf, Andes, Balkans | response target # hours 1-48 | years as customer # 0-15
  | renewal date @
monitored service MS: monthly requests # thousand 1-900 | dependants # 0-25 | customer facing ? |
  owner = core, growth, data, edge | outages last quarter # 0-12 | revenue share # % 0-60 |
  failover ~ tested ?
hosting plan HP: servers # 1-60 | traffic # GB 5-900/5 | backups ~ daily ? | location = Reykjavik,
  Lagos, Osaka, Lima | contract length # months 1-48 | tickets per month # 0-40 | add-ons *
  firewall, mail, staging, audit
maintenance site MA: lifts # 0-20 | visitors per day # 5-3000/5 | hospital nearby ? | building =
  office, school, mall, hotel | age # years 0-70 | call-outs last year # 0-30 | spare keys ~
  deposited ?
water customer WC: usage # m3 5-900/5 | meters # 1-20 | vulnerable user ~ registered ? | sector =
  home, farm, clinic, factory | complaints # 0-9 | pressure # bar 1-9 | connected on @
data feed DF: subscribers # 1-300 | delay allowed # minutes 1-240 | paid ? | format = CSV, JSON,
  Parquet, XML | updates per day # 1-96 | schema ~ frozen ? | consumers * billing, risk, press,
  mobile
courier account CA: parcels per week # 1-900 | claims this year # 0-20 | prepaid ? | depot = east,
  harbour, ring, central | average weight # kg 1-40 | months active # 0-90 | cold chain ~ required
  ?
"""
)
WORDING = RouteWording(
    questions=(
        "Which tier applies to {noun} {name}?",
        "Under which service tier does the {noun} fall?",
        "Assign the {noun} to a tier.",
        "What tier should {name} be given?",
    ),
    outcomes=(
        ("bronze", "silver", "gold", "platinum", "diamond"),
        ("basic", "standard", "priority", "critical", "tailored"),
        ("T1", "T2", "T3", "T4", "T5", "T6"),
        ("community", "business hours", "extended hours", "round the clock", "dedicated"),
        ("blue desk", "green desk", "red desk", "white desk"),
    ),
    headings=("tier_rules", "service catalogue", "tier policy"),
)
FAMILY = route_family("sla_tier", TYPES, WORDING)
