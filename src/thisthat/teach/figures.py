"""Parts of a page that stands alone: a document, tables, SVG plots; no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TypeAlias

_STYLE = Path(__file__).with_name("page.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SIDE = 260
_EDGE = 42
_TICKS = {0.0: "0", 0.5: "0.5", 1.0: "1"}

Points: TypeAlias = Sequence[tuple[float, float]]


def document(title: str, body: str) -> str:
    """The whole page; ``body`` is markup."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n"
        f"</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}</body>\n</html>\n"
    )


def table(heads: Iterable[str], rows: Iterable[Sequence[str]], kind: str = "numbers") -> str:
    """A table of texts."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows
    )
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>\n{lines}'
        "</tbody></table></div>\n"
    )


def line(name: str, points: Points, sizes: Sequence[float] = ()) -> str:
    """A line through points from 0 to 1, with dots of these sizes."""
    at = [(_EDGE + _SIDE * x, _EDGE / 2 + _SIDE * (1 - y)) for x, y in points]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
        for (x, y), size in zip(at, sizes, strict=False)
    )
    return f'<g class="{name}"><polyline points="{joined}"/>{dots}</g>'


def plot(
    drawn: str,
    across: str,
    up: str,
    caption: str,
    x_ticks: Mapping[float, str] = _TICKS,
    y_ticks: Mapping[float, str] = _TICKS,
    even: bool = True,
) -> str:
    """Lines in a frame; ticks are at places from 0 to 1. ``even`` draws the diagonal."""
    left, top, right, low = _EDGE, _EDGE / 2, _EDGE + _SIDE, _EDGE / 2 + _SIDE
    ticks = "".join(
        f'<text x="{left + _SIDE * at:.0f}" y="{low + 14}" text-anchor="middle">'
        f"{escape(said)}</text>"
        for at, said in x_ticks.items()
    ) + "".join(
        f'<text x="{left - 5}" y="{low - _SIDE * at + 4:.0f}" text-anchor="end">'
        f"{escape(said)}</text>"
        for at, said in y_ticks.items()
    )
    diagonal = (
        f'<line class="even" x1="{left}" y1="{low}" x2="{right}" y2="{top}"/>' if even else ""
    )
    middle = left + _SIDE / 2
    return (
        f'<figure><svg viewBox="0 0 {right + top:.0f} {low + _EDGE:.0f}" role="img" '
        f'aria-label="{escape(up)} over {escape(across)}">'
        f'<rect class="axis" x="{left}" y="{top}" width="{_SIDE}" height="{_SIDE}"/>'
        f"{diagonal}{ticks}"
        f'<text x="{middle}" y="{low + 29}" text-anchor="middle">{escape(across)}</text>'
        f'<text transform="translate(10 {top + _SIDE / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(up)}</text>{drawn}</svg><figcaption>{escape(caption)}</figcaption></figure>"
    )
