"""Sentences and fields put on a surface: mail, chat, note, log, list, call, form, JSON.

Nothing here knows what is asked. Sentences of one unit stay together and in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from thisthat.questions import JSONValue, Text
from thisthat.rng import Rng
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_HELLO = _TABLES.words("hello")
_BYE = _TABLES.words("bye")
_REPLIES = _TABLES.words("replies")
_TITLES = _TABLES.words("titles")
_BULLETS = _TABLES.words("bullets")
_LOGGED = _TABLES.words("logged")
_GREETINGS = _TABLES.words("greetings")
_DESKS = _TABLES.rows("desks")
_BODIES = _TABLES.words("bodies")
_RECORDS = 0.15
_MONTHS = ("January", "March", "April", "May", "June", "September", "October", "November")

Units = Sequence[Sequence[str]]


def is_record(rng: Rng) -> bool:
    """Whether the next scene is a record instead of sentences."""
    return rng.chance(_RECORDS)


def text(units: Units, subject: str, tellers: Sequence[str], rng: Rng) -> Text:
    """The units in order on one of the surfaces for sentences."""
    surface = rng.weighted(_SURFACES, _WEIGHTS)
    return surface(units, subject, tellers, rng)


def record(fields: dict[str, JSONValue], subject: str, rng: Rng) -> Text:
    """Fields as JSON, or as the lines of a form."""
    entries = [("subject", subject), *rng.shuffled(list(fields.items()))]
    if rng.chance(0.5):
        return dict(entries[rng.below(2) :])
    lines = []
    for key, value in entries:
        name = key.replace("_", " ").capitalize()
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {part}: {each}" for part, each in value.items())]
        elif isinstance(value, list):
            lines.append(f"{name}: {', '.join(str(each) for each in value)}")
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(lines)


def _paragraph(units: Units) -> str:
    return " ".join(chain.from_iterable(units))


def _paragraphs(units: Units, rng: Rng) -> str:
    if len(units) < 3 or rng.chance(0.5):
        return _paragraph(units)
    middle = rng.integer(1, len(units) - 1)
    return f"{_paragraph(units[:middle])}\n\n{_paragraph(units[middle:])}"


def _mail(units: Units, subject: str, tellers: Sequence[str], rng: Rng) -> Text:
    sender, reader = tellers[:2]
    head = f"Subject: {subject}\n\n" if rng.chance(0.6) else ""
    if rng.chance(0.3):
        head = f"From: {sender}\nTo: {reader}\n{head or chr(10)}"
    hello = rng.choice(_HELLO).format(name=reader)
    bye = rng.choice(_BYE).format(name=sender)
    return f"{head}{hello}\n\n{_paragraphs(units, rng)}\n\n{bye}"


def _chat(units: Units, subject: str, tellers: Sequence[str], rng: Rng) -> Text:
    """One person tells, others react: what is said of oneself stays with one speaker."""
    lines = []
    for unit in units:
        said = [" ".join(unit)] if rng.chance(0.5) else unit
        lines += [f"{tellers[0]}: {line}" for line in said]
        if rng.chance(0.4):
            lines.append(f"{tellers[rng.integer(1, 2)]}: {rng.choice(_REPLIES)}")
    return "\n".join(lines)


def _note(units: Units, subject: str, tellers: Sequence[str], rng: Rng) -> Text:
    title = rng.choice(_TITLES).format(subject=subject, name=tellers[0])
    return f"{title}{_paragraphs(units, rng)}" if rng.chance(0.5) else _paragraphs(units, rng)


def _list(units: Units, subject: str, tellers: Sequence[str], rng: Rng) -> Text:
    bullet = rng.choice(_BULLETS)
    lines = [f"{bullet.format(n=number)}{' '.join(unit)}" for number, unit in enumerate(units, 1)]
    return "\n".join([f"{subject}:", *lines])


def _log(units: Units, subject: str, tellers: Sequence[str], rng: Rng) -> Text:
    form, month, day = rng.choice(_LOGGED), rng.choice(_MONTHS), rng.integer(1, 9)
    lines = []
    for unit in units:
        day += rng.below(3)
        lines.append(form.format(date=f"{day} {month}", name=tellers[day % 3], text=" ".join(unit)))
    return "\n".join(lines)


def _call(units: Units, subject: str, tellers: Sequence[str], rng: Rng) -> Text:
    desk, caller = rng.choice(_DESKS)
    lines = [f"{desk}: {rng.choice(_GREETINGS).format(name=tellers[0])}"]
    for unit in units:
        lines.append(f"{caller}: {' '.join(unit)}")
        if rng.chance(0.5):
            lines.append(f"{desk}: {rng.choice(_REPLIES)}")
    return "\n".join(lines)


def _message(units: Units, subject: str, tellers: Sequence[str], rng: Rng) -> Text:
    body = rng.choice(_BODIES)
    if rng.chance(0.4):
        return {"subject": subject, "author": tellers[0], body: [" ".join(unit) for unit in units]}
    return {"from": tellers[0], "to": tellers[1], "subject": subject, body: _paragraph(units)}


_SURFACES: tuple[Callable[[Units, str, Sequence[str], Rng], Text], ...] = (
    _mail,
    _chat,
    _note,
    _list,
    _log,
    _call,
    _message,
)
_WEIGHTS = (4, 4, 6, 2, 2, 2, 2)
