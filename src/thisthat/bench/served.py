"""A server of this package in a process of its own, for measurements that need one."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from thisthat.bench.protocol import SystemOptions
from thisthat.errors import ThisThatError

_COMMAND = (sys.executable, "-c", "from thisthat.cli import main; main()", "serve")
_STOP_SECONDS = 20
_POLL_SECONDS = 0.05


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


def post(connection: http.client.HTTPConnection, path: str, body: bytes) -> tuple[Any, float]:
    """The decoded answer to one request, and the milliseconds its decision took in the server.

    Raises ServerError for any status but 200.
    """
    connection.request("POST", path, body, {"content-type": "application/json"})
    response = connection.getresponse()
    content = response.read()
    if response.status != 200:
        raise ServerError(f"the server answered {response.status}: {content[:200]!r}")
    timing = response.getheader("server-timing", "")
    return json.loads(content), float(timing.partition("decide;dur=")[2] or "nan")


@contextmanager
def serving(system: str, options: SystemOptions) -> Iterator[Served]:
    """Start a server with the setting's checkpoint, wait until it is ready, stop it at the end."""
    command = [*_COMMAND, system, "--port", "0", "--engine", options.engine]
    if options.lam is not None:
        command += ["--lambda", str(options.lam)]
    if options.form is not None:
        command += ["--form", options.form]
    if options.dtype != "auto":
        command += ["--dtype", options.dtype]
    # A file, not a pipe: reading the log here would take time from what is measured.
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
        try:
            yield Served(_ready(process, Path(folder) / "log"), process.pid)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address, once the server says that it is ready."""
    address, last = "", ""
    while True:
        ended = process.poll() is not None
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            last = line.strip() or last
            try:
                event = json.loads(line)
            except ValueError:
                continue
            address = str(event.get("address", address))
            if event.get("message") == "ready":
                return address
        if ended:
            raise ServerError(f"the server did not start: {last}")
        time.sleep(_POLL_SECONDS)
