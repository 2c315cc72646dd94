"""How often close calls were read twice while something was measured."""

from __future__ import annotations

from thisthat.engine.protocol import Engine
from thisthat.engine.second_reading import SecondReading
from thisthat.items import metrics
from thisthat_lab.bench.result import Line


class SecondReadings:
    """Counts second readings of an engine from the moment this is made."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._before = self._count()

    def lines(self, answers: int) -> list[Line]:
        """Their share of so many answers; none for an engine that reads nothing twice."""
        if not isinstance(self._engine, SecondReading) or not answers:
            return []
        share = metrics.wilson(self._count() - self._before, answers)
        return [Line.of(f"close calls read twice, of {answers:,} answers", share)]

    def _count(self) -> int:
        found = self._engine.statistics
        return 0 if found is None else found.second_readings
