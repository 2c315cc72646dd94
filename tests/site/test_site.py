"""The site builds without a warning or a network; its links lead somewhere; people can read it."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import pytest
import typer
from playwright.sync_api import Browser, ViewportSize

import thisthat
from tests.axe import violations
from tests.browser import OVERFLOW, TOO_FAINT
from tests.site.conftest import ROOT
from thisthat.cli import app

sys.path.insert(0, str(ROOT / "docs" / "site"))
import sources
import words

MAIN = [
    "index",
    "start",
    "examples",
    "decide",
    "teach",
    "thresholds",
    "serve",
    "scale",
    "loop",
    "checkpoints",
    "measuring",
    "performance",
    "results",
    "library",
    "command-line",
    "http",
    "architecture",
]


LONG = {"command-line", "http", "library", "performance", "results"}
"""On these axe takes as long as on all others together."""

AT_ONCE = """() => {
  for (const each of document.querySelectorAll('details')) each.open = true;
  document.head.append(Object.assign(document.createElement('style'),
    {textContent: '* { transition: none !important; }'}));
}"""
"""Unfolds what is folded and lets colours change at once."""


MOSTLY_EMPTY = """() => [...document.querySelectorAll('article tr')].filter((row) => {
  const { top, height } = row.getBoundingClientRect();
  if (height <= 200) return false;
  const lines = new Set();
  const text = document.createRange();
  for (const cell of row.cells) {
    text.selectNodeContents(cell);
    for (const box of text.getClientRects()) {
      if (box.left > innerWidth - 20) continue;
      for (let y = Math.floor(box.top - top); y < box.bottom - top; y += 1) lines.add(y);
    }
  }
  return lines.size < 0.4 * height;
}).map((row) => row.innerText.slice(0, 40))"""
"""High rows of tables that show text on less than 40 % of their height before one scrolls."""


class _Read(HTMLParser):
    """Ids of a page, what it links to or loads, and the rows of tables that are not folded."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.rows: list[int] = []
        self._folds = 0

    def handle_endtag(self, tag: str) -> None:
        self._folds -= tag == "details"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._folds += tag == "details"
        if not self._folds and tag == "table":
            self.rows.append(0)
        elif not self._folds and tag == "tr":
            self.rows[-1] += 1
        self.ids.update(value for value in (found.get("id"), found.get("name")) if value)
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        elif tag == "link" or tag in ("img", "script", "source"):
            self.loaded += [str(found[key]) for key in ("href", "src", "srcset") if found.get(key)]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Read]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = _Read()
        found[path].feed(path.read_text(encoding="utf-8"))
    return found


def test_every_document_is_a_page(site: Path) -> None:
    missing = [
        name
        for name in [*sources.documents(ROOT).values(), *(f"{page}.md" for page in MAIN)]
        if not (site / name).with_suffix(".html").exists()
    ]
    assert missing == []


