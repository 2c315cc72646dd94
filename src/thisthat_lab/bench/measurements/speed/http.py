"""What HTTP adds to a decision: the library call and the request in turns, side by side.

The server runs in a process of its own with the same checkpoint; library and server take turns on
the same state, so that whatever else the machine does falls on both. The request is bytes on a
socket; what the HTTP client of Python's library costs on top of that is a line of its own.
"""

from __future__ import annotations

import gc
import http.client
import json
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from thisthat.items import metrics
from thisthat.questions import Choice, Question
from thisthat.rng import Rng
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.measurements.speed.latency import WORKLOADS, words_for
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.timing.served import serving
from thisthat_lab.bench.timing.texts import ticket

T = TypeVar("T")
Array = NDArray[np.float64]
Indices = NDArray[np.intp]

PATH = "/v1/systemone"
WARM_UP = 5
CALLS, QUICK_CALLS = 500, 40
_IDLE = "set for an idle machine of two cores"


def run(context: Context) -> Findings:
    """Time a single question of 64 tokens both ways."""
    decider = context.engine.decider
    workload = WORKLOADS[0]
    rng = Rng("http", context.seed)
    words = words_for(decider, workload, rng)
    questions = workload.declared()
    asked = {"action": _as_json(questions["action"])}
    calls = QUICK_CALLS if context.setting.quick else CALLS
    library: list[float] = []
    served: list[float] = []
    by_client: list[float] = []
    inside: list[tuple[float, float]] = []
    unequal = 0
    setting = context.setting
    with (
        serving(setting.system, setting.options) as server,
        closing(server.connection()) as connection,
        closing(_client(server.address)) as client,
        context.progress("http", calls + WARM_UP) as advance,
    ):
        # A pause for what this program has imported would count for whichever side it hits.
        gc.collect()
        gc.freeze()
        for number in range(calls + WARM_UP):
            state = ticket(rng, words)
            body = {"model": "default", "state": state, "questions": asked}
            content = json.dumps(body).encode()
            here = partial(decider.decide, state, questions)
            there = partial(connection.post, PATH, content)
            # Whoever comes second finds the processor as the other left it.
            if number % 2:
                (decision, alone), ((answer, milliseconds), asking) = _timed(here), _timed(there)
            else:
                ((answer, milliseconds), asking), (decision, alone) = _timed(there), _timed(here)
            library.append(alone)
            served.append(asking)
            by_client.append(_timed(partial(_ask_by_client, client, content))[1])
            inside.append((decision.seconds * 1000, milliseconds))
            expected = dict(decision["action"].probabilities)
            unequal += answer["answers"]["action"]["probabilities"] != expected
            advance(1)
    lines, bars = _found(
        np.array(library[WARM_UP:]),
        np.array(served[WARM_UP:]),
        np.array(by_client[WARM_UP:]),
        np.array(inside[WARM_UP:]),
        unequal,
    )
    return Findings(
        lines,
        bars=bars,
        series={"http": {"library": library[WARM_UP:], "http": served[WARM_UP:]}},
    )


def _client(address: str) -> http.client.HTTPConnection:
    parts = urlsplit(address)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)


def _ask_by_client(client: http.client.HTTPConnection, content: bytes) -> Any:
    client.request("POST", PATH, content, {"content-type": "application/json"})
    return json.loads(client.getresponse().read())


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    """What ``call`` returns, and the milliseconds it took."""
    started = time.perf_counter()
    returned = call()
    return returned, (time.perf_counter() - started) * 1000


def _as_json(question: Question) -> dict[str, Any]:
    assert isinstance(question, Choice)
    criteria = {option.name: option.description for option in question.options}
    return {"type": "choice", "instructions": question.instructions, "criteria": criteria}


def _found(
    library: Array, served: Array, by_client: Array, inside: Array, unequal: int
) -> tuple[list[Line], list[Bar]]:
    added = served - library
    apart = inside[:, 1] - inside[:, 0]
    beside = added - apart

    def line(label: str, statistic: Callable[[Indices], float]) -> Line:
        return Line.of(label, metrics.bootstrap_statistic(statistic, added.size), unit="ms")

    middle = line(f"HTTP adds, p50 (n = {added.size})", lambda rows: _at(50, added[rows]))
    slow = line(
        "p99 over HTTP minus p99 of the library",
        lambda rows: _at(99, served[rows]) - _at(99, library[rows]),
    )
    lines = [
        middle,
        line("HTTP adds beside the decision, p50", lambda rows: _at(50, beside[rows])),
        line("HTTP adds beside the decision, p99", lambda rows: _at(99, beside[rows])),
        line("the decision there minus here, p50", lambda rows: _at(50, apart[rows])),
        line("Python's http.client adds, p50", lambda rows: _at(50, (by_client - served)[rows])),
        Line("HTTP adds, p99 of the difference", _at(99, added), unit="ms"),
        slow,
        Line("library, p50", _at(50, library), unit="ms"),
        Line("library, p99", _at(99, library), unit="ms"),
        Line("HTTP, p50", _at(50, served), unit="ms"),
        Line("HTTP, p99", _at(99, served), unit="ms"),
        Line("answers that differ between the two", float(unequal), unit="number"),
    ]
    return lines, [
        Bar("HTTP adds, p50", middle.value, 2, False, "ms", _IDLE),
        Bar(slow.label, slow.value, 5, False, "ms", _IDLE),
    ]


def _at(percent: float, values: Array) -> float:
    return float(np.percentile(values, percent))
