"""Teaching a checkpoint a user's own decisions from a few hundred rows, on whatever is at hand.

Splits the rows by state, trains on a part, fits temperatures on the rows held out, and says with
an interval whether it helped. Heads are fitted on the same part first; training learns from the
labels and from what heads that did not see a row make of it. Whichever is right more often on the
rows held out is then taught all of them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from thisthat.calibrate.fit import LEAST_ROWS, Labelled, fit_temperatures
from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.packing import DeltaReport
from thisthat.checkpoint.ship import naming, ship_taught
from thisthat.decide.opening import open_decider
from thisthat.errors import InvalidInputError
from thisthat.files import scratch_folder
from thisthat.identity import state_hash
from thisthat.items.files import placed_items, write_items
from thisthat.items.item import Item
from thisthat.items.labels import placed_labels
from thisthat.items.metrics import Interval, paired_difference, wilson
from thisthat.questions import Kind, Question
from thisthat.rng import Rng
from thisthat.teach.collect import collect
from thisthat.teach.fit_head import log_softmax, taught_logs
from thisthat.teach.known import Label, hashes, refuse_taught
from thisthat.teach.light import learn, write
from thisthat.teach.rows import LEAST_ROWS as LEAST_ROWS_OF_A_HEAD
from thisthat.teach.rows import Rows
from thisthat.temperature import Temperatures, settled
from thisthat_lab.train.evaluate import Evaluated, evaluate
from thisthat_lab.train.loop import Session
from thisthat_lab.train.prepare import Say, prepare
from thisthat_lab.train.ways import EVALUATION, HELD_OUT, TRAINED, Way, way_of

LEAST_TAUGHT = 60
HELD_OUT_SHARE = 0.3
_SOFT = 0.5
"""The share of a row's target that is what heads make of it that were not fitted on it."""


@dataclass(frozen=True)
class Taught:
    """What teaching came to, on the rows held out. ``supported`` is the plain answer."""

    folder: Path
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

    @property
    def kept(self) -> bool:
        """Whether the trained weights are right more often than heads alone."""
        return self.light is None or self.after.value > self.light.value

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
            lines.append(f"the light teach on the same rows: {_shown(self.light)}")
        if not self.kept:
            return [
                *lines,
                "training is no better, so the light teach of all rows is what was written",
                f"checkpoint {self.folder.resolve().name} {self.version} in {self.folder}; at λ = "
                f"0 it is {self.parent}, bit for bit",
            ]
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
        lines.append(
            f"checkpoint {self.folder.resolve().name} {self.version} in {self.folder}; at λ = 0 it "
            f"is {self.parent}, bit for bit"
        )
        return lines


@dataclass(frozen=True)
class Light:
    """Heads fitted on the rows that are taught, and how often they are right on those held out.

    ``told`` is what heads that were not fitted on a row make of it, by question and state, for the
    options as declared.
    """

    right: Interval
    told: Mapping[tuple[str, str], Sequence[float]]

    def soften(self, item: Item) -> Item:
        """The item, its target between its label and what heads make of it."""
        told = self.told.get(_key(item))
        if told is None:
            return item
        declared = item.as_question().declared
        by_name = {option.name: share for option, share in zip(declared, told, strict=True)}
        target = [_SOFT * by_name[name] for name, _ in item.options]
        target[item.answer] += 1 - _SOFT
        return replace(item, target=tuple(target))


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
    items = usable_rows(data, say, questions)
    known = refuse_taught(str(data), initial, None, _labels(items))
    if known is not None:
        say(known)
    taught, held_out = split_rows(items)
    parent = open_checkpoint(initial)
    light = fit_light(initial, taught, held_out)
    with naming(output), scratch_folder(output) as work:
        course = _Course(work, parent, way_of(parent), light, minutes, say)
        result = replace(course.judged(taught, held_out), folder=output)
        say(f"now all {len(items)} rows")
        if result.kept:
            gc.collect()  # The model that was judged makes room on the device.
            session = course.session("all", items)
            session.go(None)
            report = _ship(session, course.way, result, hashes(_labels(items)))
            result = replace(result, delta_error=report.relative_error)
        else:
            _write_heads(parent, items, output)
    return replace(result, version=open_checkpoint(output).card.version)


