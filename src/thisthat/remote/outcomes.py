"""Outcomes for a server's decision log, sent to `/v1/outcomes`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from thisthat.display import counted
from thisthat.errors import InvalidInputError, ServerError
from thisthat.loop.outcomes import AT_ONCE, Outcome, Recorded, RefusedOutcomeError
from thisthat.questions import Question
from thisthat.questions_json import question_as_json
from thisthat.remote.server import LOST, FieldRefusedError, RemoteServer

PATH = "/v1/outcomes"
_OUTCOME = re.compile(r"outcomes\[(\d+)\]\.(.+)", re.DOTALL)


def send_outcomes(
    server: RemoteServer,
    outcomes: Outcome | Iterable[Outcome],
    questions: Mapping[str, Question] | None = None,
) -> Recorded:
    """``thisthat.loop.outcomes.record`` through a server, a thousand outcomes at a time.

    Raises RefusedOutcomeError as that does, and ServerError, after which the same call can be
    repeated.
    """
    given = [outcomes] if isinstance(outcomes, Outcome) else list(outcomes)
    words = {name: question_as_json(each) for name, each in (questions or {}).items()}
    told = [_sent(server, given, words, n) for n in range(0, len(given), AT_ONCE)]
    counts = [asdict(each) for each in told]
    return Recorded(**{name: sum(each[name] for each in counts) for name in asdict(Recorded(0, 0))})


def _sent(
    server: RemoteServer, given: list[Outcome], questions: Mapping[str, Any], start: int
) -> Recorded:
    outcomes = given[start : start + AT_ONCE]
    rows = [{k: v for k, v in asdict(each).items() if v is not None} for each in outcomes]
    body = {"outcomes": rows, **({"questions": questions} if questions else {})}
    try:
        with server.post(PATH, body, counted(len(rows), "outcome")) as response:
            return Recorded(**json.loads(response.read()))
    except FieldRefusedError as error:
        raise _refused(error.fault, start) from None
    except (*LOST, TypeError):
        why = "the answer broke off; send the same again, nothing is recorded twice"
        raise ServerError(f"{server.root}{PATH}: {why}") from None


def _refused(fault: InvalidInputError, start: int) -> InvalidInputError:
    """The fault with the outcome's number among all."""
    found = _OUTCOME.fullmatch(fault.field)
    if found is None:
        return fault
    return RefusedOutcomeError(start + int(found[1]), found[2], fault.message)
