"""Teaching a checkpoint a user's own decisions from a few hundred rows, on whatever is at hand.

Splits the rows by state, fits heads and trains on a part, and says with an interval how often both
together are right on the rows held out. Only if that beats heads alone is what training learned
kept; either way all rows are taught in the end.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thisthat.calibrate.fit import LEAST_ROWS, Labelled, fit_temperatures
from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.packing import DeltaReport
from thisthat.checkpoint.ship import naming, ship_taught
from thisthat.errors import InvalidInputError
from thisthat.files import scratch_folder
from thisthat.items.files import placed_items, write_items
from thisthat.items.item import Item
from thisthat.items.labels import placed_labels
from thisthat.items.metrics import Interval, paired_difference
from thisthat.prompt.builder import PromptBuilder
from thisthat.questions import Kind, Question
from thisthat.rng import Rng
from thisthat.teach.fit_head import log_softmax
from thisthat.teach.known import Label, hashes, refuse_taught
from thisthat.teach.light import write
from thisthat.teach.regression import Floats, Stack
from thisthat.teach.rows import Rows
from thisthat.temperature import Temperatures, settled
from thisthat_lab.train.beside import (
    Answers,
    Light,
    as_declared,
    fit_light,
    heads_beside,
    place,
    together,
)
from thisthat_lab.train.data.stream import fed_batches
from thisthat_lab.train.evaluate import evaluate
from thisthat_lab.train.loop import Session
from thisthat_lab.train.prepare import Say, prepare
from thisthat_lab.train.ways import HELD_OUT, LONGEST, TRAINED, Way, plain_row, way_of

LEAST_TAUGHT = 60
HELD_OUT_SHARE = 0.3


@dataclass(frozen=True)
class Taught:
    """What teaching came to, on the rows held out. ``supported`` is the plain answer."""

    folder: Path | None
    trained_rows: int
    held_out_rows: int
    before: Interval
    after: Interval
    gain: Interval
    nll_before: float
    nll_after: float
    temperatures: Temperatures | None
    delta_error: float
    parent: str
    version: str
    not_int8: str | None = None
    light: Interval | None = None
    """What heads alone come to on the same rows; None where they learn nothing."""
    nll_light: float | None = None
    """Of heads beside the weights as they were, weighed in the same way where that is better."""

    @property
    def kept(self) -> bool:
        """Whether training beats heads alone: as often right, and nearer in its probabilities."""
        if self.light is None or self.nll_light is None:
            return True
        return self.after.value >= self.light.value and self.nll_after < self.nll_light

    @property
    def supported(self) -> bool:
        """True when the whole interval of the gain in accuracy lies above zero."""
        return self.gain.low > 0

    def lines(self) -> list[str]:
        """The result for people."""
        lines = [
            f"accuracy on {self.held_out_rows} held-out rows: {_shown(self.before)} before, "
            f"{_shown(self.after)} after",
            f"gain: {_shown(self.gain)}; NLL {self.nll_before:.3f} before, "
            f"{self.nll_after:.3f} after",
        ]
        if self.light is not None:
            lines.append(
                f"heads alone on the same rows: {_shown(self.light)}, NLL {self.nll_light:.3f}"
            )
        if self.folder is None:
            return [*lines, "neither is better than before, so nothing was written"]
        written = (
            f"checkpoint {self.folder.resolve().name} {self.version} in {self.folder}; at λ = 0 it "
            f"is {self.parent}, bit for bit"
        )
        if not self.kept:
            said = "training is no better, so the light teach of all rows is what was written"
            return [*lines, said, written]
        if not self.supported:
            lines.append(
                "the held-out rows do not show an improvement: the interval of the gain includes "
                "zero. More rows, or clearer ones, are needed; keep using the checkpoint as it was."
            )
        if self.temperatures is None:
            lines.append(
                f"the temperatures of {self.parent} stay: new ones need {LEAST_ROWS} held-out rows "
                "of every question type"
            )
        if self.not_int8 is not None:
            lines.append(f"SLOWER: it runs in float32, {self.parent} in int8: {self.not_int8}")
        return [*lines, written]


def _shown(interval: Interval) -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def teach(
    data: Path,
    output: Path,
    say: Say,
    *,
    questions: Mapping[str, Question] | None = None,
    initial: str = "default",
    minutes: float | None = None,
) -> Taught:
    """Teach the rows of ``data`` to a checkpoint and write the result to ``output``.

    With ``questions`` the rows are labels of these; else they bring their questions. Training takes
    ``minutes``, or as long as suits the machine, and as long again for all rows if it is kept.

    The result stands on that checkpoint: its λ = 0 is what was taught. It keeps the numeric form,
    or says why it cannot. ``output`` appears when all of it is written. Raises InvalidInputError
    for rows that cannot teach anything: too few, all with one answer, one question with different
    options, one row with two answers, rows that taught that checkpoint already. Raises
    CheckpointError where the disk does not take it; nothing is left of ``output`` then.
    """
    if output.exists() and any(output.iterdir()):
        raise InvalidInputError("output", f"{output} is not empty")
    parent = open_checkpoint(initial)
    items = _fitting(usable_rows(data, say, questions), parent, say)
    known = refuse_taught(str(data), initial, None, _labels(items))
    if known is not None:
        say(known)
    taught, held_out = split_rows(items)
    light = fit_light(parent, taught, held_out)
    with naming(output), scratch_folder(output) as work:
        course = _Course(work, parent, way_of(parent), minutes, say)
        result, stacks = course.judged(taught, held_out, light)
        result = replace(result, folder=output)
        if light is not None and not result.kept:
            written = write(parent, light.labelled, light.learned, output)
            return replace(result, folder=written.folder, version=_version(written.folder))
        say(f"training is kept: now with all {len(items)} rows")
        gc.collect()  # The model that was judged makes room on the device.
        session = course.session("all", [*taught, *held_out])
        session.go(None)
        heads = None if light is None else heads_beside(light, stacks)
        report = _ship(session, course.way, result, heads, hashes(_labels(items)))
    return replace(result, delta_error=report.relative_error, version=_version(output))


def _version(folder: Path | None) -> str:
    return "" if folder is None else open_checkpoint(folder).card.version


@dataclass(frozen=True)
class _Course:
    """From where, in which way and for how long a checkpoint is taught."""

    work: Path
    parent: Checkpoint
    way: Way
    minutes: float | None
    say: Say

    def judged(
        self, taught: Sequence[Item], held_out: Sequence[Item], light: Light | None
    ) -> tuple[Taught, Mapping[str, Stack]]:
        """What training on the taught rows comes to on those held out, with heads beside it."""
        session = self.session("judged", taught, held_out)
        heats = self.parent.in_force.temperatures
        first = Answers(held_out, _heated(held_out, _logits(session, held_out), heats))
        self.say(f"before: {first.right.value:.3f} right on {len(held_out)} held-out rows")
        session.go(None)
        logits = _logits(session, held_out)
        temperatures = _temperatures(held_out, logits)
        logs: Sequence[Floats] = _heated(held_out, logits, _over(heats, temperatures))
        stacks: Mapping[str, Stack] = {}
        alone = nll_light = None
        if light is not None:
            beside = together(light, held_out, logs)
            logs, stacks = beside.logs, beside.stacks
            alone = Answers(held_out, light.logs)
            untrained = Answers(held_out, together(light, held_out, first.logs).logs)
            nll_light = min(alone.nll, untrained.nll)
            self.say(f"light teach: {alone.right.value:.3f} right")
        found = Answers(held_out, logs)
        result = Taught(
            folder=self.work,
            trained_rows=len(taught),
            held_out_rows=len(held_out),
            before=first.right,
            after=found.right,
            gain=paired_difference(found.hits, first.hits),
            nll_before=first.nll,
            nll_after=found.nll,
            temperatures=temperatures,
            delta_error=0.0,
            parent=f"{self.parent.card.name} {self.parent.card.version}",
            version="",
            not_int8=self.way.not_int8,
            light=None if alone is None else alone.right,
            nll_light=nll_light,
        )
        return result, stacks

    def session(self, name: str, taught: Sequence[Item], held_out: Sequence[Item] = ()) -> Session:
        """A run over rows, and apart from those held out, ready to go."""
        work = self.work / name
        work.mkdir()
        write_items(work / TRAINED, taught)
        write_items(work / HELD_OUT, held_out)
        run = self.way.run(work, self.parent, taught, self.minutes)
        session = Session(prepare(run, self.say if held_out else _silently), self.say)
        session.write_record()
        return session


def _silently(_: str) -> None:
    """For what was said already."""


def _ship(
    session: Session, way: Way, result: Taught, heads: bytes | None, known: Mapping[str, Any]
) -> DeltaReport:
    """Write the trained weights, and heads beside them, on their parent."""
    parent = session.prepared.checkpoint
    read, card = parent.in_force, session.card({})
    assert result.folder is not None
    card = replace(
        card,
        name=result.folder.resolve().name,
        temperatures=_over(read.temperatures, result.temperatures),
        provenance={**card.provenance, "taught": _summary(result), **known},
    )
    if way.rank is None:
        weights = session.weights()
        return ship_taught(parent, weights, result.folder, card, bits=8.0, heads=heads)
    card = replace(card, byte_weights=read.byte_weights, byte_activations=read.byte_activations)
    weights = session.weights()
    return ship_taught(parent, weights, result.folder, card, rank=way.rank, heads=heads)


def _labels(items: Sequence[Item]) -> Iterator[Label]:
    for item in items:
        question = item.as_question()
        yield item.state, question, place(question, item)


def usable_rows(
    data: Path, say: Say, questions: Mapping[str, Question] | None = None
) -> list[Item]:
    """The rows of the file without repetitions. Raises InvalidInputError as ``teach`` does."""
    found: dict[tuple[Kind, str], Rows] = {}
    names: dict[tuple[Kind, str], str] = {}
    items: list[Item] = []
    what = "rows" if questions is None else "labels"
    read = placed_items(data) if questions is None else placed_labels(data, questions)
    for where, item in read:
        asked = (item.kind, item.question)
        if asked not in found:
            found[asked] = Rows(_question(item, where))
            names[asked] = item.question if questions is None else item.family
        rows = found[asked]
        options = {name for name, _ in item.options}
        known = {option.name for option in rows.question.declared}
        if options != known:
            raise InvalidInputError(
                where,
                f"has other options than {rows.places[0]} for the same question "
                f"({', '.join(sorted(options ^ known))})",
            )
        if rows.add(item.state, place(rows.question, item), where):
            items.append(item)
    repeated = sum(rows.repeated for rows in found.values())
    if repeated:
        say(f"{repeated} {what} repeat others and are left out")
    if len(items) < LEAST_TAUGHT:
        raise InvalidInputError(
            str(data), f"has {len(items)} different {what}; at least {LEAST_TAUGHT} are needed"
        )
    for asked, rows in found.items():
        rows.refuse_one_answer(f"{data}, {names[asked]}")
    return items


def _question(item: Item, where: str) -> Question:
    try:
        return item.as_question()
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}, {error.field}", error.message) from None


def split_rows(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """(taught, held out): no state is in both. Enough rows for a temperature where possible."""
    wanted = max(HELD_OUT_SHARE * len(items), min(LEAST_ROWS, 0.4 * len(items)))
    by_state: dict[str, list[Item]] = {}
    for item in items:
        by_state.setdefault(item.state_hash, []).append(item)
    states = Rng("teach").shuffled(sorted(by_state))
    held_out: list[Item] = []
    taught: list[Item] = []
    for state in states:
        (held_out if len(held_out) < wanted else taught).extend(by_state[state])
    if not taught:
        raise InvalidInputError("rows", "all of them are about one state; none is left to teach")
    return taught, held_out


def _fitting(items: Sequence[Item], parent: Checkpoint, say: Say) -> list[Item]:
    """The items that are short enough to train on."""
    builder = PromptBuilder(parent.encode, parent.prompt)
    found = [item for item in items if plain_row(item, builder, "") is not None]
    if len(found) < len(items):
        say(f"{len(items) - len(found)} rows have more than {LONGEST} tokens and are left out")
    if len(found) < LEAST_TAUGHT:
        raise InvalidInputError(
            "rows", f"{len(found)} are short enough to train on; {LEAST_TAUGHT} are needed"
        )
    return found


def _logits(session: Session, items: Sequence[Item]) -> list[Floats]:
    """What the model says of items, for the options as declared."""
    builder = session.prepared.maker.builder
    made = (plain_row(item, builder, str(number)) for number, item in enumerate(items))
    batches = fed_batches([row for row in made if row is not None], session.prepared.shapes)
    found = evaluate(session.backbone, batches, session.device)
    told = {int(w): logits for w, logits in zip(found.wheres, found.logits, strict=True)}
    return [as_declared(item, told[number]) for number, item in enumerate(items)]


def _temperatures(items: Sequence[Item], logits: Sequence[Floats]) -> Temperatures | None:
    rows = [
        Labelled(item.kind, told, place(item.as_question(), item))
        for item, told in zip(items, logits, strict=True)
    ]
    try:
        return fit_temperatures(rows)[0]
    except InvalidInputError:
        return None


def _heated(items: Sequence[Item], logits: Sequence[Floats], heats: Temperatures) -> list[Floats]:
    """The logarithms of probabilities at these temperatures."""
    return [
        log_softmax(told / heats.of(item.kind, len(told), "state-first"))
        for item, told in zip(items, logits, strict=True)
    ]


def _over(parent: Temperatures, fitted: Temperatures | None) -> Temperatures:
    """The fitted temperatures; the parent's for question types that were not taught."""
    parent = settled(parent)
    if fitted is None:
        return parent
    taught = {*fitted.by_kind, *(("choice",) if fitted.by_options is not None else ())}
    kept = {kind: heat for kind, heat in parent.by_kind.items() if kind not in taught}
    return replace(fitted, by_kind={**kept, **fitted.by_kind}, default=parent.default)


def _summary(result: Taught) -> dict[str, Any]:
    return {
        "rows": result.trained_rows,
        "held_out_rows": result.held_out_rows,
        "before": result.before.as_dict(),
        "after": result.after.as_dict(),
        "gain": result.gain.as_dict(),
        "supported": result.supported,
    }
