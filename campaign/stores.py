"""The decision log's database goes away under a running server, and comes back: SQLite, PostgreSQL.

Decisions go on. What waits is written when the database is back, in one whole chain; a file that
was deleted is on record in the one that follows it. PostgreSQL's part needs its programs and
``pip install "psycopg[binary]"``.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from campaign.disk import ATTACKED, asked, waited, yes
from campaign.report import Finding, none_of, noted
from campaign.served import Served, serving, thisthat, verified

ROUNDS = {"short": 1, "full": 5}


def nothing_waits(served: Served) -> bool:
    return waited(lambda: served.metric("thisthat_decision_log_waiting") == 0, 60)


def sqlite(rounds: int) -> list[Finding]:
    refused = 0
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "log.sqlite"
        with serving(command=[*ATTACKED, str(log)]) as served:
            for _ in range(rounds):
                refused += asked(served, 10).count(200) != 10
                nothing_waits(served)
                with contextlib.closing(sqlite3.connect(log, isolation_level=None)) as other:
                    other.execute("BEGIN EXCLUSIVE")
                    refused += asked(served, 10).count(200) != 10
                    failing = waited(
                        lambda: served.metric("thisthat_decision_log_failures_total") > 0
                    )
                    other.execute("ROLLBACK")
            written = nothing_waits(served)
            locked = verified(log) and len(logged(log)) == 20 * rounds
            log.unlink()
            refused += asked(served, 10).count(200) != 10
            gone = waited(lambda: any("deleted" in str(each) for each in served.events()))
            refused += asked(served, 10).count(200) != 10
            nothing_waits(served)
        told = thisthat("log", "verify", log)
    return [
        none_of("SQLite: requests not answered", refused),
        yes(
            "SQLite: locked by another, noticed, every line written afterwards",
            failing and written and locked,
        ),
        yes(
            "SQLite: deleted, warned of and on record in the file that follows",
            gone and "had disappeared" in told.stderr,
        ),
    ]


def logged(log: object) -> list[str]:
    return thisthat("log", "query", log, "--limit", 100_000).stdout.splitlines()


class PostgreSQL:
    """A database server of our own, as another user where we are root: it refuses to be root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self.programs = Path(shutil.which("pg_ctl") or "").resolve().parent
        self.url = f"postgresql+psycopg:///postgres?host={folder}"
        self._as: list[str] = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self.url = f"postgresql+psycopg://postgres@/postgres?host={folder}"
            self._as = [
                "setpriv",
                f"--reuid={user.pw_uid}",
                f"--regid={user.pw_gid}",
                "--clear-groups",
            ]
        self._run("initdb", "--auth=trust", "--no-sync", "-D", self.folder)

    def start(self) -> None:
        options = f"-c listen_addresses='' -k {self.folder.parent}"
        log = self.folder.parent / "log"
        self._run("pg_ctl", "-D", self.folder, "-o", options, "-l", log, "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.folder, "-m", "immediate", "stop")

    def _run(self, name: str, *words: object) -> None:
        command = [*self._as, str(self.programs / name), *map(str, words)]
        subprocess.run(command, check=True, capture_output=True, cwd="/")


@contextlib.contextmanager
def postgresql() -> Iterator[PostgreSQL]:
    with tempfile.TemporaryDirectory() as name:
        base = PostgreSQL(Path(name))
        base.start()
        try:
            yield base
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                base.stop()


def on_postgresql(rounds: int) -> list[Finding]:
    if shutil.which("pg_ctl") is None or find_spec("psycopg") is None:
        return [noted("PostgreSQL: not run", "pg_ctl or psycopg is missing")]
    refused = 0
    with postgresql() as base:
        with serving(command=[*ATTACKED, base.url]) as served:
            for number in range(rounds):
                refused += asked(served, 10).count(200) != 10
                nothing_waits(served)
                base.stop()
                refused += asked(served, 10).count(200) != 10
                least = number + 1
                failing = waited(
                    lambda least=least: (
                        served.metric("thisthat_decision_log_failures_total") >= least
                    )
                )
                base.start()
                written = nothing_waits(served)
        whole = verified(base.url)
        lines = len(logged(base.url))
    return [
        noted("PostgreSQL: stopped at once and started again", rounds),
        none_of("PostgreSQL: requests not answered", refused),
        yes("PostgreSQL: failure counted, what waited was written", failing and written),
        none_of("PostgreSQL: lines missing or doubled", abs(lines - 20 * rounds)),
        yes("PostgreSQL: log verify clean", whole),
    ]


def run(size: str) -> list[Finding]:
    if sys.platform == "win32":
        return [noted("not run", "needs a POSIX system")]
    return [*sqlite(ROUNDS[size]), *on_postgresql(ROUNDS[size])]
