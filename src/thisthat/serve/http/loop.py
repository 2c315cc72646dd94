"""``/admin/loop``: what the loop knows, what to review, and rolling back or promoting by hand."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.audit.log import DecisionLog
from thisthat.audit.protocol import LogError
from thisthat.errors import InvalidInputError
from thisthat.loop.candidates import promote
from thisthat.loop.review import review_queue
from thisthat.loop.summary import summary
from thisthat.serve.formats.admin import LoopRequest, read_admin
from thisthat.serve.formats.wire import JSON, Operation
from thisthat.serve.http.operations import check_admin
from thisthat.serve.problems import Problem
from thisthat.serve.service import Service
from thisthat.serve.trials import Trials

PATH = "/admin/loop"
REVIEW_PATH = "/admin/loop/review"
REVIEWED = 20
"""Decisions that the page shows at a time."""
_MATURE_SECONDS = 7 * 86_400.0
_LEAST_SECONDS = 1.0


def loop_operations(service: Service) -> list[Operation]:
    """What the loop knows and does, which need a server with ``--loop``; what to review."""
    summed = _Kept(lambda log: _summed(service, log))
    queued = _Kept(_queued)

    async def read(request: Request) -> Response:
        check_admin(service, request)
        _trials(service)
        return await kept(summed)

    async def review(request: Request) -> Response:
        check_admin(service, request)
        if service.log is None:
            why = "this server keeps no decision log; start it with --decision-log"
            raise Problem(409, "no_decision_log", why)
        return await kept(queued)

    async def kept(answer: _Kept) -> Response:
        try:
            async with answer.making:
                found = await asyncio.to_thread(answer.now, service.log)
        except LogError as error:
            message = f"the decision log cannot be read: {error}"
            raise Problem(503, "no_log", message, retry_ms=1000) from None
        return Response(json.dumps(found), media_type=JSON)

    async def act(request: Request) -> Response:
        check_admin(service, request)
        wanted = await service.read_value(request, partial(read_admin, LoopRequest))
        trials, by = _trials(service), str(request.state.fields["caller"])
        try:
            done = await asyncio.to_thread(_done, trials, wanted, by)
        except InvalidInputError as error:
            raise Problem(409, "refused", str(error)) from None
        summed.forget()
        return Response(json.dumps(done), media_type=JSON)

    answer = {JSON: {"type": "object"}}
    more, what = (409,), "What the loop knows (admin key)"
    return [
        Operation(PATH, read, what, answer, method="GET", more_statuses=more),
        Operation(
            REVIEW_PATH,
            review,
            "Decisions that a person should look at (admin key)",
            answer,
            method="GET",
            more_statuses=more,
        ),
        Operation(
            PATH,
            act,
            "End an experiment, roll the champion back, or promote the candidate (admin key)",
            answer,
            LoopRequest.published(),
            more_statuses=more,
        ),
    ]


class _Kept:
    """An answer from the log, made anew when it is old by how long it takes to make.

    Whoever asks holds ``making``, so that it is made once for all who wait for it.
    """

    def __init__(self, make: Callable[[DecisionLog], dict[str, Any]]) -> None:
        self.making = asyncio.Lock()
        self._make = make
        self._found: dict[str, Any] = {}
        self._until = 0.0

    def now(self, log: DecisionLog | None) -> dict[str, Any]:
        started = time.monotonic()
        if started < self._until or log is None:
            return self._found
        found = self._make(log)
        took = time.monotonic() - started
        self._found, self._until = found, time.monotonic() + max(_LEAST_SECONDS, 10 * took)
        return found

    def forget(self) -> None:
        self._until = 0.0


def _summed(service: Service, log: DecisionLog) -> dict[str, Any]:
    trials = _trials(service)
    judges = {each.experiment.name: each.judge for each in trials.running}
    return summary(trials.registry, log.store, _MATURE_SECONDS, time.time(), judges)


def _queued(log: DecisionLog) -> dict[str, Any]:
    queue = review_queue(log.store, REVIEWED, time.time())
    rows = [
        {
            "decision": each.decision,
            "time": each.entry.time,
            "question": each.entry.question,
            "asks": each.asks,
            "options": each.options,
            "state": each.entry.state,
            "probabilities": json.loads(each.entry.probabilities),
            "said": each.entry.best,
            "reasons": each.reasons,
        }
        for each in queue.rows
    ]
    return {"queue": rows, "without_states": queue.without_states}


def _trials(service: Service) -> Trials:
    if service.trials is None:
        why = "this server follows no registry; start it with --loop"
        raise Problem(409, "no_loop", why)
    return service.trials


def _done(trials: Trials, wanted: LoopRequest, by: str) -> dict[str, Any]:
    """What was asked for, here at once. Raises InvalidInputError, after which nothing changed."""
    registry = trials.registry
    reason = "by hand" if wanted.reason is None else wanted.reason
    if wanted.do == "end":
        if not registry.change("ended", str(wanted.experiment), by, reason, {}):
            raise InvalidInputError("experiment", f"{wanted.experiment!r} does not run")
    elif wanted.do == "promote":
        if wanted.version is not None and wanted.version not in registry.now().versions:
            raise InvalidInputError("version", f"{wanted.version!r} is not registered")
        promote(registry, wanted.version, by, reason)
    else:
        registry.roll_back(by, reason)
    trials.look()
    held = registry.now()
    return {"champion": held.champion, "running": list(held.running)}
