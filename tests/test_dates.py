"""The same dates on every Python; 3.10 reads fewer of them by itself."""

from __future__ import annotations

import pytest

from thisthat.dates import seconds_since_1970


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", 86_400),
        ("1970-01-01T00:01", 60),
        ("1970-01-01T00:01:00Z", 60),
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("1970-01-01T00:00:01,25", 1.25),
        ("1970-01-01 00:00:00.123456789Z", 0.123456),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00.5+0100", 0.5),
        ("1970-01-01T00:00:00-0030", 1800),
    ],
)
def test_dates_are_read(text: str, seconds: float) -> None:
    assert seconds_since_1970(text) == seconds


@pytest.mark.parametrize("text", ["", "today", "1970-13-01", "12:00"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        seconds_since_1970(text)
