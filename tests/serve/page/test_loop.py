"""The loop's page in a real browser: what is tried, the evidence, and one click to go back."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Dialog, Page, expect

from tests.browser import complaints
from tests.loop.test_summary import EVALUATION
from tests.serve.page.live import live_server
from tests.serve.page.test_access import faults as access_faults
from tests.serve.page.test_playground import ANSWERED
from tests.serve.test_trials import CANARY, ask, begin, registry, serving, store_of, tell
from thisthat.audit.played import is_played
from thisthat.loop.outcomes import received
from thisthat.loop.registry import Registry

__all__ = ["registry"]


def accepted(dialog: Dialog) -> None:
    dialog.accept()


def opened(browser: Browser, address: str, *refusals: tuple[str, int]) -> tuple[Page, list[str]]:
    page = browser.new_page()
    faults = complaints(page, refusals)
    page.on("dialog", accepted)
    page.goto(f"{address}/loop")
    page.get_by_label("This page needs an admin key").fill("adm")
    page.get_by_role("button", name="Use it").click()
    return page, faults


def for_everybody(page: Page) -> None:
    """Fails if a name is missing, a text is faint, or something does not fit."""
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert access_faults(page) == [], width


def test_what_is_tried_is_shown_and_ended(
    browser: Browser, registry: Registry, tmp_path: Path
) -> None:
    with serving(registry) as (service, client):
        begun = begin(registry, service, CANARY)
        for number in range(8):
            _, request, _ = ask(client, number)
            tell(client, {"request": request, "question": "lost", "option": "yes"})
        registry.evaluated("two", EVALUATION, by="ann")
        page, faults = opened(browser, str(client.base_url).rstrip("/"))
        expect(page.locator("#evaluations tbody tr")).to_have_count(2)
        expect(page.locator("#evaluations")).to_contain_text("+0.200 [+0.100, +0.300]")
        expect(page.locator("#champion")).to_have_text("champion one")
        expect(page.locator(".trial h3")).to_have_text(f"{begun.name}: two against one")
        expect(page.locator(".trial svg polyline")).to_have_count(3)
        expect(page.locator("#decisions figure")).to_have_count(2)
        expect(page.locator("#history tbody tr")).to_have_count(7)
        for_everybody(page)
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


def test_the_queue_is_reviewed_with_the_keyboard(browser: Browser, registry: Registry) -> None:
    with serving(registry, keep_states=True) as (_, client):
        for number in range(3):
            ask(client, number)
        page, faults = opened(browser, str(client.base_url).rstrip("/"))
        rows = page.get_by_role("listitem")
        expect(rows).to_have_count(3)
        first = rows.first
        expect(first.get_by_role("heading")).to_have_text("lost")
        expect(first).to_contain_text("Is it lost?")
        expect(first).to_contain_text("unsure")
        expect(first.get_by_role("region", name="State")).to_contain_text("parcel")
        expect(first.get_by_role("group", name="lost").get_by_role("button")).to_have_count(2)
        for_everybody(page)
        first.get_by_role("button", name="yes").focus()
        page.keyboard.press("Enter")
        expect(rows).to_have_count(2)
        expect(page.locator("#announcer")).to_have_text("lost: yes is recorded, 2 left")
        assert page.evaluate("document.activeElement.closest('li') !== null")
        page.keyboard.press("Enter")
        expect(rows).to_have_count(1)
        rows.first.get_by_role("button", name="yes").click()
        expect(page.locator("#review-empty")).to_have_text("Nothing to review.")
        found = [each.outcome for each in received(store_of(registry))]
        assert sorted(str(each.option) for each in found)[-1] == "yes"
        assert {each.source for each in found} == {"review page"}
        assert len({each.decision for each in found}) == 3
        page.reload()
        page.get_by_label("This page needs an admin key").fill("adm")
        page.keyboard.press("Enter")
        expect(page.locator("#review-empty")).to_have_text("Nothing to review.")
        assert faults == []
        page.close()


def test_what_the_playground_asks_is_not_to_be_reviewed(
    browser: Browser, registry: Registry
) -> None:
    with serving(registry, keep_states=True) as (_, client):
        page, faults = opened(browser, str(client.base_url).rstrip("/"))
        page.get_by_role("link", name="Playground").click()
        page.wait_for_selector(ANSWERED)
        page.get_by_role("tab", name="Evidence").click()
        expect(page.get_by_role("tabpanel").locator("section").first).to_be_visible()
        page.get_by_role("link", name="Loop").click()
        page.get_by_label("This page needs an admin key").fill("adm")
        page.keyboard.press("Enter")
        expect(page.locator("#review-empty")).to_have_text("Nothing to review.")
        expect(page.locator("#decisions")).to_have_text("The log has no decisions.")
        assert faults == []
        page.close()
    asked = {each.request for each in store_of(registry).read()}
    assert len(asked) == 2
    assert all(map(is_played, asked))


def test_a_key_that_may_not_record_is_told_so_and_the_row_stays(
    browser: Browser, registry: Registry
) -> None:
    keys = {"keys": ("own decide dec", "boss log log"), "admin_keys": ("adm",)}
    with serving(registry, keep_states=True, **keys) as (_, client):
        client.headers["authorization"] = "Bearer dec"
        ask(client, 1)
        refusals = ("/page/about", 401), ("/page/about", 403), ("/v1/outcomes", 403)
        page, faults = opened(browser, str(client.base_url).rstrip("/"), *refusals)
        page.get_by_role("listitem").get_by_role("button", name="no").click()
        expect(page.locator(".fault")).to_have_text(
            "Not recorded: this key is for admin, not for log; in the file of keys, the line"
            " NAME admin+log KEY lets it do both"
        )
        expect(page.get_by_role("listitem")).to_have_count(1)
        expect(page.get_by_role("button", name="no")).to_be_focused()
        assert list(received(store_of(registry))) == []
        assert faults == []
        page.close()


def test_a_wrong_key_is_told_and_may_be_typed_again(browser: Browser, registry: Registry) -> None:
    with serving(registry) as (_, client):
        page = browser.new_page()
        faults = complaints(page, [("/admin/loop", 401)])
        page.goto(str(client.base_url))
        page.get_by_role("link", name="Loop").click()
        key = page.get_by_label("This page needs an admin key")
        expect(key).to_be_focused()
        expect(page.locator("#notice")).to_be_hidden()
        key.fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#notice")).to_contain_text("send a known key")
        key.fill("adm")
        page.keyboard.press("Enter")
        expect(page.locator("#champion")).to_have_text("champion one")
        expect(page.locator("#notice")).to_be_hidden()
        assert faults == []
        page.close()


def no_loop_here(page: Page) -> None:
    expect(page.locator("main")).to_have_text(re.compile(r"^\s*There is no loop here to show\."))
    expect(page.locator("#lacking code")).to_have_text(
        "thisthat serve --loop FOLDER --decision-log FILE --admin-keys FILE"
    )
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#key-form")).to_be_hidden()


def test_a_server_without_a_loop_offers_none_and_asks_for_no_key(
    browser: Browser, address: str
) -> None:
    page = browser.new_page()
    faults = complaints(page)
    with page.expect_response("**/page/about"):
        page.goto(address)
    page.wait_for_load_state("networkidle")
    expect(page.get_by_role("link", name="Loop")).to_be_hidden()
    page.goto(f"{address}/loop")
    no_loop_here(page)
    for_everybody(page)
    page.get_by_role("link", name="Playground").click()
    page.wait_for_selector("#cards:not(.outdated)")
    assert faults == []
    page.close()


def test_an_admin_key_without_a_loop_is_told_so(browser: Browser) -> None:
    with live_server(keys=("own decide dec",), admin_keys=("adm",)) as address:
        refusals = ("/page/about", 401), ("/page/about", 403), ("/admin/loop", 409)
        page, faults = opened(browser, address, *refusals)
        no_loop_here(page)
        assert faults == []
        page.close()
