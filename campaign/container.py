"""The server as deploy/compose.yaml runs it: another user, no capabilities, a read-only root.

Where a container engine cannot run, namespaces and control groups of the system itself stand in:
the root mounted read-only, /tmp and the cache writable, user 10001, no capabilities, no new
privileges, the memory limit of the compose file. Needs root; the image itself is not built here.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from campaign.disk import yes
from campaign.limit import MEBIBYTE, group
from campaign.report import Finding, noted
from campaign.served import SERVE, serving
from thisthat.checkpoint.store import home as store_folder

COMPOSE = Path("deploy/compose.yaml")
USER = 10_001


def service() -> dict[str, Any]:
    (found,) = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"].values()
    return dict(found)


@contextlib.contextmanager
def cache() -> Iterator[Path]:
    """A copy of the store, the user's own, as the image has it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name) / "cache"
        shutil.copytree(store_folder(), folder)
        for path in (Path(name), folder, *folder.rglob("*")):
            os.chown(path, USER, USER)
        yield folder


def confined(home: Path, inside: Path) -> list[str]:
    """What runs a command as the compose file does; ``inside`` is what it may write."""
    prefix = Path(sys.base_prefix)
    script = "set -e; mount --make-rprivate /; mount --bind / /; "
    closed = [each for each in prefix.parents if each.stat().st_mode & 0o001 == 0]
    if closed:
        # An interpreter in somebody's home is put where the user can reach it.
        script += (
            f"kept=$(mktemp -d); mount --bind {shlex.quote(str(prefix))} $kept; "
            f"mount -t tmpfs -o mode=755 tmpfs {closed[-1]}; mkdir -p {prefix}; "
            f"mount --bind $kept {prefix}; "
        )
    script += (
        f"mount --bind {home} {home}; mount -o remount,ro,bind /; "
        f'mount -t tmpfs tmpfs /tmp; echo $$ > {inside}/cgroup.procs; exec "$@"'
    )
    drop = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs"]
    drop += ["--bounding-set=-all", "--inh-caps=-all"]
    return ["unshare", "--mount", "sh", "-c", script, "sh", *drop]


TRY = """
import os, sys
for place in sys.argv[1:]:
    try:
        open(os.path.join(place, "campaign"), "w").close()
        print(place)
    except OSError:
        pass
"""


def run(size: str) -> list[Finding]:
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("unshare") is None:
        return [noted("not run", "namespaces need root and unshare")]
    asked = service()
    megabytes = int(re.fullmatch(r"(\d+)g", asked["mem_limit"])[1]) * 1024  # type: ignore[index]
    with cache() as home, group() as found:
        if found is None:
            return [noted("not run", "no control group of memory can be made here")]
        place, limit = found
        (place / limit).write_text(str(megabytes * MEBIBYTE))
        before = confined(home, place)
        environment = {"THISTHAT_HOME": str(home), "HOME": "/nonexistent"}
        command = [*SERVE, "--host", "0.0.0.0"]
        with serving(command=command, before=before, environment=environment) as served:
            answered = served.ask()[0] == 200
            status = Path(f"/proc/{served.process.pid}/status").read_text(encoding="utf-8")
            facts = dict(re.findall(r"^(\w+):\s+(\S+)", status, re.MULTILINE))
            served.process.terminate()
            drained = served.process.wait(90) == 0
        places = ["/", "/etc", "/var/tmp", str(Path.cwd()), "/tmp", str(home)]
        tried = subprocess.run(
            [*before, sys.executable, "-c", TRY, *places],
            capture_output=True,
            text=True,
            check=False,
        )
    return [
        yes("starts and answers", answered),
        yes(f"user {USER}, no capabilities, no new privileges", confines(facts)),
        yes("can write its cache and /tmp, nothing else", tried.stdout.split() == places[-2:]),
        yes("SIGTERM: drains and exits with 0", drained),
        noted("memory limit of the compose file", f"{megabytes:,} MiB"),
    ]


def confines(facts: dict[str, str]) -> bool:
    none = all(int(facts[name], 16) == 0 for name in ("CapEff", "CapPrm", "CapBnd", "CapInh"))
    return facts["Uid"] == str(USER) and none and facts["NoNewPrivs"] == "1"
