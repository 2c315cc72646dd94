"""The head of an answer leaves with its body, and nothing that was written is kept back."""

import asyncio
from typing import Any

from tests.serve.support import run
from thisthat.serve.http.joined_writes import JoinedWrites


class Transport:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.told


def written(*steps: Any) -> list[bytes | str]:
    """What the transport was told after writes, closes, losses and turns of the loop (None)."""

    async def work() -> list[bytes | str]:
        transport = Transport()
        joined = JoinedWrites(transport, asyncio.get_running_loop())  # type: ignore[arg-type]
        for step in steps:
            if step is None:
                await asyncio.sleep(0)
            elif step == "lost":
                transport.close()
            elif step == "close":
                joined.close()
                assert joined.is_closing()
            else:
                joined.write(step)
        return list(transport.told)

    return run(work())


def test_two_writes_in_a_row_are_one() -> None:
    assert written(b"head", b"body") == [b"headbody"]


def test_a_write_alone_leaves_when_the_loop_comes_round() -> None:
    assert written(b"head") == []
    assert written(b"head", None) == [b"head"]


def test_order_is_kept() -> None:
    assert written(b"a", b"b", b"c", b"", None, b"d", None, None) == [b"ab", b"c", b"d"]


def test_closing_sends_what_is_held_first() -> None:
    assert written(b"head", "close", None) == [b"head", "closed"]


def test_nothing_is_sent_once_the_connection_is_lost() -> None:
    assert written(b"head", "lost", None) == ["closed"]
