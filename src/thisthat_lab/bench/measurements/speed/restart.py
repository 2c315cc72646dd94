"""How long a server is away that was killed under load: seconds from its start until it is ready.

A killed process cleans nothing up, so this also shows that it leaves nothing behind that the next
one stumbles over. The first start may make the runtime form and is shown apart.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thisthat.rng import Rng
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.timing.busy import busy_caveats
from thisthat_lab.bench.timing.served import Served, ServerProcessError, serving
from thisthat_lab.bench.timing.texts import ticket

PATH = "/v1/systemone"
CLIENTS = 4
RESTARTS, QUICK_RESTARTS = 3, 1
WORDS = 40
MOST_SECONDS = 5.0
_PATIENCE_SECONDS = 120
_LABEL = "start to ready after a kill under load, median"
CAVEATS = (
    "A new process each time: the interpreter, imports, opening and warming up count. "
    "The files are in memory already.",
    f"{CLIENTS} clients ask without a pause when the server is killed (SIGKILL).",
)


@dataclass
class _Starts:
    """What each start took, and what the server then answered to the same question."""

    seconds: list[float] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)


def run(context: Context) -> Findings:
    """Start a server, load it, kill it, and start it again, several times."""
    setting = context.setting
    restarts = QUICK_RESTARTS if setting.quick else RESTARTS
    body = _body(context.seed)
    caveats = [*busy_caveats(), *CAVEATS]
    starts = _Starts()
    with context.progress("restart", restarts + 1) as advance:
        for _ in range(restarts + 1):
            _start_and_kill(lambda: serving(setting.system, setting.options), body, starts)
            advance(1)
    first, *again = starts.seconds
    middle = float(np.median(again))
    changed = sum(answer != starts.answers[0] for answer in starts.answers[1:])
    return Findings(
        [
            Line(f"{_LABEL} of {restarts}", middle, unit="s"),
            Line("the longest of them", max(again), unit="s"),
            Line("the first start", first, unit="s"),
            Line("answers that differ after a kill", float(changed), unit="number"),
        ],
        bars=[Bar(_LABEL, middle, MOST_SECONDS, False, "s")],
        series={"restart": {"seconds": starts.seconds}},
        caveats=caveats,
        system=context.engine.identity,
    )


def _body(seed: int) -> bytes:
    question = {"type": "choice", "criteria": ["billing", "shipping", "returns"]}
    state = ticket(Rng("restart", seed), WORDS)
    asked = {"model": "default", "state": state, "questions": {"queue": question}}
    return json.dumps(asked).encode()


def _start_and_kill(start: Callable[[], Any], body: bytes, starts: _Starts) -> None:
    began = time.perf_counter()
    with start() as served:
        starts.seconds.append(time.perf_counter() - began)
        connection = served.connection()
        starts.answers.append(connection.post(PATH, body)[0]["answers"])
        connection.close()
        with _load_on(served, body):
            served.kill()


@contextmanager
def _load_on(served: Served, body: bytes) -> Iterator[None]:
    """Clients that ask until the server is gone; inside, each of them has had an answer."""
    answered = threading.Barrier(CLIENTS + 1)

    def ask() -> None:
        connection = served.connection()
        # The end of it: the server is killed in the middle of some of these.
        with suppress(ServerProcessError, OSError):
            connection.post(PATH, body)
            answered.wait(_PATIENCE_SECONDS)
            while True:
                connection.post(PATH, body)
        connection.close()

    clients = [threading.Thread(target=ask, daemon=True) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    answered.wait(_PATIENCE_SECONDS)
    yield
    for client in clients:
        client.join()
