"""For everybody: names, roles, contrast, focus and room on a phone in every view."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.axe import violations
from tests.browser import OVERFLOW
from tests.serve.page.test_playground import ANSWERED
from tests.serve.page.test_views import view

TABS = ["Code", "Evidence", "Order", "Policy", "λ", "Time", "Compare", "Prompt", "Teach"]
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
LOADING = {"Evidence", "Order", "λ", "Compare", "Prompt"}

FAULTS = Path(__file__).with_name("faults.js").read_text(encoding="utf-8")


def faults(page: Page) -> list[str]:
    """What is wrong with the page as it is shown, in its light and in its dark colours."""
    found = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found += [f"{scheme}: {each}" for each in page.evaluate(FAULTS)]
    if page.evaluate(OVERFLOW) > 0:
        found.append("scrolls sideways")
    return found


@pytest.fixture(params=[1280, 390], ids=["desk", "phone"])
def everywhere(request: pytest.FixtureRequest, browser: Browser, address: str) -> Any:
    """The page at one width."""
    with browser.new_context(viewport={"width": request.param, "height": 900}) as context:
        opened = context.new_page()
        opened.goto(address)
        opened.wait_for_selector(ANSWERED)
        yield opened


def shown(page: Page, tab: str) -> None:
    found = view(page, tab)
    if tab in LOADING:
        expect(found.locator(".results[aria-busy=false] > *").first).to_be_visible()
    if tab == "Teach":
        found.get_by_role("button", name="Use a sample").click()
        expect(found.locator(".labeller")).to_contain_text("Row 1 of 48")
        page.wait_for_selector(ANSWERED)


def test_every_view_is_for_everybody(everywhere: Page) -> None:
    page = everywhere
    for tab in TABS:
        shown(page, tab)
        assert faults(page) == [], tab


def test_axe_finds_nothing_in_any_view(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    for tab in TABS:
        shown(page, tab)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert violations(page) == [], f"{tab}, {scheme}"


def test_axe_finds_nothing_while_the_server_is_asked(page: Page) -> None:
    held: list[Route] = []
    page.route("**/v1/decide", lambda route: held.append(route))
    with page.expect_request("**/v1/decide"):
        found = view(page, "Evidence").locator(".results")
    expect(found).to_have_text("Asking the server …")
    assert violations(page) == []
    held.pop().continue_()
    expect(found.locator("section").first).to_be_visible()
    with page.expect_request("**/v1/decide"):
        page.get_by_label("Text", exact=True).check()
    expect(found).to_have_attribute("aria-busy", "true")
    expect(found.locator("section").first).to_be_visible()
    assert violations(page) == []
    held.pop().continue_()


def test_the_checks_can_fail(page: Page) -> None:
    page.evaluate("""() => {
        const button = document.createElement("button");
        const faint = document.createElement("p");
        const again = document.createElement("h3");
        faint.textContent = "faint";
        faint.style.color = getComputedStyle(document.body).backgroundColor;
        again.id = "state";
        again.textContent = "again";
        document.body.append(button, faint, again);
    }""")
    found = page.evaluate(FAULTS)
    assert [fault.split(":")[0] for fault in found] == ["no name", "#state twice", "contrast 1.00"]


def test_focus_can_be_seen_on_everything(page: Page) -> None:
    shown(page, "Teach")
    unseen = page.evaluate("""() => [...document.querySelectorAll(
        "button:not(:disabled), a, input, textarea, select, summary, [tabindex='0']")]
      .filter((node) => node.checkVisibility())
      .filter((node) => {
        node.focus({ focusVisible: true });
        if (document.activeElement !== node) return false;
        // A hidden radio button shows its focus on the words beside it.
        const seen = node.type === "radio" ? node.nextElementSibling : node;
        const { outlineStyle, outlineWidth } = getComputedStyle(seen);
        return outlineStyle === "none" || parseFloat(outlineWidth) < 2;
      })
      .map((node) => node.outerHTML.slice(0, 120))""")
    assert unseen == []


def test_the_first_load_is_small_and_stays_here(browser: Browser, address: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        sizes: dict[str, int] = {}
        page.on(
            "response",
            lambda answer: sizes.update({answer.url: int(answer.headers["content-length"])}),
        )
        page.goto(address)
        page.wait_for_selector(ANSWERED)
        page.wait_for_load_state("networkidle")
        assert all(url.startswith(address) for url in sizes)
        assert len(sizes) > 20
        assert sum(sizes.values()) < 150_000, sizes
