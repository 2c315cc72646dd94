"""A real browser and a real server for the tests of the page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.browser import chromium
from tests.serve.page.live import live_server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    with live_server(also_lambdas=(0.0,)) as running:
        yield running


def complaint(told: ConsoleMessage) -> bool:
    """Whether a line of the console is a fault of the page, not a refusal of the server."""
    return told.type == "error" and not told.text.startswith("Failed to load resource")


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page, with its first answers; any error or foreign request fails the test."""
    with browser.new_context(viewport={"width": 1200, "height": 900}) as context:
        opened = context.new_page()
        faults: list[str] = []
        opened.on("pageerror", lambda error: faults.append(f"error: {error}"))
        opened.on("console", lambda told: complaint(told) and faults.append(told.text))
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
