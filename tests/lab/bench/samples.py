"""Made-up results of every measurement, with the fields the report reads."""

from __future__ import annotations

import random
from typing import Any

from thisthat.items import metrics
from thisthat_lab.bench.result import Bar, Group, Line, Result, Timing

FAMILIES = (
    "move_legal move_two_step blocked_pair cell_kind open_count only_way onward plan_survives "
    "goal_bearing first_move reachable_within distance_band stochastic snake_safe snake_food"
)
HELD_OUT = "same_line reach_two distance_parity plan_progress"


def group(by: str, name: str, share: float, chance: float, anchor: str | None = None) -> Group:
    right = round(60 * share)
    interval = metrics.wilson(right, 60)
    return Group(by, name, 60, right, 0, interval.low, interval.high, chance, anchor)


def line(label: str, value: float, anchor: str | None = None, unit: str = "share") -> Line:
    return Line(label, value, value * 0.93, value * 1.05, "wilson", unit, anchor)


def result(name: str, title: str, lam: float, **fields: Any) -> Result:
    return Result(
        measurement=name,
        title=title,
        system={"name": "sample", "kind": "engine", "version": "1", "lambda": lam, "engine": "e"},
        questions={"count": 60, "states": 60, "sha256": "0" * 64, "quick": True},
        caveats=["Made up."],
        hardware={"processor": "none"},
        versions={"thisthat": "0"},
        command=f"thisthat bench {name}",
        finished="2026-01-01T00:00:00+00:00",
        **fields,
    )


def sample_timings() -> list[Timing]:
    """Three systems on nine workloads, each slower than the one before."""
    names = ("one boolean, 60 tokens, cold", "triage, 4 questions, 200 tokens, state-first apart")
    return [
        Timing(
            workload=f"{names[number % 2]}, {number}",
            system=system,
            per="call",
            calls=9,
            p50=20.0 * (number + 1) * 5**place,
            p90=26.0 * (number + 1) * 5**place,
            low=19.0 * (number + 1) * 5**place,
            high=22.0 * (number + 1) * 5**place,
            p25=18.0 * (number + 1) * 5**place,
            p75=24.0 * (number + 1) * 5**place,
            ratio=float(5**place),
            same=8,
            compared=9,
        )
        for number in range(9)
        for place, system in enumerate(("(a) ours", "(b) another", "(d) a third, slow one"))
    ]


def sample_growth() -> list[dict[str, Any]]:
    """Points on all four axes, a little off the formula."""
    curves = {
        "state": {"state first": (40, 1)},
        "questions": {"one pass for all": (300, 12)},
        "options": {"state first": (80, 6), "questions first, warm": (70, 0)},
        "states": {"state first": (0, 500), "questions first, warm": (400, 50)},
    }
    return [
        {
            "axis": axis,
            "curve": curve,
            "x": x,
            "tokens": fixed + each * x,
            "milliseconds": (fixed + each * x) * 0.5 * (1 + 0.1 * (step % 3)),
            "low": (fixed + each * x) * 0.48,
            "high": (fixed + each * x) * 0.6,
            "calls": 5,
        }
        for axis, by_curve in curves.items()
        for curve, (fixed, each) in by_curve.items()
        for step, x in enumerate((1, 4, 16, 64, 256))
    ]


