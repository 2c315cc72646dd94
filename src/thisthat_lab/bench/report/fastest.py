"""The opening of the performance page: the engine for each kind of hardware, fastest first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from thisthat_lab.bench.report.table import number
from thisthat_lab.bench.result import Result

_ONE = re.compile(r"(135 M default: 1 × 256 tokens, one question|1 question, 256 tokens.*): p50")
_RATE = re.compile(r"(135 M default: 256 × 256 tokens.*|batch of 32 states, 256 tokens): decisions")
_OTHER = re.compile(r"\((?:b|c)\) transformers")


def seconds_of_one(result: Result) -> float | None:
    """The median of one question about a state of 256 tokens; None where it was not measured."""
    found = _line(result, _ONE)
    return None if found is None else found / 1000


def fastest_first(results: Sequence[Result]) -> list[str]:
    """A table with the fastest engine of each hardware that timed a single question."""
    timed = [(seconds, each) for each in results if (seconds := seconds_of_one(each)) is not None]
    if not timed:
        return []
    best: dict[str, tuple[float, Result]] = {}
    for seconds, each in sorted(timed, key=lambda pair: pair[0]):
        best.setdefault(_hardware(each), (seconds, each))
    rows = [_row(seconds, each) for seconds, each in best.values()]
    return [
        "\n".join(
            [
                "## The best engine on your hardware",
                "",
                '`engine="auto"` picks it; `thisthat info` says which one runs. One question about'
                " 256 tokens in all, and how many times as long `transformers` took in the same run"
                " (on CPUs for 60 tokens):",
                "",
                "| on | engine | one question | decisions a second, in batches | `transformers` |",
                "|---|---|---:|---:|---:|",
                *rows,
                "",
            ]
        )
    ]


def _row(seconds: float, result: Result) -> str:
    rate = _line(result, _RATE)
    cells = (
        _hardware(result),
        str(result.system.get("engine", "")),
        number(seconds * 1000, "ms"),
        number(rate, "number"),
        number(_others(result), "ratio"),
    )
    return "| " + " | ".join(cells) + " |"


def _hardware(result: Result) -> str:
    hardware = result.hardware
    cores = str(hardware.get("cores", "")).removesuffix(" cores")
    return str(hardware.get("gpu") or f"{hardware.get('processor', '')}, {cores} cores")


def _others(result: Result) -> float | None:
    """How many times as long transformers takes for one question, in the same run."""
    wanted = ("135 M default: 1 × 256 tokens, one question", "one boolean, 60 tokens, cold")
    for timing in result.timings:
        if timing.workload in wanted and _OTHER.match(timing.system):
            return timing.ratio
    return None


def _line(result: Result, label: re.Pattern[str]) -> float | None:
    return next((line.value for line in result.lines if label.match(line.label)), None)
