"""A header that says for whom a request is, such as a customer: a canary keeps each unit's arm.

Checked here, read by the server.
"""

from __future__ import annotations

from thisthat.errors import InvalidInputError, shown

NAME = "x-thisthat-unit"

_MOST_CHARACTERS = 200


def unit_header(unit: str) -> dict[str, str]:
    """The header, keyed by its name. Raises InvalidInputError for what a header cannot hold."""
    if not isinstance(unit, str):
        raise InvalidInputError("unit", f"must be a text, not {type(unit).__name__}")
    if not 1 <= len(unit) <= _MOST_CHARACTERS:
        most = f"it may have 1 to {_MOST_CHARACTERS}; a hash is as good"
        raise InvalidInputError("unit", f"has {len(unit)} characters; {most}")
    if not (unit.isascii() and unit.isprintable() and unit == unit.strip()):
        why = "has what a header cannot hold: use printable ASCII without blanks around it, or a"
        raise InvalidInputError("unit", f"{shown(unit)} {why} hash")
    return {NAME: unit}
