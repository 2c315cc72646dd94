"""A real browser and a real server for the tests of the page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser import chromium, complaints
from tests.serve.page.live import live_server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    with live_server(also_lambdas=(0.0,)) as running:
        yield running


@pytest.fixture
def refusals() -> list[tuple[str, int]]:
    """Refusals that a test expects the page to meet, and so its console to tell: path, status."""
    return []


@pytest.fixture
def page(browser: Browser, address: str, refusals: list[tuple[str, int]]) -> Iterator[Page]:
    """The page, with its first answers; any other error or foreign request fails the test."""
    with browser.new_context(viewport={"width": 1200, "height": 900}) as context:
        opened = context.new_page()
        faults = complaints(opened, refusals)
        opened.on(
            "request",
            lambda request: (
                request.url.startswith(address) or faults.append(f"asked for {request.url}")
            ),
        )
        opened.goto(address)
        opened.wait_for_selector("#cards:not(.outdated)")
        yield opened
        assert faults == []
