"""A real browser and a real server for the tests of the page."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.serve.page.live import live_server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no chromium on the path; the page is tested in a real browser")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


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
