"""Every exchange with an endpoint, one JSON line each: an audit trail, and a network to replay.

Keys and authorisation headers are never written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and how it ended.

    ``status`` is None when no response came; ``text`` then says what happened. ``seconds`` is the
    time of the last try at the client, ``tries`` how many there were, ``waited`` the seconds spent
    between tries.
    """

    key: str
    item: str
    path: str
    request: Mapping[str, Any]
    status: int | None
    text: str
    seconds: float
    tries: int
    waited: float


def key_of(path: str, body: Mapping[str, Any]) -> str:
    """What a request is looked up by: its path and body."""
    text = path + "\n" + json.dumps(body, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Recorder:
    """Appends exchanges to a file, each flushed before its answer counts."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._cut = path.exists() and not path.read_bytes().endswith(b"\n")
        self._file = path.open("ab")
        if self._cut:
            self._file.write(b"\n")

    def add(self, exchange: Exchange) -> None:
        """Keep one exchange."""
        self._file.write(json.dumps(asdict(exchange), ensure_ascii=False).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Stop recording."""
        self._file.close()


class Recording:
    """A recording read back. ``damaged`` counts lines that are no exchange, such as a cut last
    one; when a request was recorded twice the later exchange counts."""

    def __init__(self, path: Path) -> None:
        self._exchanges: dict[str, Exchange] = {}
        self.damaged = 0
        with path.open("rb") as file:
            for line in file:
                if not line.strip():
                    continue
                try:
                    exchange = Exchange(**json.loads(line))
                    self._exchanges[exchange.key] = exchange
                except (ValueError, TypeError):
                    self.damaged += 1

    def __len__(self) -> int:
        return len(self._exchanges)

    def find(self, key: str) -> Exchange | None:
        """The exchange of that request, or None."""
        return self._exchanges.get(key)
