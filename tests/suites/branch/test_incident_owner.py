"""The owner looked up again in the rendered roster."""

import json
import re

from thisthat.random import Rng
from thisthat.suites.branch.incident_owner import FAMILY
from thisthat.suites.branch.settings import BranchSettings
from thisthat.suites.item import Item

HOURS = {
    **dict.fromkeys(range(6, 14), "early"),
    **dict.fromkeys(range(14, 22), "late"),
    **dict.fromkeys([22, 23, *range(6)], "night"),
}


def slow_owner(item: Item) -> str:
    state = item.state
    if isinstance(state, str) and state.startswith("{"):
        state = json.loads(state)
    if isinstance(state, dict):
        incident = {key: str(value) for key, value in state["incident"].items()}
        roster = state["roster"]
        rules = str(state.get("rules", ""))
    else:
        assert isinstance(state, str)
        table = [line.split(" | ") for line in state.splitlines() if " | " in line]
        table[0][0] = table[0][0].split()[-1]
        heads, *rows = table
        roster = {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows}
        found = re.findall(r"(area|service|unit|zone|reported at|severity): ([\w: ]+)", state)
        incident = {key.replace(" ", "_"): value.strip() for key, value in found}
        rules = state
    worst = re.search(r"Severity (\d) or more .* goes to (\w+) whatever", rules)
    if worst and int(incident["severity"]) >= int(worst[1]):
        return worst[2]
    area = next(incident[key] for key in ("area", "service", "unit", "zone") if key in incident)
    row = roster[area]
    if isinstance(row, str):
        name = row
    elif len(row) == 1:
        (name,) = row.values()
    else:
        name = row[HOURS[int(incident["reported_at"][:2])]]
    for pattern in (rf"{name} is away; (\w+) stands in", rf"(\w+) covers for {name} today"):
        deputy = re.search(pattern, rules)
        if deputy:
            return deputy[1]
    return name


def test_the_text_alone_gives_the_owner() -> None:
    settings = BranchSettings(abstain=0)
    for number in range(1_500):
        rng = Rng("owner text", number)
        item = FAMILY.generate(rng, settings.draw(rng), "train")
        assert item is not None
        assert slow_owner(item) == item.options[item.answer][0], item
