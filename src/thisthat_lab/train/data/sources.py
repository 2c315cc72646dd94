"""Where training rows come from: decision files on disk and generated suites, mixed and chunked.

Chunk c of a run is a pure function of the run and c. Worker processes can make chunks in any
order, and a resumed run goes on from a chunk number alone. Imports no torch.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from thisthat.errors import InvalidInputError
from thisthat.items.files import read_items
from thisthat.items.item import Item, dump_row
from thisthat.prompt.builder import PromptBuilder
from thisthat.rng import Rng
from thisthat_lab.suites import forms, written
from thisthat_lab.train.config import Augment, MixtureSource, Run
from thisthat_lab.train.data.augment import make_sheet, plain_sheet, question_key
from thisthat_lab.train.data.draft import OptionPair
from thisthat_lab.train.data.mixture import Mixture, epoch_order
from thisthat_lab.train.data.noise import with_gaps, with_typos
from thisthat_lab.train.data.planted import with_instruction
from thisthat_lab.train.data.rows import TrainingRow, build_row

MOST_OTHER_OPTIONS = 1000
_WITHOUT_CHANGES = Augment(
    shuffle=0,
    schema_first=0,
    together=0,
    drop_descriptions=0,
    distractors=0,
    swap_state=0,
    abstain_offer=0,
)

_SUITES = {
    "spatial": "thisthat_lab.suites.spatial.training",
    "branch": "thisthat_lab.suites.branch.streams",
    "arithmetic": "thisthat_lab.suites.arithmetic",
    "drills": "thisthat_lab.suites.drills",
    "binding": "thisthat_lab.suites.binding",
    "lexicon": "thisthat_lab.suites.lexicon",
    "catalogue": "thisthat_lab.suites.catalogue",
    "scenes": "thisthat_lab.suites.scenes",
}

ItemStream = Callable[[int], Iterator[Item]]


class ItemStore:
    """The items of one file, on disk, at hand by number; made once and shared by all workers."""

    def __init__(self, items: Iterator[Item], where: str) -> None:
        self.where = where
        # Unlinked at once: the space is given back when the last process lets go of the map.
        with tempfile.TemporaryFile() as file:
            starts = [0]
            strata: dict[tuple[str, str, str], list[int]] = {}
            states: dict[bytes, list[int]] = {}
            self.other_options: dict[str, list[OptionPair]] = {}
            seen: dict[str, set[str]] = {}
            for number, item in enumerate(items):
                line = dump_row(item.as_dict()).encode()
                file.write(line)
                starts.append(starts[-1] + len(line))
                strata.setdefault((item.source, item.family, item.kind), []).append(number)
                states.setdefault(bytes.fromhex(item.state_hash)[:12], []).append(number)
                if item.kind == "choice":
                    _collect(item, self.other_options, seen)
            if len(starts) == 1:
                raise InvalidInputError(where, "has no rows")
            file.flush()
            self._rows = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._starts = np.array(starts, dtype=np.int64)
        self.strata = {key: np.array(numbers) for key, numbers in strata.items()}
        self._siblings = {
            number: tuple(group) for group in states.values() if len(group) > 1 for number in group
        }

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> Item:
        line = self._rows[self._starts[number] : self._starts[number + 1]]
        return Item.from_dict(json.loads(line), f"{self.where}, item {number + 1}")

    def siblings(self, number: int) -> tuple[int, ...]:
        """The numbers of all items about the same state, this one among them."""
        return self._siblings.get(number, (number,))


def _collect(item: Item, pools: dict[str, list[OptionPair]], seen: dict[str, set[str]]) -> None:
    key = question_key(item)
    pool, names = pools.setdefault(key, []), seen.setdefault(key, set())
    for name, text in item.options:
        if len(pool) < MOST_OTHER_OPTIONS and name.casefold() not in names:
            names.add(name.casefold())
            pool.append((name, text))


def suite_stream(source: MixtureSource) -> ItemStream:
    """A function from a seed to endless items. Raises InvalidInputError for wrong settings."""
    if source.tasks is not None:
        tasks = written.read_tasks(source.tasks)
        chosen = _suite_settings(written.training_items, source)
        return lambda seed: written.training_items(seed, tasks, chosen)
    assert source.suite is not None
    generate: Callable[[int, Any], Iterator[Item]]
    generate = import_module(_SUITES[source.suite]).training_items
    settings = _suite_settings(generate, source)
    return lambda seed: generate(seed, settings)


def _suite_settings(generate: Callable[..., Any], source: MixtureSource) -> Any:
    """The suite's own settings object from the run file's table."""
    hint = get_type_hints(generate)["settings"]
    kind: Any = next(each for each in (hint, *get_args(hint)) if is_dataclass(each))
    known = {field.name for field in fields(kind)}
    for name in source.settings:
        if name not in known:
            raise InvalidInputError(
                f"sources.{source.name}.settings", f"{name!r} is not one of {sorted(known)}"
            )
    try:
        return TypeAdapter(kind).validate_python(dict(source.settings))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InvalidInputError(f"sources.{source.name}.settings.{key}", first["msg"]) from None


@dataclass(frozen=True)
class _Stratum:
    source: int
    numbers: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows made together, and how many had to be left out as too long or as protected."""

    rows: tuple[TrainingRow, ...]
    too_long: int
    protected: int


