"""Numbers of the paper and of other systems, to show beside ours. All of them stand in one data
file with their sources; none of our own results do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Anchor:
    """What the paper reports for one number, and what others reach on it."""

    paper: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens, and who says so."""

    input: float
    output: float
    source: str

    def dollars(self, input_tokens: int, output_tokens: int) -> float:
        """What that many tokens cost."""
        return (self.input * input_tokens + self.output * output_tokens) / 1e6


@cache
def _data() -> dict[str, Any]:
    text = files("thisthat_lab.bench").joinpath("anchors.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def anchor(key: str | None) -> Anchor:
    """The anchor of a number; an empty one where nobody reports that number."""
    found = _data()["values"].get(key, {}) if key else {}
    return Anchor(found.get("paper"), found.get("others", {}))


def table(name: str) -> list[dict[str, Any]]:
    """A table of the paper as a list of rows keyed by column."""
    found = _data()["tables"][name]
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def caption(name: str) -> str:
    """What a table of the paper shows."""
    return str(_data()["tables"][name]["caption"])


def prices() -> dict[str, Price]:
    """The built-in price list by model name."""
    return {name: Price(**entry) for name, entry in _data()["prices"].items()}


def sources() -> dict[str, str]:
    """Where the numbers come from."""
    return dict(_data()["sources"])
