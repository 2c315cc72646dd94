"""Boolean: must more be ordered? Stock, reservations, deliveries on the way and exceptions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import PRODUCTS, json_span, reference
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.suites.records.rules import capital
from thisthat_lab.tables import Tables

THINGS = (
    *PRODUCTS, "bag of oats", "toner cartridge", "brake pad", "syringe pack", "roof tile",
    "paint tin", "seed tray", "night light", "bus ticket roll", "filter cone", "ink bottle",
    "chalk box", "gasket", "lamp oil", "snow chain", "bandage roll", "coffee sack", "fuse",
)  # fmt: skip
STOCK = ("on hand", "in stock", "units on shelf", "counted stock", "quantity available")
HELD = ("reserved", "allocated to orders", "promised to customers", "set aside")
COMING = ("on order", "arriving this week", "in transit", "due from supplier")
POINTS = ("reorder point", "minimum level", "trigger level", "safety stock")
OPEN = 2
STOPS = ("discontinued", "blocked for purchase", "out of season", "replaced by another item")


@dataclass(frozen=True)
class Case:
    """Numbers of one item and the rule that decides about it. None is unknown."""

    thing: str
    stock: int | None
    held: int
    coming: int
    point: int
    subtracts: bool
    adds: bool
    strict: bool
    stopped: bool | None
    stops: bool
    order_asked: bool
    shelf: int | None
    clauses: int
    setting: Setting


def level(case: Case, stock: int) -> int:
    """The number that is compared with the reorder point."""
    return stock - case.held * case.subtracts + case.coming * case.adds


def draw(rng: Rng, setting: Setting) -> Case:
    """A case close to its reorder point, on either side of it."""
    point = rng.integer(3, 60)
    held = rng.integer(1, 20)
    coming = rng.integer(1, 30)
    subtracts = setting.clauses > 1 and rng.chance(0.7)
    adds = setting.clauses > 1 and (not subtracts or setting.clauses > 2) and rng.chance(0.7)
    strict = rng.chance(0.5)
    low = rng.chance(0.5)
    gap = rng.integer(0, 4) if rng.chance(0.6) else rng.integer(0, 40)
    reached = point - gap - strict if low else point + gap + (not strict)
    stock = max(0, reached + held * subtracts - coming * adds)
    stops = setting.clauses > 3
    case = Case(
        rng.choice(THINGS),
        stock,
        held,
        coming,
        point,
        subtracts,
        adds,
        strict,
        stops and rng.chance(0.35),
        stops,
        rng.chance(0.6),
        rng.integer(1, 40),
        setting.clauses,
        setting,
    )
    if not setting.abstain:
        return case
    return replace(case, stock=None) if rng.chance(1 / 3) else replace(case, shelf=None)


def solve(case: Case) -> int:
    """Yes when the rule says to order (or not to order, if that is asked)."""
    if case.stops and case.stopped:
        orders = False
    elif case.stock is None:
        return OPEN
    else:
        reached = level(case, case.stock)
        orders = reached < case.point or (not case.strict and reached == case.point)
    return int(orders == case.order_asked)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same item under another reorder point, exception or count."""
    return turned(case, (_changed(case, rng) for _ in range(12)), solve, OPEN)


def _changed(case: Case, rng: Rng) -> Case:
    change = rng.below(3)
    if change == 0 and case.stock is not None:
        return replace(case, point=max(1, level(case, case.stock) + rng.integer(-3, 3)))
    if change == 1:
        return replace(case, subtracts=not case.subtracts)
    return replace(case, adds=not case.adds)


def render(case: Case, rng: Rng) -> Asked:
    """The item as a record and the rule as text."""
    stock, held, coming = rng.choice(STOCK), rng.choice(HELD), rng.choice(COMING)
    point, stop = rng.choice(POINTS), rng.choice(STOPS)
    values: list[tuple[str, int | bool | str | None]] = [
        (stock, case.stock),
        (point, case.point),
        ("shelf", case.shelf),
        ("item", case.thing),
        ("code", reference(rng)),
    ]
    more_shown = case.clauses > 1 or rng.chance(0.3)
    if more_shown or case.subtracts or case.adds:
        values += [(held, case.held), (coming, case.coming)]
    if case.stops:
        values.append((stop, case.stopped))
    values = rng.shuffled(values)
    terms = f"the number {stock}" if "stock" not in stock else f"the figure '{stock}'"
    terms = f"'{stock}'" if rng.chance(0.5) else terms
    if case.subtracts:
        terms += rng.choice((f" minus '{held}'", f" after taking off '{held}'"))
    if case.adds:
        terms += rng.choice((f" plus '{coming}'", f" with '{coming}' added"))
    compare = rng.choice(
        ("is below", "is less than") if case.strict else ("is at or below", "is no more than")
    )
    rule = f"Order more when {terms} {compare} the {point}."
    if not case.subtracts and case.clauses > 1 and rng.chance(0.5):
        rule += f" Units {held} play no part."
    if case.stops:
        rule += rng.choice(
            (f" Items marked as {stop} are never ordered.", f" Exception: no order if {stop}.")
        )
    if rng.chance(0.4):
        record: object = {key.replace(" ", "_"): value for key, value in values}
        shown = {key: json_span(key.replace(" ", "_"), value) for key, value in values}
        rule = rule.replace("'", "")
    else:
        shown = {key: f"{capital(key)}: {_plain(value)}" for key, value in values}
        record = "\n".join(shown.values()) if rng.chance(0.6) else ", ".join(shown.values())
    needed = [stock, point] + [held] * case.subtracts + [coming] * case.adds
    needed += [stop] if case.stops else []
    question = rng.choice(ORDER if case.order_asked else LEAVE).format(thing=case.thing)
    sections = [("item record" if rng.chance(0.5) else "stock card", record)]
    in_state = rng.chance(0.6)
    if in_state:
        sections.append((rng.choice(("replenishment rule", "stock policy", "ordering rule")), rule))
    else:
        question = f"{rule} {question}"
    return ask(
        rng,
        sections,
        question,
        deciding=[shown[key] for key in needed if key in shown],
        rule=[rule] if in_state else (),
        setting=case.setting,
    )


def _plain(value: int | bool | str | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not counted" if value is None else str(value)


_TABLES = Tables(__file__)
ORDER = _TABLES.words("order")
LEAVE = _TABLES.words("leave")
FAMILY = branch_family("inventory_reorder", "boolean", draw, solve, render, twin)
