"""Choice: whose approval does an expense need?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.routes import RouteWording, route_family

TYPES = read_types(
    """
purchase request PR: amount # $ 20-20000/20 | quotes attached # 0-5 | in the budget ? | category =
  software, furniture, travel, catering, training | supplier rating # points 1-10 | contract
  length # months 0-48 | needed by @
travel expense TE: total # $ 50-9000/50 | nights # 0-20 | booked late ? | destination = home
  country, neighbouring country, overseas, island | travellers # 1-9 | client refund ~ agreed ? |
  returned on @
entertainment bill EB: amount # $ 20-3000/20 | guests # 1-30 | public officials ~ present ? |
  occasion = dinner, match, concert, launch | alcohol share # % 0-70/5 | days since the event #
  0-90
software subscription SS: yearly cost # $ 60-30000/60 | users # 1-400 | security review ~ passed ?
  | data class = public, internal, confidential, secret | overlapping tools # 0-4 | cancellation
  notice # days 0-90
repair order RO: estimate # $ 30-15000/30 | downtime # hours 0-72 | warranty ~ valid ? | asset =
  forklift, boiler, printer, roof | age # years 0-40 | previous repairs # 0-12 | reported on @
donation request DR: amount # $ 50-10000/50 | beneficiaries # 1-500 | registered charity ? | cause
  = sport, arts, health, environment | requests this year # 0-12 | logo use ~ offered ?
consultant fee CF: day rate # $ 200-2500/50 | days # 1-60 | former employee ? | field = tax,
  design, engineering, medicine | invoices open # 0-6 | statement of work ~ signed ?
"""
)
WORDING = RouteWording(
    questions=(
        "Whose approval does {noun} {name} need?",
        "Who has to sign off the {noun}?",
        "Which approval level applies?",
        "To whom does {name} go for approval?",
    ),
    outcomes=(
        (
            "team lead",
            "department head",
            "finance director",
            "chief executive",
            "board",
            "no approval",
        ),
        ("self-approval", "line manager", "cost centre owner", "procurement", "treasurer"),
        ("level 1", "level 2", "level 3", "level 4", "level 5"),
        ("shift supervisor", "site manager", "regional manager", "head office", "audit committee"),
        ("desk A", "desk B", "desk C", "desk D"),
    ),
    headings=("approval_matrix", "spending authority", "approval rules"),
    things=("request", "expense", "claim"),
)
FAMILY = route_family("expense_level", TYPES, WORDING)
