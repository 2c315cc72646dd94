"""The run file: one TOML per run, read strictly. An unknown key or a wrong type is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from thisthat.errors import InvalidInputError
from thisthat.questions import Kind

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Suite: TypeAlias = Literal[
    "spatial", "branch", "arithmetic", "drills", "binding", "lexicon", "catalogue", "scenes"
]


class MixtureSource(_Part):
    """Where items come from: a decision file, a generated suite, or a folder of written tasks.

    ``weight`` is the share of training rows this source gets against the others. Inside a file
    every (source, family, kind) stratum counts by its rows to the power ``evenness`` times its
    weights: 1 takes rows as they are, 0 gives every stratum the same share; a weight of 0 leaves
    a stratum out. ``settings`` go to the suite; its items are weighed by ``families`` and
    ``kinds`` by leaving some out. The answers of the families named in ``outcomes`` ("all" for
    every family) are what happened once in a chance event: they are learned from with draws.
    ``planted`` is the share of rows whose state tells the reader what to answer; leave it at 0
    where questions may ask about such instructions. ``gaps`` is the share of rows whose prose has
    5 to 15 % of its plain words left out, ``typos`` the share that is mistyped or without
    capitals: states that come back are then never twice the same. Leave both at 0 where every
    word counts (rules, sums, code), or name in ``whole`` what to spare: sources of a file,
    domains of written tasks.
    """

    name: str
    file: Path | None = None
    suite: Suite | None = None
    tasks: Path | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    weight: Positive = 1.0
    evenness: Share = 1.0
    sources: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    families: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    kinds: dict[Kind, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    outcomes: tuple[str, ...] = ()
    loss_weight: Positive = 1.0
    augment: bool = True
    planted: Share = 0.0
    gaps: Share = 0.0
    typos: Share = 0.0
    whole: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_origin(self) -> MixtureSource:
        if sum(origin is not None for origin in (self.file, self.suite, self.tasks)) != 1:
            raise ValueError(f"source {self.name!r} needs exactly one of file, suite and tasks")
        if self.file is None and (self.sources or self.evenness != 1.0):
            raise ValueError(f"source {self.name!r}: sources and evenness are for files only")
        return self


class Augment(_Part):
    """How often a training row is changed; each share is a probability.

    ``verify`` adds "is the answer X?" to a choice or score, ``negate`` turns a boolean round.
    ``drop_descriptions`` shows a choice's options by name alone, ``drop_names`` by description
    alone where every option has one.
    ``causal`` reads an open state causally, as the base did; only such rows rehearse its text.
    """

    shuffle: Share = 1.0
    schema_first: Share = 0.4
    together: Share = 0.5
    most_questions: Count = 6
    drop_descriptions: Share = 0.1
    drop_names: Share = 0.0
    distractors: Share = 0.1
    most_options: Annotated[int, Field(ge=2, le=255)] = 255
    swap_state: Share = 0.1
    abstain_offer: Share = 0.1
    abstain_rate: Share = 0.3
    verify: Share = 0.0
    negate: Share = 0.0
    causal: Share = 0.0


class Data(_Part):
    """How rows are made and batched. ``longest`` is the most tokens of one row.

    Rows are padded to at most ``shapes`` lengths, or, with ``pack``, stand one after another in
    one sequence (plain decoders; fast on CUDA only).
    """

    longest: Annotated[int, Field(ge=32)] = 1024
    tokens_per_batch: Annotated[int, Field(ge=32)] = 32768
    pack: bool = False
    shapes: Annotated[int, Field(ge=1, le=24)] = 24
    chunk_rows: Count = 256
    workers: Annotated[int, Field(ge=0)] = 0


class Prompt(_Part):
    """Overrides of the initial checkpoint's prompt format; None keeps what its card says."""

    cell_tokens: bool | None = None
    open_state: bool | None = None


class Loop(_Part):
    """Run layers ``first`` to ``last`` (both included) ``times`` times with the same weights."""

    first: Annotated[int, Field(ge=0)]
    last: Annotated[int, Field(ge=0)]
    times: Annotated[int, Field(ge=2, le=8)]


