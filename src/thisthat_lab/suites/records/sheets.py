"""Records written down: JSON, forms, log lines, prose, tables; with notes around them.

Every writer also says which piece of the text carries which field, so that a test (or a
trainer) can blank out the deciding facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thisthat.questions import Text, compact_json
from thisthat.rng import Rng
from thisthat_lab.suites.records.conditions import is_count, subject
from thisthat_lab.suites.records.fields import (
    DateField,
    Field,
    FlagField,
    NumberField,
    Record,
    RecordType,
    TagsField,
    Value,
    key_of,
    say,
    say_day,
)
from thisthat_lab.tables import Tables

SINGLE = ("json", "form", "inline", "prose", "bullets", "attributes")
_TABLES = Tables(__file__)
_OPENINGS = _TABLES.words("openings")
_FACTS = _TABLES.groups("facts")
MANY = ("json", "table", "csv", "inline", "prose")


@dataclass(frozen=True)
class Sheet:
    """Records written down. ``content`` is JSON or text; ``pieces`` maps (row, phrase) to the
    substring of the rendered content that states it."""

    content: Any
    pieces: Mapping[tuple[int, str], str]

    def pieces_of(self, phrases: Sequence[str], rows: int = 2) -> list[str]:
        """The pieces that state these fields, row by row, where they are stated."""
        keys = [(row, phrase) for row in range(rows) for phrase in phrases]
        return [self.pieces[key] for key in keys if key in self.pieces]


def write_records(
    rng: Rng,
    kind: RecordType,
    rows: Sequence[tuple[str, Record]],
    phrases: Sequence[str],
    layout: str | None = None,
) -> Sheet:
    """The named records with these fields, in one layout; ``json`` content is not yet text."""
    layout = layout or rng.choice(SINGLE if len(rows) == 1 else MANY)
    fields = [kind.field(phrase) for phrase in phrases]
    if layout == "json":
        return _write_json(rng, kind, rows, fields)
    if layout in ("table", "csv"):
        return _write_table(rng, kind, rows, fields, layout)
    pieces: dict[tuple[int, str], str] = {}
    blocks = []
    day_style = rng.choice(("iso", "iso", "day first", "month first"))
    for row, (name, record) in enumerate(rows):
        shown = [field for field in fields if field.phrase in record]
        opening = _opening(rng, kind, name) if layout == "prose" else ""
        parts = []
        for field in shown:
            value = record[field.phrase]
            if layout == "prose":
                parts.append(say_fact(rng, field, value, kind.noun, day_style))
            else:
                parts.append(_line(field, say(field, value, day_style), layout))
            pieces[row, field.phrase] = parts[-1]
        blocks.append(" ".join([opening, *parts]) if opening else _form(kind, name, parts, layout))
    between = "\n" if layout == "inline" else "\n\n"
    return Sheet(between.join(blocks), pieces)


def _plain(field: Field, value: Value) -> Any:
    if isinstance(field, DateField) and isinstance(value, int):
        return say_day(value)
    return list(value) if isinstance(value, tuple) else value


def _write_json(
    rng: Rng, kind: RecordType, rows: Sequence[tuple[str, Record]], fields: Sequence[Field]
) -> Sheet:
    style = rng.choice(("snake", "snake", "camel", "title"))
    pieces: dict[tuple[int, str], str] = {}
    objects = []
    for row, (name, record) in enumerate(rows):
        entry: dict[str, Any] = {"id": name} if name else {}
        for field in fields:
            if field.phrase in record:
                key, value = key_of(field, style), _plain(field, record[field.phrase])
                entry[key] = value
                pieces[row, field.phrase] = compact_json({key: value})[1:-1]
        objects.append(entry)
    return Sheet(objects[0] if len(objects) == 1 else objects, pieces)


def _write_table(
    rng: Rng,
    kind: RecordType,
    rows: Sequence[tuple[str, Record]],
    fields: Sequence[Field],
    layout: str,
) -> Sheet:
    comma = layout == "csv"
    between = "," if comma else " | "
    heads = [kind.noun, *(key_of(field, "snake" if comma else "title") for field in fields)]
    lines = [between.join(heads)]
    if not comma:
        lines.append(between.join("---" for _ in heads))
    pieces: dict[tuple[int, str], str] = {}
    for row, (name, record) in enumerate(rows):
        cells = [name]
        for field in fields:
            cell = say(field, record.get(field.phrase))
            cells.append(cell.replace(", ", "/").replace(",", "") if comma else cell)
        line = between.join(cells)
        lines.append(line)
        for field in fields:
            pieces[row, field.phrase] = line
    return Sheet("\n".join(lines), pieces)


def _line(field: Field, value: str, layout: str) -> str:
    titled = layout in ("form", "bullets")
    label = field.phrase[:1].upper() + field.phrase[1:] if titled else key_of(field)
    if layout == "attributes":
        return f'{label}="{value}"'
    if layout == "inline":
        return f"{label}={value}"
    return f"{'- ' if layout == 'bullets' else ''}{label}: {value}"


def _form(kind: RecordType, name: str, lines: Sequence[str], layout: str) -> str:
    if layout == "attributes":
        return f'<{kind.noun.replace(" ", "-")} id="{name}" {" ".join(lines)} />'
    if layout == "inline":
        return f"{kind.noun} {name}: " + "; ".join(lines)
    return f"{kind.noun[:1].upper()}{kind.noun[1:]} {name}\n" + "\n".join(lines)


def _opening(rng: Rng, kind: RecordType, name: str) -> str:
    capital = f"{kind.noun[:1].upper()}{kind.noun[1:]}"
    return rng.choice(_OPENINGS).format(noun=kind.noun, capital=capital, name=name)


def say_fact(rng: Rng, field: Field, value: Value, noun: str, day_style: str = "iso") -> str:
    """One sentence that states the value of the field."""
    about = subject(rng, field, noun)
    shown = say(field, value, day_style)
    if isinstance(field, FlagField):
        if value is None:
            text = f"it is not recorded whether {about} is {field.quality}"
        else:
            text = f"{about} is {'' if value else 'not '}{field.quality}"
    elif value is None:
        text = rng.choice((f"{about} is not recorded", f"{about} was left blank"))
    else:
        kind = "other"
        if isinstance(field, TagsField):
            kind = "tags"
        elif isinstance(field, NumberField):
            kind = "count" if is_count(field) and value != 1 else "number"
        text = rng.choice(_FACTS[kind]).format(about=about, shown=shown, phrase=field.phrase)
    return f"{text[:1].upper()}{text[1:]}."


def compose(rng: Rng, sections: Sequence[tuple[str, Any]]) -> Text:
    """One state from named sections: JSON when a section is JSON already, else headed text.

    Sections without text are left out; a single text section stands without its name.
    """
    filled = [(name, content) for name, content in sections if content != ""]
    if any(not isinstance(content, str) for _, content in filled):
        if len(filled) == 1:
            content = filled[0][1]
            if rng.chance(0.5) and isinstance(content, (dict, list)):
                return content
        state = dict(filled)
        return compact_json(state) if rng.chance(0.3) else state
    if len(filled) == 1:
        return str(filled[0][1])
    heading = rng.choice(("{}:\n", "## {}\n", "[{}]\n", "{}: ", "=== {} ===\n"))
    parts = []
    for name, content in filled:
        title = name.replace("_", " ")
        parts.append(heading.format(title[:1].upper() + title[1:]) + str(content))
    return rng.choice(("\n\n", "\n")).join(parts)
