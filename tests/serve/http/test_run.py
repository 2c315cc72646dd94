"""What a server says while it starts: it announces that it listens when it can answer."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.support import log_lines, on_loopback, service_for, until
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.serve.http import run


def test_it_listens_once_it_can_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(run, "log", lambda message, **fields: said.append((message, fields)))
    service = service_for(load=False)
    with on_loopback(service) as address:
        until(lambda: len(said) == 3)
        assert httpx.get(f"{address}/readyz").status_code == 200
    assert [message for message, _ in said] == ["loading", "listening", "ready"]
    assert said[1][1] == {"address": address}


def test_what_stands_beside_the_checkpoint_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    said: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(run, "log", lambda message, **fields: said.update({message: fields}))
    with on_loopback(service_for(load=False, also_checkpoints=("old=a",))):
        until(lambda: "ready" in said)
    assert list(said["ready"]["also"]) == ["old"]
    assert {"checkpoint", "lambda"} <= set(said["ready"]["also"]["old"])


def test_a_checkpoint_that_does_not_open_is_all_that_is_heard_of() -> None:
    with log_lines() as lines, pytest.raises(CheckpointError, match="the tensor x is missing"):
        run.run_server(service_for(load=False, checkpoint="broken"))
    assert "listening" not in [line["message"] for line in lines]


@pytest.mark.parametrize("words", [["nope"], ["--checkpoint", "nope"]])
def test_the_command_says_so_too(tmp_path: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "thisthat", "serve", *words, "--port", "0"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert ran.returncode == 2
    assert "listening" not in ran.stderr
    assert ran.stderr.strip().splitlines()[-1].startswith("error: ")
    assert "nope" in ran.stderr.strip().splitlines()[-1]


def test_a_port_in_use_is_refused_by_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = pytest.raises(InvalidInputError, match=f"--port: cannot .*port {port}")
        with log_lines() as lines, refused:
            run.run_server(service_for(load=False, port=port))
    (line,) = lines
    assert "address already in use" in line["message"]
