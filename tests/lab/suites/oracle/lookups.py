"""Rosters, timelines and tool lists: finding the one entry that is asked for."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache

from tests.lab.suites.oracle import reading
from thisthat.items.item import Item, render_state
from thisthat_lab.suites.branch.families.routes.tool_selection import ACTIONS, OBJECTS

_HOURS = {
    **dict.fromkeys(range(6, 14), "early"),
    **dict.fromkeys(range(14, 22), "late"),
    **dict.fromkeys([22, 23, *range(6)], "night"),
}


def incident_owner(item: Item) -> int:
    """Who is on duty, by roster, shift, stand-ins and severity."""
    state = reading.loaded(item)
    if isinstance(state, dict):
        incident = {key: str(value) for key, value in state["incident"].items()}
        roster, rules = state["roster"], str(state.get("rules", ""))
    else:
        table = [line.split(" | ") for line in state.splitlines() if " | " in line]
        table[0][0] = table[0][0].split()[-1]
        heads, *rows = table
        roster = {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows}
        found = re.findall(
            r"(area|service|unit|zone|reported at|severity): ([\w:]+(?: [\w:]+)*)", state
        )
        incident = {key.replace(" ", "_"): value.strip() for key, value in found}
        rules = state
    owners = {_owner(incident, hour, roster, rules) for hour in _possible(incident)}
    if len(owners) > 1 or None in owners:
        return reading.option(item, item.facts["abstain"])
    return reading.option(item, str(owners.pop()))


def _possible(incident: dict[str, str]) -> list[int]:
    said = incident["reported_at"]
    return list(range(24)) if said == "not recorded" else [int(said[:2])]


def _owner(
    incident: dict[str, str], hour: int, roster: dict[str, object], rules: str
) -> str | None:
    worst = re.search(r"Severity (\d) or more .* goes to (\w+) whatever", rules)
    if worst and int(incident["severity"]) >= int(worst[1]):
        return worst[2]
    area = next(incident[key] for key in ("area", "service", "unit", "zone") if key in incident)
    row = roster.get(area)
    if row is None:
        return None
    if isinstance(row, dict):
        name = row[_HOURS[hour]] if len(row) > 1 else next(iter(row.values()))
    else:
        name = str(row)
    for pattern in (rf"\b{name} is away; (\w+) stands in", rf"(\w+) covers for {name} today"):
        if deputy := re.search(pattern, rules):
            return deputy[1]
    return str(name)


_CLOCK = r"\d\d:\d\d"


def _moment(text: str) -> datetime:
    for form in ("%H:%M", "%Y-%m-%d", "%d %B %Y", "%B %d, %Y"):
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise AssertionError(text)


def first_event(item: Item) -> int:
    """The event at the place in time that is asked for."""
    state = reading.loaded(item)
    times = {}
    text = render_state(item.state)
    stamp = rf"({_CLOCK}|{reading.DATE})"
    for name, _ in item.options:
        event = re.escape(name)
        if isinstance(state, str):
            found = re.search(
                rf"(?:^|\. |: |\n){stamp} {event}(?:\n|$)|- {event}: {stamp}(?:\n|$)|"
                rf"{event} (?:at|on) {stamp}\.|(?:at|on) {stamp} {event}\.",
                text,
                re.I,
            )
            assert found is not None, name
            shown = next(one for one in found.groups() if one)
        else:
            rows = state if isinstance(state, list) else _rows(state)
            (shown,) = [row["time"] for row in rows if row["event"] == name]
        times[name] = _moment(shown)
    order = sorted(times, key=times.__getitem__)
    return reading.option(item, _asked(item.question, order))


def _rows(state: dict[str, object]) -> list[dict[str, str]]:
    (rows,) = [value for value in state.values() if isinstance(value, list)]
    return rows


def _asked(question: str, order: list[str]) -> str:
    known = re.fullmatch(
        r".*?(next after this|directly followed|just before this|directly preceded): (.*)\?",
        question,
    )
    if known:
        step = 1 if known[1] in ("next after this", "directly followed") else -1
        place = order.index(known[2]) + step
        assert place >= 0
        return order[place]
    for word, place in (("second to happen", 1), ("third to happen", 2)):
        if word in question:
            return order[place]
    if re.search(r"happened first|before everything|earliest|started", question):
        return order[0]
    assert re.search(r"happened last|after everything|latest|ended", question), question
    return order[-1]


_NEED = re.compile(
    r"(?:I need to|Could you|What I want is to|Please help me|The user wants to|Task:|"
    r"Today's job is to) (.*?)(?:, nothing more)?[.?]"
)


@cache
def _tools() -> dict[str, set[str]]:
    """By every wording of a need, the descriptions of the tools that it can mean."""
    found: dict[str, set[str]] = {}
    for _, action, needs in ACTIONS:
        for _, thing, words in OBJECTS:
            for need in needs:
                for word in words:
                    meant = found.setdefault(_plain(need.format(x=word)), set())
                    meant.add(_plain(action.format(x=thing)))
    return found


def tool_selection(item: Item) -> int:
    """The only tool that some reading of the need means."""
    assert isinstance(item.state, str)
    (need,) = _NEED.findall(item.state)
    meant = _tools()[_plain(need)]
    (place,) = [i for i, (_, text) in enumerate(item.options) if _plain(str(text)) in meant]
    return place


def _plain(text: str) -> str:
    """The words alone, whichever article they need."""
    return " ".join(re.findall(r"[a-z'-]+", re.sub(r"\ban\b", "a", text.lower())))
