"""jevbench against a live server, its `mini` suite end to end: check_jevbench.py URL [STRICT_URL].

`JEVBENCH_SUITE=examples` runs its one-minute suite instead.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks import Checks, Suite
from jevbench import taxonomy
from jevbench.backends import SystemOneHTTP
from jevbench.results import Report

SUITE = os.environ.get("JEVBENCH_SUITE", "jevbench-mini")


def ask(url, key, state, questions, retries):
    backend = SystemOneHTTP(f"{url}/v1/systemone", "default", api_key=key, max_attempts=retries + 1)
    return backend.ask(state, questions)


def ask_many(url, key, states, questions):
    backend = SystemOneHTTP(f"{url}/v1/systemone", "default", per_replica=len(states))
    with ThreadPoolExecutor(len(states)) as threads:
        return list(threads.map(lambda state: backend.ask(state, questions), states))


def status(error):
    found = re.search(r"HTTP (\d{3})", str(error))
    return int(found[1]) if found else None


def evaluate():
    out = Path("jevbench-report.json")
    command = [sys.executable, "-m", "jevbench.cli", "eval", "--url"]
    command += [f"{checks.url}/v1/systemone", "--model", "default", "--suite", SUITE]
    done = subprocess.run([*command, "--no-cache", "--out", out], capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-400:]
    report = Report.load(out)
    found, tests = report.scores, {}
    for check, row in found["checks"].items():
        if "excluded" not in row:
            pillar = taxonomy.entry(check.split("/")[0]).group.split(".")[0]
            tests[pillar] = tests.get(pillar, 0) + row["n"]
    rows = [
        {
            "name": f"{pillar.title} ({pillar.id})",
            "score": report.dimensions[pillar.id],
            "tests": tests.get(pillar.id, 0),
        }
        for pillar in taxonomy.PILLARS
    ]
    rows.append({"name": "overall", "score": report.overall, "tests": sum(tests.values())})
    checks.more["scores"] = {
        "suite": SUITE,
        "requests": report.result.get("requests", report.result.get("calls")),
        "errors": len(report.errors),
        "tolerance": report.settings["tolerance"],
        "interval": report.interval,
        "rows": rows,
    }


checks = Checks("jevbench")
Suite(checks, ask, status, ask_many).run()
checks.none("zstd", "the client does not compress")
checks.none("models", "the client lists none")
try:
    evaluate()
except Exception as error:
    checks.more["failed"] = f"{SUITE}: {error}"
checks.finish()
