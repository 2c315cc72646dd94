"""Timelines sorted again from the text."""

import re
from datetime import datetime

from thisthat.random import Rng
from thisthat.suites.branch.first_event import FAMILY, NEXT, Case, solve
from thisthat.suites.branch.settings import BranchSettings
from thisthat.suites.item import render_state

CLOCK = r"\d\d:\d\d"
DAY = r"\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}"


def moment(text: str) -> datetime:
    for form in ("%H:%M", "%Y-%m-%d", "%d %B %Y", "%B %d, %Y"):
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise AssertionError(text)


def test_the_text_alone_gives_the_event() -> None:
    settings = BranchSettings(abstain=0)
    for number in range(1_500):
        rng = Rng("event text", number)
        item = FAMILY.generate(rng, settings.draw(rng), "train")
        assert item is not None
        times = {}
        for name, _ in item.options:
            piece = next(text for text in item.facts["deciding"] if name.lower() in text.lower())
            found = re.findall(f"{CLOCK}|{DAY}", piece)
            assert len(found) == 1
            times[name] = moment(found[0])
            assert piece in render_state(item.state)
        order = sorted(times, key=times.__getitem__)
        question = item.question
        known = [name for name in order if name in question]
        after = {text.split("{")[0] for text in NEXT["after"]}
        before = {text.split("{")[0] for text in NEXT["before"]}
        if any(question.startswith(text) for text in after):
            expected = order[order.index(max(known, key=len)) + 1]
        elif any(question.startswith(text) for text in before):
            expected = order[order.index(max(known, key=len)) - 1]
        elif "second" in question:
            expected = order[1]
        elif "third" in question:
            expected = order[2]
        else:
            last = any(word in question for word in ("last", "after everything", "latest", "ended"))
            expected = order[-1 if last else 0]
        assert item.options[item.answer][0] == expected, item


def test_places_follow_the_times() -> None:
    case = Case(("a", "b", "c"), (30, 10, 20), "clock", "first", 0)
    assert solve(case) == 1
    for ask, place in (("last", 0), ("rank 1", 2), ("after 1", 2), ("before 0", 2)):
        assert solve(Case(case.events, case.times, "clock", ask, 0)) == place
