"""The errors a caller can meet. Every message names the field and the limit."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

_MOST_SHOWN = 80
_MOST_NAMES = 20


def shown(value: object) -> str:
    """``value`` in a message: a text's beginning, a number, the kind of anything else."""
    if isinstance(value, str):
        return repr(value if len(value) <= _MOST_SHOWN else value[:_MOST_SHOWN] + "…")
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)[:_MOST_SHOWN]
    return f"of type {type(value).__name__}"


class ThisThatError(Exception):
    """Root of every error this package raises on purpose; all of them can be copied and pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[ThisThatError], args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    """The error as it was: its fields are kept, where its ``__init__`` would want other ones."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class InvalidInputError(ThisThatError, ValueError):
    """A question, state or setting that cannot be used.

    ``field`` is a path such as ``questions.refund.options[3].name``; servers and
    commands show it beside the message.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message

    def under(self, parent: str) -> InvalidInputError:
        """The same error with its field path moved under ``parent``."""
        moved = copy.copy(self)
        moved.field = f"{parent}.{self.field}" if self.field else parent
        moved.args = (f"{moved.field}: {self.message}",)
        return moved


class StateTooLongError(InvalidInputError):
    """The state has more tokens than the checkpoint may read."""

    def __init__(self, tokens: int, limit: int, *, counted: bool = True) -> None:
        """Where the tokens were not all ``counted`` there may be more."""
        many = f"{tokens}" if counted else f"at least {tokens}"
        super().__init__(
            "state",
            f"{many} tokens, but at most {limit} fit beside these questions; "
            'shorten it or ask for a cut with keep="head", "tail" or "ends"',
        )
        self.tokens = tokens
        self.limit = limit


class UnknownQuestionError(ThisThatError, KeyError):
    """A decision was asked for the answer to a question that it does not have."""

    def __init__(self, name: object, known: Iterable[str]) -> None:
        names = list(known)
        near = get_close_matches(str(name), names, 1)
        there = ", ".join([*names[:_MOST_NAMES], "…"] if len(names) > _MOST_NAMES else names)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {there}"
        super().__init__(f"{name!r} is not a question of this decision; {hint}")

    def __str__(self) -> str:  # A KeyError would show it in quotes.
        return str(self.args[0])


class AlreadyClosedError(ThisThatError, RuntimeError):
    """A decider or a client was asked after it was closed."""


class CheckpointError(ThisThatError):
    """A checkpoint that cannot be opened: unknown key, wrong hash, missing tensor, bad shape."""


class FetchError(CheckpointError):
    """The base weights could not be fetched; the message says what to run instead."""


def to_install(extra: str) -> str:
    """The advice that brings an extra: by our name, pip would fetch a stranger's package."""
    return f'pip install ".[{extra}]" in the checkout; the thisthat on PyPI is another project'


class MissingExtraError(ThisThatError, ImportError):
    """An optional dependency is not installed; the message names the extra to install."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra [{extra}]: {to_install(extra)}")
        self.extra = extra


class ServerError(ThisThatError):
    """A server that gave no usable answer; the message names its address and what it said."""


class DeviceMemoryError(ThisThatError):
    """One row alone does not fit the device's memory; other rows can still be answered."""