@dataclass(frozen=True)
class _Course:
    """How a checkpoint is taught: from where, in which way, and what heads make of the rows."""

    work: Path
    parent: Checkpoint
    way: Way
    light: Light | None
    minutes: float | None
    say: Say

    def judged(self, taught: Sequence[Item], held_out: Sequence[Item]) -> Taught:
        """What training on the taught rows comes to on those held out."""
        light = None if self.light is None else self.light.right
        if light is not None:
            self.say(f"light teach: {light.value:.3f} right on {len(held_out)} held-out rows")
        session = self.session("judged", taught, held_out)
        batches = session.prepared.evaluations[EVALUATION]
        before = evaluate(session.backbone, batches, session.device)
        self.say(f"before: {before.hits.mean():.3f} right on {len(before.hits)} held-out rows")
        session.go(None)
        after = evaluate(session.backbone, batches, session.device)
        return Taught(
            folder=self.work,
            trained_rows=len(taught),
            held_out_rows=len(after.hits),
            before=wilson(int(before.hits.sum()), len(before.hits)),
            after=wilson(int(after.hits.sum()), len(after.hits)),
            gain=paired_difference(after.hits.astype(np.float64), before.hits.astype(np.float64)),
            nll_before=before.summary()["nll"],
            nll_after=after.summary()["nll"],
            temperatures=_temperatures(after),
            delta_error=0.0,
            parent=f"{self.parent.card.name} {self.parent.card.version}",
            version="",
            not_int8=self.way.not_int8,
            light=light,
        )

    def session(self, name: str, taught: Sequence[Item], held_out: Sequence[Item] = ()) -> Session:
        """A run over rows, with those held out to judge it by, ready to go."""
        work = self.work / name
        work.mkdir()
        soft = taught if self.light is None else map(self.light.soften, taught)
        write_items(work / TRAINED, soft)
        write_items(work / HELD_OUT, held_out)
        run = self.way.run(work, self.parent, taught, len(held_out), self.minutes)
        session = Session(prepare(run, self.say if held_out else _silently), self.say)
        session.write_record()
        return session


def _silently(_: str) -> None:
    """For what was said already."""


def _ship(session: Session, way: Way, result: Taught, known: Mapping[str, Any]) -> DeltaReport:
    """Write the trained weights on their parent."""
    parent, output = session.prepared.checkpoint, result.folder
    read, card = parent.in_force, session.card({})
    card = replace(
        card,
        name=output.resolve().name,
        temperatures=_over(read.temperatures, result.temperatures),
        provenance={**card.provenance, "taught": _summary(result), **known},
    )
    if way.rank is None:
        return ship_taught(parent, session.weights(), output, card, bits=8.0)
    card = replace(card, byte_weights=read.byte_weights, byte_activations=read.byte_activations)
    return ship_taught(parent, session.weights(), output, card, rank=way.rank)


def _write_heads(parent: Checkpoint, items: Sequence[Item], output: Path) -> None:
    """The light teach of all rows."""
    labelled = _by_question(items)
    with open_decider(parent.ref) as decider:
        write(parent, labelled, learn(decider, labelled), output)


def fit_light(initial: str, taught: Sequence[Item], held_out: Sequence[Item]) -> Light | None:
    """Heads for the questions with enough taught rows; None where none of them learns anything."""
    labelled = _by_question(taught)
    told: dict[tuple[str, str], Sequence[float]] = {}
    right = 0
    with open_decider(initial) as decider:
        learned = learn(decider, labelled)
        heads = {each.name: each.head for each in learned}
        for each in learned:
            states = map(state_hash, labelled[each.name].states)
            told |= {
                (each.name, state): after.tolist()
                for state, after in zip(states, each.fitted.after, strict=True)
            }
        for name in {item.question for item in held_out}:
            items = [item for item in held_out if item.question == name]
            question = items[0].as_question()
            read = collect(decider, question, [item.state for item in items])
            found = np.exp(log_softmax(taught_logs(heads.get(name), read)))
            for item, shares in zip(items, found, strict=True):
                right += int(shares.argmax()) == _place(question, item)
                if name in heads:
                    told[_key(item)] = shares.tolist()
    if not any(heads.values()):
        return None
    return Light(wilson(right, len(held_out)), told)


def _by_question(items: Sequence[Item]) -> dict[str, Rows]:
    """Rows by question, where they are enough for a head and differ in their answers."""
    labelled: dict[str, Rows] = {}
    for number, item in enumerate(items):
        rows = labelled.setdefault(item.question, Rows(item.as_question()))
        rows.add(item.state, _place(rows.question, item), f"row {number + 1}")
    return {
        name: rows
        for name, rows in labelled.items()
        if len(rows.states) >= LEAST_ROWS_OF_A_HEAD and len(set(rows.labels)) > 1
    }


def _key(item: Item) -> tuple[str, str]:
    return item.question, item.state_hash


def _labels(items: Sequence[Item]) -> Iterator[Label]:
    for item in items:
        question = item.as_question()
        yield item.state, question, _place(question, item)


def _place(question: Question, item: Item) -> int:
    """Where the question declares the item's answer."""
    return [option.name for option in question.declared].index(item.options[item.answer][0])


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
        if rows.add(item.state, _place(rows.question, item), where):
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


def _labelled(evaluated: Evaluated) -> list[Labelled]:
    return [
        Labelled(tag.rsplit("/", 1)[1], logits, answer)  # type: ignore[arg-type]
        for tag, logits, answer in zip(
            evaluated.tags, evaluated.logits, evaluated.answers, strict=True
        )
    ]


def _temperatures(after: Evaluated) -> Temperatures | None:
    try:
        return fit_temperatures(_labelled(after))[0]
    except InvalidInputError:
        return None


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
