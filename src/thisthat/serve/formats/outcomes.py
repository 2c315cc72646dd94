"""``POST /v1/outcomes``: what happened after decisions, recorded beside them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.audit.protocol import LogError, Store
from thisthat.errors import InvalidInputError
from thisthat.loop.outcomes import AT_ONCE, Outcome, Recorded, record
from thisthat.questions import Question
from thisthat.serve.formats.fields import required_list, required_object
from thisthat.serve.formats.systemone import parse_questions
from thisthat.serve.formats.wire import JSON, Operation
from thisthat.serve.problems import Fault, Problem, fault_of, invalid, invalid_at
from thisthat.serve.schemas import schema
from thisthat.serve.service import Service

PATH = "/v1/outcomes"
_MOST_FAULTS = 100
_KEYS = ("outcomes", "questions")


@dataclass(frozen=True)
class Told:
    """A parsed request: outcomes, and the questions that word a score's levels, if given."""

    outcomes: list[Outcome]
    questions: Mapping[str, Question] = field(default_factory=dict)


def outcomes_operations(service: Service) -> list[Operation]:
    """The endpoint; it needs a server with a decision log."""

    async def outcomes(request: Request) -> Response:
        # Without a key for the log, a key to decide is needed where there is one.
        service.admit(request, "log" if service.keys.guards("log") else "decide")
        told = await service.read_value(
            request, lambda body: parse(body, service.settings.questions)
        )
        if service.log is None:
            why = "this server keeps no decision log; start it with --decision-log"
            raise Problem(409, "no_decision_log", why)
        try:
            done = await asyncio.to_thread(_recorded, service, service.log.store, told)
        except LogError as error:
            message = f"the decision log cannot be written: {error}"
            raise Problem(503, "not_recorded", message, retry_ms=1000) from None
        return Response(json.dumps(asdict(done)), media_type=JSON)

    return [
        Operation(
            PATH,
            outcomes,
            "Record what happened after decisions, each outcome once",
            {JSON: schema("outcomes response")},
            schema("outcomes request"),
            more_statuses=(409,),
        )
    ]


def _recorded(service: Service, store: Store, told: Told) -> Recorded:
    """Record outcomes, and let what is tried follow from them before anybody hears of it."""
    done = record(store, told.outcomes, told.questions)
    if service.trials is not None:
        # They are recorded; whoever watches the registry tries again soon.
        with suppress(LogError, InvalidInputError, OSError):
            service.trials.judge()
    return done


def parse(body: Any, most_questions: int) -> Told:
    """A request's body as outcomes. Raises Problem (422) listing every fault."""
    fields = required_object(body, ())
    unknown = [name for name in fields if name not in _KEYS]
    if unknown:
        raise invalid_at((unknown[0],), f"is not known; known are {', '.join(_KEYS)}")
    found, faults = [], list[Fault]()
    for number, each in enumerate(required_list(fields, "outcomes", 1, AT_ONCE)):
        try:
            found.append(Outcome.from_json(each))
        except InvalidInputError as error:
            faults.append(fault_of(error, ("outcomes", number)))
    if faults:
        raise invalid(faults[:_MOST_FAULTS])
    if fields.get("questions") is None:
        return Told(found)
    return Told(found, parse_questions(fields, most_questions))
