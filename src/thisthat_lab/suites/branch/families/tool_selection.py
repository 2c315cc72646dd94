"""Choice: which of many described tools does the stated need call for? Up to 255 tools.

A need and its tool share meaning, not words: both sides pick their own synonyms. The other tools
do the same thing to something else, or something else to the same thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import BranchFamily
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import remarks

# What a tool does: name part, description, ways to ask for it.
ACTIONS = (
    ("create", "Creates a new {x}.", ("set up a new {x}", "make another {x}", "start a fresh {x}")),
    ("delete", "Removes a {x} for good.", ("get rid of a {x}", "throw a {x} away", "wipe a {x}")),
    (
        "find",
        "Looks up a {x} by name or number.",
        ("locate a {x}", "search for a {x}", "track down a {x}"),
    ),
    (
        "list",
        "Shows every {x} there is.",
        ("see all of them, each {x}", "get an overview, {x} by {x}"),
    ),
    (
        "rename",
        "Gives a {x} another name.",
        ("call a {x} something else", "change what a {x} is called"),
    ),
    (
        "share",
        "Grants other people access to a {x}.",
        ("let a colleague see a {x}", "open a {x} to others"),
    ),
    ("export", "Saves a {x} to a file.", ("download a {x}", "have a {x} as a file to take away")),
    ("import", "Reads a {x} from a file.", ("load a {x} from disk", "bring a {x} in from a file")),
    (
        "schedule",
        "Sets a date and time for a {x}.",
        ("fix when a {x} happens", "put a {x} in the diary"),
    ),
    ("cancel", "Calls off a planned {x}.", ("stop a {x} that was planned", "drop an upcoming {x}")),
    ("approve", "Gives the go-ahead to a waiting {x}.", ("say yes to a {x}", "sign off on a {x}")),
    ("reject", "Turns down a waiting {x}.", ("say no to a {x}", "refuse a {x}")),
    (
        "translate",
        "Puts a {x} into another language.",
        ("read a {x} in Spanish", "turn a {x} into French"),
    ),
    (
        "summarize",
        "Gives the main points of a {x}.",
        ("get the gist of a {x}", "shorten a long {x}"),
    ),
    (
        "compare",
        "Shows how one {x} differs from another.",
        ("tell one {x} from another", "see what differs between one {x} and the next"),
    ),
    (
        "archive",
        "Puts a {x} into long-term storage.",
        ("keep a {x} but out of sight", "store a {x} away"),
    ),
    ("restore", "Brings a deleted {x} back.", ("undo the loss of a {x}", "recover a {x}")),
    (
        "assign",
        "Makes a person responsible for a {x}.",
        ("hand a {x} to somebody", "put somebody in charge of a {x}"),
    ),
    ("price", "Works out what a {x} costs.", ("learn the cost of a {x}", "get a quote for a {x}")),
    ("validate", "Checks a {x} for mistakes.", ("make sure a {x} has no errors", "proof a {x}")),
    (
        "print",
        "Puts a {x} on paper.",
        ("hold a {x} in my hands as a page", "get a paper copy of a {x}"),
    ),
    (
        "subscribe",
        "Sends a notice whenever a {x} changes.",
        ("hear about every change to a {x}", "be told when a {x} changes"),
    ),
    ("copy", "Makes a second, identical {x}.", ("duplicate a {x}", "have the same {x} twice")),
    ("lock", "Stops anyone from changing a {x}.", ("freeze a {x}", "make a {x} read-only")),
    (
        "merge",
        "Joins one {x} with another.",
        ("turn one {x} and another into one", "combine a {x} with a second one"),
    ),
)
# What it does it to: name part, word in the description, words in the need.
OBJECTS = (
    ("invoice", "invoice", ("bill", "demand for payment")),
    ("appointment", "appointment", ("visit", "slot with the doctor")),
    ("photo", "photograph", ("picture", "snapshot")),
    ("contract", "contract", ("agreement", "signed deal")),
    ("playlist", "playlist", ("list of songs", "music mix")),
    ("recipe", "recipe", ("cooking instruction", "dish description")),
    ("ticket", "support ticket", ("help request", "service case")),
    ("meeting", "meeting", ("get-together at work", "team session")),
    ("employee", "employee record", ("staff file", "worker's entry")),
    ("vehicle", "vehicle", ("car", "van")),
    ("route", "travel route", ("way to drive", "itinerary")),
    ("report", "report", ("written analysis", "findings document")),
    ("account", "user account", ("login", "profile")),
    ("shipment", "shipment", ("parcel", "consignment")),
    ("dashboard", "dashboard", ("screen of charts", "metrics page")),
    ("poem", "poem", ("piece of verse", "sonnet")),
    ("garden_plan", "garden plan", ("planting layout", "scheme for the beds")),
    ("lesson", "lesson", ("class", "teaching hour")),
    ("survey", "survey", ("questionnaire", "opinion poll")),
    ("database", "database", ("data store", "set of tables")),
    ("server", "server", ("machine in the rack", "host")),
    ("password", "password", ("login secret", "passphrase")),
    ("budget", "budget", ("spending plan", "money plan")),
    ("house", "house listing", ("home for sale", "property advert")),
    ("video", "video", ("clip", "film recording")),
    ("workout", "workout", ("exercise routine", "training session")),
    ("newsletter", "newsletter", ("mailing to readers", "email bulletin")),
    ("medicine", "prescription", ("medicine order", "doctor's script")),
    ("flight", "flight booking", ("plane seat", "air trip")),
    ("branch", "code branch", ("line of development", "git branch")),
    ("menu", "restaurant menu", ("list of dishes", "food card")),
    ("claim", "insurance claim", ("request for compensation", "damage case")),
    ("calendar", "calendar", ("diary", "planner")),
    ("map", "map", ("chart of the area", "street plan")),
    ("sensor", "sensor", ("measuring probe", "detector")),
    ("logo", "logo", ("company emblem", "brand mark")),
)  # fmt: skip
NEEDS = (
    "I need to {need}.",
    "Could you {need}?",
    "What I want is to {need}.",
    "Please help me {need}.",
    "The user wants to {need}.",
    "Task: {need}.",
    "Today's job is to {need}, nothing more.",
)


@dataclass(frozen=True)
class Case:
    """Pairs of action and object: the tools on offer, and the place of the one needed."""

    tools: tuple[tuple[int, int], ...]
    wanted: int
    named: bool
    notes: int


def draw(rng: Rng, setting: Setting) -> Case:
    """Two to 255 tools, most of them near the wanted one."""
    if setting.distractors >= 12:
        count = rng.choice((30, 60, 120, 255))
    else:
        count = 2 + setting.clauses + setting.distractors
    action, thing = rng.below(len(ACTIONS)), rng.below(len(OBJECTS))
    tools = {(action, thing): None}
    while len(tools) < count:
        near = rng.below(3)
        other = (
            action if near == 0 else rng.below(len(ACTIONS)),
            thing if near == 1 else rng.below(len(OBJECTS)),
        )
        tools[other if count < 30 or near == 2 else _any(rng)] = None
    order = rng.shuffled(list(tools))
    return Case(tuple(order), order.index((action, thing)), rng.chance(0.6), setting.length)


def _any(rng: Rng) -> tuple[int, int]:
    return rng.below(len(ACTIONS)), rng.below(len(OBJECTS))


def solve(case: Case) -> int:
    """The place of the wanted tool."""
    return case.wanted


def twin(case: Case, rng: Rng) -> Case | None:
    """The same tools, another need."""
    others = [place for place in range(len(case.tools)) if place != case.wanted]
    return replace(case, wanted=rng.choice(others)) if others else None


def render(case: Case, rng: Rng) -> Asked:
    """The need is the state; the tools are the options, by telling name or by number."""
    action, thing = case.tools[case.wanted]
    need = rng.choice(ACTIONS[action][2]).format(x=rng.choice(OBJECTS[thing][2]))
    text = _with_articles(rng.choice(NEEDS).format(need=need))
    numbers = rng.sample(range(100, 999), len(case.tools))
    style = rng.below(3)
    options = []
    for number, (verb, noun) in zip(numbers, case.tools, strict=True):
        names = (ACTIONS[verb][0], OBJECTS[noun][0])
        name = "_".join(names) if style == 0 else f"{names[1]}.{names[0]}"
        name = name if case.named else f"tool_{number}"
        options.append((name, _with_articles(ACTIONS[verb][1].format(x=OBJECTS[noun][1]))))
    before = " ".join(remarks(rng, min(case.notes, 20)))
    state = rng.choice((f"{before} {text}", f"{text} {before}")).strip()
    question = rng.choice(
        (
            "Which tool fits the request?",
            "Pick the tool to call.",
            "Which function serves this need?",
            "What should be called?",
        )
    )
    return Asked(state, question, tuple(options), {"deciding": [text], "tools": len(options)})


def _with_articles(text: str) -> str:
    return re.sub(r"\ba (?=[aeio])", "an ", text)


FAMILY: BranchFamily[Case] = BranchFamily(
    name="tool_selection",
    suite="branch",
    kind="choice",
    option_count=None,
    held_out=False,
    draw=draw,
    solve=solve,
    render=render,
    twin=twin,
)
