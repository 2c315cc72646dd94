"""How people write the answer to a boolean, in labels and in outcomes alike."""

from __future__ import annotations

from collections.abc import Collection

WRITTEN = {"true": "yes", "false": "no", "yes": "yes", "no": "no"}
"""A boolean as tables write it, in any case."""


def boolean_option(written: object, names: Collection[str]) -> object:
    """The option of a boolean, of these ``names``, that is written so; itself if it means none."""
    if isinstance(written, bool):
        return "yes" if written else "no"
    if isinstance(written, str) and written not in names:
        return WRITTEN.get(written.lower(), written)
    return written
