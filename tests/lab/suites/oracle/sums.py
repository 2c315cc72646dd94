"""Stories and expressions, worked out in exact fractions from their text."""

from __future__ import annotations

import ast
import re
from fractions import Fraction

from tests.lab.suites.oracle import reading
from tests.lab.suites.oracle.records import definitions
from thisthat.items.item import Item

_IDLE = re.compile(
    r"The shop is \d+ years old|\w+ is number \d+ in the queue|The street has \d+ houses|"
    r"It is \d+ degrees outside|The clerk has worked there for \d+ months|"
    r"Yesterday \d+ people asked for directions|The sign says room \d+|"
    r"A poster announces \d+ concerts"
)
# What a sentence does to the running number, by what it says; numbers in the order they stand.
_STEPS = (
    ("rate", r"There are # [\w ]+ in it, all at the same price; somebody buys #"),
    ("plus groups",
     r"# crates with # .* each arrive|# boxes of # are unpacked|# groups of # arrive|"
     r"# minibuses bring # each|# friends put in \$# each|\w+ works # hours at \$# an hour|"
     r"# loads of # are delivered|On # days # are added each day|Then come # stops of # .* each|"
     r"# tasks of # .* each follow|# rounds bring # each|\w+ opens # packs of #|"
     r"On each of # further days there are #"),
    ("minus groups",
     r"# customers buy # each|# pallets of # are shipped out|# families of # leave|"
     r"# teams of # go|\w+ buys # tickets at \$# each|# meals at \$# each are paid|"
     r"# jobs use # each|\w+ pays # in each of # rounds|# children get # each|"
     r"For # days # are used every day"),
    ("plus",
     r"A delivery brings # more|# [\w ]+ come back from repair|# are added|# more get on|# join|"
     r"Another # arrive|\w+ earns \$#|A refund of \$# comes in|\$# is paid in|Delivery adds \$#|"
     r"Gift wrapping and insurance come to \$#|# more are brought|Another # come in|"
     r"A break of # .* follows|The next part takes # .*|Postage is \$# on top|"
     r"\w+ wins #|A friend gives \w+ #|A bag for \$# is added|"
     r"Tuesday adds #|The afternoon adds # more"),
    ("minus",
     r"# are sold|Customers buy # of them|# turn out to be broken and go|# get off|# go home|"
     r"# leave early|\w+ spends \$#|A bill of \$# is paid|\$# goes on a taxi|"
     r"A voucher takes off \$#|The shop gives \$# off|# are used up|# are lost on the way|"
     r"# are lent out|A short cut saves # .*|Help shortens it by # .*|A coupon takes off \$#|"
     r"\w+ loses #|\w+ gives # away|# are struck off the list|# do not count"),
    ("less percent", r"There is a discount of #%|#% is taken off"),
    ("more percent", r"Tax adds #%|A service charge of #% is added"),
    ("times",
     r"The manager orders enough to have # times as many|An hour later there are # times as many|"
     r"A sponsor multiplies the sum by #|The customer takes # of them|# are bought at this price|"
     r"All of that is done # times|The same is bought on # days|"
     r"By the weekend the number is # times that|A bonus multiplies the number by #|"
     r"Then the amount is raised to # times what it was"),
    ("share",
     r"The stock is split evenly among # branches; this is one of them|"
     r"They form # equal teams, and we look at one team|"
     r"The sum is shared equally by # people; count one share|"
     r"# friends split the price evenly; take one share|"
     r"# people share the work evenly; take the time of one|"
     r"The daily average over # days is wanted|\w+ keeps one of # equal parts|"
     r"All of it is divided evenly over # sites; consider one site"),
)  # fmt: skip
_READERS = [(name, re.compile(pattern, re.I)) for name, pattern in _STEPS]


def story(text: str) -> Fraction:
    """The number at the end of a story."""
    sentences = [one for one in re.split(r"\.(?:\s+|$)", text) if one and not _IDLE.fullmatch(one)]
    opening, *steps = sentences
    (start,) = re.findall(r"\d+", opening)
    value = Fraction(int(start))
    for sentence in steps:
        numbers = [Fraction(int(one)) for one in re.findall(r"\d+", sentence)]
        bare = re.sub(r"\d+", "#", sentence)
        name = next((name for name, pattern in _READERS if pattern.fullmatch(bare)), None)
        assert name is not None, sentence
        value = _apply(name, value, *numbers)
    return value


