"""A server of this package in a process of its own, for measurements that need one."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from thisthat.bench.systems import SystemOptions
from thisthat.errors import ThisThatError

_COMMAND = (sys.executable, "-c", "from thisthat.cli import main; main()", "serve")
_STOP_SECONDS = 20


class ServerError(ThisThatError):
    """The server did not start; the message has what it wrote last."""


@dataclass(frozen=True)
class Served:
    """A running server: where it listens and which process it is."""

    address: str
    pid: int

    def resident_bytes(self) -> int | None:
        """Memory the process holds, where the system says so."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return None
        for line in status.splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return None

    def connection(self) -> http.client.HTTPConnection:
        """A connection that stays open between requests."""
        parts = urlsplit(self.address)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)


def post(connection: http.client.HTTPConnection, path: str, body: bytes) -> Any:
    """The decoded answer to one request. Raises ServerError for any status but 200."""
    connection.request("POST", path, body, {"content-type": "application/json"})
    response = connection.getresponse()
    content = response.read()
    if response.status != 200:
        raise ServerError(f"the server answered {response.status}: {content[:200]!r}")
    return json.loads(content)


@contextmanager
def serving(system: str, options: SystemOptions) -> Iterator[Served]:
    """Start a server with the setting's checkpoint, wait until it is ready, stop it at the end."""
    command = [*_COMMAND, system, "--port", "0", "--engine", options.engine]
    if options.lam is not None:
        command += ["--lambda", str(options.lam)]
    if options.form is not None:
        command += ["--form", options.form]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield Served(_ready(process), process.pid)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ready(process: subprocess.Popen[str]) -> str:
    """The address, once the server says that it is ready."""
    assert process.stderr is not None
    address, last = "", ""
    for line in process.stderr:
        last = line.strip() or last
        try:
            event = json.loads(line)
        except ValueError:
            continue
        address = str(event.get("address", address))
        if event.get("message") == "ready":
            threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
            return address
    process.wait()
    raise ServerError(f"the server did not start: {last}")


def _drain(stream: IO[str]) -> None:
    """Read and forget, so that the server never waits for its log to be read."""
    for _ in stream:
        pass
