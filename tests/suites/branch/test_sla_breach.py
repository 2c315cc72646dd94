"""The answer worked out again from the text alone."""

import json
import re

from thisthat.random import Rng
from thisthat.suites.branch.settings import BranchSettings
from thisthat.suites.branch.sla_breach import BREACHED, FAMILY, WORLDS
from thisthat.suites.item import Item

LATE = {text.format(noun=noun, goal=goal) for text in BREACHED for noun, goal, _ in WORLDS}


def minutes(clock: str) -> int:
    hour, minute = clock.split(":")
    return int(hour) * 60 + int(minute)


def read_state(item: Item) -> tuple[dict[str, str], dict[str, int], bool]:
    """The facts, the limits, and whether time on hold counts."""
    if isinstance(item.state, str) and not item.state.startswith("{"):
        text = item.state
        lines = [line.split(": ") for line in item.facts["deciding"]]
        facts = {key.lower(): value for key, value in lines}
        found = re.findall(r"([\w ]+): [\w ]+? (?:within|no later than|in at most) (\d+) min", text)
        limits = {rank.strip(): int(limit) for rank, limit in found}
        counts = "customer counts" in text or "never stops" in text
        return facts, limits, counts
    state = json.loads(item.state) if isinstance(item.state, str) else item.state
    assert isinstance(state, dict)
    limits = {}
    facts = {}
    for name, content in state.items():
        if name.endswith("limits"):
            limits = {rank: int(text.split()[0]) for rank, text in content.items()}
        elif isinstance(content, dict):
            facts = {key.replace("_", " "): str(value) for key, value in content.items()}
    rule = state["clock_rule"]
    return facts, limits, "customer counts" in rule or "never stops" in rule


def slow_answer(item: Item) -> bool:
    facts, limits, counts = read_state(item)
    clocks = {key: value for key, value in facts.items() if key.endswith(" at")}
    if clocks:
        end = next(value for key, value in clocks.items() if key != "opened at")
        taken = minutes(end) - minutes(clocks["opened at"])
    else:
        taken = int(next(value for key, value in facts.items() if key.startswith("minutes until")))
    if not counts:
        taken -= int(facts.get("minutes on hold", 0))
    if len(limits) == 1:
        (limit,) = limits.values()
    else:
        limit = limits[facts["class"]]
    return (taken > limit) == (item.question in LATE)


def test_the_text_alone_gives_the_answer() -> None:
    settings = BranchSettings(abstain=0)
    for number in range(2_000):
        rng = Rng("sla text", number)
        item = FAMILY.generate(rng, settings.draw(rng), "train")
        assert item is not None
        assert slow_answer(item) == bool(item.answer), item
