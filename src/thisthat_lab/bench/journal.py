"""The answers of one system, one line each, as they come in: what makes a run resumable.

Answers are kept by question, so measurements that share questions ask them once. While a run is
going on the file ends in ``.partial.jsonl``; a finished run keeps it as ``.jsonl`` for audit, and
the next run asks anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from thisthat.checkpoint.locks import locked
from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat_lab.bench.systems.replies import Reply


def key_of(item: Item) -> str:
    """What a question is known by: all a system is shown, its options in their order."""
    shown = f"{item.fingerprint}\n{item.kind}\n{item.options!r}"
    return hashlib.sha256(shown.encode()).hexdigest()[:32]


def set_hash(items: Sequence[Item]) -> str:
    """sha256 over the questions and their answers, in order."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(f"{key_of(item)} {item.answer}\n".encode())
    return digest.hexdigest()


class Journal:
    """Replies by question, each on disk before it counts.

    A last line cut short by a crash, and anything else unreadable, is left out and asked again;
    ``damaged`` says how many such lines there were. One run at a time writes the answers of a
    system into a folder; a second one is refused.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        text = json.dumps(identity, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        self._partial = folder / f"answers-{name}.partial.jsonl"
        self._finished = folder / f"answers-{name}.jsonl"
        self._replies: dict[str, Reply] = {}
        self.damaged = 0
        self._lock = ExitStack()
        try:
            self._lock.enter_context(locked(folder / f".answers-{name}.lock", patience=0))
        except TimeoutError as error:
            told = f"{folder}: another run writes answers of the same system here; name another"
            raise InvalidInputError("out", told) from error
        self._read()
        self._file = self._partial.open("ab")
        if self.damaged:
            self._file.write(b"\n")

    def _read(self) -> None:
        if not self._partial.exists():
            return
        for line in self._partial.read_bytes().split(b"\n"):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                self._replies[row["q"]] = Reply.from_row(row)
            except (ValueError, KeyError, TypeError, IndexError):
                self.damaged += 1

    def find(self, item: Item) -> Reply | None:
        """The reply to that question, if there is one that fits its options."""
        reply = self._replies.get(key_of(item))
        options = len(item.options)
        if reply is None or reply.choice >= options:
            return None
        return reply if len(reply.probabilities or range(options)) == options else None

    def add(self, item: Item, reply: Reply) -> None:
        """Keep one reply."""
        key = key_of(item)
        line = json.dumps({"q": key, **reply.as_row()}, allow_nan=False)
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        self._replies[key] = reply

    def close(self) -> None:
        """Stop writing; what was kept is read again by the next run."""
        self._file.close()
        self._lock.close()

    def finish(self) -> None:
        """The run is complete: keep the answers under their final name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._partial.replace(self._finished)
        self._lock.close()
