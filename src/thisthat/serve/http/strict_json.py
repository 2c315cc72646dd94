"""Bytes to JSON without guessing: UTF-8, unique keys, finite numbers, bounded depth.

What a body would become is counted on its bytes before anything is built, and a large one is built
in slices: a single call of the parser would hold the interpreter, and every other request with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from thisthat.serve.problems import Problem, invalid_at

T = TypeVar("T")

SLICE = 1 << 16
_PIECE = 1 << 18
_SPACE = b" \t\n\r"
_QUOTE, _COMMA, _COLON, _OBJECT = b'",:{'
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_IS_MARK = np.zeros(256, np.bool_)
_IS_MARK[list(b"[]{},:")] = True
_PAIRS = (b"[]", b"{}")
_VALUE_BYTES, _CONTAINER_BYTES = 64, 200
_ASTRAL, _WIDE = 0xF0, 0xC4
"""First bytes of characters that make their whole text take four or two bytes a character."""


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """How deep a body may be nested, how many values (keys included) and how long a text it has."""

    depth: int
    values: int = 500_000
    text_bytes: int = 1 << 20

    @property
    def containers(self) -> int:
        """How many of the values may be objects and lists, which cost the most to keep."""
        return self.values // 5


def read_json(
    body: bytes | bytearray,
    limits: JsonLimits,
    parse: Callable[[Any], T],
    hold: Callable[[int], None] = lambda size: None,
) -> T:
    """What ``parse`` makes of the value in ``body``.

    ``hold`` gets the bytes that the value will take before it is built, and may raise. Raises
    Problem (422) saying what is wrong and where it starts. A number too large for a float is
    infinite until ``parse``, which can name its place, has not refused it.
    """
    brackets = body.count(b"[") + body.count(b"{")
    if len(body) <= SLICE and brackets <= limits.depth:
        hold(len(body) * 4 + brackets * _CONTAINER_BYTES)
        pieces = _Pieces()
        parsed = parse(pieces.read(body, 0))
    else:
        marks = _scan(body, limits)
        hold(marks.bytes)
        pieces = _Slices(body, marks)
        parsed = parse(pieces.value(0, len(body), 0, marks.at.size))
    if pieces.infinite is not None:
        raise _bad(f"has {pieces.infinite}, a number too large to hold")
    return parsed


@dataclass(frozen=True, slots=True)
class _Marks:
    """Brackets, commas and colons outside texts: where, which, and how deep.

    An opening bracket is as deep as its closing one; what is between them is deeper. ``bytes`` is
    the most memory that the values take.
    """

    at: NDArray[np.int64]
    kind: NDArray[np.uint8]
    depth: NDArray[np.int32]
    bytes: int


def _scan(body: bytes | bytearray, limits: JsonLimits) -> _Marks:
    """Raises Problem (422) for what is over a limit, and for brackets and quotes without an end."""
    places, kinds = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    start = values = 0
    width = 1
    text: int | None = None
    while start < len(body):
        piece = bytes(body[start : start + _PIECE])
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = bytes(body[start : start + _PIECE + 1])  # never cut an escape in two
        width = max(width, _width(piece))
        piece = piece.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        marks = np.frombuffer(piece, np.uint8)
        is_quote = marks == _QUOTE
        inside = (np.cumsum(is_quote, dtype=np.int32) + (text is not None)) & 1
        quotes = [*([] if text is None else [text]), *(np.flatnonzero(is_quote) + start).tolist()]
        text = quotes.pop() if len(quotes) % 2 else None
        ends = np.array(quotes[1::2] + ([] if text is None else [start + len(piece)]))
        starts = np.array(quotes[::2] + ([] if text is None else [text]))
        if ends.size and int((ends - starts).max()) > limits.text_bytes + 1:
            raise _bad(f"has a text of more than {limits.text_bytes} bytes")
        found = np.flatnonzero(_IS_MARK[marks] & (inside == 0))
        places.append(found + start)
        kinds.append(marks[found])
        values += int((_STEPS[kinds[-1]] >= 0).sum())
        if values >= limits.values:
            raise _bad(f"has more than {limits.values} values")
        start += len(piece)
    kind = np.concatenate(kinds)
    steps = _STEPS[kind]
    after = steps.cumsum(dtype=np.int32)
    if after.size and int(after.max()) > limits.depth:
        raise _too_deep(limits.depth)
    containers = int((steps == 1).sum())
    if containers > limits.containers:
        raise _bad(f"has more than {limits.containers} objects and lists")
    if text is not None or (after.size and (int(after.min()) < 0 or after[-1] != 0)):
        raise _bad("is not JSON: a text or a bracket has no end or no beginning")
    size = values * _VALUE_BYTES + containers * _CONTAINER_BYTES + len(body) * width
    return _Marks(np.concatenate(places), kind, after - (steps == 1), size)


def _width(piece: bytes) -> int:
    """Bytes that a character of the piece's texts takes at most."""
    highest = int(np.frombuffer(piece, np.uint8).max())
    if highest >= _ASTRAL or b"\\ud" in piece or b"\\uD" in piece:
        return 4
    return 2 if highest >= _WIDE or b"\\u" in piece else 1


