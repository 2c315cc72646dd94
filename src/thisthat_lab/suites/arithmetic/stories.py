"""Programs told as stories: shops, stores, buses, purses, kitchens, clocks.

A theme has a sentence for the start and several for every operation. Nothing here computes.
"""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic.programs import Program
from thisthat_lab.suites.base.wording import FIRST_NAMES


@dataclass(frozen=True)
class Theme:
    """How a program is told: things counted, the start, the operations, the final question.

    Texts use ``{a}``, ``{b}`` for numbers, ``{x}`` for the things and ``{who}`` for a person.
    ``money`` writes amounts with a dollar sign.
    """

    things: tuple[str, ...]
    start: tuple[str, ...]
    steps: dict[str, tuple[str, ...]]
    ask: tuple[str, ...]
    money: bool = False

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations the theme can tell."""
        return tuple(self.steps)


THEMES = (
    Theme(
        ("lamps", "kettles", "chairs", "bicycles", "tents", "radios", "clocks", "coats"),
        (
            "A shop has {a} {x} in stock.",
            "The shelf holds {a} {x}.",
            "Stock of {x} at opening: {a}.",
        ),
        {
            "add": (
                "A delivery brings {a} more.",
                "{a} {x} come back from repair.",
                "{a} are added.",
            ),
            "take": (
                "{a} are sold.",
                "Customers buy {a} of them.",
                "{a} turn out to be broken and go.",
            ),
            "add_groups": (
                "{a} crates with {b} {x} each arrive.",
                "{a} boxes of {b} are unpacked.",
            ),
            "take_groups": ("{a} customers buy {b} each.", "{a} pallets of {b} are shipped out."),
            "times": ("The manager orders enough to have {a} times as many.",),
            "share": ("The stock is split evenly among {a} branches; this is one of them.",),
        },
        ("How many {x} are there now?", "What is the stock of {x} in the end?"),
    ),
    Theme(
        ("passengers", "visitors", "pupils", "guests", "players"),
        (
            "A bus sets off with {a} {x}.",
            "There are {a} {x} in the hall.",
            "At noon {a} {x} are here.",
        ),
        {
            "add": ("{a} more get on.", "{a} join.", "Another {a} arrive."),
            "take": ("{a} get off.", "{a} go home.", "{a} leave early."),
            "add_groups": ("{a} groups of {b} arrive.", "{a} minibuses bring {b} each."),
            "take_groups": ("{a} families of {b} leave.", "{a} teams of {b} go."),
            "times": ("An hour later there are {a} times as many.",),
            "share": ("They form {a} equal teams, and we look at one team.",),
        },
        ("How many {x} are there at the end?", "How many {x} remain?"),
    ),
    Theme(
        ("purse", "account", "cash box", "travel fund", "piggy bank"),
        ("{who} has ${a} in the {x}.", "The {x} of {who} holds ${a}."),
        {
            "add": ("{who} earns ${a}.", "A refund of ${a} comes in.", "${a} is paid in."),
            "take": ("{who} spends ${a}.", "A bill of ${a} is paid.", "${a} goes on a taxi."),
            "add_groups": (
                "{a} friends put in ${b} each.",
                "{who} works {a} hours at ${b} an hour.",
            ),
            "take_groups": (
                "{who} buys {a} tickets at ${b} each.",
                "{a} meals at ${b} each are paid.",
            ),
            "times": ("A sponsor multiplies the sum by {a}.",),
            "share": ("The sum is shared equally by {a} people; count one share.",),
        },
        ("How much is left?", "How many dollars does that make?", "What is the balance?"),
        money=True,
    ),
    Theme(
        ("jacket", "printer", "phone", "ticket", "sofa", "course", "tyre set"),
        ("A {x} costs ${a}.", "The price of a {x} is ${a}.", "List price of the {x}: ${a}."),
        {
            "add": ("Delivery adds ${a}.", "Gift wrapping and insurance come to ${a}."),
            "take": ("A voucher takes off ${a}.", "The shop gives ${a} off."),
            "times": ("The customer takes {a} of them.", "{a} are bought at this price."),
            "share": ("{a} friends split the price evenly; take one share.",),
            "less_percent": ("There is a discount of {a}%.", "{a}% is taken off."),
            "more_percent": ("Tax adds {a}%.", "A service charge of {a}% is added."),
        },
        ("What is to be paid?", "How many dollars is that?", "What does it come to?"),
        money=True,
    ),
    Theme(
        ("litres of water", "kilograms of flour", "metres of rope", "sheets of paper", "bricks"),
        ("There are {a} {x} to begin with.", "The store room has {a} {x}.", "{a} {x} are at hand."),
        {
            "add": ("{a} more are brought.", "Another {a} come in."),
            "take": ("{a} are used up.", "{a} are lost on the way.", "{a} are lent out."),
            "add_groups": (
                "{a} loads of {b} are delivered.",
                "On {a} days {b} are added each day.",
            ),
            "take_groups": ("{a} jobs use {b} each.", "For {a} days {b} are used every day."),
            "times": ("Then the amount is raised to {a} times what it was.",),
            "share": ("All of it is divided evenly over {a} sites; consider one site.",),
        },
        ("How many {x} are left?", "How many {x} is that in the end?"),
    ),
    Theme(
        ("points", "coins", "stickers", "marbles", "cards"),
        ("{who} starts with {a} {x}.", "{who} owns {a} {x}."),
        {
            "add": ("{who} wins {a}.", "A friend gives {who} {a}."),
            "take": ("{who} loses {a}.", "{who} gives {a} away."),
            "add_groups": ("{a} rounds bring {b} each.", "{who} opens {a} packs of {b}."),
            "take_groups": ("{who} pays {b} in each of {a} rounds.", "{a} children get {b} each."),
            "times": ("A bonus multiplies the number by {a}.",),
            "share": ("{who} keeps one of {a} equal parts.",),
        },
        ("How many {x} does {who} have now?", "What is the final number of {x}?"),
    ),
    Theme(
        ("minutes", "hours"),
        ("The first part of the job takes {a} {x}.", "The drive lasts {a} {x}."),
        {
            "add": ("A break of {a} {x} follows.", "The next part takes {a} {x}."),
            "take": ("A short cut saves {a} {x}.", "Help shortens it by {a} {x}."),
            "add_groups": (
                "Then come {a} stops of {b} {x} each.",
                "{a} tasks of {b} {x} each follow.",
            ),
            "times": ("All of that is done {a} times.",),
            "share": ("{a} people share the work evenly; take the time of one.",),
        },
        ("How many {x} does it take in all?", "What is the total in {x}?"),
    ),
    Theme(
        ("pens", "mugs", "apples", "bolts", "stamps", "candles"),
        ("A set of {x} costs ${a}.",),
        {
            "rate": ("There are {a} {x} in it, all at the same price; somebody buys {b}.",),
            "add": ("Postage is ${a} on top.", "A bag for ${a} is added."),
            "take": ("A coupon takes off ${a}.",),
            "times": ("The same is bought on {a} days.",),
        },
        ("How much is paid?", "What does it come to in dollars?"),
        money=True,
    ),
    Theme(
        ("eggs", "pages", "parcels", "trees", "calls", "letters"),
        ("On Monday {who} counts {a} {x}.", "The morning brings {a} {x}."),
        {
            "add": ("Tuesday adds {a}.", "The afternoon adds {a} more."),
            "take": ("{a} are struck off the list.", "{a} do not count."),
            "add_groups": ("On each of {a} further days there are {b}.",),
            "times": ("By the weekend the number is {a} times that.",),
            "share": ("The daily average over {a} days is wanted.",),
        },
        ("What number of {x} comes out?", "How many {x} is that?"),
    ),
)
IDLE = (
    "The shop is {n} years old.",
    "{who} is number {n} in the queue.",
    "The street has {n} houses.",
    "It is {n} degrees outside.",
    "The clerk has worked there for {n} months.",
    "Yesterday {n} people asked for directions.",
    "The sign says room {n}.",
    "A poster announces {n} concerts.",
)


@dataclass(frozen=True)
class Story:
    """A program with the theme and the person it is told with; ``idle`` numbers decide nothing."""

    theme: int
    thing: str
    who: str
    program: Program
    idle: tuple[int, ...]


def tell(rng: Rng, story: Story) -> tuple[str, list[str]]:
    """The story as text, and its sentences that carry numbers of the program."""
    theme = THEMES[story.theme]
    told = [rng.choice(theme.start).format(a=story.program.start, x=story.thing, who=story.who)]
    for operation, first, second in story.program.steps:
        form = rng.choice(theme.steps[operation])
        told.append(form.format(a=first, b=second, x=story.thing, who=story.who))
    told = [text[:1].upper() + text[1:] for text in told]
    sentences = list(told)
    for number in story.idle:
        text = rng.choice(IDLE).format(n=number, who=rng.choice(FIRST_NAMES))
        sentences.insert(rng.below(len(sentences) + 1), text)
    return " ".join(sentences), told


def final_question(rng: Rng, story: Story) -> str:
    """What is asked at the end."""
    theme = THEMES[story.theme]
    return rng.choice(theme.ask).format(x=story.thing, who=story.who)


def say_result(story: Story, value: int) -> str:
    """A result the way the theme writes it."""
    return f"${value}" if THEMES[story.theme].money else str(value)
