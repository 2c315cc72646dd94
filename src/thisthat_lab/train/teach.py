"""Teaching a checkpoint a user's own decisions from a few hundred rows, on whatever is at hand.

Splits the rows by state, picks settings for the machine, trains for a given time, fits
temperatures on the rows held out, and says with an interval whether it helped. Heads are fitted on
the same rows first, without training; the trained weights are kept only if they are right more
often on the rows held out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from thisthat.calibrate.fit import LEAST_ROWS, Labelled, fit_temperatures
from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.ship import naming, ship_taught
from thisthat.decide.opening import open_decider
from thisthat.errors import InvalidInputError
from thisthat.files import scratch_folder
from thisthat.items.files import placed_items, write_items
from thisthat.items.item import Item
from thisthat.items.labels import placed_labels
from thisthat.items.metrics import Interval, paired_difference, wilson
from thisthat.questions import Kind, Question
from thisthat.rng import Rng
from thisthat.teach.collect import collect
from thisthat.teach.fit_head import taught_logs
from thisthat.teach.known import Label, hashes, refuse_taught
from thisthat.teach.light import Learned, learn, write
from thisthat.teach.rows import LEAST_ROWS as LEAST_ROWS_OF_A_HEAD
from thisthat.teach.rows import Rows
from thisthat.temperature import Temperatures, settled
from thisthat_lab.train.config import Model, Run, parse_run
from thisthat_lab.train.evaluate import Evaluated, evaluate
from thisthat_lab.train.loop import Session
from thisthat_lab.train.model.backbone import blank_trunk
from thisthat_lab.train.prepare import Say, prepare

LEAST_TAUGHT = 60
HELD_OUT_SHARE = 0.3
_EVALUATION = "your rows"
_BYTES_PER_WEIGHT = 24
"""bfloat16 weights and gradients; in float32 gradients, masters, two moments, origins."""
_ROOM_BYTES = 6 << 30
"""What layers keep of 8,192 tokens without checkpointing, about."""


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
                "training is no better than that, so the light teach is what was written",
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
    """Heads fitted on the rows that are taught, and how often they are right on those held out."""

    rows: Mapping[str, Rows]
    learned: tuple[Learned, ...]
    right: Interval


def _shown(interval: Interval) -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def teach(
    data: Path,
    output: Path,
    say: Say,
    *,
    questions: Mapping[str, Question] | None = None,
    initial: str = "default",
    minutes: float = 8.0,
) -> Taught:
    """Teach the rows of ``data`` to a checkpoint and write the result to ``output``.

    With ``questions`` the rows are labels of these; else they bring their questions.

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
    not_int8 = _why_not_int8(parent)
    light = fit_light(initial, taught, held_out)
    if light is not None:
        say(f"light teach: {light.right.value:.3f} right on {len(held_out)} held-out rows")
    with naming(output), scratch_folder(output) as work:
        write_items(work / "train.jsonl", taught)
        write_items(work / "held_out.jsonl", held_out)
        run = _run(work, parent, minutes, len(held_out), not_int8 is None)
        return _trained(run, output, len(taught), not_int8, light, hashes(_labels(items)), say)


def _trained(
    run: Run,
    output: Path,
    taught: int,
    not_int8: str | None,
    light: Light | None,
    known: Mapping[str, Any],
    say: Say,
) -> Taught:
    prepared = prepare(run, say)
    parent = prepared.checkpoint
    session = Session(prepared, say)
    session.write_record()
    batches = prepared.evaluations[_EVALUATION]
    before = evaluate(session.backbone, batches, prepared.device)
    say(f"before: {before.hits.mean():.3f} right on {len(before.hits)} held-out rows")
    session.go(None)
    after = evaluate(session.backbone, batches, prepared.device)
    temperatures = _temperatures(after)
    gain = paired_difference(after.hits.astype(np.float64), before.hits.astype(np.float64))
    result = Taught(
        folder=output,
        trained_rows=taught,
        held_out_rows=len(after.hits),
        before=wilson(int(before.hits.sum()), len(before.hits)),
        after=wilson(int(after.hits.sum()), len(after.hits)),
        gain=gain,
        nll_before=before.summary()["nll"],
        nll_after=after.summary()["nll"],
        temperatures=temperatures,
        delta_error=0.0,
        parent=f"{parent.card.name} {parent.card.version}",
        version="",
        not_int8=not_int8,
        light=None if light is None else light.right,
    )
    if light is not None and not result.kept:
        write(parent, light.rows, light.learned, output)
        return replace(result, version=open_checkpoint(output).card.version)
    card = session.card({})
    card = replace(
        card,
        name=output.resolve().name,
        temperatures=_over(parent.in_force.temperatures, temperatures),
        provenance={**card.provenance, "taught": _summary(result), **known},
    )
    report = ship_taught(parent, session.weights(), output, card, bits=8.0)
    version = open_checkpoint(output).card.version
    return replace(result, delta_error=report.relative_error, version=version)


