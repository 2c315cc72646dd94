"""The page's own examples and their twins, as a browser shows them with the default checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.serve.page.live import live_service
from tests.serve.page.test_playground import ANSWERED, asked_by, shares
from thisthat.decide.opening import open_decider
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

pytestmark = pytest.mark.weights

LEAD = 0.1
# By question: the right row, and the way its branch must go; of the example, then of its twin.
RIGHT: dict[str, tuple[dict[str, tuple[int, str]], dict[str, tuple[int, str]]]] = {
    "A refund": (
        {"refund": (0, "yes"), "wants": (0, "refund"), "age": (1, "below")},
        {"refund": (1, "no"), "wants": (0, "refund"), "age": (2, "above")},
    ),
    "A shell command": (
        {"deletes": (0, "yes"), "directory": (3, "/home/ana"), "risk": (2, "above")},
        {"deletes": (1, "no"), "directory": (1, "/etc"), "risk": (0, "below")},
    ),
    "A ticket": (
        {"queue": (0, "billing"), "refund": (0, "yes"), "anger": (1, "below")},
        {"queue": (1, "technical"), "refund": (1, "no"), "anger": (2, "above")},
    ),
    "A mail": (
        {"kind": (0, "fraud"), "password": (0, "yes"), "danger": (2, "above")},
        {"kind": (1, "friends"), "password": (1, "no"), "danger": (0, "below")},
    ),
}


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    service = Service(Settings(port=0), lambda ref, lam: open_decider(ref, lam=lam))
    with live_service(service) as address, browser.new_context() as context:
        opened = context.new_page()
        opened.goto(address)
        opened.wait_for_selector(ANSWERED, timeout=60_000)
        yield opened


def check(page: Page, body: dict[str, Any], right: dict[str, tuple[int, str]]) -> None:
    assert list(body["questions"]) == list(right)
    ways = page.locator(".way.taken .target").all_inner_texts()
    for name, found, way in zip(right, shares(page), ways, strict=True):
        *_, second, best = sorted(found)
        assert found.index(best) == right[name][0], (name, found)
        assert best - second >= LEAD, (name, found)
        assert way == right[name][1], (name, found)


def test_every_example_is_tested(page: Page) -> None:
    buttons = page.locator("#examples button:not(.twin)")
    assert buttons.all_inner_texts() == list(RIGHT)


@pytest.mark.parametrize("name", RIGHT)
def test_an_example_and_its_twin_branch_rightly(page: Page, name: str) -> None:
    example, twin = RIGHT[name]
    check(page, asked_by(page, page.get_by_role("button", name=name).click), example)
    check(page, asked_by(page, page.locator("#examples .twin").click), twin)


def test_the_sample_of_the_teach_view_is_answered_rightly(page: Page) -> None:
    page.get_by_role("tab", name="Teach").click()
    sample = page.get_by_role("button", name="Use a sample")
    body = asked_by(page, sample.click)
    check(page, body, {"team": (0, "harbour")})
    expect(page.locator(".labeller h3")).to_have_text("Row 1 of 48")
