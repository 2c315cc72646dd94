"""Words the branch families share: names, places, things, paraphrases, filler, layouts.

Nothing here knows which answer is right, so no word of it can give an answer away.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from thisthat.questions import JSONValue, Text, compact_json
from thisthat.rng import Rng
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
FIRST_NAMES = _TABLES.words("first_names")
LAST_NAMES = _TABLES.words("last_names")
COMPANIES = _TABLES.words("companies")
CITIES = _TABLES.words("cities")
PRODUCTS = _TABLES.words("products")
SERVICES = _TABLES.words("services")
TEAMS = _TABLES.words("teams")
MONTHS = _TABLES.words("months")
COUNT_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip
FIRST_DAY = date(2022, 1, 3)
PERIOD_DAYS = 1_400

REMARKS = _TABLES.words("remarks")
HEADINGS = _TABLES.words("headings")
EXTRA_KEYS = _TABLES.words("extra_keys")
STATEMENTS = _TABLES.groups("statements")
DENIALS = _TABLES.words("denials")
"""How a fact is put as a statement to judge, by form, and how its failure is."""


def person(rng: Rng) -> str:
    """A first and a last name."""
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def day(rng: Rng) -> date:
    """A day of the period the suite plays in."""
    return FIRST_DAY + timedelta(days=rng.below(PERIOD_DAYS))


def show_date(value: date, rng: Rng) -> str:
    """A date the way people write it: ISO, "5 March 2024" or "March 5, 2024"."""
    month = MONTHS[value.month - 1]
    style = rng.below(3)
    if style == 0:
        return value.isoformat()
    if style == 1:
        return f"{value.day} {month} {value.year}"
    return f"{month} {value.day}, {value.year}"


def reference(rng: Rng, prefix: str = "") -> str:
    """An identifier such as ``ORD-48213``."""
    prefix = prefix or "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(3))
    return f"{prefix}-{rng.integer(1000, 99999)}"


def sentence(text: str) -> str:
    """The text with a capital letter and a final stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!", ":")) else ".")


def join(parts: Sequence[str], word: str = "and") -> str:
    """``a, b and c``."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def remark(rng: Rng) -> str:
    """One sentence that decides nothing."""
    return rng.choice(REMARKS).format(
        name=person(rng),
        name2=person(rng),
        city=rng.choice(CITIES),
        company=rng.choice(COMPANIES),
        product=rng.choice(PRODUCTS),
        team=rng.choice(TEAMS),
        service=rng.choice(SERVICES),
        month=rng.choice(MONTHS),
        number=rng.integer(2, 980),
    )


def remarks(rng: Rng, count: int) -> list[str]:
    """Different sentences that decide nothing; at most one thousand."""
    seen: dict[str, None] = {}
    while len(seen) < count:
        seen[remark(rng)] = None
    return list(seen)


def extra_fields(rng: Rng, count: int) -> dict[str, Any]:
    """Fields that decide nothing, for a JSON state; at most as many as there are keys."""
    fields: dict[str, Any] = {}
    for key in rng.sample(EXTRA_KEYS, min(count, len(EXTRA_KEYS))):
        kind = rng.below(4)
        fields[key] = (
            rng.choice(CITIES)
            if kind == 0
            else rng.integer(1, 999)
            if kind == 1
            else person(rng)
            if kind == 2
            else reference(rng)
        )
    return fields


def extra_lines(rng: Rng, count: int) -> list[str]:
    """The same as lines of text."""
    return [f"{key.replace('_', ' ')}: {value}" for key, value in extra_fields(rng, count).items()]


def bullets(parts: Sequence[str], rng: Rng) -> str:
    """The parts as a list, one per line, in one of the usual styles."""
    style = rng.below(4)
    if style == 0:
        return "\n".join(f"- {part}" for part in parts)
    if style == 1:
        return "\n".join(f"{index}. {sentence(part)}" for index, part in enumerate(parts, 1))
    if style == 2:
        return "\n".join(f"({'abcdefghij'[index % 10]}) {part}" for index, part in enumerate(parts))
    return "\n".join(f"* {sentence(part)}" for part in parts)


def headed(heading: str, body: str, rng: Rng) -> str:
    """A section of a text: markdown, plain or underlined heading, then the body."""
    style = rng.below(4)
    if style == 0:
        return f"## {heading}\n{body}"
    if style == 1:
        return f"{heading}:\n{body}"
    if style == 2:
        return f"{heading.upper()}\n{body}"
    return f"[{heading}]\n{body}"


def sections(parts: Sequence[tuple[str, str]], rng: Rng, filler: int) -> str:
    """Headed sections in random order with ``filler`` idle sentences in and between them."""
    blocks = [headed(heading, body, rng) for heading, body in parts]
    idle = remarks(rng, filler)
    while idle:
        count = min(len(idle), rng.integer(1, 8))
        taken, idle = idle[:count], idle[count:]
        blocks.append(headed(rng.choice(HEADINGS), " ".join(taken), rng))
    return "\n\n".join(rng.shuffled(blocks))


def state_object(
    parts: Sequence[tuple[str, Any]], rng: Rng, distractors: int, filler: int
) -> dict[str, Any]:
    """The parts as one JSON object, shuffled among idle fields and a list of idle notes."""
    entries: list[tuple[str, Any]] = [*parts]
    taken = {key for key, _ in parts}
    entries += [pair for pair in extra_fields(rng, distractors).items() if pair[0] not in taken]
    if filler:
        entries.append((rng.choice(("notes", "activity", "comments")), remarks(rng, filler)))
    return dict(rng.shuffled(entries))


def json_span(key: str, value: Any) -> str:
    """How a field stands inside a rendered JSON state."""
    return compact_json({key: value})[1:-1]


def as_shown(state: Text, *forms: JSONValue) -> list[str]:
    """Those of the forms that stand in a state, as they stand there: texts line by line."""
    shown = state if isinstance(state, str) else compact_json(state)
    found: list[str] = []
    for form in forms:
        if isinstance(form, str) and form in shown:
            found += [line for line in form.splitlines() if line.strip()]
        else:
            escaped = compact_json(form)[1:-1] if isinstance(form, str) else compact_json(form)
            found += [escaped] if escaped in shown else []
    return list(dict.fromkeys(found))
