"""axe-core on a page that a real browser shows."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page


def violations(page: Page) -> list[str]:
    """What axe finds wrong with the page as it is shown; skipped without axe."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]
