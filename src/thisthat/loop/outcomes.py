"""What happened after a decision: recorded beside the decision log, each outcome once.

An outcome names a decision (the id of its line) or a request and a question, and says one of three
things: which option was right, how good the result was (a reward from 0 to 1), or whether it
happened. ``joined.py`` brings outcomes and decisions together.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from thisthat.audit.beside import CLIENT_REQUESTS, KEY_CHARACTERS, OUTCOMES, KeyTakenError, Row
from thisthat.audit.entry import Entry
from thisthat.audit.places import check_there
from thisthat.audit.protocol import NoLogYetError, Store
from thisthat.audit.store import open_store
from thisthat.dates import seconds_since_1970
from thisthat.display import option_told
from thisthat.errors import InvalidInputError, shown
from thisthat.items.booleans import WRITTEN, boolean_option
from thisthat.questions import Question, Score

AT_ONCE = 1_000
"""Most outcomes in one transaction, and in one request to a server."""
MOST_CHARACTERS = 500
"""The longest request id, question, option or source."""
CLOCKS = 60.0
"""Seconds by which two clocks may differ."""
_LARGEST = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened after a decision.

    ``decision`` is the id of its line; or ``request`` and ``question`` name it, with the
    ``state_hash`` where a request asks about several states. Exactly one of ``option`` (the right
    one), ``reward`` and ``happened`` is given. An option may be True or False for a boolean, and a
    level's number for a score. ``time`` is when it happened (seconds since 1970, or an ISO date;
    None: when it was recorded). Without a ``key``, an outcome with the same content is the same
    one. Raises InvalidInputError naming the field.
    """

    decision: int | None = None
    request: str | None = None
    question: str | None = None
    state_hash: str | None = None
    option: str | None = None
    reward: float | None = None
    happened: bool | None = None
    source: str | None = None
    time: float | None = None
    key: str | None = None

    def __init__(
        self,
        *,
        decision: int | None = None,
        request: str | None = None,
        question: str | None = None,
        state_hash: str | None = None,
        option: str | bool | int | None = None,
        reward: float | None = None,
        happened: bool | None = None,
        source: str | None = None,
        time: float | str | None = None,
        key: str | None = None,
    ) -> None:
        given = {
            "decision": decision,
            "request": request,
            "question": question,
            "state_hash": state_hash,
            "option": _named(option),
            "reward": reward,
            "happened": happened,
            "source": source,
            "time": moment(time) if isinstance(time, str) else time,
            "key": key,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        for name in ("request", "question", "state_hash", "option", "source", "key"):
            _check_text(name, getattr(self, name))
        if self.decision is None:
            for name in ("request", "question"):
                if getattr(self, name) is None:
                    why = "is missing: name the decision, or its request and its question"
                    raise InvalidInputError(name, why)
        elif (self.request, self.question, self.state_hash) != (None, None, None):
            raise InvalidInputError("decision", "needs no request, question or state_hash beside")
        elif type(self.decision) is not int or not 1 <= self.decision <= _LARGEST:
            raise InvalidInputError("decision", "must be the id of a line, a whole number from 1")
        given = [name for name in _VALUES if getattr(self, name) is not None]
        if len(given) != 1:
            which = " and ".join(given) or "none"
            raise InvalidInputError("option", f"one of {', '.join(_VALUES)} is needed, not {which}")
        if self.reward is not None and not (_is_number(self.reward) and 0 <= self.reward <= 1):
            raise InvalidInputError(
                "reward", f"must be a number from 0 to 1, not {shown(self.reward)}"
            )
        if self.happened is not None and not isinstance(self.happened, bool):
            raise InvalidInputError(
                "happened", f"must be true or false, not {shown(self.happened)}"
            )
        if self.time is not None and not (_is_number(self.time) and self.time >= 0):
            raise InvalidInputError("time", f"must be seconds since 1970, not {shown(self.time)}")

    @classmethod
    def from_json(cls, value: object) -> Outcome:
        """An outcome from a JSON object. Raises InvalidInputError naming the field."""
        if not isinstance(value, dict):
            raise InvalidInputError("", f"must be an object, not {type(value).__name__}")
        unknown = [name for name in value if name not in FIELDS]
        if unknown:
            raise InvalidInputError(unknown[0], f"is not known; known are {', '.join(FIELDS)}")
        return cls(**value)

    @property
    def name(self) -> str:
        """The key, or a hash of the content in its place."""
        if self.key is not None:
            return self.key
        content = json.dumps(self._content, ensure_ascii=True)
        return "sha256:" + hashlib.sha256(content.encode()).hexdigest()

    def row(self, recorded: float) -> Row:
        """The outcome as a row of its table."""
        return (self.name, *self._content, recorded)

    @property
    def _content(self) -> Row:
        values = {name: getattr(self, name) for name in OUTCOMES.content}
        for name, kind in {"reward": float, "time": float, "happened": int}.items():
            if values[name] is not None:
                values[name] = kind(values[name])
        return tuple(values.values())


FIELDS = tuple(each.name for each in fields(Outcome))
_VALUES = ("option", "reward", "happened")


@dataclass(frozen=True, slots=True)
class Recorded:
    """How many outcomes were new, and how many were there already.

    ``ambiguous`` is how many of both name a request about several states, but not the state;
    ``orphan``, how many name no decision that is in the log yet.
    """

    recorded: int
    repeated: int
    ambiguous: int = 0
    orphan: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """An outcome in the log, and when it was recorded."""

    outcome: Outcome
    recorded: float

    @property
    def time(self) -> float:
        """When it happened, as far as is known."""
        return self.recorded if self.outcome.time is None else self.outcome.time

    @property
    def order(self) -> tuple[float, float, str]:
        """By when it was recorded; the rest only breaks ties, the same way everywhere."""
        return self.recorded, self.time, self.outcome.name


class RefusedOutcomeError(InvalidInputError):
    """An outcome that cannot be recorded, by its ``number`` among those given."""

    def __init__(self, number: int, about: str, message: str) -> None:
        """``about`` is the outcome's own field."""
        super().__init__(f"outcomes[{number}].{about}", message)
        self.number, self.about = number, about


def record(
    log: str | Path | Store,
    outcomes: Outcome | Iterable[Outcome],
    questions: Mapping[str, Question] | None = None,
) -> Recorded:
    """Record outcomes durably beside the decisions of ``log``, each of them once.

    The log knows the levels of a score by number; with ``questions``, an ``option`` may be a
    level's text, too.

    Any thread and process may call it, also before the decision of a request is in the log. Raises
    InvalidInputError for the path of a log that is not there, LogError, after which the same call
    can be repeated, and RefusedOutcomeError for a decision that is not in the log, for what its
    decision cannot have (an option that was not declared, a time before it), and for a key that
    was used for another outcome. Nothing is recorded then, except that of more than 1,000 outcomes
    those before a used key may have been.
    """
    given = [outcomes] if isinstance(outcomes, Outcome) else list(outcomes)
    if isinstance(log, (str, Path)):
        check_there(log)
        log = open_store(log)
    now, states = time.time(), list[int]()
    for number, each in enumerate(given):
        try:
            _check_past(each, now)
            found = _named_by(log, each)
            given[number] = each = _by_number(each, found, questions or {})
            _check_fits(found, each)
            states.append(_states(found))
        except InvalidInputError as error:
            raise RefusedOutcomeError(number, error.field, error.message) from None
    new = 0
    for start in range(0, len(given), AT_ONCE):
        now = time.time()
        try:
            new += log.add(OUTCOMES, [e.row(now) for e in given[start : start + AT_ONCE]])
        except KeyTakenError as error:
            raise RefusedOutcomeError(start + error.number, "key", error.message) from None
    ambiguous = sum(several > 1 for several in states)
    return Recorded(new, len(given) - new, ambiguous, states.count(0))


def lines_of(store: Store, outcome: Outcome) -> Iterator[tuple[int, Entry]]:
    """The lines that an outcome names: by id, or by the server's or else the client's request."""
    if outcome.decision is not None:
        yield from store.lines({"id": str(outcome.decision)}, None, None, None)
        return
    where = {"question": str(outcome.question)}
    if outcome.state_hash is not None:
        where["state_hash"] = outcome.state_hash
    own = list(store.lines({"request": str(outcome.request), **where}, None, None, None))
    yield from own
    if not own:
        for request, *_ in store.rows(CLIENT_REQUESTS, {"client": str(outcome.request)}):
            yield from store.lines({"request": str(request), **where}, None, None, None)


def states_named(store: Store, outcome: Outcome) -> int:
    """How many states an outcome's decisions are about: it counts for one, and for 0 once it comes.

    With several it is ambiguous, and not used.
    """
    return _states(_named_by(store, outcome))


def _states(found: list[Entry]) -> int:
    return len({entry.state_hash for entry in found})


def _named_by(store: Store, outcome: Outcome) -> list[Entry]:
    try:
        return [entry for _, entry in lines_of(store, outcome)]
    except NoLogYetError:
        return []


def _by_number(outcome: Outcome, found: list[Entry], questions: Mapping[str, Question]) -> Outcome:
    """The outcome with a level's number for its text."""
    name = found[0].question if found else outcome.question
    question = questions.get(str(name))
    if not isinstance(question, Score) or outcome.option is None:
        return outcome
    given, names = outcome.option, [option.name for option in question.declared]
    worded = names[question.levels.index(given)] if given in question.levels else None
    if given in names and worded not in (None, given):
        one, other = (option_told(question, each) for each in (given, str(worded)))
        why = f"{shown(given)} may mean {one!r} or {other!r}; it is a number without the questions"
        raise InvalidInputError("option", why)
    if given not in names and worded is None:
        known = ", ".join(option_told(question, option) for option in names)
        raise InvalidInputError("option", f"{shown(given)} is not one of {known}")
    return replace(outcome, option=worded or given)


def option_said(outcome: Outcome, entry: Entry) -> str | None:
    """The option of a decision that its outcome says was right; a boolean's may be written so."""
    if entry.kind != "boolean" or outcome.option is None:
        return outcome.option
    return str(boolean_option(outcome.option, json.loads(entry.probabilities)))


def _check_past(outcome: Outcome, now: float) -> None:
    if outcome.time is not None and outcome.time > now + CLOCKS:
        why = f"{outcome.time:.0f} is in the future; it is {now:.0f} now"
        raise InvalidInputError("time", why)


def _check_fits(found: list[Entry], outcome: Outcome) -> None:
    """Refuse what the outcome's decision cannot have. One of a request may come before it."""
    if not found:
        if outcome.decision is not None:
            raise InvalidInputError("decision", f"{outcome.decision} is not in the log")
        return
    options = list(json.loads(found[0].probabilities))
    if outcome.option is not None and not any(
        option_said(outcome, each) in json.loads(each.probabilities) for each in found
    ):
        known = dict.fromkeys([*options, *(WRITTEN if found[0].kind == "boolean" else ())])
        why = f"{shown(outcome.option)} is not one of {', '.join(known)}"
        if found[0].kind == "score":
            why += "; the log knows levels by number: name them so, or give the questions with "
            why += "their texts (--schema; over HTTP, the field questions)"
        raise InvalidInputError("option", why)
    first = min(entry.time for entry in found)
    if outcome.time is not None and outcome.time < first - CLOCKS:
        why = f"{outcome.time:.0f} is before its decision, at {first:.0f}"
        raise InvalidInputError("time", why)


def received(store: Store) -> Iterator[Received]:
    """Every outcome in the log, in no order. Raises LogError."""
    yield from map(received_of, store.rows(OUTCOMES))


def received_of(row: Row) -> Received:
    """A row of the table as the outcome that was recorded."""
    key, *values, recorded = row
    content: dict[str, Any] = dict(zip(OUTCOMES.content, values, strict=True))
    happened = None if content["happened"] is None else bool(content["happened"])
    outcome = Outcome(**{**content, "happened": happened, "key": str(key)})
    return Received(outcome, float(recorded or 0.0))


def moment(text: str) -> float:
    """Seconds since 1970 for an ISO date; UTC, if it does not say. Raises InvalidInputError."""
    try:
        return seconds_since_1970(text)
    except (ValueError, OverflowError):
        why = f"{shown(text)} is neither seconds since 1970 nor a date such as 2026-01-31T12:00:00Z"
        raise InvalidInputError("time", why) from None


def _named(option: object) -> object:
    """An option's name for JSON's true, false and whole numbers."""
    if isinstance(option, bool):
        return boolean_option(option, ())
    return str(option) if isinstance(option, int) else option


def _check_text(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidInputError(name, f"must be a text, not {type(value).__name__}")
    most = KEY_CHARACTERS if name == "key" else MOST_CHARACTERS
    if not 1 <= len(value) <= most:
        raise InvalidInputError(name, f"has {len(value)} characters; it may have 1 to {most}")
    if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise InvalidInputError(name, "has a NUL or a lone surrogate, which is no text")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
