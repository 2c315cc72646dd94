"""One server process for all attacks, and somebody who watches it meanwhile."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.serve.support import REQUEST

MEBIBYTE = 1 << 20
MOST_GROWTH = 256 * MEBIBYTE
LONGEST_PROBE = 0.5
PATIENCE = 20.0
HONEST = ("127.0.0.2", 0)
"""Where honest clients and probes come from: without keys, an address is a client."""


@dataclass
class Seen:
    """The most memory, seconds of probes and of honest requests, their statuses.

    ``late`` is by how much this process was woken too late.
    """

    most: int
    late: float = 0.0
    probes: list[float] = field(default_factory=list)
    honest: list[float] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)


class Target:
    """The server under attack: its port, its memory, and how it treats others meanwhile."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port
        self.calm = max(self._timed("GET", "/healthz")[1] for _ in range(20))
        for _ in range(20):
            assert self._timed("POST", "/v1/systemone")[0] == 200
        self.base = self.memory()

    def memory(self) -> int:
        """Bytes of the process that are in memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def metric(self, name: str) -> float:
        return float(re.findall(rf"^{name} (\S+)$", self.text("/metrics"), re.MULTILINE)[0])

    def text(self, path: str) -> str:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        client.request("GET", path)
        with contextlib.closing(client):
            return client.getresponse().read().decode()

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
        """Status and body of one request; a connection cut while sending is status 0."""
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        ) as client:
            kind = {"content-type": "application/json"}
            try:
                client.request("POST", path, body, {**kind, **headers})
                answer = client.getresponse()
                return answer.status, answer.read()
            except (BrokenPipeError, ConnectionResetError):
                return 0, b""

    def _timed(self, method: str, path: str) -> tuple[int, float]:
        started = time.perf_counter()
        client = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=PATIENCE, source_address=HONEST
        )
        body = json.dumps(REQUEST) if method == "POST" else None
        client.request(method, path, body, {"content-type": "application/json"})
        with contextlib.closing(client):
            return client.getresponse().status, time.perf_counter() - started

    @contextlib.contextmanager
    def observed(self) -> Iterator[Seen]:
        """What memory, probes and an honest client see meanwhile."""
        done = threading.Event()
        seen = Seen(self.base)

        def measure() -> None:
            while not done.wait(0.005):
                seen.most = max(seen.most, self.memory())

        def probe() -> None:
            slept = time.perf_counter()
            while not done.wait(0.02):
                seen.late = max(seen.late, time.perf_counter() - slept - 0.02)
                seen.probes.append(self._timed("GET", "/healthz")[1])
                slept = time.perf_counter()

        def ask() -> None:
            while not done.wait(0.05):
                try:
                    status, seconds = self._timed("POST", "/v1/systemone")
                except TimeoutError:
                    status, seconds = 0, PATIENCE
                seen.statuses.add(status)
                seen.honest.append(seconds)

        threads = [threading.Thread(target=each) for each in (measure, probe, ask)]
        for thread in threads:
            thread.start()
        try:
            yield seen
            time.sleep(0.1)
        finally:
            done.set()
            for thread in threads:
                thread.join()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Fails unless memory, probes and honest clients are as promised during the attack."""
        with self.observed() as seen:
            yield
        grown = (seen.most - self.base) / MEBIBYTE
        honest = len(seen.honest)
        print(f"grown {grown:.0f} MiB, longest probe {max(seen.probes):.3f} s, honest {honest}")
        assert grown <= MOST_GROWTH / MEBIBYTE
        # What a busy machine adds, to this process too, is not the server's.
        assert max(seen.probes) <= LONGEST_PROBE + 3 * max(seen.late, self.calm)
        assert seen.statuses == {200}


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    log = tmp_path_factory.mktemp("attacks") / "log.sqlite"
    command = [sys.executable, "-m", "tests.attacks.server", str(log)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    port = 0
    for line in process.stderr:
        event = json.loads(line)
        if event["message"] == "listening":
            port = int(event["address"].rpartition(":")[2])
        if event["message"] == "ready":
            break
    drain = threading.Thread(target=process.stderr.read, daemon=True)
    drain.start()
    try:
        yield Target(process, port)
    finally:
        process.terminate()
        assert process.wait(20) == 0
