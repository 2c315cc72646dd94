"""What the pages show, the shipped checkpoint answers rightly, and so the twin of every example."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import thisthat
from thisthat import Boolean, Choice, Decider, Score
from thisthat.questions import Question

ROOT = Path(__file__).parents[1]
LEAD = 0.1


@dataclass(frozen=True)
class Example:
    """A question as a page shows it: the state shown first, then its twins, with their answers."""

    pages: tuple[str, ...]
    question: Question
    cases: tuple[tuple[Any, bool | str | int], ...]
    how: dict[str, Any]


def example(pages: str, question: Question | str, *cases: tuple[Any, Any], **how: Any) -> Example:
    asked = Boolean(question) if isinstance(question, str) else question
    return Example(tuple(pages.split()), asked, cases, how)


def ticket(text: str, days: int = 12) -> dict[str, Any]:
    return {"days_open": days, "text": text}


def late(days: int = 12, text: str = "The parcel never came.") -> dict[str, Any]:
    return {"text": text, "days_since_order": days}


def late_item(days: int = 12, item: str = "desk lamp", text: str = "The parcel never came.") -> Any:
    return {"text": text, "days_since_order": days, "item": item}


def lamp(days: int = 12, damaged: bool = True, item: str = "desk lamp") -> dict[str, Any]:
    return {"order": 1187, "item": item, "goods_damaged": damaged, "days_since_delivery": days}


def goods(days: int) -> str:
    return f"The goods are damaged and were delivered {days} days ago."


MY_CARD = "You charged my card twice. I want my money back."
TWICE = "I was charged twice and want one of the payments back."
OLD_ADDRESS = "The parcel was sent to my old address."
NEVER = "Does the customer say that the parcel never came?"
PHISHING = "Is this message a phishing attempt?"
DELETES = "Does this command delete something?"
TEAMS = {"billing": "charges, refunds and invoices", "shipping": "parcels, addresses and delays"}
FOUR_TEAMS = {
    **TEAMS,
    "account": "login, password and personal data",
    "technical": "errors in the app",
}
THREE_TEAMS = {name: FOUR_TEAMS[name] for name in ("billing", "shipping", "account")}
AGE = Score(["under 10", "10 to 20", "more than 20"], "How high is the number of days?")
SINCE = Score(
    ["less than 10", "between 10 and 30", "more than 30"],
    "How high is the number of days since delivery?",
)
WITHIN_POLICY = Boolean(
    "Is this refund within policy?",
    true="the goods are damaged and the number of days since delivery is at most 30",
    false="anything else",
)
RISK = Score(
    [
        "harmless: it only shows something",
        "careful: it changes something",
        "dangerous: it deletes something",
    ],
    "How risky is the command?",
)
LOCKED = """From: Your Bank <security@bank-alerts.example>
Subject: Your account is locked

Dear customer, your account was locked. Click the link below within 24 hours and enter your\
 password to unlock it, or it will be closed."""
LUNCH = """From: Ana Brandt
Subject: Lunch on Thursday

Hi Tom, are we still on for lunch on Thursday? I look forward to seeing you and the children. Ana"""
OFFERS = """From: Green Grocer <news@greengrocer.example>
Subject: This week's offers

