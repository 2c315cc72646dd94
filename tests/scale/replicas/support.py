"""Replicas without weights: answers depend on λ, so that a mixture would show."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.path_engine import PathEngine, path_decider
from thisthat.decide.decider import Decider
from thisthat.engine.rows import Row, RowResult
from thisthat.errors import CheckpointError
from thisthat.questions import Source
from thisthat.scale.replicas.replica import ReplicaPlan


class LambdaEngine(PathEngine):
    """Logits grow with λ; a state that says "slow" takes a second."""

    def __init__(self, lam: float) -> None:
        super().__init__()
        self._lam = lam

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        if any(bytes(t for t in row.trunk if t < 256).find(b"slow") >= 0 for row in rows):
            time.sleep(1.0)
        found = super().run(rows)
        return [
            RowResult(tuple(self._lam * each for each in one.logits), one.cached_tokens)
            for one in found
        ]


def lambda_decider(ref: str, lam: float | None) -> Decider:
    plain = path_decider()
    chosen = 1.0 if lam is None else lam
    engine, source = LambdaEngine(chosen), Source(ref, "1", chosen)
    reading = replace(plain.reading, layout="schema-first")
    return Decider(plain.builder, engine, reading, source, plain.decode)


@dataclass(frozen=True)
class LambdaPlan(ReplicaPlan):
    """Opens anything but what is "bad"; "half:FILE" fails for the first that tries."""

    def open(self, ref: str, lam: float | None) -> Decider:
        if ref == "bad":
            raise CheckpointError("bad: is not there")
        if ref.startswith("half:"):
            try:
                Path(ref.removeprefix("half:")).touch(exist_ok=False)
            except FileExistsError:
                return lambda_decider("half", lam)
            raise CheckpointError("half: fails once")
        return lambda_decider(ref, lam)


def question(number: int) -> dict[str, Any]:
    words = " ".join(f"word{number}-{n}" for n in range(12))
    return {"q": {"type": "noul", "instructions": f"Is it {words}?"}}


def skewed(count: int, schemas: int = 20, seed: int = 3) -> list[int]:
    """Numbers of schemas, the n-th asked 1/n as often as the first."""
    ends = list(accumulate(1 / (n + 1) for n in range(schemas)))
    return random.Random(seed).choices(range(schemas), cum_weights=ends, k=count)
