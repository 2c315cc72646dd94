"""Boolean: does a request for money pass the lender's pre-check?"""

from __future__ import annotations

from thisthat_lab.suites.records.checks import Wording, check_family
from thisthat_lab.suites.records.fields import read_types

TYPES = read_types(
    """
personal loan request PL: requested amount # $ 500-40000/500 | monthly income # $ 900-9000/100
  | credit score # points 300-850/5 | open debts # $ 0-30000/250 | months in current job # 0-120
  | employment = salaried, self-employed, seasonal, retired, student | co-signer ~ present ?
  | missed payments # 0-9 | requested on @
mortgage request MR: property value # $ 60000-900000/5000 | deposit share # % 0-60
  | household income # $ 20000-180000/1000 | loan term # years 5-40 | valuation ~ completed ?
  | property kind = flat, house, cabin, farm, plot | made by a first-time buyer ? | dependants # 0-6
  | rate type = fixed, variable, tracker, offset
car finance request CF: vehicle price # $ 3000-60000/500 | down payment # $ 0-20000/250
  | instalments # 6-84/6 | credit score # points 300-850/5 | driving licence ~ verified ?
  | vehicle age # years 0-15 | dealer tier = A, B, C, D | insurance proof ~ attached ?
business credit line BC: annual turnover # $ 10000-900000/5000 | years trading # 0-30
  | overdrafts last year # 0-12 | audited accounts ~ filed ? | sector = farming, retail, software,
  catering, transport | directors # 1-6 | requested limit # $ 1000-90000/500 | collateral = none,
  stock, equipment, property | registered on @
student loan request SR: tuition # $ 1000-30000/250 | semesters left # 1-10
  | grade average # points 40-100 | guarantor ~ named ? | study mode = full time, part time,
  evening, distance | awards # 0-3 | family income # $ 8000-120000/1000 | enrolled on @
microloan request ML: requested amount # $ 50-2000/10 | group members # 1-12
  | savings balance # $ 0-900/10 | purpose = livestock, seeds, tools, shop stock, school fees
  | loans repaid before # 0-8 | village visit ~ made ? | weekly repayment # $ 2-60
"""
)
WORDING = Wording(
    passes=(
        "Does the {noun} pass the pre-check?",
        "Can {noun} {name} be passed on to a loan officer?",
        "Is {name} cleared for the next step?",
        "Should the {noun} go forward?",
    ),
    fails=(
        "Does the {noun} fail the pre-check?",
        "Should {noun} {name} be turned away at this step?",
        "Is {name} stopped by the pre-check?",
        "Is the {noun} ruled out?",
    ),
    leads=(
        "A {noun} passes the pre-check exactly when this holds:",
        "Pre-check rule for a {noun}:",
        "To go forward, a {noun} has to satisfy this rule; otherwise it is turned away:",
        "The lender lets a {noun} through only under this rule, and always then:",
    ),
    headings=("pre_check_rule", "lending policy", "criteria", "rule", "desk instructions"),
    things=("application", "request", "file", "applicant data"),
)
FAMILY = check_family("loan_precheck", TYPES, WORDING)
