"""A registry with a champion and a taught candidate, and clients of servers that follow it."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from thisthat.errors import ThisThatError
from thisthat.loop.assignment import place
from thisthat.loop.candidates import promote, registered
from thisthat.loop.experiment import Experiment
from thisthat.loop.registry import Registry
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.timing.served import REGISTRY

QUESTION = {"lost": {"type": "noul", "instructions": "Did the parcel fail to arrive?"}}
_LABELS = 60
_BY = "bench"
_SECONDS = 120.0
_IDLE_SECONDS = 1.0
"""A server may close a connection that was idle for longer."""
_PATIENCE_SECONDS = 300.0


class WorldError(ThisThatError):
    """No candidate could be taught; the message has what was said last."""


@dataclass(frozen=True)
class World:
    """A folder with a registry: its champion is the system, its candidate is taught on it."""

    folder: Path
    registry: Registry
    candidate: str

    def canary(self, share: float) -> Experiment:
        """Start a canary of the candidate."""
        return self.registry.start(Experiment("", "canary", self.candidate, "", share=share), _BY)


def make_world(folder: Path, system: str, options: SystemOptions) -> World:
    """Make the system champion, and teach it the wrong way round. Raises WorldError."""
    rows = [
        {"state": state(number), "answers": {"lost": "yes" if number % 2 else "no"}}
        for number in range(_LABELS)
    ]
    labels, schema = folder / "labels.jsonl", folder / "schema.json"
    labels.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    schema.write_text(json.dumps(QUESTION), encoding="utf-8")
    taught = folder / "taught"
    command = [sys.executable, "-m", "thisthat", "teach", str(labels), "--schema", str(schema)]
    command += ["--model", system, "--engine", options.engine, "-o", str(taught)]
    if options.lam is not None:
        command += ["--lambda", str(options.lam)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise WorldError(f"no candidate was taught: {(done.stdout + done.stderr)[-500:]}")
    registry = Registry(folder / REGISTRY)
    promote(registry, system, _BY, "the first", options.lam)
    return World(folder, registry, registered(registry, str(taught), _BY).name)


def units(tried: Experiment, share: float) -> tuple[str, str]:
    """A unit that stays with the champion, and one of the candidate's."""
    stays, goes = (
        next(n for n in map(str, count()) if (place(n, tried.salt) < share) == candidate)
        for candidate in (False, True)
    )
    return stays, goes


def wait(done: Callable[[], bool], what: str) -> None:
    """Wait until something is so. Raises WorldError after minutes."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not done():
        if time.monotonic() > until:
            raise WorldError(f"no {what} within {_PATIENCE_SECONDS:.0f} s")
        time.sleep(0.005)


def state(number: int) -> str:
    """A parcel that came or did not; odd ones came."""
    return f"Parcel {number} {'arrived in time' if number % 2 else 'never came'}."


@dataclass(frozen=True)
class Reply:
    """Who answered, with which probability, under which request id."""

    checkpoint: tuple[str, str]
    probability: float
    request: str


@dataclass
class Client:
    """One connection to a server, opened again after an error."""

    address: str
    _open: http.client.HTTPConnection | None = field(default=None, repr=False)
    _used: float = 0.0

    def ask(self, asked: str, unit: str | None = None) -> Reply:
        """One decision. Raises what the connection raises, and WorldError for a refusal."""
        body = {"state": asked, "questions": QUESTION}
        headers = {} if unit is None else {"x-thisthat-unit": unit}
        found, told = self._post("/v1/systemone", body, headers)
        who = str(found["checkpoint"]), str(found["version"])
        return Reply(who, found["answers"]["lost"]["noul"], told["x-request-id"])

    def tell(self, *outcomes: Mapping[str, Any]) -> None:
        """Record outcomes; raises as ``ask`` does."""
        self._post("/v1/outcomes", {"outcomes": list(outcomes)}, {})

    def close(self) -> None:
        """Hang up."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[Any, Mapping[str, str]]:
        if time.monotonic() > self._used + _IDLE_SECONDS:
            self.close()
        if self._open is None:
            parts = urlsplit(self.address)
            self._open = http.client.HTTPConnection(parts.hostname or "", parts.port, _SECONDS)
        try:
            kind = {"content-type": "application/json", **headers}
            self._open.request("POST", path, json.dumps(body).encode(), kind)
            answer = self._open.getresponse()
            content = answer.read()
            self._used = time.monotonic()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.status != 200:
            raise WorldError(f"the server answered {answer.status}: {content[:200]!r}")
        return json.loads(content), dict(answer.headers)
