"""Short texts of the kinds a decision reads, on which int8 forms balance their activations.

Only sizes of activations are taken from them, never an answer: any ordinary text would do.
"""

from __future__ import annotations

TEXTS = (
    """A customer writes: "My parcel was due on Tuesday, it is Friday now and the tracking page \
has not changed since it left the depot in Lyon. I paid 14.90 for express delivery. Please send \
it again or give me my money back." The order was placed twelve days ago; two earlier orders of \
the same customer arrived on time.

Question: Which team should handle this message?
(A) billing: invoices, refunds and payment methods
(B) shipping: lost, late or damaged parcels
(C) technical support: the website and the app
(D) other
Answer: (B)

Question: Does the customer ask for a refund?
(A) yes
(B) no
Answer: (A)""",
    """{"ticket": 48213, "priority": "high", "tags": ["login", "sso"], "attempts": 7,
 "locked": true, "user": {"role": "admin", "country": "PT", "created": "2023-04-19", "mfa": 0},
 "history": [{"at": "09:02", "event": "password_reset"}, {"at": "09:05", "event": "login_failed"},
 {"at": "09:06", "event": "login_failed"}, {"at": "09:11", "event": "login_ok", "ip": "10.4.0.17"}]}

How risky is the latest sign-in, from 1 (harmless) to 5 (certainly an attack)?
(A) 1
(B) 2
(C) 3
(D) 4
(E) 5
Answer: (C)""",
    """#########
#S..#...#
#.#.#.#.#
#.#...#G#
#########
S is where you stand, G is the goal, # is a wall. You may move up, down, left or right.
Which first move lies on a shortest path to the goal?
(A) up
(B) down
(C) left
(D) right
Answer: (D)

The committee met on 3 May and agreed, by nine votes to two, that the bridge should be closed to \
lorries above 7.5 tonnes until the inspection is finished. Residents of the northern bank had \
asked for a ferry; the engineer called that "possible, but not before autumn". for i in range(10): \
total += prices[i] * (1 - discount) if total > limit else 0""",
)
