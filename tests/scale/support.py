"""A decider without weights, files of states, and what a batch wrote."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet

from tests.path_engine import path_decider
from thisthat import Boolean, Choice, Decision, InvalidInputError, Score
from thisthat.decide.conditions import Conditions
from thisthat.decide.protocol import Decides
from thisthat.questions import Source, Usage, answer_for
from thisthat.scale.batch import Batch
from thisthat.scale.decider import BatchDecider
from thisthat.scale.source import RowSource as Rows

QUESTIONS = {
    "refund": Boolean("Is it within policy?"),
    "queue": Choice(["billing", "shipping", "other"], "Which queue?", abstain=True),
    "anger": Score(["calm", "annoyed", "furious"], "How angry?"),
}


class Stub:
    """Answers yes to everything; a state that says "bad" cannot be answered."""

    def __init__(self) -> None:
        yes = answer_for(Boolean("Is it?"), [0.25, 0.75])
        self.decision = Decision({"q": yes}, Source("stub", "1", 1.0), Usage(10, 4), 0.0)

    def decide_each(self, states: Sequence[Any], *_: Any, **__: Any) -> list[Any]:
        bad = InvalidInputError("state", "is bad")
        return [bad if state == "bad" else self.decision for state in states]

    def decide_many(self, states: Sequence[Any], *_: Any, **__: Any) -> list[Decision]:
        return [self.decision for _ in states]

    def conditions(self, **_: Any) -> Conditions:
        return Conditions("stub", "1", 1.0, "state-first", "apart", "as-given", "t")


class PathBatchDecider(BatchDecider):
    """Opens no weights, also in another process."""

    def _open(self) -> Decides:
        return path_decider()


def stub_decider() -> BatchDecider:
    decider = BatchDecider({"q": "Is it?"}, id="id")
    decider._opened = Stub()  # type: ignore[assignment]
    return decider


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def numbered(path: Path, count: int) -> Path:
    return write_lines(path, ({"id": f"t-{n}", "state": f"state {n}"} for n in range(count)))


def stub_batch(path: Path, folder: Path, **settings: Any) -> Batch:
    return Batch(Rows([path], "id"), stub_decider(), folder, **settings)


def read_part(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pyarrow.parquet.read_table(path).to_pylist())
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_parts(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("part-*")) for row in read_part(path)]


def manifest_of(folder: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found
