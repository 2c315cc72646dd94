"""Runs the teaching process, one at a time, and passes its lines on."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from thisthat.serve.problems import Problem
from thisthat.serve.teaching.worker import LABELS, Order

WORKER = (sys.executable, "-m", "thisthat.serve.teaching.worker")
_TAIL = 2_000


class Teacher:
    """Teaches in processes beside the server. ``close`` ends the one that runs.

    ``opening`` is what ``open_decider`` takes beside a checkpoint and λ. Taught checkpoints lie in
    a folder that is removed in the end.
    """

    def __init__(self, opening: Mapping[str, Any], command: Sequence[str] = WORKER) -> None:
        self.opening = opening
        self._command = command
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._running: subprocess.Popen[bytes] | None = None
        self._busy = False
        self._made = 0

    @property
    def folder(self) -> Path:
        """Where taught checkpoints lie."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="thisthat-taught-")
        return Path(self._folder.name)

    def free_name(self, taken: Sequence[str]) -> str:
        """A name that neither is taken nor was given before."""
        while True:
            self._made += 1
            name = f"taught-{self._made}"
            if name not in taken and not (self.folder / name).exists():
                return name

    async def lines(
        self, order: Order, seconds: float, rows: Sequence[Any] = ()
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The lines of a process that carries the order out, with labelled ``rows`` for it.

        Raises Problem: 409 while another one runs, 504 past ``seconds``, 500 where it ends early.
        """
        if self._busy:
            raise Problem(409, "teaching", "another teach is running here; try again after it")
        self._busy = True
        until = time.monotonic() + seconds
        # Nothing is awaited at its end: the task of a client that left is cancelled again.
        with ExitStack() as end:
            end.callback(setattr, self, "_busy", False)
            place = Path(end.enter_context(tempfile.TemporaryDirectory(prefix="thisthat-teach-")))
            end.callback(self._stop)
            await asyncio.to_thread(_write_rows, place / LABELS, rows)
            with (place / "errors").open("wb") as errors:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=place,
                )
            self._running = process
            assert process.stdin is not None
            assert process.stdout is not None
            await asyncio.to_thread(_give, process.stdin, order)
            while line := await _next_line(process.stdout, until, seconds):
                yield json.loads(line)
            if await asyncio.to_thread(process.wait) not in (0, 1):
                said = (place / "errors").read_text("utf-8", "replace")[-_TAIL:].strip()
                why = said.rpartition("\n")[2] or f"exit code {process.returncode}"
                raise Problem(500, "teaching_failed", f"the teaching process ended: {why}")

    def keep(self, names: Collection[str]) -> None:
        """Remove what was taught under other names; an empty folder keeps those names taken."""
        for folder in self.folder.iterdir():
            if folder.is_dir() and folder.name not in names:
                shutil.rmtree(folder, ignore_errors=True)  # in use on Windows: gone with ``close``
                folder.mkdir(exist_ok=True)

    def close(self) -> None:
        """End what runs and remove what was taught."""
        self._stop()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _stop(self) -> None:
        process, self._running = self._running, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _write_rows(path: Path, rows: Sequence[Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def _give(stdin: IO[bytes], order: Order) -> None:
    # A process that is gone already says why in its own way.
    with suppress(BrokenPipeError):
        stdin.write(json.dumps(asdict(order)).encode())
        stdin.close()


async def _next_line(stdout: IO[bytes], until: float, seconds: float) -> bytes:
    """The next line, empty at the end. Raises Problem (504) when none comes in time."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(stdout.readline), until - time.monotonic())
    except asyncio.TimeoutError:
        message = f"took longer than {seconds:g} seconds; send fewer rows"
        raise Problem(504, "teaching_late", message) from None
