"""From the verdict on a harmful canary to every server at its champion, with clients at work.

Two servers follow one registry. Clients ask them for new units and report what came of it: good for
the champion, bad for the candidate. The verdict is the event in the registry. From then on each
server is asked, at stated moments, for a unit that was the candidate's; a request counts by when it
was sent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count

from thisthat.errors import ThisThatError
from thisthat.loop.experiment import Experiment
from thisthat_lab.bench.loop_servers.world import (
    Client,
    Reply,
    World,
    WorldError,
    state,
    units,
    wait,
)
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.timing.served import serving_loop

SHARE = 0.5
SERVERS = 2
WORKERS = 2
COMPARED = 6
MOST_SECONDS = 1.0
MOMENTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5)
"""Seconds after the verdict."""


@dataclass
class _Seen:
    """What the clients of all servers were answered: when it was asked, where, by whom."""

    probed: list[tuple[float, int, tuple[str, str]]] = field(default_factory=list)
    others: list[tuple[float, int, tuple[str, str]]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    ends: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class _Round:
    """One rollback: seconds until all are back, requests of the candidate after the verdict."""

    seconds: float
    after: int
    outcomes: int
    requests: int
    lost: int
    unequal: int


def measure(
    world: World, options: SystemOptions, rounds: int, advance: Callable[[int], None]
) -> tuple[list[Line], list[Bar], dict[str, list[float]]]:
    """Roll back so many canaries on two servers."""
    with serving_loop(world.folder, options) as one, serving_loop(world.folder, options) as two:
        found = []
        for number in range(rounds):
            found.append(_rolled_back(world, [one.address, two.address], number))
            advance(1)
    slowest = max(each.seconds for each in found)
    after = sum(each.after for each in found)
    lost = sum(each.lost for each in found)
    unequal = sum(each.unequal for each in found)
    lines = [
        Line("seconds from verdict to every server at the champion, most", slowest, unit="s"),
        Line("requests sent after the verdict that a candidate answered", after, unit="number"),
        Line("requests during rollbacks", sum(each.requests for each in found), unit="number"),
        Line("of these, lost", lost, unit="number"),
        Line("answers of a champion that are another after it", unequal, unit="number"),
        Line("outcomes until the verdict, most", max(e.outcomes for e in found), unit="number"),
    ]
    bars = [
        Bar("verdict to every server at the champion", slowest, MOST_SECONDS, False, "s"),
        Bar("requests lost during rollbacks", float(lost), 0, False),
        Bar("answers that are another after a rollback", float(unequal), 0, False),
    ]
    return lines, bars, {"seconds": [each.seconds for each in found]}


def _rolled_back(world: World, addresses: Sequence[str], number: int) -> _Round:
    before = _answers(addresses)
    champion = {each.checkpoint for each in before}
    tried, seen = world.canary(SHARE), _Seen()
    unit = units(tried, SHARE)[1]
    for client in map(Client, addresses):
        wait(lambda each=client: each.ask(state(0), unit).checkpoint not in champion, "canary")  # type: ignore[misc]
    threads = [
        threading.Thread(
            target=_work, args=(seen, server, address, champion, f"{number} {server} {worker}")
        )
        for server, address in enumerate(addresses)
        for worker in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    try:
        wait(lambda: _verdict(world, tried) is not None, "verdict")
        at, outcomes = _verdict(world, tried) or (0.0, 0)
        probes = [
            threading.Thread(target=_probe, args=(seen, server, address, unit, at + moment))
            for moment in MOMENTS
            for server, address in enumerate(addresses)
        ]
        for thread in probes:
            thread.start()
        for thread in probes:
            thread.join()
    finally:
        seen.ends.set()
        for thread in threads:
            thread.join()
    after = _answers(addresses)
    return _Round(
        seconds=max(_back(seen, server, champion, at) for server in range(len(addresses))),
        after=sum(
            sent > at and who not in champion for sent, _, who in (*seen.probed, *seen.others)
        ),
        outcomes=outcomes,
        requests=len(seen.probed) + len(seen.others) + len(seen.lost),
        lost=len(seen.lost),
        unequal=sum(
            one.probability != other.probability or one.checkpoint != other.checkpoint
            for one, other in zip(before, after, strict=True)
        ),
    )


def _answers(addresses: Sequence[str]) -> list[Reply]:
    return [
        client.ask(state(number)) for client in map(Client, addresses) for number in range(COMPARED)
    ]


def _back(seen: _Seen, server: int, champion: set[tuple[str, str]], verdict: float) -> float:
    """Seconds until a server's first request that the champion answers, like all after it."""
    asked = sorted(each for each in seen.probed if each[1] == server)
    last = max((sent for sent, _, who in asked if who not in champion), default=verdict)
    first = next((sent for sent, _, who in asked if sent > max(last, verdict)), None)
    if first is None:
        raise WorldError("a server never went back to its champion")
    return first - verdict


def _verdict(world: World, tried: Experiment) -> tuple[float, int] | None:
    for event in reversed(world.registry.history()):
        if event.what == "ended" and event.facts["experiment"] == tried.name:
            return event.time, int(event.facts.get("outcomes", 0))
    return None


def _probe(seen: _Seen, server: int, address: str, unit: str, moment: float) -> None:
    """Ask at that moment for a unit that was the candidate's."""
    time.sleep(max(0.0, moment - time.time()))
    sent = time.time()
    try:
        seen.probed.append((sent, server, Client(address).ask(state(server), unit).checkpoint))
    except (OSError, HTTPException, ThisThatError) as error:
        seen.lost.append(f"{type(error).__name__}: {error}")


def _work(
    seen: _Seen, server: int, address: str, champion: set[tuple[str, str]], name: str
) -> None:
    client = Client(address)
    for number in count():
        if seen.ends.is_set():
            return
        sent = time.time()
        try:
            reply = client.ask(state(number), f"{name} {number}")
            seen.others.append((sent, server, reply.checkpoint))
            good = float(reply.checkpoint in champion)
            client.tell({"request": reply.request, "question": "lost", "reward": good})
        except (OSError, HTTPException, ThisThatError) as error:
            seen.lost.append(f"{type(error).__name__}: {error}")
