"""The page's own examples and their twins, as a browser shows them with the default checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.serve.page.live import live_service
from tests.serve.page.test_playground import ANSWERED, asked_by, shares
from tests.serve.page.test_views import loaded
from thisthat.decide.opening import open_decider
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

pytestmark = pytest.mark.weights

CLEAR = 0.65
Right = dict[str, tuple[int, ...]]
"""By question: the rows of its card that are right."""


def teapot(
    days: int = 12,
    damaged: bool = True,
    wish: str = "I would like my money back.",
    why: str = "The spout was broken off when I opened the box.",
) -> str:
    state = {"order": 1187, "item": "ceramic teapot", "paid": "89.00 EUR"}
    state |= {"goods_damaged": damaged, "days_since_delivery": days, "message": f"{why} {wish}"}
    return json.dumps(state, indent=2)


def refund(days: int = 12, damaged: bool = True, wants: int = 0) -> Right:
    age = 0 if days < 10 else 1 if days <= 28 else 2
    return {"refund": (0 if damaged and days <= 28 else 1,), "wants": (wants,), "age": (age,)}


def command(deletes: bool, directory: int, risk: int) -> Right:
    return {"deletes": (1 - deletes,), "directory": (directory,), "risk": (risk,)}


def paragraphs(*texts: str) -> str:
    return "\n\n".join(texts)


def invoice(wish: str) -> str:
    payments = "My card shows two payments of 24.90 for the June invoice."
    return paragraphs("Subject: Charged twice??", payments, wish, "Thanks, Jo")


def ticket(queue: int, payment: bool, furious: bool) -> Right:
    return {"queue": (queue,), "payment": (1 - payment,), "anger": (2,) if furious else (0, 1)}


def lunch(wish: str) -> str:
    asks = f"Hi Tom, are we still on for lunch on Thursday? {wish} Ana"
    return paragraphs("From: Ana Brandt\nSubject: Lunch on Thursday", asks)


def mail(asks: int) -> Right:
    """``asks``: 0 is for money or a password, which is what phishing is."""
    danger = (2,) if asks == 0 else (0, 1)
    return {"asks": (asks,), "phishing": (0 if asks == 0 else 1,), "danger": danger}


SETTINGS = "Every time I open the settings, the app closes with error 500."
ADDRESSES = "security@bank-alerts.example", "news@greengrocer.example", "win@lucky.example"
# The example, its twin on the page, and what else people try first: what is right for each.
TRIED: dict[str, list[tuple[str, Right]]] = {
    "A refund": [
        (teapot(), refund()),
        (teapot(45), refund(45)),
        *((teapot(days), refund(days)) for days in (1, 9, 20, 27, 28, 29, 30, 31, 60, 90)),
        *((teapot(days), refund(days)) for days in (100, 300, 365)),
        *((teapot(days, False), refund(days, False)) for days in (1, 12, 28, 45)),
        (teapot(12, False, why="I do not like the colour."), refund(12, False)),
        (teapot(wish="Please send me a new one."), refund(wants=1)),
        (teapot(45, wish="Please send me a new one."), refund(45, wants=1)),
        (teapot(wish="Can you mend it?"), refund(wants=2)),
    ],
    "A shell command": [
        ("rm -rf /home/ana", command(True, 3, 2)),
        ("ls /home/ana", command(False, 3, 0)),
        ("ls -la /home/ana", command(False, 3, 0)),
        ("rm -r /srv/app/*.log", command(True, 0, 2)),
        ("rm /var/log/syslog", command(True, 2, 2)),
        ("rmdir /srv/app/old", command(True, 0, 2)),
        ('find /var/log -name "*.gz" -delete', command(True, 2, 2)),
        ('find /var/log -name "*.gz"', command(False, 2, 0)),
        ("cat /etc/hosts", command(False, 1, 0)),
        ("du -sh /var/log", command(False, 2, 0)),
        ("grep error /var/log/syslog", command(False, 2, 0)),
        ("cp /etc/hosts /etc/hosts.bak", command(False, 1, 1)),
        ("mv /srv/app/a /srv/app/b", command(False, 0, 1)),
        ("mkdir /srv/app/logs", command(False, 0, 1)),
        ("touch /home/ana/notes", command(False, 3, 1)),
        ("chmod 600 /home/ana/notes", command(False, 3, 1)),
    ],
    "A ticket": [
        (invoice("Please pay one of them back before Friday."), ticket(0, True, False)),
        (
            invoice("I am furious. This is the third time and nobody answers!"),
            ticket(0, True, True),
        ),
        (invoice("Please send me a receipt for both."), ticket(0, True, False)),
        (invoice("Is that right?"), ticket(0, True, False)),
        (
            invoice("I am furious! Pay one of them back before Friday!"),
            ticket(0, True, True),
        ),
        (
            paragraphs(
                "Subject: The app crashes",
                SETTINGS,
                "This is the third time I write, and I am furious!",
                "Jo",
            ),
            ticket(1, False, True),
        ),
        (
            paragraphs("Subject: The app crashes", SETTINGS, "Can you have a look? Thanks, Jo"),
            ticket(1, False, False),
        ),
        (
            paragraphs(
                "Subject: Cannot sign in",
                "I forgot my password and cannot sign in.",
                "Please send me a new one.",
                "Thanks, Jo",
            ),
            ticket(2, False, False),
        ),
        (
            paragraphs(
                "Subject: Closing my account",
                "I am moving abroad. Please close my account at the end of June.",
                "Thanks, Jo",
            ),
            ticket(2, False, False),
        ),
    ],
    "A mail": [
        (lunch("Please send me your password before."), mail(0)),
        (lunch("I look forward to seeing you and the children."), mail(1)),
        (lunch("Please tell me your password."), mail(0)),
        (lunch("Please send me your credit card number."), mail(0)),
        (lunch("Please send me 500 euros before."), mail(0)),
        (lunch("Please bring the children."), mail(1)),
        (
            paragraphs(
                "From: Ana Brandt\nSubject: Lunch on Thursday",
                "Hi Tom, I am sorry, I cannot come to lunch on Thursday. Shall we meet on"
                " Friday? Ana",
            ),
            mail(1),
        ),
        (
            paragraphs(
                f"From: Your Bank <{ADDRESSES[0]}>\nSubject: Your account is locked",
                "Dear customer, your account was locked. Click the link below within 24 hours and"
                " enter your password to unlock it, or it will be closed.",
            ),
            mail(0),
        ),
        (
            paragraphs(
                f"From: Green Grocer <{ADDRESSES[1]}>\nSubject: This week's offers",
                "Fresh strawberries, 20 % off until Saturday. Come and see us in the market hall!",
            ),
            mail(2),
        ),
        (
            paragraphs(
                f"From: Lucky Draw <{ADDRESSES[2]}>\nSubject: You have won",
                "You have won 10,000 euros! Send us 50 euros for the transfer and your bank"
                " details.",
            ),
            mail(0),
        ),
    ],
}


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    service = Service(Settings(port=0), lambda ref, lam: open_decider(ref, lam=lam))
    with live_service(service) as address, browser.new_context() as context:
        opened = context.new_page()
        opened.goto(address)
        opened.wait_for_selector(ANSWERED, timeout=60_000)
        yield opened


def check(page: Page, body: dict[str, Any], right: Right, clear: float = CLEAR) -> None:
    """Every card says what is right, clearly, and its branch goes there."""
    assert list(body["questions"]) == list(right)
    ways = page.locator(".way.taken .target").all_inner_texts()
    names = page.locator("article")
    for number, (name, rows) in enumerate(right.items()):
        found = shares(page)[number]
        assert found.index(max(found)) in rows, (name, found, body["state"])
        assert sum(found[row] for row in rows) >= clear, (name, found, body["state"])
        kind = names.nth(number).get_attribute("data-kind")
        if kind == "score":
            way = "above" if 2 in rows else "below"
        elif kind == "boolean":
            way = ("yes", "no")[rows[0]]
        else:
            way = list(body["questions"][name]["criteria"])[rows[0]]
        assert ways[number] == way, (name, found, body["state"])


def test_every_example_is_tested(page: Page) -> None:
    buttons = page.locator("#examples button:not(.twin)")
    assert buttons.all_inner_texts() == list(TRIED)
    assert min(map(len, TRIED.values())) >= 8


@pytest.mark.parametrize("name", TRIED)
def test_an_example_and_what_people_try_are_answered_rightly(page: Page, name: str) -> None:
    (state, right), (other, turned), *tried = TRIED[name]
    body = asked_by(page, page.get_by_role("button", name=name).click)
    assert body["state"] == (json.loads(state) if state.startswith("{") else state)
    check(page, body, right)
    body = asked_by(page, page.locator("#examples .twin").click)
    assert body["state"] == (json.loads(other) if other.startswith("{") else other)
    check(page, body, turned)
    assert right != turned
    for text, expected in tried:
        check(page, asked_by(page, lambda text=text: page.fill("#state", text)), expected)


def test_evidence_shows_what_the_rule_rests_on(page: Page) -> None:
    asked_by(page, page.get_by_role("button", name="A refund").click)
    parts = loaded(page, "Evidence").locator("section").first.locator("li")
    for part, name in ((0, "days_since_delivery"), (1, "goods_damaged")):
        expect(parts.nth(part).locator(".part")).to_contain_text(name)
        expect(parts.nth(part)).to_contain_text("speaks for it")


@pytest.mark.parametrize("name", TRIED)
def test_a_twin_changes_one_line(page: Page, name: str) -> None:
    asked_by(page, page.get_by_role("button", name=name).click)
    before = page.locator("#state").input_value().splitlines()
    asked_by(page, page.locator("#examples .twin").click)
    after = page.locator("#state").input_value().splitlines()
    assert len(before) == len(after)
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


def test_the_sample_of_the_teach_view_is_answered_rightly(page: Page) -> None:
    page.get_by_role("tab", name="Teach").click()
    sample = page.get_by_role("button", name="Use a sample")
    body = asked_by(page, sample.click)
    check(page, body, {"team": (0,)}, clear=0.55)
    expect(page.locator(".labeller h3")).to_have_text("Row 1 of 48")
