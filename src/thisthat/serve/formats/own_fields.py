"""The settings of ``/v1/decide`` in other formats: refused there, never ignored.

Other unknown fields are accepted: clients send some of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thisthat.decide.options import CHOICES, FLAGS
from thisthat.serve.problems import Fault, Place, invalid
from thisthat.serve.schemas import schema

OWN_FIELDS = ("lambda", *CHOICES, *FLAGS, "policy", "force_policy")
"""What a request to ``/v1/decide`` can choose besides its states and questions."""

_REFUSED = "cannot be chosen in this format; /v1/decide takes it"

REFUSED_SCHEMA = dict.fromkeys(OWN_FIELDS, schema("refused"))
"""The same statement in the OpenAPI document."""


def refuse_own_fields(
    body: Mapping[str, Any], names: Sequence[str] = OWN_FIELDS, at: Place = ()
) -> None:
    """Raise Problem (422) naming every such field that is present and not null."""
    faults = [Fault((*at, name), _REFUSED) for name in names if body.get(name) is not None]
    if faults:
        raise invalid(faults)
