"""A batch: rows of states into a folder of parts, resumed where it stopped.

A part holds consecutive rows and is renamed into place before the manifest names it; one that the
manifest does not name is written again. So every row is in one part, whenever the run is killed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from thisthat.audit.log import DecisionLog
from thisthat.checkpoint.locks import locked
from thisthat.checkpoint.store import hash_file
from thisthat.errors import InvalidInputError
from thisthat.identity import schema_hash
from thisthat.questions_json import question_as_json
from thisthat.scale.answering import Answered, Groups, Here, RowAnswerer, Workers
from thisthat.scale.columns import Kind
from thisthat.scale.decider import BatchDecider
from thisthat.scale.manifest import (
    LOCK,
    Declared,
    InputFile,
    Manifest,
    OutputPart,
    check_parts,
    read_manifest,
    remove_unnamed,
)
from thisthat.scale.parts import Format, check_format, write_part
from thisthat.scale.source import InputRow, RowSource

_MOST_ERRORS = 20
_TRIED = 64


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch is: of ``rows`` so many are ``done``, with so many ``errors``.

    ``answered``, tokens and ``seconds`` are those of this run alone.
    """

    rows: int
    done: int
    answered: int
    errors: int
    input_tokens: int
    cached_tokens: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows a second in this run."""
        return self.answered / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at this rate."""
        return (self.rows - self.done) / self.rate if self.answered else None