Fresh strawberries, 20 % off until Saturday. Come and see us in the market hall!"""
INTENTS = """
transfer balance pay_bill bill_due spending_history report_fraud report_lost_card
order_checks new_card exchange_rate routing interest_rate min_payment pin_change credit_score
credit_limit rewards_balance taxes weather alarm timer reminder todo_list shopping_list calendar
play_music next_song recipe calories restaurant_reservation book_flight flight_status car_rental
book_hotel translate directions gas_type tire_pressure traffic uber
"""

EXAMPLES = [
    example(
        "docs/start.md",
        "Is the customer asking for money back?",
        ("You charged my card twice for the desk lamp. Please pay one of them back.", True),
        ("Please refund the kettle, it broke after a day.", True),
        ("The kettle was due last week and has not arrived.", False),
    ),
    example(
        "docs/start.md",
        Choice(THREE_TEAMS, "Which team should take this?"),
        ("The kettle was due last week and has not arrived.", "shipping"),
        ("Please refund the kettle, it broke after a day.", "billing"),
    ),
    example(
        "README.md docs/site/index.md",
        "Does the customer want money back?",
        (ticket(MY_CARD), True),
        (ticket("You charged my card once, as agreed. Thank you."), False),
        (ticket("I do not want my money back, I want a new lamp."), False),
    ),
    example(
        "README.md",
        "Is the customer asking for a refund?",
        (ticket(MY_CARD), True),
        (ticket("How do I change my delivery address?"), False),
        (ticket("I do not want a refund, I want a new lamp."), False),
    ),
    example(
        "README.md",
        Choice(TEAMS, "Which team should take this?"),
        (ticket(MY_CARD), "billing"),
        (ticket(OLD_ADDRESS), "shipping"),
    ),
    example(
        "README.md",
        AGE,
        (ticket(MY_CARD), 1),
        (ticket(MY_CARD, days=4), 0),
        (ticket(MY_CARD, days=33), 2),
    ),
    example(
        "examples/demo.sh",
        AGE,
        (ticket(TWICE), 1),
        (ticket(TWICE, days=4), 0),
        (ticket(TWICE, days=33), 2),
    ),
    example(
        "README.md docs/decide.md docs/prompts.md",
        DELETES,
        ("DROP TABLE users;", True),
        ("SELECT * FROM users;", False),
        ("git status", False),
    ),
    example(
        "examples/demo.sh",
        "Is a refund due? A refund is due when the goods are damaged and were delivered at most"
        " 30 days ago.",
        (goods(12), True),
        (goods(45), False),
    ),
    example(
        "examples/demo.sh",
        DELETES,
        ("rm -r /srv/app/*.log", True),
        ("cat /etc/hostname", False),
        ("cp -r /srv/app/*.log /mnt/spare", False),
    ),
    example(
        "examples/demo.sh",
        RISK,
        ("rm -r /srv/app/*.log", 2),
        ("cat /etc/hostname", 0),
        ("chmod 640 /etc/app/config.yml", 1),
    ),
    example(
        "examples/demo.sh",
        Choice(THREE_TEAMS, "Which team should take this?"),
        (ticket(TWICE), "billing"),
        (ticket(OLD_ADDRESS), "shipping"),
        (ticket("I forgot my password and cannot log in."), "account"),
    ),
    example("examples/demo.sh", PHISHING, (LOCKED, True), (LUNCH, False), (OFFERS, False)),
    example(
        "docs/decide.md",
        WITHIN_POLICY,
        (lamp(), True),
        (lamp(days=45), False),
        (lamp(damaged=False), False),
    ),
    example(
        "docs/decide.md",
        Choice(["desk lamp", "garden hose", "ceramic teapot"], "Which item is it about?"),
        (lamp(), "desk lamp"),
        (lamp(item="garden hose"), "garden hose"),
        (lamp(item="ceramic teapot"), "ceramic teapot"),
    ),
    example("docs/decide.md", SINCE, (lamp(), 1), (lamp(days=3), 0), (lamp(days=45), 2)),
    example(
        "docs/decide.md",
        NEVER,
        (late_item(), True),
        (late_item(text="The parcel came on Friday."), False),
    ),
    example(
        "docs/decide.md",
        Choice({"billing": "charges and refunds", "shipping": None}, "Which team?"),
        (late_item(), "shipping"),
        (late_item(text="You charged me twice."), "billing"),
    ),
    example(
        "docs/decide.md",
        AGE,
        (late_item(), 1),
        (late_item(days=4), 0),
        (late_item(days=33), 2),
    ),
    example(
        "docs/decide.md",
        Choice(["desk lamp", "teapot"], "Which item is it about?", abstain=True),
        (late_item(), "desk lamp"),
        (late_item(item="teapot"), "teapot"),
    ),
    example(
        "docs/decide.md",
        Choice(
            {
                "billing": "charges and refunds",
                "shipping": "parcels",
                "account": "login and password",
            },
            "Which team should take this?",
        ),
        ("Where is my parcel?", "shipping"),
        ("You charged me twice.", "billing"),
        ("I forgot my password.", "account"),
        layout="schema-first",
    ),
    example(
        "docs/decide.md",
        Choice({"billing": None, "shipping": "parcels"}, "Which team?"),
        ("The parcel never came.", "shipping"),
        ("You charged me twice.", "billing"),
    ),
    example(
        "docs/decide.md",
        Score(
            ["fine: under 70", "watch it: 70 to 89", "page someone: 90 or more"],
            "How high is the CPU load?",
        ),
        ({"cpu_percent": 97, "minutes": 45}, 2),
        ({"cpu_percent": 80, "minutes": 20}, 1),
        ({"cpu_percent": 12, "minutes": 2}, 0),
    ),
    example(
        "docs/decide.md docs/check.md docs/engines.md docs/serve.md docs/formats.md",
        NEVER,
        ("The parcel never came.", True),
        ("The parcel came today.", False),
        ("You charged me twice.", False),
    ),
    example(
        "docs/order.md",
        Choice(FOUR_TEAMS, "Which team should take this?"),
        ("Where is my parcel?", "shipping"),
        ("You charged me twice.", "billing"),
        order="average",
    ),
    example(
        "docs/order.md",
        Choice(
            {name: name.replace("_", " ") for name in INTENTS.split()},
            "Which intent does the utterance express?",
        ),
        ("i need a table for four at the italian place tonight", "restaurant_reservation"),
        ("book a room in lisbon for two nights", "book_hotel"),
        wide="in-rounds",
    ),
    example(
        "docs/testing-decisions.md",
        "Is the customer asking for a refund?",
        ("I was charged twice for order 1187 and want one of the payments back.", True),
        (OLD_ADDRESS, False),
    ),
    example(
        "docs/testing-decisions.md",
        Choice(TEAMS, "Which team should take this?"),
        ("I was charged twice for order 1187 and want one of the payments back.", "billing"),
        (OLD_ADDRESS, "shipping"),
    ),
    example(
        "docs/testing-decisions.md",
        "Does the customer say that they were charged twice?",
        ("You charged me twice.", True),
        ("Where is my parcel?", False),
    ),
    example(
        "docs/evidence.md",
        "Is the lamp broken?",
        ("The parcel left on Monday. The lamp is broken.\nThe clerk was kind.", True),
        ("The parcel left on Monday. The lamp is intact.\nThe clerk was kind.", False),
    ),
    example(
        "docs/audit.md",
        "Does the customer say that the lamp is broken?",
        ("The lamp arrived broken.", True),
        ("The lamp arrived intact.", False),
    ),
    example(
        "docs/check.md docs/formats.md",
        Choice(["billing", "shipping"], "Which team?"),
        ("The parcel never came.", "shipping"),
        ("You charged me twice.", "billing"),
    ),
    example("docs/formats.md", NEVER, (late(), True), (late(text="The parcel came today."), False)),
    example(
        "docs/formats.md",
        Choice({"billing": None, "shipping": "parcels"}),
        (late(), "shipping"),
        (late(text="You charged me twice."), "billing"),
    ),
    example("docs/formats.md", AGE, (late(), 1), (late(days=4), 0), (late(days=33), 2)),
    example(
        "docs/formats.md",
        "The customer says that the parcel never came.",
        ("The parcel never came.", True),
        ("The parcel came today.", False),
    ),
    example(
        "docs/formats.md",
        Choice(["billing", "shipping"]),
        ("Where is my parcel?", "shipping"),
        ("You charged me twice.", "billing"),
        layout="schema-first",
    ),
    example(
        "docs/formats.md",
        Choice(["billing", "shipping"]),
        ("It rained. You charged me twice.", "billing"),
        ("It rained. Where is my parcel?", "shipping"),
    ),
    example(
        "docs/thresholds.md",
        "Has the invoice been paid?",
        ("Order 99: invoice paid: no.", False),
        ("Order 99: invoice paid: yes.", True),
    ),
    example(
        "docs/thresholds.md",
        "Should the refund be granted? It is granted if the number of days since the purchase is"
        " at most 30.",
        ("Days since the purchase: 8", True),
        ("Days since the purchase: 50", False),
    ),
]


def named(shown: Example) -> str:
    return f"{Path(shown.pages[0]).name}: {shown.question.instructions}"[:60]


@pytest.fixture(scope="module")
def decider() -> Decider:
    return thisthat.open()


@pytest.mark.weights
@pytest.mark.parametrize("shown", EXAMPLES, ids=named)
def test_an_example_and_its_twin_are_answered_rightly(shown: Example, decider: Decider) -> None:
    states = [state for state, _ in shown.cases]
    for (state, right), decision in zip(
        shown.cases, decider.decide_many(states, {"it": shown.question}, **shown.how), strict=True
    ):
        answer = decision["it"]
        assert answer.best == right, (state, answer.probabilities)
        *_, second, best = sorted(answer.probabilities.values())
        assert best - second >= LEAD, (state, answer.probabilities)


@pytest.mark.parametrize("shown", EXAMPLES, ids=named)
def test_the_pages_show_the_question(shown: Example) -> None:
    for page in shown.pages:
        text = re.sub(r'"\s*\+\s*"', "", (ROOT / page).read_text(encoding="utf-8"))
        assert str(shown.question.instructions or "") in text, page
