"""The answers of a run, one line each, as they come in: what makes an interrupted run resumable.

A journal belongs to one system and one ordered set of questions; its name carries a key of both.
While a run is going on the file ends in ``.partial.jsonl``; a finished run keeps it as
``.answers.jsonl``, so that asking again asks again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thisthat.bench.replies import Reply
from thisthat.suites.item import Item


def set_hash(items: Sequence[Item]) -> str:
    """sha256 over the questions' fingerprints and answers, in order."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(f"{item.fingerprint} {item.answer}\n".encode())
    return digest.hexdigest()


class Journal:
    """Replies by question number, each on disk before it counts.

    A last line cut short by a crash, and anything else unreadable, is left out and asked again;
    ``damaged`` says how many such lines there were.
    """

    def __init__(self, folder: Path, name: str, identity: dict[str, Any], items: Sequence[Item]):
        key = hashlib.sha256(
            (json.dumps(identity, sort_keys=True, default=str) + set_hash(items)).encode()
        ).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        self._partial = folder / f"{name}.{key}.partial.jsonl"
        self._finished = folder / f"{name}.answers.jsonl"
        self.replies: dict[int, Reply] = {}
        self.damaged = 0
        self._read(items)
        self._file = self._partial.open("ab")
        if self.damaged:
            self._file.write(b"\n")

    def _read(self, items: Sequence[Item]) -> None:
        if not self._partial.exists():
            return
        for line in self._partial.read_bytes().split(b"\n"):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                number, reply = int(row["i"]), Reply.from_row(row)
                options = len(items[number].options)
            except (ValueError, KeyError, TypeError, IndexError):
                self.damaged += 1
                continue
            if reply.choice < options and len(reply.probabilities or range(options)) == options:
                self.replies[number] = reply
            else:
                self.damaged += 1

    def add(self, number: int, reply: Reply) -> None:
        """Keep one reply."""
        line = json.dumps({"i": number, **reply.as_row()}, allow_nan=False)
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        self.replies[number] = reply

    def close(self) -> None:
        """Stop writing; what was kept is read again by the next run."""
        self._file.close()

    def finish(self) -> None:
        """The run is complete: keep the answers under their final name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._partial.replace(self._finished)