@dataclass(frozen=True)
class Batch:
    """What to answer, with what, and where it goes.

    ``sample`` takes so many rows, spread at random but the same every time; ``strict`` stops at the
    first row that cannot be answered. A part ends after ``part_rows`` rows or ``part_seconds``
    seconds: what a kill can cost. With a ``log``, every row of a part is in it before the part is
    there, under its id; rows of a part that never came are in it again after a resume. ``workers``
    answer the rows; by default this process does.
    """

    source: RowSource
    decider: BatchDecider
    folder: Path
    format: Format = "parquet"
    sample: int | None = None
    strict: bool = False
    log: DecisionLog | None = None
    part_rows: int = 10_000
    part_seconds: float = 60.0
    workers: Workers | None = None

    def __post_init__(self) -> None:
        for name in ("sample", "part_rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInputError(name, f"is {value}; at least 1 is needed")
        check_format(self.format)
        if self.id_column in self.decider.kinds:
            raise InvalidInputError("id", f"{self.id_column!r} is a column of answers")

    @property
    def id_column(self) -> str:
        """The name of the column of ids."""
        return self.source.id or "id"

    def run(
        self, *, restart: bool = False, tell: Callable[[Progress], None] | None = None
    ) -> Manifest:
        """Answer what is left to answer. Raises InvalidInputError before anything is overwritten.

        ``restart`` forgets an earlier run; otherwise one that declared something else is refused.
        """
        read_manifest(self.folder)
        with ExitStack() as held:
            with _writing(self.folder):
                held.enter_context(locked(self.folder / LOCK))
            begun = read_manifest(self.folder)
            stamps = self.source.stamps()
            manifest = self._manifest(None if restart else begun)
            check_parts(self.folder, manifest.parts)
            with _writing(self.folder):
                manifest.save(self.folder)
                remove_unnamed(self.folder, manifest.parts)
            _Run(self, manifest, stamps).run(tell or (lambda _: None))
            return manifest

    def estimate(self, *, restart: bool = False) -> Progress:
        """What is left to do, as a few of the rows predict it; writes nothing.

        Raises InvalidInputError for what would stop the run.
        """
        begun = read_manifest(self.folder)
        manifest = self._manifest(None if restart else begun)
        tried = _TRIED * self.answering.count
        rows = list(_chosen(self.source.rows(), manifest.input_rows, tried))
        self._answer(iter(rows[:4]))
        started = time.perf_counter()
        found = self._answer(iter(rows))
        return Progress(
            rows=manifest.rows,
            done=manifest.done,
            answered=len(rows),
            errors=sum(len(each.errors) for each in found),
            input_tokens=sum(each.input_tokens for each in found),
            cached_tokens=sum(each.cached_tokens for each in found),
            seconds=time.perf_counter() - started,
        )

    @property
    def answering(self) -> Workers:
        """What answers the rows."""
        return self.workers or Here(self.decider)

    def _answer(self, rows: Iterator[InputRow]) -> list[Answered]:
        how = RowAnswerer(self.decider, self.id_column)
        return list(self.answering.answer(Groups(rows, _TRIED), how))

    def rows(self, manifest: Manifest) -> Iterator[InputRow]:
        """The rows that are left, in order."""
        rows = self.source.rows()
        if self.sample is not None:
            rows = _chosen(rows, manifest.input_rows, self.sample)
        return islice(rows, manifest.done, None)

    def _manifest(self, begun: Manifest | None) -> Manifest:
        """The manifest to go on with. Raises InvalidInputError for anything that changed."""
        decider, source = self.decider, self.source
        files = [
            InputFile(name=source.name(path), bytes=path.stat().st_size, sha256=hash_file(path))
            for path in source.files
        ]
        if begun is None or begun.declared.input != files:
            rows, ids = source.survey()
        else:
            rows, ids = begun.input_rows, begun.ids
        declared = Declared(
            input=files,
            id=source.id,
            state=list(source.state),
            input_format=source.kind,
            sample=self.sample,
            format=self.format,
            schema_hash=schema_hash(decider.questions),
            options={name: str(value) for name, value in decider.options.items() if value},
            policy=None if decider.policy is None else decider.policy.hash,
            conditions=asdict(self.answering.conditions),
        )
        if begun is None:
            asked = {name: question_as_json(each) for name, each in decider.questions.items()}
            return Manifest(
                thisthat=version("thisthat"),
                declared=declared,
                questions=asked,
                ids=ids,
                input_rows=rows,
                rows=rows if self.sample is None else min(rows, self.sample),
            )
        changed = declared.differences(begun.declared)
        if changed:
            message = f"was begun with something else: {'; '.join(changed)}. --restart begins anew"
            raise InvalidInputError(str(self.folder), message)
        return begun


@dataclass
class _Part:
    """Rows that are answered and not yet written."""

    began: float
    rows: int = 0
    columns: dict[str, list[Any]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    input_tokens: int = 0
    cached_tokens: int = 0

    def add(self, answered: Answered) -> None:
        self.rows += answered.rows
        for name, values in answered.columns.items():
            self.columns.setdefault(name, []).extend(values)
        self.errors += map(str, answered.errors)
        self.input_tokens += answered.input_tokens
        self.cached_tokens += answered.cached_tokens


class _Run:
    """One run of a batch: answers group by group, and a part now and then."""

    def __init__(
        self, batch: Batch, manifest: Manifest, stamps: dict[str, tuple[int, int]]
    ) -> None:
        self._batch, self._manifest, self._stamps = batch, manifest, stamps
        self._earlier = list(manifest.parts)

    def run(self, tell: Callable[[Progress], None]) -> None:
        batch, manifest = self._batch, self._manifest
        if manifest.complete:
            return
        how = RowAnswerer(batch.decider, batch.id_column, batch.log is not None)
        groups = Groups(batch.rows(manifest), batch.part_rows)
        began = now = time.perf_counter()
        part = _Part(began)
        for answered in batch.answering.answer(groups, how):
            self._check(answered)
            if part.rows + answered.rows > batch.part_rows:
                self._commit(part, now)
                part = _Part(now)
            part.add(answered)
            now = time.perf_counter()
            tell(self._progress(part, now - began))
            if part.rows >= batch.part_rows or now - part.began > batch.part_seconds:
                self._commit(part, now)
                part = _Part(now)
        if part.rows:
            self._commit(part, now)

    def _check(self, answered: Answered) -> None:
        """Log the decisions; raise the first error where the batch is strict."""
        batch = self._batch
        if batch.strict and answered.errors:
            raise answered.errors[0]
        if batch.log is not None:
            for id, state, decision in answered.decisions:
                batch.log.record(state, batch.decider.questions, decision, str(id))
            batch.log.flush()

    def _progress(self, part: _Part, seconds: float) -> Progress:
        manifest = self._manifest
        new = manifest.parts[len(self._earlier) :]
        return Progress(
            rows=manifest.rows,
            done=manifest.done + part.rows,
            answered=sum(each.rows for each in new) + part.rows,
            errors=manifest.total("errors") + len(part.errors),
            input_tokens=sum(each.input_tokens for each in new) + part.input_tokens,
            cached_tokens=sum(each.cached_tokens for each in new) + part.cached_tokens,
            seconds=seconds,
        )

    def _commit(self, part: _Part, now: float) -> None:
        """Put the part into place, then into the manifest."""
        batch, manifest = self._batch, self._manifest
        stamps = batch.source.stamps()
        changed = [name for name, stamp in self._stamps.items() if stamps[name] != stamp]
        if changed:
            raise InvalidInputError(changed[0], "changed while it was read; --restart begins anew")
        kinds: dict[str, Kind] = {batch.id_column: manifest.ids, **batch.decider.kinds}
        name = f"part-{len(manifest.parts):06}.{batch.format}"
        path = batch.folder / name
        declared = manifest.declared.model_dump(exclude={"input"})
        with _writing(batch.folder):
            write_part(path, kinds, part.columns, {"thisthat": manifest.thisthat, **declared})
        written = OutputPart(
            file=name,
            first=manifest.done,
            rows=part.rows,
            errors=len(part.errors),
            input_tokens=part.input_tokens,
            cached_tokens=part.cached_tokens,
            seconds=round(now - part.began, 3),
            bytes=path.stat().st_size,
            sha256=hash_file(path),
        )
        manifest.parts.append(written)
        manifest.first_errors += part.errors[: max(0, _MOST_ERRORS - len(manifest.first_errors))]
        with _writing(batch.folder):
            manifest.save(batch.folder)


def _chosen(rows: Iterator[InputRow], total: int, sample: int) -> Iterator[InputRow]:
    """So many of the rows, the same ones every time."""
    numbers = set(random.Random(0).sample(range(total), min(sample, total)))
    return (row for number, row in enumerate(rows) if number in numbers)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raise InvalidInputError for what the file system refuses."""
    try:
        yield
    except OSError as error:
        raise InvalidInputError(str(folder), f"cannot be written: {error}") from None
