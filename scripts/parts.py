"""Cuts files into parts of a few megabytes and puts them together again, each checked by its hash.

For machines that take or give back files only up to some size. ``split FILE… --out FOLDER`` writes
``NAME.000``, ``NAME.001``, … and ``NAME.json`` with sizes and hashes. ``join FOLDER --out OTHER``
puts every file of a folder together and refuses one with a missing or changed part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

MEGABYTE = 1 << 20


def split(files: list[Path], out: Path, megabytes: int) -> None:
    """Write the parts of every file into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    for file in files:
        parts: list[dict[str, str]] = []
        with file.open("rb") as source:
            while block := source.read(megabytes * MEGABYTE):
                name = f"{file.name}.{len(parts):03}"
                (out / name).write_bytes(block)
                parts.append({"name": name, "sha256": hashlib.sha256(block).hexdigest()})
        record = {"name": file.name, "bytes": file.stat().st_size, "parts": parts}
        (out / f"{file.name}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{file}: {len(parts)} parts in {out}")


def join(folder: Path, out: Path) -> None:
    """Put every file together; a missing or changed part ends the program and leaves no file."""
    out.mkdir(parents=True, exist_ok=True)
    records = [path for path in sorted(folder.glob("*.json")) if _is_record(path)]
    if not records:
        sys.exit(f"{folder} holds no record of parts")
    for path in records:
        record = json.loads(path.read_text())
        blocks = []
        for part in record["parts"]:
            found = folder / part["name"]
            if not found.is_file():
                sys.exit(f"{found} is missing")
            block = found.read_bytes()
            if hashlib.sha256(block).hexdigest() != part["sha256"]:
                sys.exit(f"{found} is not the part that was cut")
            blocks.append(block)
        target = out / record["name"]
        half = target.with_name(f"{target.name}.half")
        half.write_bytes(b"".join(blocks))
        half.replace(target)
        print(f"{target}: {record['bytes']:,} bytes")


def _is_record(path: Path) -> bool:
    read = json.loads(path.read_text())
    return isinstance(read, dict) and {"name", "bytes", "parts"} <= set(read)


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    cutting = commands.add_parser("split", help="cut files into parts")
    cutting.add_argument("files", type=Path, nargs="+")
    cutting.add_argument("--out", type=Path, required=True)
    cutting.add_argument("--megabytes", type=int, default=15)
    joining = commands.add_parser("join", help="put files together")
    joining.add_argument("folder", type=Path)
    joining.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "split":
        split(given.files, given.out, given.megabytes)
    else:
        join(given.folder, given.out)


if __name__ == "__main__":
    main()
