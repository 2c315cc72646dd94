"""The loop's page in a real browser: what is tried, the evidence, and one click to go back."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Dialog, Page, expect

from tests.serve.test_trials import CANARY, ask, begin, registry, serving, tell
from thisthat.loop.registry import Registry

__all__ = ["registry"]


def accepted(dialog: Dialog) -> None:
    dialog.accept()


def opened(browser: Browser, address: str) -> tuple[Page, list[str]]:
    page = browser.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", accepted)
    page.goto(f"{address}/loop")
    page.get_by_label("This page wants an admin key").fill("adm")
    page.get_by_role("button", name="Use it").click()
    return page, faults


def test_what_is_tried_is_shown_and_ended(
    browser: Browser, registry: Registry, tmp_path: Path
) -> None:
    with serving(registry) as (service, client):
        begun = begin(registry, service, CANARY)
        for number in range(8):
            _, request, _ = ask(client, number)
            tell(client, {"request": request, "question": "lost", "option": "yes"})
        page, faults = opened(browser, str(client.base_url).rstrip("/"))
        expect(page.locator("#champion")).to_have_text("champion one")
        expect(page.locator(".trial h3")).to_have_text(f"{begun.name}: two against one")
        expect(page.locator(".trial svg polyline")).to_have_count(3)
        expect(page.locator("#decisions figure")).to_have_count(2)
        expect(page.locator("#history tbody tr")).to_have_count(6)
        page.screenshot(path=tmp_path / "loop.png", full_page=True)
        page.get_by_role("button", name="End it").click()
        expect(page.locator("#trying")).to_have_text("Nothing is being tried.")
        assert registry.now().running == {}
        registry.point("champion", "two", "ann", "", lam=0.5)
        page.get_by_role("button", name="Roll back to one").click(timeout=20_000)
        expect(page.locator("#champion")).to_have_text("champion one", timeout=20_000)
        assert registry.now().champion == "one"
        assert faults == []
        page.close()


def test_a_wrong_key_and_a_server_without_a_loop_are_told(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/loop")
    expect(page.locator("#notice")).to_contain_text("without an admin key")
    page.get_by_role("link", name="Playground").click()
    page.wait_for_selector("#cards:not(.outdated)")
    page.close()
