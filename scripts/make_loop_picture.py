"""Draws the loop, light and dark: python scripts/make_loop_picture.py docs/pictures"""

from __future__ import annotations

import sys
from pathlib import Path

WIDTH, HEIGHT, BOX, TALL = 940, 320, 176, 74
COLOURS = {
    "loop.svg": {"ink": "#1f2937", "soft": "#4b5563", "box": "#eef4ff", "line": "#3b6fb6"},
    "loop-dark.svg": {"ink": "#e5e7eb", "soft": "#b4bccb", "box": "#1b2536", "line": "#7aa2e3"},
}
# Centre, heading, the command that does it.
STEPS = [
    ((104, 70), "decide", "ask · serve · batch"),
    ((348, 70), "record", "decision log, outcomes"),
    ((592, 70), "label", "loop labels · review"),
    ((836, 70), "teach", "teach → parent + λ·delta"),
    ((836, 230), "evaluate", "loop evaluate · eval"),
    ((592, 230), "canary", "loop canary, e-values"),
    ((348, 230), "promote", "loop promote"),
    ((104, 230), "roll back", "λ = 0, bit for bit"),
]
ARROWS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
TOLD = (
    "The loop: decide, record what happened, label, teach a candidate, evaluate it, try it as a"
    " canary, promote it and decide with it, or roll it back to exactly what was before."
)


def edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    """A straight arrow between two boxes side by side or one below the other."""
    (x0, y0), (x1, y1) = start, end
    if y0 == y1:
        way = 1 if x1 > x0 else -1
        return f"M{x0 + way * BOX // 2} {y0} H{x1 - way * (BOX // 2 + 9)}"
    way = 1 if y1 > y0 else -1
    return f"M{x0} {y0 + way * TALL // 2} V{y1 - way * (TALL // 2 + 9)}"


def drawn(ink: str, soft: str, box: str, line: str) -> str:
    """The picture in these colours."""
    places = [place for place, _, _ in STEPS]
    paths = [edge(places[a], places[b]) for a, b in ARROWS]
    # A promoted checkpoint decides; a candidate that does harm is rolled back, and nothing changed.
    paths.append("M348 193 V150 H148 V116")
    paths.append("M592 267 V300 H104 V276")
    paths.append(edge(places[7], places[0]))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{TOLD}">',
        "<style>text{font:600 17px ui-sans-serif,system-ui,'Segoe UI',Arial,sans-serif;"
        f"fill:{ink};text-anchor:middle}}.s{{font-size:12.5px;font-weight:400;fill:{soft}}}"
        f".b{{fill:{box};stroke:{line};stroke-width:1.4}}"
        f".w{{fill:none;stroke:{line};stroke-width:1.8;marker-end:url(#a)}}</style>",
        '<defs><marker id="a" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="6"'
        f' markerHeight="6" orient="auto"><path d="M0 0 8 4 0 8z" fill="{line}"/></marker></defs>',
        *(f'<path class="w" d="{path}"/>' for path in paths),
    ]
    for (x, y), name, how in STEPS:
        parts += [
            f'<rect class="b" x="{x - BOX // 2}" y="{y - TALL // 2}" width="{BOX}"'
            f' height="{TALL}" rx="10"/>',
            f'<text x="{x}" y="{y - 3}">{name}</text>',
            f'<text class="s" x="{x}" y="{y + 20}">{how}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    for file, colours in COLOURS.items():
        (Path(sys.argv[1]) / file).write_text(drawn(**colours), encoding="utf-8")
