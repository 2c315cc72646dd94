"""`thisthat report`: result files into a page, plots and the results page of the docs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from thisthat.errors import InvalidInputError


def report(
    results: Annotated[list[Path], typer.Argument(help="Result files of `thisthat bench`.")],
    out: Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.")] = None,
    plots: Annotated[
        Path | None, typer.Option(help="Write every plot as PNG and PDF to here.")
    ] = None,
    results_page: Annotated[
        Path | None, typer.Option(help="Write the Markdown page of results.")
    ] = None,
    performance_page: Annotated[
        Path | None, typer.Option(help="Write the Markdown page of speed, pictures beside it.")
    ] = None,
) -> None:
    """Make a report from result files; a file that cannot be read is named and left out."""
    pages = {"results": results_page, "performance": performance_page}
    if not any((out, plots, *pages.values())):
        raise InvalidInputError(
            "--out", "name at least one of --out, --plots, --results-page, --performance-page"
        )
    from thisthat.files import write_atomically
    from thisthat_lab.bench.report import page as making
    from thisthat_lab.bench.report.results_page import PAGES

    found, left_out = making.read_results(results)
    for reason in left_out:
        print(f"left out: {reason}", file=sys.stderr)
    if out is not None:
        making.write_page(out, found, left_out)
        print(out)
    if plots is not None:
        for path in making.write_plots(plots, found):
            print(path)
    for name, target in pages.items():
        if target is not None:
            page = PAGES[name]
            making.write_pictures(target.parent / "pictures", page.of(found))
            write_atomically(target, page.written(found))
            print(target)
