"""``python -m campaign [PART …] [--size short|full] [--write docs/reliability.md]``."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from campaign.report import Result, machine, renew, table

PARTS = (
    "attacks",
    "requests",
    "soak",
    "kills",
    "disk",
    "limit",
    "clock",
    "stores",
    "hostile",
    "container",
)


def main() -> int:
    """Run the parts, print and store what they find; 1 if a promise was not kept."""
    parser = argparse.ArgumentParser(prog="campaign", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help=", ".join(PARTS))
    parser.add_argument("--size", choices=["short", "full"], default="short")
    parser.add_argument("--results", type=Path, default=Path("results/campaign"))
    parser.add_argument("--write", type=Path, help="page whose tables are renewed")
    asked = parser.parse_args()
    kept = True
    for name in asked.parts or PARTS:
        part = importlib.import_module(f"campaign.{name}")
        started = time.monotonic()
        findings = part.run(asked.size)
        about = " ".join((part.__doc__ or "").split("\n\n")[0].split())
        seconds = time.monotonic() - started
        result = Result(name, about, asked.size, seconds, findings, machine())
        result.write(asked.results)
        print(table(result), end="\n\n", flush=True)
        kept &= result.kept
    if asked.write:
        renew(asked.write, asked.results, list(PARTS))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