def test_every_link_and_file_within_the_site_is_there(pages: dict[Path, _Read]) -> None:
    broken = []
    for path, page in pages.items():
        for target in [*page.links, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not to.exists() or (
                parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].ids
            ):
                broken.append(f"{path.name}: {target}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, _Read]) -> None:
    foreign = [
        f"{path.name}: {target}"
        for path, page in pages.items()
        for target in page.loaded
        if urlsplit(target).scheme not in ("", "data")
    ]
    assert foreign == []


def test_links_that_leave_the_site_are_well_formed() -> None:
    odd = [
        (source, target)
        for source, target in sources.external_links(ROOT)
        if not re.fullmatch(r"https://[\w.-]+\.[a-z]{2,}(/[\w./#?=&%~-]*)?|mailto:\S+@\S+", target)
    ]
    assert odd == []


def test_a_link_to_nothing_stops_the_build(tmp_path: Path) -> None:
    for folder in ("repository/docs/pictures", "repository/docs/decisions", "repository/examples"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "repository/docs/one.md").write_text("# One\n\n[two](two.md)\n")
    with pytest.raises(ValueError, match=r"docs/one\.md: links to two\.md"):
        sources.gather(tmp_path / "repository", tmp_path / "source")


def test_the_version_is_shown(site: Path) -> None:
    assert f"thisthat {thisthat.__version__}" in (site / "index.html").read_text(encoding="utf-8")


def test_every_command_and_every_public_name_is_in_the_reference(
    site: Path, pages: dict[Path, _Read]
) -> None:
    commands = (site / "command-line.html").read_text(encoding="utf-8")
    for name in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
        assert f"thisthat {name}" in commands
    ids = pages[site / "library.html"].ids
    assert [name for name in thisthat.__all__ if f"thisthat.{name}" not in ids] == []
    assert "POST /v1/decide" in (site / "http.html").read_text(encoding="utf-8")


def test_long_tables_are_folded(pages: dict[Path, _Read]) -> None:
    long = {
        path.name: max(page.rows) for path, page in pages.items() if max(page.rows, default=0) > 25
    }
    assert long == {}


def test_every_page_is_readable_in_a_browser(
    browser: Browser, address: str, site: Path, pages: dict[Path, _Read]
) -> None:
    """No error, no foreign request, contrast AA light and dark; on a phone all of it to be seen.

    There no page scrolls sideways and no high row is empty. What is folded is unfolded first.
    """
    faults: list[str] = []
    with browser.new_context(viewport={"width": 390, "height": 844}) as made:
        page = made.new_page()
        page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and faults.append(said.text),
        )
        page.on(
            "request",
            lambda asked: asked.url.startswith((address, "data:")) or faults.append(asked.url),
        )
        for name in (path.relative_to(site).as_posix() for path in pages):
            page.goto(f"{address}{name}")
            page.evaluate(AT_ONCE)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                faults += [f"{name}, {scheme}: {faint}" for faint in page.evaluate(TOO_FAINT)]
            if page.evaluate(OVERFLOW) > 0:
                faults.append(f"{name}: wider than a phone")
            faults += [f"{name}: mostly empty: {row}" for row in page.evaluate(MOSTLY_EMPTY)]
    assert faults == []


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        *((name, 390, "light") for name in MAIN if name not in LONG),
        *((name, 390, "dark") for name in ("index", "start", "mcp")),
        ("library", 1280, "light"),
        ("search", 1280, "light"),
        ("search", 1280, "dark"),
    ],
)
def test_axe_finds_nothing(
    browser: Browser, address: str, name: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    size: ViewportSize = {"width": width, "height": 900}
    with browser.new_context(viewport=size, color_scheme=scheme) as made:
        page = made.new_page()
        page.goto(f"{address}{name}.html")
        assert violations(page) == []


REACHED = """() => {
  const blocks = [...document.querySelectorAll('article pre')];
  const wide = blocks.filter((each) => each.scrollWidth > each.clientWidth);
  return blocks.every((each) => (each.tabIndex === 0) === wide.includes(each)) && wide.length;
}"""


def test_blocks_are_reached_by_keys_only_while_they_scroll(browser: Browser, address: str) -> None:
    with browser.new_context(viewport={"width": 390, "height": 900}) as made:
        page = made.new_page()
        page.goto(f"{address}start.html")
        narrow = page.wait_for_function(REACHED).json_value()
        page.set_viewport_size({"width": 640, "height": 900})
        assert 0 < page.wait_for_function(REACHED).json_value() < narrow


def test_faint_text_is_found(browser: Browser) -> None:
    with browser.new_context() as made:
        page = made.new_page()
        page.set_content('<p style="color: #888">too faint</p><h1 style="color: #888">large</h1>')
        assert [each.split(" ", 1)[1] for each in page.evaluate(TOO_FAINT)] == ["P. too faint"]


def test_the_search_shows_the_page_about_a_word_first(browser: Browser, address: str) -> None:
    own = {
        "threshold": "thresholds",
        "teach": "teach",
        "lambda": "checkpoints",
        "λ": "checkpoints",
        "mcp": "mcp",
        "log": "audit",
        "canary": "loop",
        "results": "results",
        "fit_policy": "library",
        "policy": "thresholds",
        "explain": "evidence",
        "jupyter": "notebooks",
        "how fast": "performance",
    }
    with browser.new_context() as made:
        page = made.new_page()
        first = {}
        for word in own:
            page.goto(f"{address}search.html?q={word}")
            link = page.wait_for_selector("ul.search li a")
            first[word] = str(link and link.get_attribute("href")).partition(".html")[0]
    assert first == own


def test_the_search_shows_lists_and_notes_last(browser: Browser, address: str) -> None:
    with browser.new_context() as made:
        page = made.new_page()
        page.goto(f"{address}search.html?q=threshold")
        page.wait_for_function(
            "/found \\d+ pages/.test(document.querySelector('.search-summary').innerText)"
        )
        found = page.eval_on_selector_all("ul.search li > a", "all => all.map((a) => a.pathname)")
    listed = [bool(re.search("/(command-line|library|results|decisions/)", each)) for each in found]
    assert True in listed[5:]
    assert not any(listed[:5])


def test_the_search_ranks_pages_by_how_much_they_use_a_word() -> None:
    much, little, once = Counter(a=9, b=1), Counter(a=2, c=5), Counter(a=1, d=8)
    assert words.weights([much, little, once]) == {"a": {0: 16, 1: 11}}


def test_every_page_with_keywords_is_there(site: Path) -> None:
    named = json.loads(words.KEYWORDS.read_text(encoding="utf-8"))
    assert [page for page in named if not (site / f"{page}.html").exists()] == []


def test_the_search_works_in_a_page_opened_as_a_file(browser: Browser, site: Path) -> None:
    faults: list[str] = []
    with browser.new_context() as made:
        page = made.new_page()
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and faults.append(said.text),
        )
        page.goto(f"{(site / 'search.html').as_uri()}?q=canary")
        page.wait_for_selector("ul.search li a")
        page.wait_for_load_state("networkidle")
    assert faults == []


CUT = """() => [...document.querySelectorAll('.table-wrapper')]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.innerText.slice(0, 40))"""


def test_the_first_page_shows_its_tables_whole(browser: Browser, address: str) -> None:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as made:
        page = made.new_page()
        page.goto(address)
        assert page.evaluate(CUT) == []


def test_the_buttons_on_a_phone_stand_apart(browser: Browser, address: str) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as made:
        page = made.new_page()
        page.goto(f"{address}start.html")
        theme, contents = (
            page.locator(f".header-right {each}").bounding_box()
            for each in (".theme-toggle", ".toc-header-icon")
        )
    assert theme
    assert contents
    assert contents["x"] - theme["x"] - theme["width"] >= 8


@pytest.mark.parametrize(("width", "shown"), [(390, "-narrow"), (1280, "")])
def test_the_first_picture_can_be_read(
    browser: Browser, address: str, width: int, shown: str
) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}) as made:
        page = made.new_page()
        page.goto(address)
        source = page.evaluate("document.querySelector('picture.only-light img').currentSrc")
    assert source == f"{address}pictures/one-pass{shown}.svg"
