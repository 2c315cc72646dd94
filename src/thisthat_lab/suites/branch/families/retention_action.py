"""Choice: what is to be done with a stored item under the retention schedule?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.routes import RouteWording, route_family

TYPES = read_types(
    """
document DO: age # months 0-180 | last opened days ago # 0-900/5 | under legal hold ? | class =
  contract, memo, payslip, minutes, drawing | copies # 1-12 | personal data ~ present ? | created
  on @
mailbox MB: size # GB 1-90 | days inactive # 0-900/5 | owner ~ departed ? | department = sales,
  legal, lab, front desk | messages # 100-9000/100 | delegates # 0-5 | closed on @
video recording VR: age # days 0-400 | incidents marked # 0-6 | faces ~ blurred ? | camera = gate,
  hall, garage, till | length # minutes 5-600/5 | police request ~ open ?
backup set BS: age # weeks 0-200 | restore tests # 0-9 | encrypted ? | medium = tape, disk, cloud,
  optical | size # GB 5-900/5 | generations kept # 1-30 | taken on @
customer profile CP: months since last order # 0-120 | open complaints # 0-5 | consent ~ withdrawn
  ? | segment = retail, trade, school, export | balance # $ 0-900/10 | newsletters opened # 0-60
biological sample BI: storage time # months 0-240 | aliquots left # 0-20 | donor consent ~ valid ?
  | freezer = alpha, beta, gamma, delta | thaw cycles # 0-8 | study ~ closed ?
log archive LA: age # days 0-900/5 | size # GB 1-500 | audit ~ pending ? | source = firewall,
  payroll, badge, web | searches last month # 0-50 | checksum ~ verified ?
"""
)
WORDING = RouteWording(
    questions=(
        "What is to be done with {noun} {name}?",
        "Which retention action applies?",
        "What does the schedule say about {name}?",
        "Choose the action for this {noun}.",
    ),
    outcomes=(
        ("delete", "archive", "keep", "review", "anonymise", "transfer"),
        ("shred", "move to cold storage", "leave in place", "ask the owner", "redact"),
        ("purge", "retain", "export", "escalate"),
        ("destroy", "extend by a year", "hand to the archive", "lock", "compress"),
    ),
    headings=("retention_schedule", "records policy", "schedule"),
)
FAMILY = route_family("retention_action", TYPES, WORDING, held_out=True)
