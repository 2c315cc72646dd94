"""What an engine runs for one state: rendered rows, and how to read their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from thisthat.decide.option_order import Places
from thisthat.engine.rows import RowResult, SaltedTokens
from thisthat.prompt.builder import Rendered
from thisthat.prompt_format import Layout
from thisthat.questions import Question


@dataclass(frozen=True, slots=True)
class Job:
    """A state with its questions, rendered and ready to run; ``seconds`` is the time that took.

    A job without questions is rows alone: its procedure interprets their results. ``layers`` are
    those whose hidden states its rows ask for.
    """

    questions: Mapping[str, Question]
    rendered: Rendered
    layout: Layout
    seconds: float
    orders: tuple[tuple[Places, ...], ...]
    layers: tuple[int, ...] = ()

    @property
    def extra_tokens(self) -> int:
        """Tokens added by the second and later orders of its questions."""
        places = iter(self.rendered.places)
        later = [[next(places) for _ in asked][1:] for asked in self.orders]
        slots = [at for group in later for place in group for at in place.at]
        return sum(self.rendered.added_by(row, slot) for row, slot in slots)

    @property
    def fresh_tokens(self) -> int:
        """Tokens to compute when every prefix is already kept."""
        return sum(row.fresh_tokens for row in self.rendered.rows)

    def salted(self, salt: str) -> Job:
        """The same job, whose kept prefixes are reused only by jobs with the same salt."""
        rows = [
            replace(row, prefix=SaltedTokens(row.prefix, salt)) if row.prefix else row
            for row in self.rendered.rows
        ]
        return replace(self, rendered=replace(self.rendered, rows=tuple(rows)))


@dataclass(frozen=True, slots=True)
class JobResult:
    """The results of a job's rows, in order, and the seconds it took to run them."""

    rows: Sequence[RowResult]
    seconds: float

    @property
    def cached_tokens(self) -> int:
        """Tokens that were cached."""
        return sum(row.cached_tokens for row in self.rows)
