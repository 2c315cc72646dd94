"""Short written outputs and checkable instructions about them.

An instruction is checked by code on the text alone. Shared by the families about instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.wording import CITIES, COMPANIES, FIRST_NAMES, MONTHS, PRODUCTS
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_SENTENCES = _TABLES.words("sentences")
_WAYS = _TABLES.groups("ways")
_KEYS = ("title", "city", "status", "owner", "total", "month", "note", "summary", "count")
_ENDINGS = {".": "a full stop", "!": "an exclamation mark", "?": "a question mark"}
_MARKS = tuple(_ENDINGS)
_YES_OR_NO = ("capitals", "small letters", "digits", "commas", "json")
_TRIES = 60
_WORD = re.compile(r"[A-Za-z']+|\d+")


@dataclass(frozen=True)
class Instruction:
    """One checkable demand: its kind and the value it speaks of."""

    kind: str
    value: Any


def draw_output(sentences: int, rng: Rng) -> str:
    """A text of that many sentences: a paragraph, a list, shouted or whispered, or JSON."""
    if rng.chance(0.15):
        keys = rng.sample(_KEYS, rng.integer(2, 5))
        return json.dumps({key: _json_value(key, rng) for key in keys}, ensure_ascii=False)
    parts = [_fill(template, rng) for template in rng.sample(_SENTENCES, sentences)]
    endings = [*(rng.weighted(_MARKS, (4, 1, 1)) for _ in parts[1:]), rng.choice(_MARKS)]
    parts = [part[:1].upper() + part[1:] + end for part, end in zip(parts, endings, strict=True)]
    text = "\n".join(f"- {part}" for part in parts) if rng.chance(0.25) else " ".join(parts)
    style = rng.weighted(("plain", "lower", "upper"), (6, 2, 1))
    return text if style == "plain" else text.lower() if style == "lower" else text.upper()


def _fill(template: str, rng: Rng) -> str:
    return template.format(
        product=rng.choice(PRODUCTS),
        number=rng.integer(2, 28),
        month=rng.choice(MONTHS),
        city=rng.choice(CITIES),
        hour=rng.integer(7, 11),
        name=rng.choice(FIRST_NAMES),
        name2=rng.choice(FIRST_NAMES),
        company=rng.choice(COMPANIES),
    )


def _json_value(key: str, rng: Rng) -> Any:
    if key in ("total", "count"):
        return rng.integer(1, 900)
    if rng.chance(0.2):
        return rng.integer(1, 90)
    return rng.choice(CITIES if key == "city" else MONTHS if key == "month" else FIRST_NAMES)


def words_of(text: str) -> list[str]:
    """The words and numbers of a text."""
    return _WORD.findall(text)


def follows(instruction: Instruction, text: str) -> bool:
    """Whether the text does what the instruction says."""
    kind, value = instruction.kind, instruction.value
    words = words_of(text)
    lowered = [word.lower() for word in words]
    checks: dict[str, Callable[[], bool]] = {
        "most words": lambda: len(words) <= value,
        "fewest words": lambda: len(words) >= value,
        "sentences": lambda: len(re.findall(r"[.!?]", text)) == value,
        "has word": lambda: str(value).lower() in lowered,
        "lacks word": lambda: str(value).lower() not in lowered,
        "first word": lambda: lowered[0] == str(value).lower(),
        "last mark": lambda: text.endswith(str(value)),
        "capitals": lambda: any(c.isupper() for c in text) == value,
        "small letters": lambda: any(c.islower() for c in text) == value,
        "digits": lambda: any(c.isdigit() for c in text) == value,
        "commas": lambda: ("," in text) == value,
        "bullets": lambda: text.count("- ") == value,
        "key": lambda: value in _read_object(text),
        "number at": lambda: isinstance(_read_object(text).get(value), int),
        "json": lambda: bool(_read_object(text)) == value,
    }
    return checks[kind]()


def _read_object(text: str) -> dict[str, Any]:
    if not text.startswith("{"):
        return {}
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def draw_instruction(text: str, followed: bool, used: Sequence[str], rng: Rng) -> Instruction:
    """An instruction, of a kind not yet used, that the text follows or breaks.

    The kind is chosen without regard to ``followed``, so that it gives nothing away.
    """
    kinds = ["most words", "fewest words", "has word", "lacks word", *_YES_OR_NO]
    kinds += ["key", "number at"] if text.startswith("{") else ["sentences", "first word"]
    if not text.startswith("{"):
        kinds.append("bullets" if text.startswith("- ") else "last mark")
    kind = rng.choice([one for one in kinds if one not in used])
    for _ in range(_TRIES):
        instruction = Instruction(kind, _propose(kind, text, rng))
        if follows(instruction, text) == followed:
            return instruction
    return draw_instruction(text, followed, [*used, kind], rng)


def _propose(kind: str, text: str, rng: Rng) -> Any:
    words = words_of(text)
    near = rng.choice((0, 1, 2, 3, 5, 8)) * rng.choice((1, -1))
    if kind in _YES_OR_NO:
        return rng.chance(0.5)
    if kind in ("most words", "fewest words"):
        return max(1, len(words) + near)
    if kind in ("has word", "lacks word"):
        other = words_of(draw_output(2, rng))
        return rng.choice([word for word in rng.choice((words, other)) if len(word) > 2]).lower()
    if kind in ("key", "number at"):
        return rng.choice(_KEYS)
    if kind == "sentences":
        return max(1, len(re.findall(r"[.!?]", text)) + rng.choice((-1, 0, 1)))
    if kind == "bullets":
        return max(1, text.count("- ") + rng.choice((-1, 0, 1)))
    if kind == "first word":
        return rng.choice((words[0], words_of(draw_output(1, rng))[0]))
    return rng.choice(_MARKS)


def say_instruction(instruction: Instruction, rng: Rng) -> str:
    """The instruction as one would write it, without final stop."""
    kind, value = instruction.kind, instruction.value
    if kind in _YES_OR_NO:
        kind = f"{kind}, {'yes' if value else 'no'}"
    return rng.choice(_WAYS[kind]).format(value=_ENDINGS.get(str(value), value))