def _apply(name: str, value: Fraction, first: Fraction, second: Fraction | None = None) -> Fraction:
    if name in ("plus", "minus", "plus groups", "minus groups"):
        size = first if second is None else first * second
        return value + size if name.startswith("plus") else value - size
    if name == "times":
        return value * first
    if name == "share":
        return value / first
    if name == "rate":
        assert second is not None
        return value / first * second
    part = value * first / 100
    return value + part if name == "more percent" else value - part


def expression(text: str) -> Fraction:
    """The value of an expression, or of steps in words."""
    if not text.startswith("Start"):
        tree = ast.parse(text.translate({215: "*", 247: "/"}), mode="eval")
        return _value(tree.body)
    opening, *steps = text.rstrip(".").split(". ")
    value = Fraction(int(opening.split()[-1]))
    for step in steps:
        numbers = [int(one) for one in re.findall(r"\d+", step)]
        size = numbers[0] if len(numbers) == 1 else numbers[0] * numbers[1]
        if step.startswith(("Add", "Increase")):
            value += size
        elif step.startswith(("Take", "Subtract")):
            value -= size
        elif step.startswith(("Multiply", "Make")):
            value *= size
        else:
            assert step.startswith(("Divide", "Split")), step
            value /= size
    return value


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int)
        return Fraction(node.value)
    assert isinstance(node, ast.BinOp)
    left, right = _value(node.left), _value(node.right)
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    return left * right if isinstance(node.op, ast.Mult) else left / right


def _option_with(item: Item, value: Fraction) -> int:
    (place,) = [i for i, (name, _) in enumerate(item.options) if reading.number(name) == value]
    return place


def expression_value(item: Item) -> int:
    """The option with the value of the expression."""
    return _option_with(item, expression(str(item.state)))


def expression_compare(item: Item) -> int:
    """Whether A is smaller than, equal to or larger than B."""
    if isinstance(item.state, dict):
        left, right = str(item.state["A"]), str(item.state["B"])
    else:
        left, right = str(item.state).removeprefix("A: ").split("\nB: ")
    gap = expression(left) - expression(right)
    words = (
        ("A is smaller", "less", "A < B", "B wins"),
        ("A and B are equal", "the same", "A = B", "a tie"),
        ("A is larger", "more", "A > B", "A wins"),
    )[0 if gap < 0 else 1 if gap == 0 else 2]
    (place,) = [i for i, (_, text) in enumerate(item.options) if text in words]
    return place


def word_problem(item: Item) -> int:
    """The option with the result of the story."""
    return _option_with(item, story(str(item.state)))


def word_problem_check(item: Item) -> int:
    """Whether the claim about the result is right."""
    found = re.search(
        r"(?:Is it|Claim:|The answer is) ((?:(?!Is it |Claim: |The answer is ).)*?)"
        r"(?:\?|\. Is the claim right\?|\.)$",
        item.question,
    )
    assert found is not None, item.question
    value, said = story(str(item.state)), found[1]
    if re.match(r"different from|not \$?\d", said):
        return int(value != reading.number(said))
    if re.match(r"exactly|equal to|\$?\d+$", said):
        return int(value == reading.number(said))
    sign, limit = reading.comparison(said, reading.number)
    return int(reading.COMPARE[sign](value, Fraction(limit)))


def word_problem_band(item: Item) -> int:
    """The band in which the result lies."""
    value = story(str(item.state))
    names = [str(text) for _, text in item.options]
    stated = definitions(names, item.question.replace("Rate the answer: ", "\n"))
    (place,) = [i for i, text in enumerate(stated or names) if _in_band(text, value)]
    return place


def _in_band(text: str, value: Fraction) -> bool:
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    if re.match(r"below|less than", text):
        return value < numbers[0]
    if re.match(r"at least", text) or text.endswith("or more"):
        return value >= numbers[0]
    low, high = numbers
    return low <= value <= high
