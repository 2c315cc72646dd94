"""An engine for tests: logits are a hash of the path to the slot, so wrong wiring shows."""

import hashlib
from collections.abc import Sequence

import numpy as np

from tests.prompt.byte_tokenizer import decode, encode
from thisthat.decide.decider import Decider
from thisthat.decide.heads import Heads
from thisthat.decide.processor import Reading
from thisthat.engine.bidirectional import since
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Row, RowResult
from thisthat.prompt.builder import PromptBuilder
from thisthat.prompt_format import PromptFormat
from thisthat.questions import Source
from thisthat.temperature import Temperatures


class PathEngine(Engine):
    """Answers each slot from the tokens on its path alone, and from which of them see later ones;
    keeps the prefixes it has seen."""

    description = "paths"
    longest = 4096

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.closed = False
        self._seen: set[tuple[int, ...]] = set()

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self.calls.append(len(rows))
        return [self._answer(row) for row in rows]

    def close(self) -> None:
        self.closed = True

    def _answer(self, row: Row) -> RowResult:
        cached = len(row.prefix) if row.prefix in self._seen else 0
        self._seen.add(row.prefix)
        logits = []
        for branch in row.branches:
            for slot in branch.slots:
                path = (*row.prefix, *row.trunk, *branch.tokens[: slot.at + 1])
                sight = since(len(path), row.opened, len(row.prefix)).tolist()
                known = path if sight == list(range(len(path))) else (path, sight)
                seed = hashlib.sha256(repr(known).encode()).digest()[:8]
                noise = np.random.default_rng(int.from_bytes(seed, "big"))
                logits.append(noise.normal(size=slot.options).astype(np.float32))
        return RowResult(tuple(logits), cached)


class ListeningEngine(PathEngine):
    """A path engine that keeps the tokens of every path it was asked about, prompt by prompt."""

    longest = 65_536

    def __init__(self) -> None:
        super().__init__()
        self.read: list[list[int]] = []

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self.read += [
            [*row.prefix, *row.trunk, *branch.tokens] for row in rows for branch in row.branches
        ]
        return super().run(rows)


def path_decider(
    form: PromptFormat | None = None, temperatures: Temperatures | None = None
) -> Decider:
    reading = Reading(
        layout="state-first",
        layouts=("state-first", "schema-first"),
        path_tokens=4096,
        state_tokens=1000,
        temperatures=temperatures or Temperatures(),
    )
    builder = PromptBuilder(encode, form or PromptFormat())
    return Decider(builder, PathEngine(), reading, Source("paths", "1", 0.5), decode)


def taught_nothing(*_: object, **__: object) -> Decider:
    """A decider of a taught checkpoint that keeps no head, whatever is to be opened."""
    decider = path_decider()
    decider.heads = Heads(((1.0, {}),), decider.decode)
    return decider
