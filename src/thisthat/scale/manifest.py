"""The manifest of a batch: what was asked of what, by which weights, and which parts are there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically
from thisthat.inputs import read_json
from thisthat.scale.parts import Format

NAME, LOCK = "manifest.json", ".lock"
_UNFINISHED = re.compile(r"\.manifest\.json\.[0-9a-f]+")
_PARTS = re.compile(r"\.?part-\d{6,}\.(parquet|jsonl|csv)(\.[0-9a-f]+)?")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class InputFile(_Part):
    """A file of states; its name is told, its content is compared."""

    name: str
    bytes: int
    sha256: str


class OutputPart(_Part):
    """A part: ``first`` is the number of its first row among those asked, from 0."""

    file: str
    first: int
    rows: int
    errors: int
    input_tokens: int
    cached_tokens: int
    seconds: float
    bytes: int
    sha256: str


class Declared(_Part):
    """Everything that answers depend on; a batch goes on only with the same."""

    input: list[InputFile]
    id: str | None
    state: list[str]
    input_format: str | None
    sample: int | None
    format: Format
    schema_hash: str
    options: dict[str, str | None]
    policy: str | None
    conditions: dict[str, Any]

    def differences(self, begun: Declared) -> list[str]:
        """What is not as it was when a batch was ``begun``, by name."""
        found = _changed_files(begun.input, self.input)
        ours, theirs = self.model_dump(), begun.model_dump()
        for name in ours.keys() - {"input", "conditions", "schema_hash", "policy"}:
            if ours[name] != theirs[name]:
                found.append(f"{name} is {ours[name]}, not {theirs[name]}")
        if self.schema_hash != begun.schema_hash:
            found.append("the schema changed")
        if self.policy != begun.policy:
            found.append("the policy changed")
        names = {"lam": "λ", "weights": "the hash of the weights", "checkpoint": "the checkpoint"}
        for name, value in self.conditions.items():
            if value != begun.conditions.get(name):
                was = begun.conditions.get(name)
                found.append(f"{names.get(name, name)} is {_short(value)}, not {_short(was)}")
        return found


class Manifest(_Part):
    """What a batch declared, the rows it is to answer, and what it has answered so far."""

    manifest: Literal["thisthat batch 1"] = "thisthat batch 1"
    thisthat: str
    declared: Declared
    questions: dict[str, Any]
    ids: Literal["text", "integer"]
    input_rows: int
    rows: int
    parts: list[OutputPart] = []
    first_errors: list[str] = []

    @property
    def done(self) -> int:
        """Rows in the parts."""
        return sum(part.rows for part in self.parts)

    @property
    def complete(self) -> bool:
        """Whether every row is in a part."""
        return self.done == self.rows

    def total(self, name: Literal["errors", "input_tokens", "cached_tokens", "seconds"]) -> Any:
        """A count of all parts together."""
        return sum(getattr(part, name) for part in self.parts)

    def save(self, folder: Path) -> None:
        """Write the manifest, with its totals for readers, completely or not at all."""
        totals = {"done": self.done, "complete": self.complete, "errors": self.total("errors")}
        written = {**self.model_dump(), "totals": totals}
        write_atomically(folder / NAME, json.dumps(written, ensure_ascii=False, indent=1) + "\n")


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a batch that was begun there; None for a new or empty folder.

    Raises InvalidInputError for a folder that is not a batch's, and for parts that are not as they
    were written.
    """
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise InvalidInputError(str(folder), "is a file; a batch writes a folder")
    path = folder / NAME
    if not path.exists():
        names = sorted(each.name for each in folder.iterdir())
        strangers = [name for name in names if name != LOCK and not _UNFINISHED.fullmatch(name)]
        if strangers:
            message = f"is not the folder of a batch: it holds {strangers[0]!r} and no {NAME}"
            raise InvalidInputError(str(folder), message)
        return None
    value = read_json(path)
    try:
        if isinstance(value, dict):
            value.pop("totals", None)
        return Manifest.model_validate(value)
    except ValidationError as error:
        where = ".".join(str(each) for each in error.errors()[0]["loc"])
        message = f"is not the manifest of a batch: {where or 'it'}: {error.errors()[0]['msg']}"
        raise InvalidInputError(str(path), message) from None


def check_parts(folder: Path, parts: Iterable[OutputPart]) -> None:
    """Raise InvalidInputError for a part that is gone or has another size."""
    for part in parts:
        path = folder / part.file
        size = path.stat().st_size if path.is_file() else None
        if size != part.bytes:
            how = "is missing" if size is None else f"has {size} bytes, not {part.bytes}"
            raise InvalidInputError(str(path), f"{how}; --restart begins anew")


def remove_unnamed(folder: Path, parts: Iterable[OutputPart]) -> None:
    """Remove what a run of ours left that was killed or forgotten: files no manifest names."""
    named = {part.file for part in parts}
    for path in folder.iterdir():
        ours = _PARTS.fullmatch(path.name) or _UNFINISHED.fullmatch(path.name)
        if ours and path.name not in named:
            path.unlink()


def _changed_files(begun: list[InputFile], now: list[InputFile]) -> list[str]:
    before = {each.sha256: each.name for each in begun}
    after = {each.sha256: each.name for each in now}
    names = {each.name for each in begun}
    found = []
    for digest, name in after.items():
        if digest not in before:
            found.append(f"{name} changed" if name in names else f"{name} is new")
    gone = [name for digest, name in before.items() if digest not in after]
    found += [f"{name} is gone" for name in gone if name not in after.values()]
    if not found and [each.sha256 for each in begun] != [each.sha256 for each in now]:
        found.append("the files come in another order")
    return found


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)[:16]
