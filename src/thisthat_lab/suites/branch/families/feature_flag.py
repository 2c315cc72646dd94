"""Boolean: is this user, device or tenant in the audience of a feature flag?"""

from __future__ import annotations

from thisthat_lab.suites.records.checks import Wording, check_family
from thisthat_lab.suites.records.fields import read_types

TYPES = read_types(
    """
user US: rollout bucket # 0-99 | account age # days 0-900/5 | plan = trial, starter, team, scale
  | country = Chile, Egypt, Latvia, Vietnam, Wales | opted into previews ? | sessions this week #
  0-60 | cohorts * beta, staff, students, partners | first seen @
device DV: app build # 100-999 | free memory # MB 50-4000/50 | platform = android, ios, web, desktop
  | rooted ? | battery # % 1-100 | push messages ~ allowed ? | locale = en, pt, fi, th, sw
  | crash reports # 0-20
tenant TN: seats # 1-400 | monthly requests # thousand 1-900 | region = eu-1, us-2, ap-3, sa-1
  | contract ~ signed ? | data residency ~ required ? | tier = free, pro, enterprise
  | enabled modules * audit, billing, chat, search | onboarded on @
store ST: registers # 1-30 | daily orders # 5-900/5 | format = kiosk, express, city, hypermarket
  | loyalty scheme ~ active ? | staff trained # % 0-100/5 | pilot waves * one, two, three, four
  | network link ~ stable ? | opened on @
vehicle VH: firmware # 10-99 | odometer # km 0-90000/500 | market = nordic, iberia, alpine, gulf
  | fleet owned ? | sensor package = basic, plus, premium | hours since last sync # 0-72
  | test track ~ assigned ? | faults logged # 0-12
"""
)
WORDING = Wording(
    passes=(
        "Is the flag on for {noun} {name}?",
        "Does {name} belong to the flag's audience?",
        "Will the {noun} see the new feature?",
        "Is {name} eligible for the rollout?",
    ),
    fails=(
        "Is the flag off for {noun} {name}?",
        "Is {name} outside the flag's audience?",
        "Will the {noun} keep the old behaviour?",
        "Is {name} left out of the rollout?",
    ),
    leads=(
        "Targeting rule of the flag:",
        "The feature is shown to a {noun} exactly when:",
        "flag audience =",
        "Rollout condition (everyone else keeps the old version):",
    ),
    headings=("flag", "targeting", "rollout_rule", "audience definition"),
    things=("context", "evaluation context", "subject", "profile"),
)
FAMILY = check_family("feature_flag", TYPES, WORDING, held_out=True)
