"""Programs that a block starts and that go on: servers, and tools for agents."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

SECONDS = 600
"""So long a program may take for one thing before it is killed, which fails its block."""


@contextmanager
def _program(words: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A command of thisthat, killed in the end if it still runs."""
    with subprocess.Popen(
        [sys.executable, "-m", "thisthat", *words],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


@contextmanager
def _in_time(program: subprocess.Popen[str]) -> Iterator[None]:
    """Reading from a program that hangs would never end."""
    limit = threading.Timer(SECONDS, program.kill)
    limit.start()
    try:
        yield
    finally:
        limit.cancel()


@dataclass(frozen=True)
class Server:
    """A server that is ready, at an address."""

    address: str

    @property
    def port(self) -> str:
        """Which the system chose."""
        return self.address.rpartition(":")[2]

    def models(self, key: str) -> str:
        """What it answers to."""
        asked = Request(f"{self.address}/v1/models", headers={"Authorization": f"Bearer {key}"})
        with urlopen(asked, timeout=60) as answered:
            return str(answered.read().decode())


@contextmanager
def serving(words: Sequence[str], folder: Path) -> Iterator[Server]:
    """``thisthat serve …`` on a free port, from when it is ready until SIGTERM ends it with 0."""
    with _program([*words, "--port", "0"], folder) as program:
        assert program.stderr is not None
        address, said = "", []
        with _in_time(program):
            for line in program.stderr:
                said.append(line)
                told = json.loads(line) if line.startswith("{") else {}
                address = told.get("address", address)
                if told.get("message") == "ready":
                    break
            else:
                raise AssertionError("".join(said))
        yield Server(address)
        program.send_signal(signal.SIGTERM)
        _, rest = program.communicate(timeout=SECONDS)
        assert program.returncode == 0, rest


def tools_of(words: Sequence[str], folder: Path) -> str:
    """The tools that ``thisthat mcp …`` offers, and what the first one answers to an agent.

    It ends with 0 once the agent has left.
    """
    client = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    with _program(words, folder) as program, _in_time(program):
        assert program.stdin is not None
        assert program.stdout is not None

        def send(method: str, **more: Any) -> None:
            message = {"jsonrpc": "2.0", "method": method, **more}
            print(json.dumps(message), file=program.stdin, flush=True)

        send("initialize", id=1, params=hello)
        program.stdout.readline()
        send("notifications/initialized")
        send("tools/list", id=2, params={})
        tools = program.stdout.readline()
        name = json.loads(tools)["result"]["tools"][0]["name"]
        send("tools/call", id=3, params={"name": name, "arguments": {"state": "rm -r build"}})
        answer = program.stdout.readline()
        _, errors = program.communicate()
        assert program.returncode == 0, errors
    return tools + json.dumps(json.loads(answer)["result"]["structuredContent"])
