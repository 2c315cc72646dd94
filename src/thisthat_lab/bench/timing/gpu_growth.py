"""How time grows on a CUDA device: the 1.88 B shape in graphs, states of up to 32,768 tokens."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from thisthat.decide.decider import Decider
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.timing import growth
from thisthat_lab.bench.timing.contest import Limits, TurnJournal
from thisthat_lab.bench.timing.gpu_names import GRAPHS, LARGE
from thisthat_lab.bench.timing.growth import Point, Spending


@dataclass
class Grown:
    """Points of all axes, and where one stops early or why there are none."""

    points: Sequence[Point] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def series(self) -> list[dict[str, Any]]:
        """The points as the growth plot reads them."""
        return [asdict(point) for point in self.points]

    @property
    def lines(self) -> list[Line]:
        """How much time and tokens grow along every curve."""
        found = growth.lines_of(self.points)
        return [Line(f"{LARGE}: {line.label}", line.value, unit=line.unit) for line in found]

    @property
    def caveats(self) -> list[str]:
        """What to know of the points."""
        if not self.points:
            return self.notes
        return [f"Growth is that of the {LARGE}, {GRAPHS}.", *growth.CAVEATS, *self.notes]


def measure_growth(decider: Decider, seed: int, seconds: float) -> Grown:
    """Every place for about so many seconds; a failure is a note."""
    from thisthat_lab.bench.timing.gpu_variants import in_a_line

    limits = Limits(seconds=seconds, patience=2 * seconds, least=3, most=30)
    spending = Spending(limits, seconds_of_states=50 * seconds)
    with tempfile.TemporaryDirectory() as folder:
        journal = TurnJournal(Path(folder), {"of": "growth"})
        try:
            points, notes = growth.measure(decider, journal, spending, seed, lambda _: None)
        except Exception as error:  # everything else was measured
            return Grown(notes=[f"Growth: failed. {in_a_line(error)}."])
    return Grown(points, notes)
