"""One question with a known answer, in the shape every suite, file and trainer shares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thisthat.errors import InvalidInputError
from thisthat.questions import Boolean, Choice, Kind, Option, Question, Score, Text, compact_json

KINDS: tuple[Kind, ...] = ("boolean", "choice", "score")


@dataclass(frozen=True)
class Item:
    """A state, a question about it, its options in order and the index of the right one.

    Options are (name, description or None) pairs. For a boolean they are no, yes; for a score
    the levels in order. ``target`` is a distribution over the options where one is known.
    ``facts`` carries what the generator knows (size, surface, q, deciding clause, …); it is
    never shown to a model.
    """

    source: str
    family: str
    kind: Kind
    state: Text
    question: str
    options: tuple[tuple[str, str | None], ...]
    answer: int
    target: tuple[float, ...] | None = None
    split: str = "train"
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """sha256 over rendered state, question and sorted options."""
        options = sorted(f"{name}\t{description or ''}" for name, description in self.options)
        text = "\n".join([render_state(self.state), self.question, *options])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def state_hash(self) -> str:
        """sha256 over the rendered state alone."""
        return hashlib.sha256(render_state(self.state).encode()).hexdigest()

    def as_question(self) -> Question:
        """The item as the question a caller would declare."""
        if self.kind == "choice":
            return Choice([Option(name, text) for name, text in self.options], self.question)
        if self.kind == "boolean":
            (_, false), (_, true) = self.options
            return Boolean(self.question, true=true, false=false)
        return Score([text or name for name, text in self.options], self.question)

    def as_dict(self) -> dict[str, Any]:
        """The row of a decision file."""
        names = ("source", "family", "kind", "state", "question", "options", "answer", "split")
        row: dict[str, Any] = {name: getattr(self, name) for name in names}
        row["options"] = [list(option) for option in self.options]
        if self.target is not None:
            row["target"] = list(self.target)
        if self.facts:
            row["facts"] = dict(self.facts)
        return row

    @classmethod
    def from_dict(cls, row: Mapping[str, Any], where: str) -> Item:
        """Read one row of a decision file; errors begin with ``where`` (file and line).

        A row of the paper's files is read as it is: options as plain texts, ``answer_index``.
        """
        if "answer_index" in row and "kind" not in row:
            row = _published(row)
        for name in ("kind", "state", "question", "options", "answer"):
            if name not in row:
                raise InvalidInputError(where, f"the field {name!r} is missing")
        if row["kind"] not in KINDS:
            raise InvalidInputError(where, f"kind is {row['kind']!r}, not one of {KINDS}")
        options = _read_options(row["options"], where)
        answer = row["answer"]
        if not isinstance(answer, int) or not 0 <= answer < len(options):
            limit = f"it must be an index below {len(options)}"
            raise InvalidInputError(where, f"answer is {answer!r}; {limit}")
        if row["kind"] == "boolean" and len(options) != 2:
            raise InvalidInputError(where, f"a boolean has 2 options (no, yes), not {len(options)}")
        target = row.get("target")
        if target is not None:
            if len(target) != len(options) or min(target) < 0 or abs(sum(target) - 1) > 1e-3:
                raise InvalidInputError(where, "target is not a distribution over the options")
            target = tuple(float(p) for p in target)
        return cls(
            source=row.get("source", "user"),
            family=row.get("family", row.get("source", "user")),
            kind=row["kind"],
            state=row["state"],
            question=row["question"],
            options=options,
            answer=answer,
            target=target,
            split=row.get("split", "train"),
            facts=row.get("facts", {}),
        )


def _published(row: Mapping[str, Any]) -> dict[str, Any]:
    """The paper's names in ours. Texts such as ``no: outside`` stay whole, as its scripts ask."""
    kind = "boolean" if row.get("options") == ["no", "yes"] else "choice"
    facts = {"id": row["id"]} if "id" in row else {}
    known = {"kind": kind, "answer": row["answer_index"], "split": "evaluation", "facts": facts}
    return {"source": "published", **row, **known}


def _read_options(options: Any, where: str) -> tuple[tuple[str, str | None], ...]:
    is_list = isinstance(options, Sequence) and not isinstance(options, str)
    if not is_list or not 1 <= len(options) <= 255:
        raise InvalidInputError(
            where, "options must be a list of 1 to 255 [name, description] pairs"
        )
    read: list[tuple[str, str | None]] = []
    for option in options:
        if isinstance(option, str):
            read.append((option, None))
        elif isinstance(option, Sequence) and len(option) == 2 and isinstance(option[0], str):
            read.append((option[0], option[1]))
        else:
            raise InvalidInputError(
                where, f"options has {option!r}, not a [name, description] pair"
            )
    return tuple(read)


def render_state(state: Text) -> str:
    """The state as one text, for hashing and for comparing states."""
    return state if isinstance(state, str) else compact_json(state)


def dump_row(row: Mapping[str, Any]) -> str:
    """One line of a JSONL file; the same bytes on every machine."""
    return json.dumps(row, ensure_ascii=False, sort_keys=False, allow_nan=False)
