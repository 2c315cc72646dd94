"""The list of versions: what it offers, and that choosing one leads there."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import thisthat
from tests.site.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "site"))
import versions

CHANGELOG = """# Changelog

## 0.6.0 (unreleased)

- x

## 0.4.0 (2026-11-17)

## 0.10.0 (2027-01-01)
"""


def written(folder: Path) -> list[tuple[str, str]]:
    text = (folder / versions.LIST).read_text(encoding="utf-8")
    found = json.loads(text.removeprefix("const VERSIONS = ").removesuffix(";\n"))
    return [("*" * each["this"] + each["label"], each["target"]) for each in found]


def test_a_single_build_says_which_it_is_and_what_changed_before(tmp_path: Path) -> None:
    versions.write_list(tmp_path, "0.6.0", [], CHANGELOG)
    assert written(tmp_path) == [
        ("0.10.0: what changed", "changelog.html#0100-2027-01-01"),
        ("*0.6.0 (unreleased)", "index.html"),
        ("0.4.0: what changed", "changelog.html#040-2026-11-17"),
    ]


def test_versions_beside_each_other_offer_each_other(tmp_path: Path) -> None:
    for version in ("0.4.0", "0.10.0", "main"):
        (tmp_path / version).mkdir()
        versions.write_list(tmp_path / version, version, [], CHANGELOG)
    versions.renew(tmp_path, CHANGELOG)
    assert written(tmp_path / "0.4.0") == [
        ("main", "../main/index.html"),
        ("0.10.0", "../0.10.0/index.html"),
        ("0.6.0: what changed", "changelog.html#060-unreleased"),
        ("*0.4.0", "index.html"),
    ]
    assert written(tmp_path / "main")[0] == ("*main", "index.html")
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_every_version_of_the_changelog_is_found() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = list(versions.released(changelog))
    assert found == [line.split()[1] for line in changelog.splitlines() if line.startswith("## ")]
    assert found[0] == thisthat.__version__


@pytest.fixture
def page(browser: Browser) -> Page:
    made = browser.new_page(viewport={"width": 1280, "height": 900})
    made.on("pageerror", lambda error: pytest.fail(str(error)))
    return made


def chosen(page: Page) -> str:
    return str(page.evaluate("document.getElementById('versions').selectedOptions[0].label"))


def test_choosing_a_version_without_pages_shows_its_changes(page: Page, address: str) -> None:
    page.goto(f"{address}decisions/a-tree-of-tokens.html")
    assert chosen(page).split()[0] == thisthat.__version__
    page.get_by_label("Version").select_option("0.4.0: what changed")
    page.wait_for_url(f"{address}changelog.html#040-*")
    expect(page.locator(":target + h2, h2:target, section:target").first).to_contain_text("0.4.0")
    page.go_back()
    assert chosen(page).split()[0] == thisthat.__version__
    page.close()


def test_choosing_works_on_files_too(page: Page, site: Path, tmp_path: Path) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in (thisthat.__version__, "99.0"):
        shutil.copytree(site, tmp_path / version)
    versions.renew(tmp_path, changelog)
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_url("**/99.0/index.html")
    page.goto((tmp_path / "99.0" / "start.html").as_uri())
    assert chosen(page) == "99.0"
    page.get_by_label("Version").select_option(index=1)
    page.wait_for_url(f"**/{thisthat.__version__}/index.html")
    assert chosen(page).startswith(thisthat.__version__)
    page.close()
