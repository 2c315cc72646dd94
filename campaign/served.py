"""A server in a process of its own: started, asked, measured, killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVE = (sys.executable, "-m", "thisthat", "serve", "--port", "0", "--threads", "1")
READY_SECONDS = 300
QUESTION = "Does the customer want money back?"
REQUEST: dict[str, Any] = {
    "state": "The parcel never came and I want my money back.",
    "questions": {"refund": QUESTION},
}


@dataclass
class Served:
    """A running server and its log."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def memory(self, kind: str = "VmRSS") -> int:
        """Bytes in memory now: ``VmRSS`` all, ``RssAnon`` without mapped files."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(rf"{kind}:\s+(\d+) kB", status)[0]) * 1024

    def events(self) -> list[dict[str, Any]]:
        return events(self.log)

    def ask(
        self,
        body: Any = None,
        path: str = "/v1/systemone",
        method: str = "POST",
        timeout: float = 120,
        **headers: str,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body. Raises OSError or http.client.HTTPException."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        sent = body if isinstance(body, bytes) else json.dumps(body or REQUEST).encode()
        with contextlib.closing(client):
            kind = {"content-type": "application/json", **headers}
            client.request(method, path, sent if method == "POST" else None, kind)
            answer = client.getresponse()
            return answer.status, dict(answer.headers), answer.read()

    def metric(self, name: str) -> float:
        text = self.ask(path="/metrics", method="GET")[2].decode()
        return sum(
            float(n) for n in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)
        )


def events(log: Path) -> list[dict[str, Any]]:
    """The log's lines so far; a last one that is cut is left out."""
    found = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


@contextlib.contextmanager
def serving(
    *options: object,
    command: Sequence[str] = SERVE,
    before: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Served]:
    """A server that is ready; ``before`` are words before its command. Stops it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [*before, *command, *map(str, options)],
                stderr=stream,
                stdout=stream,
                env={**os.environ, **(environment or {})},
            )
        try:
            yield Served(process, _ready(process, log), log)
        finally:
            if process.poll() is None:
                process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(90)
            process.kill()


def _ready(process: subprocess.Popen[bytes], log: Path) -> int:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        ended = process.poll()
        found = {event["message"]: event for event in events(log) if "message" in event}
        if "ready" in found:
            return int(found["listening"]["address"].rpartition(":")[2])
        if ended is not None:
            raise RuntimeError(f"the server ended with {ended}: {log.read_text()[-2000:]}")
        time.sleep(0.05)
    raise RuntimeError("the server was not ready in time")


def thisthat(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command line, to its end."""
    command = [sys.executable, "-m", "thisthat", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def verified(log: object) -> bool:
    return thisthat("log", "verify", log).returncode == 0
