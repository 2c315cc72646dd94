"""What a rubric says in words: scale names, level texts, and the text that defines them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from thisthat.rng import Rng
from thisthat_lab.suites.base.wording import COUNT_WORDS
from thisthat_lab.suites.records.conditions import sentence
from thisthat_lab.suites.records.fields import say_number
from thisthat_lab.suites.records.rubric import Rubric
from thisthat_lab.suites.records.rules import capital
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
SCALES = _TABLES.rows("scales")
LEADS = _TABLES.groups("leads")
NUMBERED = ("level {}", "grade {}", "step {}", "tier {}", "class {}", "{}", "{} points", "band {}")


def draw_scale(rng: Rng, levels: int, own: Sequence[Sequence[str]] = ()) -> tuple[str, ...]:
    """Names for the levels, lowest first: one of ``own``, a common scale, or numbers."""
    fitting = [tuple(scale) for scale in own if len(scale) == levels]
    if fitting and rng.chance(0.6):
        return rng.choice(fitting)
    common = [scale for scale in SCALES if len(scale) == levels]
    if common and rng.chance(0.7):
        return rng.choice(common)
    form = rng.choice(NUMBERED)
    first = 0 if form == "{} points" else rng.below(2)
    return tuple(form.format(first + level) for level in range(levels))


def definitions(rng: Rng, rubric: Rubric, noun: str) -> tuple[str, ...]:
    """What puts a record on each level, lowest first, for methods whose levels have one.

    Lines of ``first``, ``highest`` and ``lowest`` do not; asking for them raises ValueError.
    """
    if rubric.method in ("band", "points"):
        unit = rubric.field.unit if rubric.field is not None else "points"
        texts = _ranges(rng, rubric.bounds, unit)
    elif rubric.method == "count":
        texts = _counts(rng, rubric.levels)
    elif rubric.method == "ladder":
        texts = _rungs(rng, rubric.levels)
    else:
        raise ValueError(f"{rubric.method} has no text of its own for a level")
    return tuple(reversed(texts)) if rubric.falling else tuple(texts)


def _ranges(rng: Rng, bounds: Sequence[int], unit: str) -> list[str]:
    style = rng.below(3)
    first, last = say_number(bounds[0], unit), say_number(bounds[-1], unit)
    texts = [rng.choice((f"below {first}", f"less than {first}", f"under {first}"))]
    for low, high in pairwise(bounds):
        if style == 0 and high - low == 1:
            texts.append(say_number(low, unit))
        elif style == 0:
            start = say_number(low, unit) if unit == "$" else str(low)
            texts.append(f"{start} to {say_number(high - 1, unit)}")
        elif style == 1:
            texts.append(f"at least {say_number(low, unit)} but below {say_number(high, unit)}")
        else:
            texts.append(
                f"from {say_number(low, unit)} up to, not including, {say_number(high, unit)}"
            )
    texts.append(rng.choice((f"{last} or more", f"at least {last}", f"from {last} upwards")))
    return texts


def _counts(rng: Rng, levels: int) -> list[str]:
    form = rng.choice(("{} of the conditions", "{} met", "exactly {}", "{} fulfilled"))
    words = COUNT_WORDS if rng.chance(0.5) else tuple(str(count) for count in range(11))
    texts = [form.format(words[count]) for count in range(levels)]
    if rng.chance(0.3):
        texts[0], texts[-1] = "none of them", "all of them"
    return texts


def _rungs(rng: Rng, levels: int) -> list[str]:
    texts = ["condition 1 fails"]
    texts += [
        f"condition{'s 1 to ' if level > 1 else ' '}{level} met, condition {level + 1} fails"
        for level in range(1, levels - 1)
    ]
    last = levels - 1
    texts.append(f"conditions 1 to {last} all met" if last > 1 else "condition 1 met")
    return texts


def say_rubric(rng: Rng, rubric: Rubric, noun: str, scale: Sequence[str], table: bool) -> str:
    """The rubric as text. ``table`` adds what each name of the scale means; without it the
    reader finds that in the level texts."""
    lines = [*_body(rng, rubric, noun, scale)]
    if table and rubric.method in ("band", "points", "count", "ladder"):
        texts = definitions(rng, rubric, noun)
        arrow = rng.choice((" = ", ": ", " -> ", " means "))
        named = [f"{name}{arrow}{text}" for name, text in zip(scale, texts, strict=True)]
        if rng.chance(0.3):
            named.reverse()
        lines.append("; ".join(named) + "." if rng.chance(0.5) else "\n".join(named))
    return "\n".join(lines) if rng.chance(0.6) else " ".join(lines)


def _body(rng: Rng, rubric: Rubric, noun: str, scale: Sequence[str]) -> list[str]:
    if rubric.method == "band":
        assert rubric.field is not None
        return [rng.choice(LEADS["band"]).format(phrase=rubric.field.phrase)]
    parts = [sentence(rng, condition, noun) for condition in rubric.conditions]
    if rubric.method == "points":
        return _say_points(rng, rubric, parts)
    if rubric.method in ("count", "ladder"):
        lead = rng.choice(LEADS[rubric.method])
        marks = ["-" if rubric.method == "count" else f"{n}." for n in range(1, len(parts) + 1)]
        return [
            lead,
            *(f"{mark} {capital(part)}." for mark, part in zip(marks, parts, strict=True)),
        ]
    return _say_lines(rng, rubric, parts, scale)


def _say_points(rng: Rng, rubric: Rubric, parts: Sequence[str]) -> list[str]:
    lines = [
        rng.choice((f"Start at {rubric.start} points.", f"Base score: {rubric.start} points."))
        if rubric.start or rng.chance(0.5)
        else "Add up the points."
    ]
    style = rng.below(3)
    for weight, part in zip(rubric.weights, parts, strict=True):
        size = abs(weight)
        points = f"{size} point" + ("" if size == 1 else "s")
        if style == 0:
            lines.append(f"{weight:+d} if {part}.")
        elif style == 1:
            lines.append(f"{'Add' if weight > 0 else 'Take off'} {points} if {part}.")
        else:
            lines.append(f"{capital(part)}: {'plus' if weight > 0 else 'minus'} {points}.")
    return lines


def _say_lines(rng: Rng, rubric: Rubric, parts: Sequence[str], scale: Sequence[str]) -> list[str]:
    arrow = rng.choice(("{part}: {name}.", "if {part} -> {name}.", "{name} when {part}."))
    lines = [
        capital(arrow.format(part=part, name=f"'{scale[weight]}'"))
        for part, weight in zip(parts, rubric.weights, strict=True)
    ]
    default = f"'{scale[rubric.start]}'"
    lead = rng.choice(LEADS[rubric.method])
    rest = rng.choice((f"If no line applies: {default}.", f"Otherwise: {default}."))
    return [lead, *lines, rest]
