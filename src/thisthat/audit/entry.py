"""One line of the decision log: an answer to one question about one state. Plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter

from thisthat.identity import schema_hash, state_hash
from thisthat.questions import Decision, Question, Text, compact_json


class Asked(str):
    """A question's name that knows the question, in a line that keeps its state."""

    asked: Question

    def __new__(cls, name: str, asked: Question) -> Asked:
        """The name of ``asked``."""
        made = super().__new__(cls, name)
        made.asked = asked
        return made


@dataclass(frozen=True, slots=True)
class Entry:
    """What the log keeps of an answer; ``state`` only on request.

    ``time`` is in seconds since 1970, ``probabilities`` a JSON object, ``schema`` and
    ``state_hash`` sha256. ``action``, ``option``, ``reason``, ``policy`` (its hash) and ``forced``
    are None without a policy.
    """

    time: float
    request: str | None
    question: str
    kind: str
    schema: str
    state_hash: str
    state: str | None
    probabilities: str
    best: str
    sure: float
    policy: str | None
    action: str | None
    option: str | None
    reason: str | None
    forced: str | None
    checkpoint: str
    version: str
    lam: float


COLUMNS = tuple(each.name for each in fields(Entry))
NUMBERS = ("time", "sure", "lam")
"""The columns that are numbers; the others are text."""
values_of = attrgetter(*COLUMNS)
"""An entry's values, in the order of the columns."""


def entries_of(
    time: float,
    state: Text,
    questions: Mapping[str, Question],
    decision: Decision,
    request: str | None,
    keep_state: bool,
) -> list[Entry]:
    """The log lines of one decision, one for each question."""
    schema, hashed = schema_hash(questions), state_hash(state)
    text = state if isinstance(state, str) else compact_json(state)
    lines = []
    for name, answer in decision.answers.items():
        outcome = answer.outcome
        lines.append(
            Entry(
                time=time,
                request=request,
                question=Asked(name, questions[name]) if keep_state else name,
                kind=answer.kind,
                schema=schema,
                state_hash=hashed,
                state=text if keep_state else None,
                probabilities=json.dumps(dict(answer.probabilities), ensure_ascii=False),
                best=answer.best_name,
                sure=answer.probabilities[answer.best_name],
                policy=None if outcome is None else outcome.policy,
                action=None if outcome is None else outcome.action,
                option=None if outcome is None else outcome.option,
                reason=None if outcome is None else outcome.reason,
                forced=None if outcome is None or not outcome.forced else "; ".join(outcome.forced),
                checkpoint=decision.source.name,
                version=decision.source.version,
                lam=decision.source.lam,
            )
        )
    return lines
