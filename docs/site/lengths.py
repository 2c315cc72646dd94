"""Marks what is long, which no style can see: cells of tables with words, and words of code."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PHRASE, PROSE = 25, 60
"""Characters from which a cell is a phrase, and prose."""
LONG = 36
"""Characters from which a word of code need not fit into a line on a phone."""


def mark(_: Sphinx, doctree: nodes.document, *__: Any) -> None:
    """Give cells the class ``phrase`` or ``prose``, and code with a long word ``long``."""
    for cell in doctree.findall(nodes.entry):
        length = len(cell.astext())
        if length >= PHRASE:
            cell["classes"].append("prose" if length >= PROSE else "phrase")
    for code in doctree.findall(nodes.literal):
        if any(len(word) >= LONG for word in code.astext().split()):
            code["classes"].append("long")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