def sample_results(lam: float = 1.0, seed: int = 0) -> list[Result]:
    """One result per measurement that the report draws."""
    rng = random.Random(seed)
    bars = [
        {
            "low": n / 15,
            "high": (n + 1) / 15,
            "count": 2 + n * n,
            "confidence": (n + 0.5) / 15,
            "accuracy": min(1, max(0, (n + 0.5) / 15 + rng.uniform(-0.08, 0.05))),
        }
        for n in range(4, 15)
    ]
    calibration = {"reliability": bars, "risk_coverage": [[0.5, 0.1], [1.0, 0.2]]}
    spatial = [
        group("family", name, rng.uniform(0.5, 1), 0.3, f"spatial.family.{name}")
        for name in FAMILIES.split()
    ]
    held_out = [
        group("family", name, rng.uniform(0.3, 1), 0.4, f"heldout.family.{name}")
        for name in HELD_OUT.split()
    ]
    branch = [group("family", f"branch family {n}", rng.uniform(0.5, 1), 0.4) for n in range(42)]
    surfaces = [
        group("surface", name, share, 0.39, f"surfaces.{name}")
        for name, share in (("ascii", 0.75), ("json", 0.9), ("prose", 0.93))
    ]
    ladder = [
        {
            "side": side,
            "arm": arm,
            "accuracy": 0.95 if arm == "window" else 0.9 - 0.1 * step,
            "low": 0.9 if arm == "window" else 0.8 - 0.1 * step,
            "high": 0.98 if arm == "window" else 0.95 - 0.1 * step,
            "unanswered": 0.0,
            "milliseconds": 20.0 if arm == "window" else 30.0 * 4**step,
        }
        for step, side in enumerate((32, 50, 80, 128, 200))
        for arm in ("window", "whole")
        if not (arm == "whole" and side == 200)
    ]
    probes = [
        {"task": task, "layer": layer, "reading": reading, "value": 0.7 + layer / 200, "base": 0.75}
        for task in ("hate", "spam")
        for layer in (6, 12, 18)
        for reading in ("mean", "last", "slot")
    ]
    sweep = [
        {"lambda": x, "set": name, "number": number, "value": v, "low": v - 0.02, "high": v + 0.02}
        for x in (0, 0.25, 0.5, 0.75, 1)
        for name, number, v in (
            ("cohort", "accuracy", 0.5 + 0.4 * x),
            ("spatial", "accuracy", 0.35 + 0.5 * x),
            ("branch", "accuracy", 0.4 + 0.4 * x * x),
            ("actuator", "accuracy", 0.6 + 0.14 * x),
            ("actuator", "qL2", 0.3 - 0.25 * x),
        )
    ]
    timed = {
        name: [base * rng.lognormvariate(0, 0.08) for _ in range(40)]
        for name, base in (
            ("1 question, 64 tokens", 12),
            ("1 question, 256 tokens", 40),
            ("1 question, 1,024 tokens", 240),
            ("8 questions, 512 tokens", 130),
            ("batch of 32 states, 256 tokens", 900),
        )
    }
    accuracy = line("accuracy", 0.9, "cohort.accuracy")
    rules = [
        line("accuracy", 0.74, "actuator.accuracy"),
        line("qL2", 0.03 + 0.05 * (1 - lam), "actuator.qL2", "score"),
        line("constant", 0.096, "actuator.constant_qL2", "score"),
        line("reads ρ", 0.061, "actuator.rho_qL2", "score"),
        line("geometry qL2", 0.02, "geometry.qL2", "score"),
        line("geometry constant", 0.493, "geometry.constant_qL2", "score"),
    ]
    return [
        result("cohort", "Recorded cohort", lam, lines=[accuracy], series=calibration),
        result("spatial", "Spatial benchmark", lam, lines=[], groups=spatial, series=calibration),
        result("heldout", "Held out", lam, lines=[], groups=held_out, series=calibration),
        result("surfaces", "Surfaces", lam, lines=[], groups=surfaces),
        result(
            "actuator",
            "Noisy actuator",
            lam,
            lines=rules,
            series={"tokens": {"tokens": 0.0, "accuracy": 0.74}},
        ),
        result("branch", "Branch suite", lam, lines=[], groups=branch, series=calibration),
        result("ladder", "Context ladder", lam, lines=[], series={"ladder": ladder}),
        result("lambda", "λ sweep", lam, lines=[], series={"lambda": sweep}),
        result("knowledge", "Knowledge", lam, lines=[], series={"probes": probes}),
        result(
            "latency",
            "Latency",
            lam,
            lines=[],
            series={"latency": timed},
            timings=sample_timings(),
            bars=[
                Bar("reached: (b)/(a)", 6.5, 5, True, "ratio"),
                Bar("missed: p50", 120.0, 100, False, "ms", "set for another machine", "steam"),
                Bar("absent: (c1)/(a)", None, 3.5, True, "ratio", "not installed"),
            ],
        ),
        result(
            "cost",
            "Cost",
            lam,
            lines=[accuracy],
            series={
                "cost": {
                    "dollars": 3e-5,
                    "accuracy": 0.9,
                    "questions": 68,
                    "input_tokens": 12_000,
                },
                "growth": sample_growth(),
            },
        ),
    ]
