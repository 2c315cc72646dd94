"""Outcomes posted twice and out of order by many clients, while the server is killed in between."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from thisthat.audit.store import SQLiteStore
from thisthat.audit.verify import verify
from thisthat.loop.joined import JoinedView
from thisthat.loop.outcomes import received
from thisthat_lab.bench.loop_servers.world import Client, World, WorldError, state
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.timing.served import LOG, serving_loop

CLIENTS = 32
KILLS = 3
_PAUSE_SECONDS = 0.05


@dataclass
class _Posting:
    """What is posted, by whom, and how much of it was acknowledged."""

    port: int
    ends: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    acknowledged: int = 0
    refused: list[str] = field(default_factory=list)


def measure(
    world: World, options: SystemOptions, each: int, advance: Callable[[int], None]
) -> tuple[list[Line], list[Bar], dict[str, Any]]:
    """Let every client post ``each`` outcomes twice, killing the server three times."""
    port = _free_port()
    rewards = {}
    with serving_loop(world.folder, options, port) as server:
        client = Client(server.address)
        for number in range(CLIENTS * each):
            rewards[client.ask(state(number)).request] = (number % 5) / 4
        time.sleep(1)  # a kill may take the log lines of the last moment
        client.close()
    batches = [
        [{"request": r, "question": "lost", "reward": value, "key": f"o-{r}"} for r, value in some]
        for some in _dealt(list(rewards.items()), CLIENTS)
    ]
    posting = _Posting(port)
    threads = [
        threading.Thread(target=_post, args=(posting, some, number))
        for number, some in enumerate(batches)
    ]
    total = 2 * len(rewards)
    kills = 0
    for part in range(KILLS + 1):
        with serving_loop(world.folder, options, port) as server:
            if part == 0:
                for thread in threads:
                    thread.start()
            goal = total * (part + 1) // (KILLS + 1)
            while posting.acknowledged < goal and any(t.is_alive() for t in threads):
                time.sleep(0.01)
            if part < KILLS and any(thread.is_alive() for thread in threads):
                server.kill()
                kills += 1
        advance(1)
    posting.ends.set()
    for thread in threads:
        thread.join()
    return _found(world, rewards, posting, kills)


def _found(
    world: World, rewards: dict[str, float], posting: _Posting, kills: int
) -> tuple[list[Line], list[Bar], dict[str, Any]]:
    store = SQLiteStore(world.folder / LOG)
    stored = [one for one in received(store) if (one.outcome.key or "").startswith("o-")]
    by_request = {str(one.outcome.request): one.outcome.reward for one in stored}
    doubled = len(stored) - len(by_request)
    missing = sum(request not in by_request for request in rewards)
    other = sum(by_request.get(request, value) != value for request, value in rewards.items())
    view = JoinedView(store, 0.0, time.time() + 60)
    joined = {
        str(each.entry.request): each.reward
        for each in view.decisions()
        if each.entry.request in rewards and each.reward is not None
    }
    difference = abs(sum(joined.values()) - sum(rewards.values()))
    whole = verify(store).whole
    wrong = missing + doubled + other + len(posting.refused)
    lines = [
        Line("outcomes posted twice by 32 clients", float(len(rewards)), unit="number"),
        Line("kills of the server meanwhile", float(kills), unit="number"),
        Line("outcomes lost, counted twice or changed", float(wrong), unit="number"),
        Line("sum of rewards posted less sum of rewards known", difference, unit="number"),
    ]
    bars = [
        Bar("outcomes lost, counted twice or changed", float(wrong), 0, False),
        Bar("difference of the sums of rewards", difference, 1e-9, False),
        Bar("logs whose chain does not fit afterwards", float(not whole), 0, False),
    ]
    return lines, bars, {"refused": posting.refused[:5]}


def _dealt(rows: Sequence[Any], hands: int) -> list[list[Any]]:
    return [list(rows[hand::hands]) for hand in range(hands)]


def _post(posting: _Posting, outcomes: list[dict[str, Any]], number: int) -> None:
    """Post all outcomes twice in an order of one's own; again, until it is acknowledged."""
    drawn = random.Random(number)
    both = [*outcomes, *outcomes]
    drawn.shuffle(both)
    client = Client(f"http://127.0.0.1:{posting.port}")
    for outcome in both:
        while not posting.ends.is_set():
            try:
                client.tell(outcome)
                with posting.lock:
                    posting.acknowledged += 1
                break
            except (OSError, HTTPException):
                time.sleep(_PAUSE_SECONDS)  # killed; it comes back
            except WorldError as error:
                if "503" in str(error):
                    time.sleep(_PAUSE_SECONDS)
                    continue
                posting.refused.append(str(error))
                break
    client.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
