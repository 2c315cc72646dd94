"""Score: how well does a credential satisfy the secret policy?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family

TYPES = read_types(
    """
password PW: length # characters 4-40 | digits # 0-12 | symbols # 0-10 | upper-case letters # 0-12
  | found in a breach list ? | reused ? | account type = personal, shared, service, root | changed
  on @
API key AK: age # days 0-400 | scopes granted # 1-20 | stored in a vault ? | environment = live,
  test, demo, build | calls per minute # 0-900/10 | rotation ~ automatic ? | owners # 0-5 |
  expires on @
TLS certificate CE: key size # bits 1024-8192/1024 | days to expiry # 0-400/5 | wildcard ~ allowed
  ? | issuer = public, internal, self-signed | alternative names # 0-30 | revocation check ~
  enabled ? | hosts using it # 1-40
SSH key SH: age # days 0-900/10 | passphrase ~ set ? | algorithm = ed25519, rsa, ecdsa, dsa |
  servers reachable # 1-90 | days since last use # 0-300 | forwarding ~ allowed ? | owner status =
  active, on leave, departed
door code DC: digits # 3-10 | people knowing it # 1-60 | months since change # 0-36 | written on a
  note ? | area = lobby, archive, lab, server room | failed entries # 0-20 | alarm ~ linked ?
recovery phrase RP: words # 6-24 | copies # 0-6 | stored offline ? | witness ~ named ? | medium =
  paper, steel, memory stick, cloud | years since review # 0-12 | holders # 1-5
"""
)
WORDING = RatingWording(
    questions=(
        "How strong is the {noun} under the policy?",
        "Score {noun} {name}.",
        "Which strength level does the {noun} reach?",
        "Rate the handling of {name} against the secret policy.",
        "What policy score does the {noun} get?",
    ),
    headings=("secret_policy", "security baseline", "scoring guide"),
    things=("credential", "secret", "inventory entry"),
    scales=(
        ("weak", "adequate", "strong"),
        ("fail", "weak", "good", "excellent"),
        ("unsafe", "weak", "passable", "strong", "very strong"),
    ),
)
FAMILY = rating_family("password_score", TYPES, WORDING)