class ChunkMaker:
    """Makes chunk after chunk of training rows for one run; index it with a chunk number.

    ``protected`` are hashes of states that no generated row may show. ``stores`` are the sources'
    files already read, by source name.
    """

    def __init__(
        self,
        run: Run,
        builder: PromptBuilder,
        protected: frozenset[str] = frozenset(),
        stores: Mapping[str, ItemStore] | None = None,
    ) -> None:
        self.run = run
        self.builder = builder
        self._protected = protected
        self._hits = 0
        self._stores: dict[int, ItemStore] = {}
        self._streams: dict[int, ItemStream] = {}
        self._strata: list[_Stratum] = []
        self._names: list[str] = []
        weights: list[float] = []
        for number, source in enumerate(run.sources):
            if source.file is None:
                self._streams[number] = suite_stream(source)
                self._strata.append(_Stratum(number, None))
                self._names.append(source.name)
                weights.append(source.weight)
                continue
            store = (stores or {}).get(source.name) or ItemStore(
                read_items(source.file), str(source.file)
            )
            self._stores[number] = store
            keys = list(store.strata)
            raw = [_stratum_weight(source, key, len(store.strata[key])) for key in keys]
            if sum(raw) <= 0:
                raise InvalidInputError(
                    f"sources.{source.name}", "its weights leave out every row of the file"
                )
            for key, weight in zip(keys, raw, strict=True):
                self._strata.append(_Stratum(number, store.strata[key]))
                self._names.append("/".join((source.name, *key)))
                weights.append(source.weight * weight / sum(raw))
        self.mixture = Mixture(weights, run.seed)

    def shares(self) -> dict[str, float]:
        """The share of training rows each stratum gets."""
        total = int(self.mixture.places.sum())
        return {
            name: int(places) / total
            for name, places in zip(self._names, self.mixture.places, strict=True)
        }

    def __getitem__(self, chunk: int) -> Chunk:
        size = self.run.data.chunk_rows
        wanted = [self.mixture.at(row) for row in range(chunk * size, (chunk + 1) * size)]
        from_suites: dict[int, Iterator[TrainingRow | None]] = {}
        rows: list[TrainingRow] = []
        too_long = 0
        self._hits = 0
        for place, (number, position) in enumerate(wanted):
            stratum = self._strata[number]
            if stratum.numbers is None:
                if stratum.source not in from_suites:
                    from_suites[stratum.source] = self._suite_rows(stratum.source, chunk)
                row = next(from_suites[stratum.source])
            else:
                rng = Rng("row", self.run.seed, chunk, place)
                row = self._file_row(stratum, position, rng)
            if row is None:
                too_long += 1
            else:
                rows.append(row)
        return Chunk(tuple(rows), too_long, self._hits)

    def _file_row(self, stratum: _Stratum, position: int, rng: Rng) -> TrainingRow | None:
        assert stratum.numbers is not None
        source = self.run.sources[stratum.source]
        store = self._stores[stratum.source]
        _, index = epoch_order(len(stratum.numbers), position, self.run.seed, source.name)
        number = int(stratum.numbers[index])
        settings = self._settings(source)
        numbers = [number]
        siblings = store.siblings(number)
        if len(siblings) > 1 and rng.chance(settings.together):
            others = [other for other in siblings if other != number]
            most = min(settings.most_questions - 1, len(others))
            numbers += rng.sample(others, rng.integer(1, most)) if most else []
            rng.shuffle(numbers)
        items = [store[n] for n in numbers]
        return self._row(
            items, source, rng, store.other_options, f"{source.name}, row {number + 1}"
        )

    def _suite_rows(self, number: int, chunk: int) -> Iterator[TrainingRow | None]:
        source = self.run.sources[number]
        settings = self._settings(source)
        rng = Rng("suite", self.run.seed, source.name, chunk)
        stream = self._kept(source, self._streams[number](rng.raw() >> 1), rng)
        pools: dict[str, list[OptionPair]] = {}
        seen: dict[str, set[str]] = {}
        made = 0
        for items in _same_state(stream, settings.most_questions):
            for item in items:
                if item.kind == "choice":
                    _collect(item, pools, seen)
            groups = [items] if rng.chance(settings.together) else [[item] for item in items]
            for group in groups:
                made += 1
                where = f"{source.name}, chunk {chunk}, row {made}"
                yield self._row(group, source, rng, pools, where)

    def _kept(self, source: MixtureSource, stream: Iterator[Item], rng: Rng) -> Iterator[Item]:
        top = max(1.0, *source.families.values(), 0.0) * max(1.0, *source.kinds.values(), 0.0)
        for item in stream:
            weight = source.families.get(item.family, 1.0) * source.kinds.get(item.kind, 1.0)
            if not rng.chance(weight / top):
                continue
            if item.state_hash in self._protected:
                self._hits += 1
                continue
            yield item

    def _row(
        self,
        items: Sequence[Item],
        source: MixtureSource,
        rng: Rng,
        pools: Mapping[str, Sequence[OptionPair]],
        where: str,
    ) -> TrainingRow | None:
        named = source.outcomes
        settings = self._settings(source)
        items = _with_forms(items, settings, named, rng)
        outcomes = [item.family in named or "all" in named for item in items]
        sheet = make_sheet(items, settings, rng, pools, outcomes)
        if not {items[0].source, items[0].family.split(".")[0]} & set(source.whole):
            # As in the forms: a share of nothing draws nothing.
            if source.gaps and rng.chance(source.gaps):
                sheet = with_gaps(sheet, rng)
            if source.typos and rng.chance(source.typos):
                sheet = with_typos(sheet, rng)
        if source.planted and rng.chance(source.planted):
            sheet = with_instruction(sheet, rng)
        row = build_row(
            sheet, items, self.builder, self.run.data.longest, where, outcomes, source.loss_weight
        )
        causal = settings.causal and rng.chance(settings.causal)
        return row.read_causally() if row and causal else row

    def _settings(self, source: MixtureSource) -> Augment:
        return self.run.augment if source.augment else _WITHOUT_CHANGES


