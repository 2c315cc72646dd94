"""Record types of many trades, one entry each; the syntax is that of ``fields.read_type``.

Ranges are ordinary ones for the trade. Nothing here says what is good or bad: rules come later.
"""

from __future__ import annotations

from functools import cache

from thisthat_lab.suites.records.fields import RecordType, read_types
from thisthat_lab.tables import Tables


@cache
def record_types() -> tuple[RecordType, ...]:
    """Every record type of the catalogue, in the order of its entries."""
    return read_types(Tables(__file__).words("types"))