class Model(_Part):
    """What is trained and from where.

    ``initial`` is a checkpoint: a name, a folder (such as the one an earlier run wrote, relative
    paths being taken from the run file) or a Hub id. ``train`` is all parameters, all but the
    embedding (which keeps a delta small), the last ``last_layers`` layers, or adapters of rank
    ``rank`` on every linear layer from decoder layer ``adapt_from`` on. ``compile`` compiles the
    decoder layers: once for all shapes, once per shape, or not at all; whole llama layers
    without checkpointing have kernels of their own and are never compiled, but for attention
    over packed open states, which is compiled on CUDA where it has no kernels. ``eight_bit``
    rounds what the linear layers of such a model see as the int8 runtime form does, so that it
    learns to bear it. ``float8`` multiplies in the feed-forward parts of such a model in
    eight-bit floats, for speed; it needs bfloat16 and CUDA of capability 9.0.
    """

    initial: str = "default"
    lam: Share | None = None
    train: Literal["all", "trunk", "last", "lora"] = "all"
    last_layers: Count = 4
    rank: Count = 16
    adapt_from: Annotated[int, Field(ge=0)] = 0
    compile: Literal["dynamic", "static", "off"] = "off"
    checkpointing: bool = False
    dtype: Literal["float32", "bfloat16"] = "float32"
    eight_bit: bool = False
    float8: bool = False
    loop: Loop | None = None

    @model_validator(mode="after")
    def _one_rounding(self) -> Model:
        if self.eight_bit and self.float8:
            raise ValueError("eight_bit and float8 exclude each other")
        return self


class Objective(_Part):
    """``cross_entropy`` is its share against Brier; ``draws`` and ``exact`` are for outcomes.

    ``rehearsal`` is the weight of a language-model loss beside the slots': the next token of
    ``rehearsed`` places of every batch, so that what the base knows of language is not forgotten.
    """

    cross_entropy: Share = 0.7
    draws: Annotated[int, Field(ge=2, le=4096)] = 32
    exact: bool = False
    rehearsal: Annotated[float, Field(ge=0)] = 0.0
    rehearsed: Count = 4096


class Optimiser(_Part):
    """``adamw`` keeps float32 master weights and moments; ``adamw-8bit`` rounds stochastically.

    ``muon`` moves the matrices inside the layers by orthogonal updates of the size AdamW's have,
    and everything else as ``adamw`` does. ``pull`` draws every matrix back towards where the run
    began, by the rate times ``pull`` of the way in a step: what the data do not ask for fades. It
    needs a second copy of the weights, for which ``adamw-8bit`` is not the place. ``layer_decay``
    slows a layer down for every layer above it: with 0.9 the last but one moves at nine tenths of
    the rate.
    """

    name: Literal["adamw", "adamw-8bit", "muon"] = "adamw"
    rate: Positive = 3e-4
    beta1: Share = 0.9
    beta2: Share = 0.98
    pull: Annotated[float, Field(ge=0)] = 0.0
    clip: Positive = 1.0
    accumulate: Count = 1
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0

    @model_validator(mode="after")
    def _room_for_a_copy(self) -> Optimiser:
        if self.pull and self.name == "adamw-8bit":
            raise ValueError("pull needs a copy of the weights; adamw-8bit saves memory instead")
        return self


class Schedule(_Part):
    """When to stop, by exactly one budget, and how the rate moves; it always ends cool.

    The rate climbs over the first ``warm_up_steps``, stays, and falls over the last ``cool_down``
    share of the budget to ``final`` times the full rate. ``average`` is the last share of the
    budget over whose steps weights are averaged: the checkpoint is that mean, the saved state
    keeps the last weights.
    """

    steps: Count | None = None
    tokens: Count | None = None
    minutes: Positive | None = None
    warm_up_steps: Annotated[int, Field(ge=0)] = 50
    cool_down: Annotated[float, Field(gt=0, le=1)] = 0.3
    shape: Literal["linear", "cosine"] = "linear"
    final: Share = 0.0
    average: Share = 0.0

    @model_validator(mode="after")
    def _one_budget(self) -> Schedule:
        if sum(budget is not None for budget in (self.steps, self.tokens, self.minutes)) != 1:
            raise ValueError("give exactly one of steps, tokens and minutes")
        return self


