"""Marks the cells of tables that hold words, so that a style can give them room to be read."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PHRASE, PROSE = 25, 60
"""Characters from which a cell is a phrase, and prose."""


def mark(_: Sphinx, doctree: nodes.document, *__: Any) -> None:
    """Give such cells the class ``phrase`` or ``prose``."""
    for cell in doctree.findall(nodes.entry):
        long = len(cell.astext())
        if long >= PHRASE:
            cell["classes"].append("prose" if long >= PROSE else "phrase")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
