"""A full and a read-only disk: under the decision log, the store of runtime forms, and a batch.

File systems of a few MiB in memory stand in; mounting them needs root. Decisions go on without the
log, and the log goes on once there is room.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from campaign.report import Finding, none_of, noted
from campaign.served import Served, serving, verified

ATTACKED = (sys.executable, "-m", "tests.attacks.server")


@contextlib.contextmanager
def small_disk(size: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", name], check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "--lazy", name], check=True)


def fill(folder: Path) -> Path:
    ballast = folder / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


def asked(served: Served, times: int) -> list[int]:
    return [
        served.ask({"state": f"state {n}", "questions": {"q": "Is it?"}})[0] for n in range(times)
    ]


def waited(condition: Callable[[], bool], seconds: float = 30) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.2)
    return condition()


def yes(what: str, found: bool) -> Finding:
    return Finding(what, "yes" if found else "no", "yes", found)


def log_on_full_disk(sync: bool) -> list[Finding]:
    how = "full disk, --log-sync" if sync else "full disk"
    with small_disk("4m") as disk:
        log = disk / "log.sqlite"
        command = [*ATTACKED, str(log), *(["sync"] if sync else [])]
        with serving(command=command) as served:
            before = asked(served, 20)
            ballast = fill(disk)
            during = asked(served, 40 if not sync else 3)
            failing = waited(lambda: served.metric("thisthat_decision_log_failures_total") > 0)
            warned = any("decision log" in event.get("message", "") for event in served.events())
            ballast.unlink()
            recovered = waited(lambda: asked(served, 1) == [200])
            after = asked(served, 20)
            written = waited(lambda: served.metric("thisthat_decision_log_waiting") == 0)
        whole = verified(log)
    refused = [status for status in [*before, *after, *([] if sync else during)] if status != 200]
    found = [none_of(f"{how}: requests not answered", len(refused))]
    if sync:
        found.append(yes(f"{how}: 503 not_recorded while it is full", set(during) == {503}))
    return [
        *found,
        yes(f"{how}: failure counted and warned of", failing and warned),
        yes(
            f"{how}: written again once there is room, log verify clean",
            recovered and written and whole,
        ),
    ]


def log_on_read_only_disk() -> list[Finding]:
    with small_disk("8m") as disk:
        log = disk / "log.sqlite"
        with serving(command=[*ATTACKED, str(log)]) as served:
            statuses = asked(served, 10)
            waited(lambda: served.metric("thisthat_decision_log_waiting") == 0)
            remount = ["mount", "-o", "remount,ro", str(disk)]
            # SQLite's open files keep a file system writable; a server starts on one that is not.
            stuck = subprocess.run(remount, capture_output=True, check=False).returncode != 0
        subprocess.run(remount, check=True)
        with serving(command=[*ATTACKED, str(log)]) as served:
            statuses += asked(served, 10)
            failing = waited(lambda: served.metric("thisthat_decision_log_failures_total") > 0)
        whole = verified(log)
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    return [
        noted("read-only disk: remounting under an open log", "refused" if stuck else "done"),
        none_of("read-only disk: requests not answered", sum(each != 200 for each in statuses)),
        yes("read-only disk: failure counted, the log on it verifies", failing and whole),
    ]


BUILD = """
import sys
from pathlib import Path
from campaign.kills import build_form
from thisthat.engine.runtime_form import open_form
from thisthat.errors import ThisThatError
try:
    open_form({"form": "campaign"}, build_form, Path(sys.argv[1]))
except (OSError, ThisThatError) as error:
    sys.exit(f"refused: {error}")
"""
BATCH = """
import sys
from pathlib import Path
from tests.scale.support import stub_batch
from thisthat.errors import ThisThatError
try:
    folder = Path(sys.argv[1]) / "out"
    stub_batch(Path(sys.argv[2]), folder, part_rows=50, format="jsonl").run()
except (OSError, ThisThatError) as error:
    sys.exit(f"refused: {error}")
"""


def started(program: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def full_then_free(what: str, program: str, *words: object) -> list[Finding]:
    """What a program says on a full disk, what it leaves there, and whether it works afterwards."""
    with small_disk("40m") as disk:
        ballast = fill(disk)
        with ballast.open("r+b") as file:
            file.truncate(ballast.stat().st_size - (256 << 10))
        full = started(program, disk, *words)
        left = [path.name for path in disk.rglob(".*") if "lock" not in path.name]
        ballast.unlink()
        again = started(program, disk, *words)
    said = full.stderr.strip().splitlines()[-1:] or [""]
    return [
        yes(f"{what}: a clear error on a full disk", said[0].startswith("refused:")),
        none_of(f"{what}: half-written files left on it", len(left)),
        yes(f"{what}: works once there is room", again.returncode == 0),
    ]


def run(size: str) -> list[Finding]:
    if os.name != "posix" or os.geteuid() != 0:
        return [noted("not run", "mounting needs root")]
    with tempfile.TemporaryDirectory() as name:
        rows = Path(name) / "rows.jsonl"
        lines = (
            json.dumps({"id": f"t-{n}", "state": f"state {n} " + "x" * 50}) for n in range(20_000)
        )
        rows.write_text("\n".join(lines), encoding="utf-8")
        return [
            *log_on_full_disk(sync=False),
            *log_on_full_disk(sync=True),
            *log_on_read_only_disk(),
            *full_then_free("runtime form", BUILD),
            *full_then_free("batch", BATCH, rows),
        ]
