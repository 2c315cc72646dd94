"""Colours and sizes of every plot, in one place.

Figures are drawn in the light colours. In the page each colour becomes a CSS variable, so the same
drawing reads well in light, in dark and in print.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thisthat.errors import MissingExtraError
from thisthat_lab.tables import Tables

INK = "#1b1f24"
MUTED = "#5b6470"
GRID = "#dfe3e8"
SERIES = ("#0b5fae", "#c2410b", "#0e7c4a", "#8b35a8", "#8a6d00", "#b0175e")

DARK = {
    INK: "#e8eaed",
    MUTED: "#a3adb8",
    GRID: "#363c44",
    SERIES[0]: "#6db3f8",
    SERIES[1]: "#ff9a62",
    SERIES[2]: "#5fd39a",
    SERIES[3]: "#d39af0",
    SERIES[4]: "#e0c04a",
    SERIES[5]: "#ff85b8",
}
_NAMES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    **{c: f"series-{n}" for n, c in enumerate(SERIES)},
}

_COLOURS = {name: colour for colour, name in _NAMES.items()}
_SETTINGS = {
    key: _COLOURS.get(value, value)
    for key, value in Tables(__file__).read("settings", dict[str, Any]).items()
}
"""matplotlib's settings; a colour stands in the table by its name."""


def pyplot() -> Any:
    """matplotlib without a display. Raises MissingExtraError when it is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("plots", "bench") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


@contextmanager
def styled() -> Iterator[Any]:
    """matplotlib's pyplot with these settings, figures closed afterwards."""
    plt = pyplot()
    with plt.rc_context(_SETTINGS):
        yield plt
    plt.close("all")


def colour(number: int) -> str:
    """The colour of a series; they repeat after six."""
    return SERIES[number % len(SERIES)]


def as_svg_file(figure: Any, *, dark: bool) -> str:
    """The figure as an SVG file of its own, in light or dark colours, on no background."""
    svg = _drawn(figure)
    for value, other in DARK.items() if dark else ():
        svg = svg.replace(value, other)
    return svg + "\n"


def _drawn(figure: Any) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    return re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)


def as_svg(figure: Any) -> str:
    """The figure as inline SVG whose colours are CSS variables; the same text every time."""
    svg = _drawn(figure)
    for value, name in _NAMES.items():
        svg = svg.replace(value, f"var(--{name})")
    # The drawn width is the widest it gets; on a narrow page the view box keeps the proportions.
    head, rest = svg.split(">", 1)
    return re.sub(r' height="[^"]*"', "", head, count=1) + ">" + rest


def css_variables(dark: bool) -> str:
    """The declarations that give each colour its value."""
    pairs = [(name, DARK[value] if dark else value) for value, name in _NAMES.items()]
    return " ".join(f"--{name}: {value};" for name, value in pairs)