def fit_light(initial: str, taught: Sequence[Item], held_out: Sequence[Item]) -> Light | None:
    """Heads for the questions with enough taught rows; None where none of them learns anything."""
    labelled: dict[str, Rows] = {}
    for number, item in enumerate(taught):
        rows = labelled.setdefault(item.question, Rows(item.as_question()))
        rows.add(item.state, _place(rows.question, item), f"row {number + 1}")
    labelled = {
        name: rows
        for name, rows in labelled.items()
        if len(rows.states) >= LEAST_ROWS_OF_A_HEAD and len(set(rows.labels)) > 1
    }
    right = 0
    with open_decider(initial) as decider:
        learned = learn(decider, labelled)
        heads = {each.name: each.head for each in learned}
        for name in {item.question for item in held_out}:
            items = [item for item in held_out if item.question == name]
            question = items[0].as_question()
            read = collect(decider, question, [item.state for item in items])
            told = taught_logs(heads.get(name), read).argmax(axis=1)
            right += sum(
                int(each) == _place(question, item) for each, item in zip(told, items, strict=True)
            )
    if not any(heads.values()):
        return None
    return Light(labelled, learned, wilson(right, len(held_out)))


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


def _why_not_int8(parent: Checkpoint) -> str | None:
    """Why what is taught cannot run in int8 although its parent does; None if it can, or neither.

    Only plain llama layers are trained with rounding.
    """
    config = parent.config
    plain = config.get("model_type") == "llama" and config.get("hidden_act", "silu") == "silu"
    if not parent.has_byte_weights or (plain and not config.get("attention_bias")):
        return None
    return f"training with rounding is not known for {config.get('model_type')} layers like these"


def _run(work: Path, parent: Checkpoint, minutes: float, held_out: int, int8: bool) -> Run:
    """Settings that suit the machine: everything on a GPU, the last layers on a CPU.

    A GPU short of memory takes the way of recipes/two-billion-16gb.toml.
    """
    eight_bit = int8 and parent.has_byte_weights
    model: dict[str, Any] = {"initial": parent.ref, "eight_bit": eight_bit}
    optimiser: dict[str, Any] = {"rate": 5e-5, "pull": 0.05}
    if not torch.cuda.is_available():
        model |= {"train": "last", "last_layers": _last_layers(parent)}
        optimiser["rate"], tokens = 4e-4, 2048
    elif eight_bit or _fits(parent, torch.cuda.mem_get_info()[0]):
        model |= {"train": "all", "dtype": "bfloat16"}
        tokens = 8192
    else:
        model |= {"train": "all", "dtype": "bfloat16", "checkpointing": True}
        optimiser = {"name": "adamw-8bit", "rate": 1e-5}
        tokens = 4096
    table = {
        "name": "taught",
        "output": ".",
        "model": model,
        "data": {"longest": 2048, "tokens_per_batch": tokens, "shapes": 12},
        "optimiser": optimiser,
        "schedule": {"minutes": minutes, "warm_up_steps": 5, "cool_down": 0.6},
        # Half of the rows keep the declared order: it is the one that will be asked.
        "augment": {"shuffle": 0.5, "abstain_offer": 0.0, "distractors": 0.0, "swap_state": 0.0},
        "objective": {"cross_entropy": 0.7},
        "watch": {"report_every": 10},
        "sources": [{"name": "rows", "file": "train.jsonl"}],
        "evaluations": [{"name": _EVALUATION, "file": "held_out.jsonl", "rows": held_out}],
    }
    return parse_run(table, work, "teach")


def _fits(parent: Checkpoint, free_bytes: int) -> bool:
    """Whether weights, masters, moments and what they are pulled to fit, with room to work."""
    trunk = blank_trunk(parent.config, Model(), torch.device("meta"), packed=False)
    weights: int = sum(parameter.numel() for parameter in trunk.parameters())
    return weights * _BYTES_PER_WEIGHT + _ROOM_BYTES <= free_bytes


def _last_layers(parent: Checkpoint) -> int:
    config = parent.config
    layers = config.get("num_hidden_layers") or config["text_config"]["num_hidden_layers"]
    return max(1, int(layers) // 4)


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
