"""``/admin/loop``: what the loop knows, and rolling back or promoting by hand (admin key)."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.audit.protocol import LogError
from thisthat.errors import InvalidInputError
from thisthat.loop.candidates import promote
from thisthat.loop.summary import summary
from thisthat.serve.formats.admin import LoopRequest, read_admin
from thisthat.serve.formats.wire import JSON, Operation
from thisthat.serve.http.operations import check_admin
from thisthat.serve.problems import Problem
from thisthat.serve.service import Service
from thisthat.serve.trials import Trials

PATH = "/admin/loop"
_MATURE_SECONDS = 7 * 86_400.0
_LEAST_SECONDS = 1.0


def loop_operations(service: Service) -> list[Operation]:
    """Both endpoints; they need a server with ``--loop``."""
    summed = _Summed(service)

    async def read(request: Request) -> Response:
        check_admin(service, request)
        trials = _trials(service)
        try:
            found = await asyncio.to_thread(summed.now, trials)
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
            PATH,
            act,
            "End an experiment, roll the champion back, or promote the candidate (admin key)",
            answer,
            LoopRequest.published(),
            more_statuses=more,
        ),
    ]


class _Summed:
    """The summary, made anew when it is old by how long it takes to make."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._found: dict[str, Any] = {}
        self._until = 0.0

    def now(self, trials: Trials) -> dict[str, Any]:
        started, log = time.monotonic(), self._service.log
        if started < self._until or log is None:
            return self._found
        judges = {each.experiment.name: each.judge for each in trials.running}
        found = summary(trials.registry, log.store, _MATURE_SECONDS, time.time(), judges)
        took = time.monotonic() - started
        self._found, self._until = found, time.monotonic() + max(_LEAST_SECONDS, 10 * took)
        return found

    def forget(self) -> None:
        self._until = 0.0


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
