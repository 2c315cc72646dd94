"""Draws the README's badges from pyproject.toml: python scripts/make_badges.py docs/pictures

They say what the package says of itself, and nothing that only a server could know.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
HIGH, LETTER, AROUND = 20, 6.6, 12
NAME, VALUE = "#374151", "#1d4ed8"


def said(root: Path = ROOT) -> dict[str, tuple[str, str]]:
    """A badge for each file: what it is about, and what the project's files say."""
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    source = (root / "src" / "thisthat" / "__init__.py").read_text(encoding="utf-8")
    pythons = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    licence = re.search(r'^license = "(.+)"$', project, re.MULTILINE)
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    assert licence is not None
    assert version is not None
    return {
        "badge-version.svg": ("version", version[1]),
        "badge-licence.svg": ("licence", licence[1]),
        "badge-python.svg": ("Python", f"{pythons[0]} to {pythons[-1]}"),
    }


def drawn(name: str, value: str) -> str:
    """One badge, as wide as its words."""
    left, right = (round(len(text) * LETTER + AROUND) for text in (name, value))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HIGH}"'
            f' role="img" aria-label="{name} {value}">',
            f'<clipPath id="c"><rect width="{left + right}" height="{HIGH}" rx="4"/></clipPath>',
            f'<g clip-path="url(#c)"><rect width="{left}" height="{HIGH}" fill="{NAME}"/>'
            f'<rect x="{left}" width="{right}" height="{HIGH}" fill="{VALUE}"/></g>',
            '<g fill="#fff" font-family="system-ui,\'Segoe UI\',Verdana,sans-serif"'
            ' font-size="11.5" text-anchor="middle">',
            f'<text x="{left / 2:g}" y="14">{name}</text>'
            f'<text x="{left + right / 2:g}" y="14">{value}</text>',
            "</g>",
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    for file, words in said().items():
        (Path(sys.argv[1]) / file).write_text(drawn(*words), encoding="utf-8")
