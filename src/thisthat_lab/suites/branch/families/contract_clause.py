"""Boolean: is the clause in the document, and within the bounds that the playbook sets?"""

from __future__ import annotations

from thisthat_lab.suites.records.checks import Wording, check_family
from thisthat_lab.suites.records.fields import read_types

TYPES = read_types(
    """
supply agreement SA: notice period # days 7-120 | payment term # days 7-90 | liability cap # $
  10000-900000/10000 | governing law = Norway, England, Kenya, Ontario, Japan | auto-renewal
  clause ~ included ? | confidentiality term # years 1-10 | late fee # % 0-15 | signed on @
employment contract EC: probation # months 0-12 | holiday allowance # days 15-40 | notice period #
  weeks 1-26 | non-compete clause ~ included ? | weekly hours # 16-48 | work place = office, home,
  hybrid, field | overtime pay ~ agreed ? | start date @
lease LS: monthly rent # $ 300-4000/20 | deposit # $ 0-8000/50 | term # months 6-60 | sublet
  clause ~ included ? | pet policy = allowed, banned, on request | repairs paid by = landlord,
  tenant, shared | break clause ~ included ? | signed on @
data processing agreement DA: breach notice # hours 12-120/12 | retention # days 30-720/30 |
  sub-processors # 0-20 | audit right ~ granted ? | transfer region = EEA, Switzerland, Brazil,
  worldwide | encryption duty ~ stated ? | safeguards * pseudonyms, backups, access logs, training
licence agreement LA: seats # 5-500/5 | yearly fee # $ 500-60000/500 | source escrow ~ agreed ? |
  support level = bronze, silver, gold | termination notice # days 10-180/10 | warranty # months
  0-36 | territories * Europe, Asia, Africa, Americas | effective date @
consulting agreement CA: day rate # $ 200-2000/20 | cap on days # 5-200/5 | travel refund ~ agreed
  ? | intellectual property = client, consultant, joint | payment term # days 7-90 | indemnity
  clause ~ included ? | reports per month # 0-8 | signed on @
event contract EV: guest limit # 20-900/10 | cancellation fee # % 0-100/5 | insurance proof ~
  required ? | catering = in house, external, none | overtime rate # $ 50-600/10 | force majeure
  clause ~ included ? | hall = north, garden, mirror, river
"""
)
WORDING = Wording(
    passes=(
        "Is the clause requirement met by {name}?",
        "Does the {noun} comply with the playbook?",
        "Can counsel accept the {noun} as it stands?",
        "Are the terms of {name} within the stated position?",
    ),
    fails=(
        "Does the {noun} depart from the playbook?",
        "Must {name} go back for another round?",
        "Is there a gap between {name} and the stated position?",
        "Does the {noun} break the requirement?",
    ),
    leads=(
        "Playbook position for a {noun}:",
        "A {noun} is compliant exactly when this is so:",
        "Counsel accepts a {noun} under this rule and no other:",
        "Required terms:",
    ),
    headings=("playbook", "negotiation position", "requirement", "legal checklist"),
    things=("contract", "terms", "clause summary", "document"),
)
FAMILY = check_family("contract_clause", TYPES, WORDING)