class _Pieces:
    """Builds values from pieces of a body; ``infinite`` is a number that was too large."""

    def __init__(self) -> None:
        self.infinite: str | None = None

    def read(self, piece: bytes | bytearray, start: int) -> Any:
        """The value in ``piece``, which begins at byte ``start`` of the body."""
        try:
            text = piece.decode("utf-8")
        except UnicodeDecodeError as error:
            place = start + error.start
            raise _bad(f"is not UTF-8: byte {place} is {piece[error.start]:#04x}") from None
        try:
            return json.loads(
                text,
                object_pairs_hook=_object,
                parse_constant=_refuse_constant,
                parse_float=self._float,
            )
        except json.JSONDecodeError as error:
            raise _bad(f"is not JSON: {error.msg} at character {start + error.pos}") from None
        except ValueError as error:
            # Only a number with too many digits gets here; the rest is for developers.
            raise _bad(f"is not usable JSON: {str(error).partition(';')[0]}") from None

    def _float(self, text: str) -> float:
        number = float(text)
        if math.isinf(number):
            self.infinite = text[:40]
        return number


class _Slices(_Pieces):
    """Builds a large value child by child, small neighbours together."""

    def __init__(self, body: bytes | bytearray, marks: _Marks) -> None:
        super().__init__()
        self._body = body
        self._marks = marks

    def value(self, start: int, stop: int, first: int, last: int) -> Any:
        """The value in bytes ``start`` to ``stop``, which has the marks ``first`` to ``last``."""
        marks = self._marks
        if first == last or stop - start <= SLICE:
            return self.read(self._body[start:stop].strip(_SPACE), start)
        depth, kind = marks.depth[first], marks.kind
        opening, closing = int(marks.at[first]), int(marks.at[last - 1])
        around = self._body[start:opening] + self._body[closing + 1 : stop]
        same = np.flatnonzero(marks.depth[first:last] == depth)
        if (
            around.strip(_SPACE)
            or same.tolist() != [0, last - 1 - first]
            or bytes([kind[first], kind[last - 1]]) not in _PAIRS
        ):
            raise _not_json(start)
        if not self._body[opening + 1 : closing].strip(_SPACE):
            return {} if kind[first] == _OBJECT else []
        inner = slice(first + 1, last - 1)
        commas = np.flatnonzero((marks.depth[inner] == depth + 1) & (kind[inner] == _COMMA))
        commas += first + 1
        # One child after the other: the bytes and the marks at which each ends.
        ends, until = np.append(marks.at[commas], closing), np.append(commas, last - 1)
        if kind[first] == _OBJECT:
            return self._members(opening + 1, first + 1, ends, until)
        return self._entries(opening + 1, first + 1, ends, until)

    def _entries(
        self, begin: int, mark: int, ends: NDArray[np.int64], until: NDArray[np.int64]
    ) -> list[Any]:
        entries: list[Any] = []
        done = 0
        while done < ends.size:
            more = max(int(np.searchsorted(ends, begin + SLICE, "right")), done + 1)
            end = int(ends[more - 1])
            if end - begin > SLICE:
                entries.append(self.value(begin, end, mark, int(until[done])))
            else:
                some = self.read(b"[%b]" % bytes(self._body[begin:end]), begin - 1)
                if len(some) != more - done:
                    raise _not_json(begin)
                entries += some
            begin, mark, done = end + 1, int(until[more - 1]) + 1, more
        return entries

    def _members(
        self, begin: int, mark: int, ends: NDArray[np.int64], until: NDArray[np.int64]
    ) -> dict[str, Any]:
        members: dict[str, Any] = {}
        done = 0
        while done < ends.size:
            more = max(int(np.searchsorted(ends, begin + SLICE, "right")), done + 1)
            end = int(ends[more - 1])
            if end - begin > SLICE:
                some = dict([self._member(begin, end, mark, int(until[done]))])
            else:
                some = self.read(b"{%b}" % bytes(self._body[begin:end]), begin - 1)
                if len(some) != more - done:
                    raise _not_json(begin)
            for key in some.keys() & members.keys():
                raise _twice(key)
            members |= some
            begin, mark, done = end + 1, int(until[more - 1]) + 1, more
        return members

    def _member(self, begin: int, end: int, first: int, last: int) -> tuple[str, Any]:
        if first == last or self._marks.kind[first] != _COLON:
            raise _not_json(begin)
        colon = int(self._marks.at[first])
        key = self.read(self._body[begin:colon].strip(_SPACE), begin)
        if not isinstance(key, str):
            raise _not_json(begin)
        return key, self.value(colon + 1, end, first + 1, last)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _twice(key)
            seen.add(key)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise _bad(f"has {name}, which JSON cannot hold")


def _twice(key: str) -> Problem:
    return _bad(f"has the key {key[:80]!r} twice in one object")


def _not_json(start: int) -> Problem:
    return _bad(f"is not JSON: no value, or more than one, at byte {start}")


def _too_deep(most_depth: int) -> Problem:
    return _bad(f"is nested deeper than {most_depth} levels")


def _bad(message: str) -> Problem:
    return invalid_at((), message, "json_invalid")
