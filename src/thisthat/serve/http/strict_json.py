"""Bytes to JSON without guessing: UTF-8, unique keys, finite numbers, bounded depth."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import numpy as np

from thisthat.serve.problems import Problem, invalid_at

# A text without an end matches too: looking for its end again from every quote would take forever.
_TEXTS = re.compile(rb'"(?:[^"\\]+|\\.)*"?', re.DOTALL)
_PIECE = 1 << 20
_OPENING = np.frombuffer(b"[{", np.uint8)
_CLOSING = np.frombuffer(b"]}", np.uint8)


def read_json(body: bytes, most_depth: int) -> Any:
    """The value in ``body``. Raises Problem (422) saying what is wrong and where it starts."""
    _check_depth(body, most_depth)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad(f"is not UTF-8: byte {error.start} is {body[error.start]:#04x}") from None
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _bad(f"is not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _too_deep(most_depth) from None
    except ValueError as error:
        # Only a number with too many digits gets here; the rest of the message is for developers.
        raise _bad(f"is not usable JSON: {str(error).partition(';')[0]}") from None


def _check_depth(body: bytes, most_depth: int) -> None:
    if body.count(b"[") + body.count(b"{") <= most_depth:
        return
    marks = np.frombuffer(_TEXTS.sub(b"", body), np.uint8)
    depth = 0
    for start in range(0, marks.size, _PIECE):
        piece = marks[start : start + _PIECE]
        steps = np.isin(piece, _OPENING).astype(np.int8) - np.isin(piece, _CLOSING).astype(np.int8)
        depths = steps.cumsum(dtype=np.int32)
        if depth + int(depths.max()) > most_depth:
            raise _too_deep(most_depth)
        depth += int(depths[-1])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _bad(f"has the key {key[:80]!r} twice in one object")
            seen.add(key)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise _bad(f"has {name}, which JSON cannot hold")


def _too_deep(most_depth: int) -> Problem:
    return _bad(f"is nested deeper than {most_depth} levels")


def _bad(message: str) -> Problem:
    return invalid_at((), message, "json_invalid")
