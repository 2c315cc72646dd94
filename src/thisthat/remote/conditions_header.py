"""A header of `/v1/decide` that says what its answers depend on, written and read here.

Its value is the JSON that a policy file has under ``conditions``.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from pydantic import ValidationError

from thisthat.decide.conditions import Conditions
from thisthat.decide.policy import ConditionsPart
from thisthat.errors import InvalidInputError

NAME = "x-thisthat-conditions"


def conditions_header(conditions: Conditions) -> dict[str, str]:
    """The header, keyed by its name."""
    return {NAME: json.dumps(asdict(conditions))}


def read_conditions(value: str | None) -> Conditions:
    """The conditions in a header's value, None where it is missing. Raises InvalidInputError."""
    if value is None:
        raise InvalidInputError(NAME, "is missing: the server does not say what it answers with")
    try:
        return Conditions(**ConditionsPart.model_validate_json(value).model_dump())
    except ValidationError as error:
        raise InvalidInputError(NAME, f"cannot be read: {error.errors()[0]['msg']}") from None
