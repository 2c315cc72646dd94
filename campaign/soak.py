"""64 clients at once: questions, streams, slow readers, clients that leave, reloads, changes of λ.

Answers are compared with the library's, bit for bit; acknowledged ones must be in the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import thisthat
from campaign.report import Finding, at_most, none_of, noted
from campaign.served import QUESTION, Served, serving, verified

CLIENTS = 64
SECONDS = {"short": 60.0, "full": 3600.0}
LAMBDAS = (1.0, 0.5, 0.0)
STATES = [
    f"{what} {when} {wish}"
    for what in ("The parcel never came.", "The lamp is broken.", "I was charged twice.")
    for when in ("I ordered it on Monday.", "That was three weeks ago.")
    for wish in ("I want my money back.", "Send another one.", "When will you answer?", "Thanks.")
]
ADMIN = "soak-admin-key"


@dataclass
class Tally:
    expected: dict[float, dict[str, float]]
    statuses: Counter[int] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    acknowledged: list[str] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)
    serial: int = 0


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


def request(path: str, body: Any, **headers: str) -> bytes:
    content = json.dumps(body).encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(content) + content


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    return int(head[0].split()[1]), headers, body


class Client:
    """One of the 64: what it does next is drawn, and checked."""

    def __init__(self, number: int, port: int, tally: Tally) -> None:
        self.rng = random.Random(number)
        self.port = port
        self.tally = tally

    async def live(self, until: float) -> None:
        self.until = until
        deeds = [self.ask, self.stream, self.leave, self.half, self.slow]
        while time.monotonic() < until:
            deed = self.rng.choices(deeds, [80, 8, 6, 3, 3])[0]
            try:
                await deed()
            except Exception as error:  # whatever it is, an answer is missing
                self.tally.counts["lost"] += 1
                self.tally.counts[f"lost: {type(error).__name__} in {deed.__name__}"] += 1

    async def ask(self) -> None:
        """Some questions over one connection."""
        async with connected(self.port) as (reader, writer):
            for _ in range(self.rng.randint(1, 20)):
                if time.monotonic() > self.until:
                    return
                self.tally.serial += 1
                name, state = f"q{self.tally.serial}", self.rng.choice(STATES)
                started = time.monotonic()
                writer.write(
                    request("/v1/systemone", {"state": state, "questions": {name: QUESTION}})
                )
                status, headers, body = await answer(reader)
                self.tally.statuses[status] += 1
                if status == 200:
                    self.tally.milliseconds.append((time.monotonic() - started) * 1000)
                    self.tally.acknowledged.append(headers["x-request-id"])
                    found = json.loads(body)
                    self.check(
                        found["lambda"],
                        state,
                        {name: found["answers"].get(name, {}).get("noul")},
                        name,
                    )
                else:
                    await asyncio.sleep(min(float(headers.get("retry-after-ms", 100)) / 1000, 2))
                    if "connection" in headers:
                        return

    def check(self, lam: float, state: str, found: dict[str, Any], name: str) -> None:
        if list(found) != [name] or found[name] is None:
            self.tally.counts["swapped"] += 1
        elif found[name] != self.tally.expected[lam][state]:
            self.tally.counts["different"] += 1

    async def stream(self, pause: float = 0.0) -> None:
        states = [self.rng.choice(STATES) for _ in range(self.rng.randint(2, 30))]
        async with connected(self.port) as (reader, writer):
            writer.write(request("/v1/decide", {"states": states, "questions": {"q": QUESTION}}))
            if pause:
                await asyncio.sleep(pause)
            status, headers, body = await answer(reader)
        self.tally.statuses[status] += 1
        if status != 200:
            await asyncio.sleep(min(float(headers.get("retry-after-ms", 100)) / 1000, 2))
            return
        lines = [json.loads(line) for line in body.splitlines()]
        if [line["index"] for line in lines] != list(range(len(states))):
            self.tally.counts["lost"] += 1
            return
        for state, line in zip(states, lines, strict=True):
            if "error" in line:
                self.tally.counts[f"line: {line['error']['code']}"] += 1
            else:
                self.check(
                    line["lambda"], state, {"q": line["answers"]["q"]["probabilities"]["yes"]}, "q"
                )
        self.tally.counts["lines"] += len(lines)

    async def slow(self) -> None:
        await self.stream(pause=self.rng.uniform(1, 8))

    async def leave(self) -> None:
        """Close before the answer can be there."""
        path, body = self.rng.choice(
            [
                ("/v1/systemone", {"state": STATES[0], "questions": {"q": QUESTION}}),
                ("/v1/decide", {"states": STATES * 4, "questions": {"q": QUESTION}}),
            ]
        )
        async with connected(self.port) as (_, writer):
            writer.write(request(path, body))
            await asyncio.sleep(self.rng.uniform(0, 0.5))
        self.tally.counts["left"] += 1

    async def half(self) -> None:
        whole = request("/v1/systemone", {"state": STATES[0], "questions": {"q": QUESTION}})
        async with connected(self.port) as (_, writer):
            writer.write(whole[: self.rng.randrange(1, len(whole))])
            await asyncio.sleep(self.rng.uniform(0, 0.2))
        self.tally.counts["left"] += 1


async def reload(port: int, tally: Tally, every: float, until: float) -> None:
    turn = 0
    while time.monotonic() + every < until:
        await asyncio.sleep(every)
        turn += 1
        async with connected(port) as (reader, writer):
            body = {"lambda": LAMBDAS[turn % len(LAMBDAS)]}
            writer.write(request("/admin/reload", body, authorization=f"Bearer {ADMIN}"))
            status, _, _ = await answer(reader)
        tally.counts["reloads" if status == 200 else f"reload: {status}"] += 1


async def watch(served: Served, tally: Tally, until: float) -> None:
    while time.monotonic() < until:
        tally.memory.append((served.memory(), served.memory("RssAnon")))
        await asyncio.sleep(2)


async def soak(served: Served, tally: Tally, seconds: float) -> None:
    until = time.monotonic() + seconds
    clients = [Client(number, served.port, tally).live(until) for number in range(CLIENTS)]
    beside = [reload(served.port, tally, min(30, seconds / 8), until), watch(served, tally, until)]
    await asyncio.gather(*clients, *beside)


def expected() -> dict[float, dict[str, float]]:
    found = {}
    for lam in LAMBDAS:
        decider = thisthat.open(lam=lam, threads=1)
        found[lam] = {state: decider.ask(state, QUESTION).yes for state in STATES}
        decider.engine.close()
    return found


def run(size: str) -> list[Finding]:
    tally = Tally(expected())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "admin").write_text(ADMIN)
        log = folder / "log.sqlite"
        options = ("--decision-log", log, "--admin-keys", folder / "admin")
        with serving(*options) as served:
            asyncio.run(soak(served, tally, SECONDS[size]))
            time.sleep(2)
            places = served.metric("thisthat_requests_in_flight")
            served.process.terminate()
            clean = served.process.wait(90) == 0
        with sqlite3.connect(log) as base:
            logged = {row[0] for row in base.execute("SELECT request FROM decisions")}
        whole = verified(log)
    missing = sum(each not in logged for each in tally.acknowledged)
    return findings(tally, missing, whole and clean, int(places))


def findings(tally: Tally, missing: int, clean: bool, places: int) -> list[Finding]:
    other = {status: n for status, n in tally.statuses.items() if status not in (200, 503)}
    times = sorted(tally.milliseconds)
    fifth = max(1, len(tally.memory) // 5)
    rows = []
    for kind, name in enumerate(("memory", "memory without mapped weights")):
        held = [each[kind] for each in tally.memory]
        early, late = statistics.median(held[fifth : 2 * fifth]), statistics.median(held[-fifth:])
        rows.append(
            at_most(f"growth of {name}, second to last fifth", (late / early - 1) * 100, 2, "%", 2)
        )
    lost = [f"{name} ({n})" for name, n in tally.counts.items() if name.startswith("lost:")]
    return [
        noted("single requests answered", len(times)),
        noted("lines of streams answered", tally.counts["lines"]),
        noted("clients that left", tally.counts["left"]),
        noted("reloads, each to another λ", tally.counts["reloads"]),
        noted("reloads refused while requests waited (409)", tally.counts["reload: 409"]),
        noted("stated overload (503)", tally.statuses[503]),
        none_of("other statuses", sum(other.values())),
        none_of(f"lost {' '.join(lost)}".strip(), tally.counts["lost"]),
        none_of("swapped", tally.counts["swapped"]),
        none_of("different from the library", tally.counts["different"]),
        none_of("acknowledged, missing from the log", missing),
        none_of("places held 2 s after the last client left", places),
        Finding("log verify clean, exit 0", "yes" if clean else "no", "yes", clean),
        noted(
            "p50, p99 of 64 clients",
            f"{times[len(times) // 2]:,.0f}, {times[len(times) * 99 // 100]:,.0f} ms",
        ),
        *rows,
    ]
