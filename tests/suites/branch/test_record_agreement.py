"""Agreements and differences counted again from JSON states."""

import re

from thisthat.random import Rng
from thisthat.suites.branch.record_agreement import FAMILY
from thisthat.suites.branch.settings import BranchSettings


def flat(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def test_the_json_gives_the_count() -> None:
    settings = BranchSettings(abstain=0)
    checked = 0
    for number in range(2_500):
        rng = Rng("agreement text", number)
        item = FAMILY.generate(rng, settings.draw(rng), "train")
        assert item is not None
        state = item.state
        if isinstance(state, dict):
            pairs = [content for content in state.values() if isinstance(content, list)]
        else:
            pairs = [state] if isinstance(state, list) else []
        if not pairs:
            continue
        left, right = pairs[0]
        fields = re.findall(r"'([^']+)'", item.question)
        same = 0
        for field in fields:
            keys = [key for key in left if key != "id" and flat(key).startswith(flat(field))]
            (key,) = [key for key in keys if len(key) == min(map(len, keys))]
            same += left[key] == right[key]
        differ = re.search(r"\b(differ|disagree)\b", item.question)
        assert item.answer == (len(fields) - same if differ else same), item
        checked += 1
    assert checked > 250
