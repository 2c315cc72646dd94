"""A real memory limit: a control group that kills the server at what docs promise it needs.

The server holds its checkpoint, its prefix cache and 256 MiB of requests in flight; large bodies
of many clients press on it. Needs root and cgroups (version 1 or 2).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.attacks import test_bodies

from campaign.disk import yes
from campaign.report import Finding, none_of, noted
from campaign.served import Served, serving

MEBIBYTE = 1 << 20
BEYOND = 256 + 128 + 64
"""Requests in flight, kept prefixes, and what Python and the allocator keep for themselves."""
ROUNDS = {"short": 1, "full": 4}


@contextlib.contextmanager
def group() -> Iterator[tuple[Path, str] | None]:
    """A control group and the name of its limit; None where there is none to be had."""
    for root, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        place = root / f"thisthat-campaign-{os.getpid()}"
        try:
            place.mkdir()
        except OSError:
            continue
        try:
            if (place / limit).exists():
                yield place, limit
                return
        finally:
            with contextlib.suppress(OSError):
                place.rmdir()
    yield None


def press(served: Served, seen: Counter[int], rounds: int) -> None:
    bodies = [make() for make in test_bodies.BODIES.values()]

    def send(number: int) -> None:
        for body, encoding in bodies[number % 4 :: 4] * rounds:
            headers = {"content-encoding": encoding} if encoding else {}
            try:
                seen[served.ask(body, timeout=300, **headers)[0]] += 1
            except OSError:
                seen[0] += 1

    threads = [threading.Thread(target=send, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(size: str) -> list[Finding]:
    with group() as found:
        if found is None:
            return [noted("not run", "no control group of memory can be made here")]
        place, limit = found
        enter = ["sh", "-c", f'echo $$ > {place}/cgroup.procs && exec "$@"', "sh"]
        with serving() as free:
            free.ask()
            needed = free.memory("RssAnon") // MEBIBYTE
        (place / limit).write_text(str((needed + BEYOND) * MEBIBYTE))
        seen: Counter[int] = Counter()
        with serving(before=enter) as served:
            served.ask()
            press(served, seen, ROUNDS[size])
            alive = served.process.poll() is None
            answers = alive and served.ask()[0] == 200
            most = served.memory("VmHWM") // MEBIBYTE if alive else 0
        (place / limit).write_text(str(40 * MEBIBYTE))
        small = subprocess.run(
            [*enter, "python3", "-c", "x = bytearray(200 << 20)"], check=False, capture_output=True
        )
        statuses = ", ".join(f"{n} × {status}" for status, n in sorted(seen.items()))
        return [
            noted("limit: memory of its own at rest + 448 MiB", f"{needed + BEYOND:,} MiB"),
            noted("large bodies of 8 clients at once", statuses),
            yes("not killed, and answers afterwards", answers),
            noted("most memory, mapped weights counted", f"{most:,} MiB"),
            none_of(
                "the limit is not real (a larger program survives)", int(small.returncode == 0)
            ),
        ]
