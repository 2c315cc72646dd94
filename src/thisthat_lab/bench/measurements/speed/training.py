"""How fast the trainer trains: its own steps on a random model of the default checkpoint's shape.

A setting that fails is reported and the rest still runs.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.protocol import Identity

if TYPE_CHECKING:
    import torch

    from thisthat_lab.bench.timing.training_steps import RandomRows, Timed

SHAPE = "135 M default's shape"
SHORTEST, LONGEST = 64, 1024
SECONDS, QUICK_SECONDS = 6.0, 0.6
SEGMENTS = 3
LEAST_TOKENS = 600_000
CAVEATS = (
    f"Rows of random tokens, {SHORTEST} to {LONGEST:,} long, all lengths equally likely, one slot "
    "at the end of each; bfloat16, no checkpointing. Rows stand one after another in a sequence "
    "(data.pack), or are padded to the trainer's own choice of lengths where that is said. Padding "
    "is not counted as tokens.",
    "With open states half of every row sees itself as a whole (prompt.open_state), from the row's "
    "beginning or, as often, from the end of its first quarter; about as many tokens are open in "
    "rows of recipes/default.toml.",
    "With float8 five of the six products of a feed-forward part are of eight-bit floats "
    "(model.float8); everything else is as without.",
    "Rows are made by worker processes and sorted into pinned batches by a thread beside the "
    "steps, as in a run; up to eight batches lie ready. No tokeniser runs, nothing is reported, "
    "evaluated or saved.",
    "Every shape of padded batch is met once and some steps are taken before the clock starts, "
    f"then {SEGMENTS} segments of steps, each between two synchronisations.",
    "FLOPs are those of the matrix products of the decoder layers; attention's own, the embedding "
    "and what the last layer does at slots alone are left out. The peak is the data sheet's for "
    "bfloat16, also where products are in float8.",
)


@dataclass(frozen=True)
class Variant:
    """An optimiser, the places of a batch and what rows look like, one batch a step."""

    told: str
    optimiser: Literal["adamw", "adamw-8bit", "muon"]
    tokens: int
    packed: bool = True
    float8: bool = False
    opened: bool = False

    @property
    def name(self) -> str:
        """For people."""
        means = {"float8": self.float8, "padded": not self.packed, "open states": self.opened}
        told = ", ".join([*(each for each, used in means.items() if used), self.told])
        return f"{told}, {self.tokens:,} tokens a step"


VARIANTS = (
    Variant("AdamW", "adamw", 65_536),
    Variant("AdamW", "adamw", 131_072),
    Variant("AdamW", "adamw", 131_072, packed=False),
    Variant("AdamW", "adamw", 131_072, float8=True),
    Variant("AdamW", "adamw", 262_144, float8=True),
    Variant("AdamW with 8-bit moments", "adamw-8bit", 65_536),
    Variant("AdamW with 8-bit moments", "adamw-8bit", 131_072),
    Variant("Muon", "muon", 65_536),
    Variant("Muon", "muon", 65_536, opened=True),
)

Found: TypeAlias = "dict[Variant, Timed | str]"
"""What was measured of each variant, or why it failed."""


def run(context: Context) -> Findings:
    """Raises MissingExtraError without torch, InvalidInputError without a CUDA device."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("bench training", "train") from error
    if not torch.cuda.is_available():
        raise InvalidInputError(
            "device",
            f"bench training needs CUDA, and torch {torch.__version__} sees no such device",
        )
    from thisthat.checkpoint import open_checkpoint
    from thisthat_lab.bench.timing.training_steps import RandomRows

    config = open_checkpoint("default").config
    rows = RandomRows(config["vocab_size"], SHORTEST, LONGEST, context.seed)
    seconds = QUICK_SECONDS if context.setting.quick else SECONDS
    workers = min(8, max(1, (os.cpu_count() or 1) - 1))
    found: Found = {}
    with context.progress("training", len(VARIANTS)) as advance:
        for variant in VARIANTS:
            found[variant] = measure(
                variant, config, rows, torch.device("cuda"), seconds=seconds, workers=workers
            )
            advance(1)
    return findings_of(found, torch.cuda.get_device_name(0))


def measure(
    variant: Variant,
    config: Mapping[str, Any],
    rows: RandomRows,
    device: torch.device,
    *,
    seconds: float,
    workers: int,
) -> Timed | str:
    """What was measured, or why it failed; nothing is left on the device."""
    import torch

    from thisthat_lab.bench.timing.gpu_variants import in_a_line
    from thisthat_lab.bench.timing.training_steps import time_steps
    from thisthat_lab.train.config import Optimiser

    found: Timed | str
    try:
        found = time_steps(
            config,
            replace(rows, opened=variant.opened),
            Optimiser(name=variant.optimiser),
            variant.tokens,
            device,
            packed=variant.packed,
            float8=variant.float8,
            seconds=seconds,
            segments=SEGMENTS,
            workers=workers,
        )
    except Exception as error:  # the other variants are still to be measured
        found = in_a_line(error)
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return found


def findings_of(found: Mapping[Variant, Timed | str], device: str) -> Findings:
    """Lines, the bar and series of what was measured."""
    lines: list[Line] = []
    caveats = list(CAVEATS)
    series: dict[str, list[float]] = {}
    best: float | None = None
    fastest = "AdamW"
    for variant, each in found.items():
        if isinstance(each, str):
            caveats.append(f"{variant.name}: failed. {each}.")
            lines.append(Line(f"{variant.name}: tokens per second", None, unit="number"))
            continue
        lines += _lines(variant.name, each)
        series[variant.name] = [round(s.tokens / s.seconds, 1) for s in each.segments]
        if variant.optimiser != "muon" and each.tokens_per_second > (best or 0.0):
            best, fastest = each.tokens_per_second, variant.name
    note = "" if "H200" in device else f"set for an H200, this is {device}"
    label = f"AdamW at its best ({fastest}): tokens per second"
    bars = [Bar(label, best, LEAST_TOKENS, True, note=note)]
    system = Identity(SHAPE, "trainer", engine=f"torch, {device}, bfloat16 or with float8")
    return Findings(lines, bars=bars, series={"training": series}, caveats=caveats, system=system)


def _lines(name: str, timed: Timed) -> list[Line]:
    rates = [segment.tokens / segment.seconds for segment in timed.segments]
    lines = [
        Line(f"{name}: tokens per second", timed.tokens_per_second, unit="number"),
        Line(f"{name}: tokens per second, slowest segment", min(rates), unit="number"),
        Line(f"{name}: tokens per second, fastest segment", max(rates), unit="number"),
        Line(f"{name}: a step", timed.milliseconds, unit="ms"),
        Line(f"{name}: share of padding", timed.padding),
    ]
    if timed.flop_utilisation is not None:
        lines.append(Line(f"{name}: share of the peak FLOPs", timed.flop_utilisation))
    if timed.peak_bytes is not None:
        lines.append(Line(f"{name}: GiB at the peak", timed.peak_bytes / 2**30, unit="number"))
    return lines
