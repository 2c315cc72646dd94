"""Clock jumps, an hour forwards and a day backwards, while a server answers and keeps its log.

A preloaded library shifts the wall clock of the server alone, as a corrected clock would; durations
and deadlines must not notice, and the log must stay whole. Needs a C compiler.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from campaign.disk import asked, waited, yes
from campaign.report import Finding, at_most, none_of
from campaign.served import serving, verified

SHIFT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) {
    long seconds = 0;
    FILE *file = fopen(getenv("CAMPAIGN_SHIFT"), "r");
    if (file) { if (fscanf(file, "%ld", &seconds) != 1) seconds = 0; fclose(file); }
    return seconds;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += shift();
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec; now->tv_usec = found.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (now) *now = found.tv_sec;
    return found.tv_sec;
}
"""
JUMPS = (3600, -86_400, 0)


def run(size: str) -> list[Finding]:
    rounds = 1 if size == "short" else 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shift.c").write_text(SHIFT)
        library, shift, log = folder / "shift.so", folder / "shift", folder / "log.sqlite"
        build = ["cc", "-shared", "-fPIC", "-o", library, folder / "shift.c", "-ldl"]
        subprocess.run(list(map(str, build)), check=True)
        shift.write_text("0")
        environment = {"LD_PRELOAD": str(library), "CAMPAIGN_SHIFT": str(shift)}
        refused = 0
        slowest = 0.0
        command = [sys.executable, "-m", "tests.attacks.server", str(log)]
        with serving(command=command, environment=environment) as served:
            for _ in range(rounds):
                for jump in JUMPS:
                    shift.write_text(str(jump))
                    for _ in range(10):
                        started = time.monotonic()
                        refused += asked(served, 1) != [200]
                        slowest = max(slowest, time.monotonic() - started)
            written = waited(lambda: served.metric("thisthat_decision_log_waiting") == 0)
            lines = served.metric("thisthat_decision_log_lines_total")
            times = {event["time"][:13] for event in served.events()}
        whole = verified(log)
    return [
        none_of("requests not answered across the jumps", refused),
        at_most("slowest of them", slowest, 5, "s", 2),
        yes("the server saw the jumps (hours in its own log)", len(times) >= 3),
        yes("every decision on record", written and lines >= 30 * rounds),
        yes("log verify clean", whole),
    ]
