"""Software packages read from a Debian index and its file of long descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thisthat.errors import InvalidInputError

_LEFT_OUT = re.compile(r"transitional|dummy|debugging symbols|metapackage|\(.*\)$")


@dataclass(frozen=True)
class Package:
    """One entry of the catalogue; ``uses`` and ``works_with`` are its tags of those facets."""

    name: str
    section: str
    summary: str
    text: str
    uses: tuple[str, ...]
    works_with: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences of its description."""
        parts = re.split(r"(?<=[.!?])\s+", self.text)
        return [part for part in parts if len(part.split()) > 4]


def read_packages(index: Path, descriptions: Path) -> list[Package]:
    """The packages of ``index`` that have a long description, one for each description."""
    texts = {entry["Package"]: entry for entry in _entries(descriptions)}
    found: dict[str, Package] = {}
    for entry in _entries(index):
        described = texts.get(entry["Package"], {})
        summary, _, text = described.get("Description-en", "").partition("\n")
        text = _flowing(text)
        if not text or _LEFT_OUT.search(summary) or len(text.split()) < 12:
            continue
        tags = re.split(r",\s*", entry.get("Tag", ""))
        package = Package(
            entry["Package"],
            entry.get("Section", "misc").rsplit("/", 1)[-1],
            summary.strip(),
            text,
            tuple(tag[5:] for tag in tags if tag.startswith("use::")),
            tuple(tag[12:] for tag in tags if tag.startswith("works-with::")),
        )
        found.setdefault(text, package)
    return list(found.values())


def _flowing(text: str) -> str:
    """A long description as running text: its first paragraphs, without lists."""
    kept: list[str] = []
    for line in text.splitlines():
        if line.startswith("  ") or re.match(r" [*-]", line):
            continue
        kept.append("" if line.strip() == "." else line.strip())
    return " ".join(" ".join(kept).split())


def _entries(path: Path) -> Iterator[dict[str, str]]:
    if not path.is_file():
        raise InvalidInputError("catalogue", f"{path} is missing")
    entry: dict[str, str] = {}
    name = ""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line == "\n":
                if entry:
                    yield entry
                entry = {}
            elif line.startswith(" "):
                entry[name] += "\n" + line.rstrip("\n")
            else:
                name, _, value = line.rstrip("\n").partition(": ")
                entry[name] = value
    if entry:
        yield entry