def _with_forms(
    items: Sequence[Item], settings: Augment, outcomes: Sequence[str], rng: Rng
) -> list[Item]:
    """The items, some booleans turned round, some choices and scores followed by a proposal."""
    varied: list[Item] = []
    for item in items:
        if item.family in outcomes or "all" in outcomes:
            varied.append(item)
            continue
        # A share of nothing draws nothing: the rows of a run without forms stay what they were.
        negate = settings.negate and rng.chance(settings.negate)
        varied.append((negate and forms.negated(item, rng)) or item)
        verify = settings.verify and rng.chance(settings.verify)
        if verify and (proposed := forms.verified(item, rng)) is not None:
            varied.append(proposed)
    return varied


def _stratum_weight(source: MixtureSource, key: tuple[str, str, str], rows: int) -> float:
    origin, family, kind = key
    factor = source.sources.get(origin, 1.0) * source.families.get(family, 1.0)
    return float(rows**source.evenness * factor * dict(source.kinds).get(kind, 1.0))  # type: ignore[call-overload]


def _same_state(items: Iterator[Item], most: int) -> Iterator[list[Item]]:
    """Runs of neighbouring items about one state, at most ``most`` long."""
    group: list[Item] = []
    for item in items:
        if group and (len(group) == most or item.state != group[0].state):
            yield group
            group = []
        group.append(item)


def evaluation_rows(
    file: Path, count: int, splits: Sequence[str], builder: PromptBuilder, longest: int
) -> tuple[list[TrainingRow], int]:
    """Up to ``count`` rows of each split, the same every time, and how many were too long."""
    by_split: dict[str, list[Item]] = {}
    for item in read_items(file):
        if not splits or item.split in splits:
            by_split.setdefault(item.split, []).append(item)
    for split in splits:
        if split not in by_split:
            raise InvalidInputError(str(file), f"has no rows of the split {split!r}")
    rows: list[TrainingRow] = []
    too_long = 0
    for split, items in by_split.items():
        chosen = items if len(items) <= count else Rng("held out", split).sample(items, count)
        for item in chosen:
            row = build_row(plain_sheet([item]), [item], builder, longest, str(file), [False])
            if row is None:
                too_long += 1
            else:
                rows.append(row)
    return rows, too_long


def file_sha256(path: Path) -> str:
    """The hash that names a data file in a run's record."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def tasks_sha256(folder: Path) -> str:
    """The hash that names a folder of written tasks: over its files' names and their own hashes."""
    files = sorted(folder.glob("*.jsonl"))
    listed = "".join(f"{file.name} {file_sha256(file)}\n" for file in files)
    return hashlib.sha256(listed.encode()).hexdigest()
