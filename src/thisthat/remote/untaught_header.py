"""A header of every answer that names the questions a taught checkpoint keeps nothing for.

A word of the question or of an option may be off. Written and read here.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote

NAME = "x-thisthat-untaught"

_MOST_NAMES = 50
_MOST_CHARACTERS = 200


def untaught_header(names: Iterable[str]) -> str:
    """The header's value: the first fifty names, as in a URL where need be."""
    told = [quote(name[:_MOST_CHARACTERS], safe=" ", errors="replace") for name in names]
    return ", ".join(told[:_MOST_NAMES])


def read_untaught(value: str | None) -> set[str]:
    """The names in a header's value; none where it is missing."""
    return {unquote(name) for name in value.split(", ")} if value else set()
