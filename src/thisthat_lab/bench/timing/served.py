"""A server of this package in a process of its own, for measurements that need one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from thisthat.errors import ThisThatError
from thisthat_lab.bench.systems.protocol import SystemOptions

_COMMAND = (sys.executable, "-m", "thisthat", "serve")
_ON_ONE_CORE = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.execv(sys.argv[2], sys.argv[2:])
"""
REGISTRY, LOG = "registry", "log.sqlite"
_STOP_SECONDS = 20
_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 120


_Running: TypeAlias = "AbstractContextManager[Served]"


class ServerProcessError(ThisThatError):
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

    def cpu_seconds(self) -> float:
        """Processor time of the process so far, all threads together; Linux only."""
        fields = (
            Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End the process at once, without a chance to finish or to clean up."""
        os.kill(self.pid, signal.SIGKILL)

    def connection(self) -> Connection:
        """A connection that stays open between requests."""
        parts = urlsplit(self.address)
        return Connection(parts.hostname or "", parts.port or 80)


class Connection:
    """Requests as bytes on a socket, so that no client library is timed along with the server."""

    def __init__(self, host: str, port: int) -> None:
        self._host = f"{host}:{port}"
        self._socket = socket.create_connection((host, port), timeout=_PATIENCE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, path: str, body: bytes) -> tuple[Any, float]:
        """The decoded answer to one request, and the milliseconds its decision took in the server.

        Raises ServerProcessError for any status but 200, and for an answer that is cut off.
        """
        head = (
            f"POST {path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body)
        received = self._more(b"")
        while (end := received.find(b"\r\n\r\n")) < 0:
            received = self._more(received)
        status, _, fields = received[:end].decode("latin-1").partition("\r\n")
        headers = dict(line.split(": ", 1) for line in fields.split("\r\n"))
        whole = end + 4 + int(headers["content-length"])
        while len(received) < whole:
            received = self._more(received)
        content = received[end + 4 :]
        if status.split()[1] != "200":
            raise ServerProcessError(f"the server answered {status}: {content[:200]!r}")
        return json.loads(content), milliseconds_of(headers.get("server-timing", ""))

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _more(self, received: bytes) -> bytes:
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise ServerProcessError(f"the answer was cut off after {len(received)} bytes")
        return received + piece


def milliseconds_of(timing: str) -> float:
    """How long the decision took, from the header ``server-timing``; NaN where it is missing."""
    return float(timing.partition("decide;dur=")[2] or "nan")


def serving(system: str, options: SystemOptions, core: int | None = None) -> _Running:
    """Start a server with the setting's checkpoint, wait until it is ready, stop it at the end."""
    chosen = [] if options.lam is None else ["--lambda", str(options.lam)]
    return started([system, *chosen, *_flags(options)], 0, core)


def serving_loop(
    folder: Path, options: SystemOptions, port: int = 0, core: int | None = None
) -> _Running:
    """``serving`` of the champion of the registry in ``folder``, with a log beside it."""
    log = ["--decision-log", str(folder / LOG), "--log-states"]
    return started(["--loop", str(folder / REGISTRY), *log, *_flags(options)], port, core)


def _flags(options: SystemOptions) -> list[str]:
    flags = ["--engine", options.engine]
    if options.form is not None:
        flags += ["--form", options.form]
    if options.dtype != "auto":
        flags += ["--dtype", options.dtype]
    return flags


@contextmanager
def started(arguments: Sequence[str], port: int, core: int | None) -> Iterator[Served]:
    """A server with these arguments, on that core alone if one is given."""
    command = [*_COMMAND, *arguments, "--port", str(port)]
    if core is not None:
        command = [sys.executable, "-c", _ON_ONE_CORE, str(core), *command]
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
            raise ServerProcessError(f"the server did not start: {last}")
        time.sleep(_POLL_SECONDS)
