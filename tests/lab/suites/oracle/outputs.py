"""Instructions about a text, read from their wording and checked on the text as it is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.lab.suites.oracle import reading
from thisthat.items.item import Item

_MARKS = {"a full stop": ".", "an exclamation mark": "!", "a question mark": "?"}


def _words(text: str) -> list[str]:
    """The words and numbers, told apart by going through the letters."""
    found, current = [], ""
    for letter in [*text.lower(), " "]:
        same = current and (letter.isdigit() == current[-1].isdigit())
        if (letter.isascii() and letter.isalnum()) or letter == "'":
            if current and not same:
                found.append(current)
                current = ""
            current += letter
        elif current:
            found.append(current)
            current = ""
    return found


def _fields(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _sentences(text: str) -> int:
    return len([part for part in re.split(r"[.!?](?:\s|$)", text) if part.strip()])


_CHECKS: tuple[tuple[str, Callable[[str, Any], bool]], ...] = (
    (r"(?:use at most|no more than) (\d+) words", lambda t, n: len(_words(t)) <= int(n)),
    (r"write at least (\d+) words", lambda t, n: len(_words(t)) >= int(n)),
    (r"the length is (\d+) words or more", lambda t, n: len(_words(t)) >= int(n)),
    (r"write exactly (\d+) sentences", lambda t, n: _sentences(t) == int(n)),
    (r"the number of sentences is (\d+)", lambda t, n: _sentences(t) == int(n)),
    (r'mention "(.*)"', lambda t, w: w.lower() in _words(t)),
    (r'the word "(.*)" has to appear', lambda t, w: w.lower() in _words(t)),
    (r'do not use the word "(.*)"', lambda t, w: w.lower() not in _words(t)),
    (r'avoid "(.*)"', lambda t, w: w.lower() not in _words(t)),
    (r'begin with the word "(.*)"', lambda t, w: _words(t)[0] == w.lower()),
    (r'the first word is "(.*)"', lambda t, w: _words(t)[0] == w.lower()),
    (r"end with (a full stop|an exclamation mark|a question mark)",
     lambda t, m: t[-1] == _MARKS[m.lower()]),
    (r"(use at least one capital letter)", lambda t, _: t != t.lower()),
    (r"(write everything in lower case|no capital letters)", lambda t, _: t == t.lower()),
    (r"(use at least one lower-case letter)", lambda t, _: t != t.upper()),
    (r"(write everything in capitals|no lower-case letters)", lambda t, _: t == t.upper()),
    (r"(include at least one digit)", lambda t, _: re.search(r"\d", t) is not None),
    (r"(use no digits)", lambda t, _: re.search(r"\d", t) is None),
    (r"(use at least one comma)", lambda t, _: "," in t),
    (r"(use no commas)", lambda t, _: "," not in t),
    (r"give exactly (\d+) bullet points",
     lambda t, n: sum(line.startswith("- ") for line in t.splitlines()) == int(n)),
    (r'return JSON with the key "(.*)"', lambda t, k: k in _fields(t)),
    (r'the JSON has a field "(.*)"', lambda t, k: k in _fields(t)),
    (r'the field "(.*)" holds a number', lambda t, k: isinstance(_fields(t).get(k), int)),
    (r"(answer with a JSON object)", lambda t, _: bool(_fields(t))),
    (r"(do not answer in JSON)", lambda t, _: not _fields(t)),
)  # fmt: skip


def _kept(instruction: str, text: str) -> bool:
    for pattern, check in _CHECKS:
        found = re.fullmatch(pattern, instruction.strip().rstrip("."), re.I)
        if found:
            return check(text, found[1])
    raise AssertionError(instruction)


_NAMES = ("output", "response", "draft", "reply")


def _parts(item: Item) -> tuple[str, str]:
    """The output, and the instructions where the state has them."""
    if isinstance(item.state, dict):
        (name,) = [name for name in _NAMES if name in item.state]
        return str(item.state[name]), str(item.state.get("instructions", ""))
    assert isinstance(item.state, str)
    text = listed = ""
    for block in item.state.split("\n\n"):
        heading, _, body = block.partition("\n")
        heading = heading.strip("#[]: ").lower()
        if heading in _NAMES:
            text = body
        elif heading in ("instructions", "brief", "style sheet"):
            listed = body
    assert text
    return text, listed


def instruction_check(item: Item) -> int:
    """Whether every instruction is kept, or any is broken."""
    text, listed = _parts(item)
    if not listed:
        found = re.search(r"Instructions:\n(.*)\n[^\n]*\?$", item.question, re.S)
        assert found is not None
        listed = found[1]
    kept = [
        _kept(re.sub(r"^(?:[-*]|\d+\.|\([a-z]\)) ", "", line), text) for line in listed.splitlines()
    ]
    question = item.question.splitlines()[-1]
    broken = re.search(r"break any|not kept|miss something|fail one", question) is not None
    return reading.yes_no(item, {all(kept) is not broken})


def which_instruction(item: Item) -> int:
    """The broken instruction, or the option for none."""
    text, listed = _parts(item)
    numbered = dict(line.split(": ", 1) for line in listed.splitlines())
    (nothing,) = [
        place
        for place, (name, _) in enumerate(item.options)
        if name in ("none", "all are kept", "nothing is broken")
    ]
    broken = [
        place
        for place, (name, said) in enumerate(item.options)
        if place != nothing and not _kept(said or numbered.get(name, name), text)
    ]
    assert len(broken) <= 1
    return broken[0] if broken else nothing
