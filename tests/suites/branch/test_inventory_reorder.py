"""Stock rules worked out unit by unit, and again from the JSON that is shown."""

import re

from thisthat.random import Rng
from thisthat.suites.branch.inventory_reorder import (
    COMING,
    FAMILY,
    HELD,
    LEAVE,
    POINTS,
    STOCK,
    STOPS,
    THINGS,
)
from thisthat.suites.branch.settings import BranchSettings

NO_NEED = {text.format(thing=thing) for text in LEAVE for thing in THINGS}


def pick(record: dict[str, object], names: tuple[str, ...]) -> object:
    found = [record[name.replace(" ", "_")] for name in names if name.replace(" ", "_") in record]
    return found[0] if found else None


def test_the_json_and_the_rule_give_the_answer() -> None:
    settings = BranchSettings(abstain=0)
    checked = 0
    for number in range(4_000):
        rng = Rng("stock text", number)
        item = FAMILY.generate(rng, settings.draw(rng), "train")
        assert item is not None
        if not isinstance(item.state, dict):
            continue
        record = item.state.get("item record") or item.state.get("stock card") or item.state
        rules = [text for text in (item.question, *item.state.values()) if isinstance(text, str)]
        rule = next(text for text in rules if "Order more when" in text)
        left = int(str(pick(record, STOCK)))
        terms = rule.split("Order more when")[1].split(" is ")[0]
        if "minus" in terms or "after taking off" in terms:
            left -= int(str(pick(record, HELD)))
        if "plus" in terms or "added" in terms:
            left += int(str(pick(record, COMING)))
        point = int(str(pick(record, POINTS)))
        orders = left <= point if re.search("at or below|no more than", rule) else left < point
        if re.search("never ordered|no order if", rule) and pick(record, STOPS):
            orders = False
        wants_no_order = any(item.question.endswith(text) for text in NO_NEED)
        assert orders != wants_no_order if item.answer else orders == wants_no_order, item
        checked += 1
    assert checked > 500
