"""What the search ranks pages by: how much each uses a word, and the words it is looked for by.

The index tells only which pages have a word. `words.js` adds the pages that use it most, and the
keywords of `keywords.json`, by which people look for pages that call the thing otherwise.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

KEYWORDS = Path(__file__).with_name("keywords.json")
SCRIPT = "words.js"
MOST = 20
"""The weight of a word on a page that speaks of nothing else."""
LEAST = 2
"""A word used less often says nothing about its page."""


def keywords(page: str) -> list[str]:
    """The keywords of a page; none where it has none."""
    found: dict[str, str] = json.loads(KEYWORDS.read_text(encoding="utf-8"))
    return found.get(page, "").split()


def weights(pages: Sequence[Counter[str]]) -> dict[str, dict[int, int]]:
    """By word, how much each page uses it: more of it, on a shorter page, weighs more.

    A word that a single page uses ranks nothing.
    """
    average = sum(each.total() for each in pages) / len(pages)
    found: dict[str, dict[int, int]] = {}
    for number, counts in enumerate(pages):
        usual = 0.5 + 1.5 * counts.total() / average
        for word, times in counts.items():
            if times >= LEAST:
                found.setdefault(word, {})[number] = round(MOST * times / (times + usual))
    return {word: by_page for word, by_page in found.items() if len(by_page) > 1}


def count(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Count the words of a page as the index reads them."""
    language = SearchEnglish({})
    words = map(str.lower, language.split(doctree.astext()))
    counted = Counter(language.stem(word) for word in words if language.word_filter(word))
    app.env.metadata[page]["words"] = counted


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the script that the search reads."""
    if error is not None:
        return
    pages = {page: told["words"] for page, told in app.env.metadata.items() if "words" in told}
    texts = {
        "PAGES": list(pages),
        "USES": weights(list(pages.values())),
        "KEYWORDS": {page: " ".join(found) for page in pages if (found := keywords(page))},
    }
    lines = [
        f"const {name} = {json.dumps(told, ensure_ascii=False, separators=(',', ':'))};\n"
        for name, told in texts.items()
    ]
    (Path(app.outdir) / "_static" / SCRIPT).write_text("".join(lines), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-resolved", count)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