class Memory(_Part):
    """``cap_gib`` is the most device memory the run may take; beyond it the run raises."""

    cap_gib: Positive | None = None


class Evaluation(_Part):
    """A held-out file; ``rows`` of each split are drawn once, the same every time."""

    name: str
    file: Path
    rows: Count = 2000
    splits: tuple[str, ...] = ()


class Watch(_Part):
    """How often things are written down, in optimiser steps; 0 is only at the end."""

    report_every: Count = 20
    evaluate_every: Annotated[int, Field(ge=0)] = 0
    save_every: Annotated[int, Field(ge=0)] = 0


class Run(_Part):
    """Everything a run depends on.

    No training row may share a question or a state with the evaluations, the released spatial set
    or the files of ``never_train_on``. ``contamination`` says what a hit in a training file does:
    stop the run, or leave the row out and say how many; generated rows are always left out.
    """

    name: str
    output: Path
    seed: int = 0
    device: Literal["cpu", "cuda", "mps", "auto"] = "auto"
    model: Model = Model()
    prompt: Prompt = Prompt()
    data: Data = Data()
    augment: Augment = Augment()
    objective: Objective = Objective()
    optimiser: Optimiser = Optimiser()
    schedule: Schedule
    memory: Memory = Memory()
    watch: Watch = Watch()
    sources: tuple[MixtureSource, ...] = Field(min_length=1)
    evaluations: tuple[Evaluation, ...] = ()
    contamination: Literal["stop", "leave out"] = "stop"
    never_train_on: tuple[Path, ...] = ()

    @model_validator(mode="after")
    def _distinct_names(self) -> Run:
        for what, names in (
            ("sources", [source.name for source in self.sources]),
            ("evaluations", [evaluation.name for evaluation in self.evaluations]),
        ):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"{what}: the name {min(twice)!r} is used more than once")
        return self


def read_run(path: Path) -> Run:
    """The run a TOML file describes; paths in it are taken from the file's own folder.

    Raises InvalidInputError naming the key for unknown keys, wrong types and missing files.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(str(path), f"is not TOML: {error}") from None
    return parse_run(table, path.parent, str(path))


def parse_run(table: dict[str, Any], folder: Path, where: str) -> Run:
    """The run a table describes, with relative paths taken from ``folder``."""
    try:
        run = Run.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InvalidInputError(f"{where}: {key or 'the file'}", first["msg"]) from None
    run = _placed(run, folder)
    for key, file in _files(run):
        if not file.is_file():
            raise InvalidInputError(f"{where}: {key}", f"there is no file {file}")
    for source in run.sources:
        if source.tasks is not None and not source.tasks.is_dir():
            raise InvalidInputError(
                f"{where}: sources.{source.name}.tasks", f"there is no folder {source.tasks}"
            )
    return run


def _placed(run: Run, folder: Path) -> Run:
    def place(path: Path | None) -> Path | None:
        return None if path is None else folder / path

    return run.model_copy(
        update={
            "output": folder / run.output,
            "model": run.model.model_copy(update={"initial": _initial(run.model.initial, folder)}),
            "sources": tuple(
                s.model_copy(update={"file": place(s.file), "tasks": place(s.tasks)})
                for s in run.sources
            ),
            "evaluations": tuple(
                e.model_copy(update={"file": place(e.file)}) for e in run.evaluations
            ),
            "never_train_on": tuple(folder / path for path in run.never_train_on),
        }
    )


def _files(run: Run) -> list[tuple[str, Path]]:
    files = [(f"sources.{s.name}.file", s.file) for s in run.sources if s.file is not None]
    files += [(f"evaluations.{e.name}.file", e.file) for e in run.evaluations]
    files += [("never_train_on", path) for path in run.never_train_on]
    return files


def _initial(ref: str, folder: Path) -> str:
    beside = folder / ref
    return str(beside) if beside.exists() else ref
