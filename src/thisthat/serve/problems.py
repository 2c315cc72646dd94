"""What goes wrong with a request, and how each wire format reports it.

A problem has a status, a kind for the metrics, a place in the body and a message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

from starlette.responses import Response

from thisthat.errors import InvalidInputError

Shape: TypeAlias = Literal["detail", "openai"]
Place: TypeAlias = "tuple[str | int, ...]"
Raised = TypeVar("Raised", bound=BaseException)

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+|[\[\]])")
_MOST_FAULTS = 100
_MOST_CHARACTERS = 400
_MOST_NAME = 100

_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in the body or a header: where, and what."""

    at: Place
    message: str
    kind: str = "value_error"
    part: Literal["body", "header"] = "body"


class Problem(Exception):  # noqa: N818 - what RFC 9457 calls it
    """A request answered with an error status.

    ``kind`` is a short name for metrics and clients. ``retry_ms`` is sent along when waiting helps.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        faults: Sequence[Fault] = (),
        retry_ms: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.faults = tuple(faults)
        self.retry_ms = retry_ms
        self.headers = headers or {}


def without_frames(error: Raised) -> Raised:
    """The error without the frames it came through, which hold a body or what was made of it.

    Work in another thread stands in a circle with them: only the collector would let go of it,
    much later.
    """
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


def invalid(faults: Sequence[Fault]) -> Problem:
    """An unusable body, with the first hundred faults in it; what they quote is cut short."""
    shown = [_short(fault) for fault in faults[:_MOST_FAULTS]]
    message = "; ".join(f"{dotted(fault.at)}: {fault.message}" for fault in shown)
    return Problem(422, "invalid_request", message, faults=shown)


def _short(fault: Fault) -> Fault:
    at = tuple(step if isinstance(step, int) else cut(step, _MOST_NAME) for step in fault.at)
    return replace(fault, at=at, message=cut(fault.message, _MOST_CHARACTERS))


def cut(text: str, most: int) -> str:
    """``text``, or its beginning and a mark that it goes on."""
    return text if len(text) <= most else text[:most] + "…"


def invalid_at(at: Place, message: str, kind: str = "value_error") -> Problem:
    """A body with one fault."""
    return invalid([Fault(at, message, kind)])


def invalid_header(name: str, message: str) -> Problem:
    """An unusable header."""
    return invalid([Fault((name,), message, part="header")])


def from_invalid_input(error: InvalidInputError, under: Place = ()) -> Problem:
    """The library's error as a problem, its field path as a place in the body."""
    return invalid([fault_of(error, under)])


def fault_of(error: InvalidInputError, under: Place = ()) -> Fault:
    """The library's error as a fault at a place below ``under``."""
    return Fault((*under, *place_of(error.field)), error.message)


def place_of(field: str) -> Place:
    """``levels[3].name`` as ``("levels", 3, "name")``."""
    return tuple(int(index) if index else name for index, name in _STEP.findall(field))


def dotted(at: Place) -> str:
    """A place for people: ``questions.q.criteria[3]``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at)
    return text.removeprefix(".") or "body"


def response(problem: Problem, shape: Shape) -> Response:
    """The problem in a wire format's own shape."""
    status = 400 if shape == "openai" and problem.status == 422 else problem.status
    headers = dict(problem.headers)
    if problem.retry_ms is not None:
        headers["retry-after-ms"] = str(problem.retry_ms)
        headers["retry-after"] = str(-(-problem.retry_ms // 1000))
    body = _openai(problem, status) if shape == "openai" else _detail(problem, status)
    text = json.dumps(body, ensure_ascii=True)
    return Response(text, status, headers, "application/json")


def _detail(problem: Problem, status: int) -> dict[str, Any]:
    if problem.faults:
        detail: Any = [
            {"loc": [fault.part, *fault.at], "msg": fault.message, "type": fault.kind}
            for fault in problem.faults
        ]
    else:
        detail = problem.message
    # OpenRouter's clients read only this field, and expect the status as its code.
    error = {"code": status, "message": problem.message}
    return {"detail": detail, "code": problem.kind, "error": error}


def _openai(problem: Problem, status: int) -> dict[str, Any]:
    param = dotted(problem.faults[0].at) if problem.faults else None
    kind = _OPENAI_TYPES.get(status, "invalid_request_error")
    return {
        "error": {"message": problem.message, "type": kind, "param": param, "code": problem.kind}
    }
