"""A state split into parts that can be left out: sentences and lines of text, fields of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from thisthat.questions import JSONValue, Text, compact_json

MOST_SPANS = 64
"""A state with more parts is split into this many groups of neighbours."""

_PART = re.compile(r"[^\n]+?(?:[.!?;](?=\s)|(?=\n)|$)", re.MULTILINE)
_WORD = re.compile(r"\w")
Path: TypeAlias = "tuple[str | int, ...]"


@dataclass(frozen=True, slots=True)
class StateSpan:
    """One part of a state: where it stands, what it says, and the state without it."""

    where: str
    text: str
    without: Text


def spans_of(state: Text) -> list[StateSpan]:
    """The parts of a state in order; at most ``MOST_SPANS``, each holding at least one word."""
    return _text_spans(state) if isinstance(state, str) else _json_spans(state)


def _text_spans(text: str) -> list[StateSpan]:
    found = [(part.start(), part.end()) for part in _PART.finditer(text)]
    ends = [(start, end) for start, end in found if _WORD.search(text, start, end)]
    spans = []
    for group in _groups(ends):
        start, end = group[0][0], group[-1][1]
        kept = text[start:end].strip()
        start += text[start:end].index(kept)
        end = start + len(kept)
        spans.append(StateSpan(f"characters {start} to {end}", kept, _cut_out(text, start, end)))
    return spans


def _cut_out(text: str, start: int, end: int) -> str:
    """The text without a part and the space after it; a whole line goes with its line break."""
    while end < len(text) and text[end] in " \t":
        end += 1
    whole_line = not text[:start].rpartition("\n")[2].strip()
    if whole_line and text[end : end + 1] == "\n":
        end += 1
    return text[:start] + text[end:]


def _json_spans(state: Mapping[str, JSONValue] | Sequence[JSONValue]) -> list[StateSpan]:
    spans = []
    for group in _groups(list(_leaves(state, ()))):
        paths = {path for path, _ in group}
        text = ", ".join(_field_text(path, value) for path, value in group)
        where = ", ".join(_path_text(path) for path, _ in group)
        rest: Text = _without(state, (), paths)  # type: ignore[assignment]
        spans.append(StateSpan(where, text, rest))
    return spans


def _groups(parts: Sequence[object]) -> Iterator[list]:  # type: ignore[type-arg]
    count = min(len(parts), MOST_SPANS)
    for group in range(count):
        start, end = group * len(parts) // count, (group + 1) * len(parts) // count
        yield list(parts[start:end])


def _leaves(value: JSONValue, path: Path) -> Iterator[tuple[Path, JSONValue]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))
    elif path:
        yield path, value


def _without(value: JSONValue, path: Path, left_out: set[Path]) -> JSONValue:
    if isinstance(value, Mapping):
        return {
            key: _without(inner, (*path, key), left_out)
            for key, inner in value.items()
            if (*path, key) not in left_out
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [
            _without(inner, (*path, index), left_out)
            for index, inner in enumerate(value)
            if (*path, index) not in left_out
        ]
    return value


def _field_text(path: Path, value: JSONValue) -> str:
    name = f"{compact_json(path[-1])}: " if isinstance(path[-1], str) else ""
    return name + compact_json(value)


def _path_text(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
