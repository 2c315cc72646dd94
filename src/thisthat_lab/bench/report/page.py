"""Result files into one self-contained page, and the same plots as PNG and PDF.

The page makes no request: drawings are inline, colours follow the reader's light or dark setting
and are light in print.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from thisthat.files import write_atomically
from thisthat_lab.bench import anchors
from thisthat_lab.bench.report import style
from thisthat_lab.bench.report.plots import PLOTS
from thisthat_lab.bench.report.results_page import pictures_of
from thisthat_lab.bench.report.table import group_cells, kinds_of, line_cells, sheets_of
from thisthat_lab.bench.result import Result, ResultError, read_result

_DPI = 160


def read_results(paths: Sequence[Path]) -> tuple[list[Result], list[str]]:
    """The readable results in the order given, and a reason for each file left out.

    Raises ResultError when no file can be read.
    """
    results, left_out = [], []
    for path in paths:
        try:
            results.append(read_result(path))
        except ResultError as error:
            left_out.append(str(error))
    if not results:
        raise ResultError("no result file could be read: " + "; ".join(left_out))
    return results, left_out


def write_page(path: Path, results: Sequence[Result], left_out: Sequence[str]) -> None:
    """The HTML page. Raises MissingExtraError without matplotlib."""
    text = (
        files("thisthat_lab.bench.report").joinpath("page.html.jinja").read_text(encoding="utf-8")
    )
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(text).render(
        title="thisthat: measurements",
        light=style.css_variables(dark=False),
        dark=style.css_variables(dark=True),
        plots=_inline_plots(results),
        results=[_shown(result) for result in results],
        left_out=left_out,
        sources=anchors.sources(),
    )
    write_atomically(path, page)


def write_plots(folder: Path, results: Sequence[Result]) -> list[Path]:
    """Every plot as PNG and PDF on white; returns the files written."""
    written = []
    with style.styled() as plt:
        for plot in PLOTS:
            figure = plot.draw(plt, results)
            if figure is None:
                continue
            for form in ("png", "pdf"):
                buffer = io.BytesIO()
                dates: dict[str, Any] = {"CreationDate": None} if form == "pdf" else {}
                figure.savefig(buffer, format=form, dpi=_DPI, facecolor="white", metadata=dates)
                path = folder / f"{plot.name}.{form}"
                write_atomically(path, buffer.getvalue())
                written.append(path)
    return written


def write_pictures(folder: Path, results: Sequence[Result]) -> list[Path]:
    """The plots that pages of the docs show, as SVG in light and in dark; the files written."""
    written = []
    by_name = {plot.name: plot for plot in PLOTS}
    with style.styled() as plt:
        for result in results:
            for name, file in pictures_of(result):
                figure = by_name[name].draw(plt, [result])
                for dark in (False, True):
                    path = folder / f"{file}{'-dark' if dark else ''}.svg"
                    write_atomically(path, style.as_svg_file(figure, dark=dark))
                    written.append(path)
    return written


def _inline_plots(results: Sequence[Result]) -> list[dict[str, str]]:
    drawn = []
    with style.styled() as plt:
        for plot in PLOTS:
            figure = plot.draw(plt, results)
            if figure is not None:
                drawn.append(
                    {
                        "name": plot.name,
                        "title": plot.title,
                        "note": plot.note,
                        "svg": style.as_svg(figure),
                    }
                )
    return drawn


def _shown(result: Result) -> dict[str, Any]:
    return {
        **vars(result),
        "label": result.label,
        "line_cells": [line_cells(line) for line in result.lines],
        "sheets": sheets_of(result),
        "group_cells": {
            by: [group_cells(group) for group in result.grouped(by)]
            for by in kinds_of(result.groups)
        },
    }
