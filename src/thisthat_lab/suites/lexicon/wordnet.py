"""Word senses read from WordNet's database files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from thisthat.errors import InvalidInputError
from thisthat_lab.tables import Tables

_FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_CATEGORIES = Tables(__file__).words("categories")
_EXAMPLE = re.compile(r'"([^"]+)"')

Key = tuple[str, int]
"""Part of speech and offset, by which senses refer to each other."""


@dataclass(frozen=True)
class Sense:
    """One meaning: its words (the commonest first), definition, examples and related senses."""

    key: Key
    category: str
    words: tuple[str, ...]
    definition: str
    examples: tuple[str, ...]
    related: dict[str, tuple[Key, ...]]

    @property
    def word(self) -> str:
        """The word by which the sense is best known."""
        return self.words[0]


class WordNet:
    """All senses, and which of them a word has."""

    def __init__(self, folder: Path) -> None:
        """Read the four data files of ``folder``; a missing one is an error that names it."""
        self.senses: dict[Key, Sense] = {}
        self.by_word: dict[str, list[Sense]] = {}
        self._ancestors: dict[Key, set[Key]] = {}
        counts = _counts(folder / "cntlist.rev")
        for name, part in _FILES.items():
            for sense in _read(_checked(folder / f"data.{name}"), part):
                self.senses[sense.key] = sense
                for word in sense.words:
                    self.by_word.setdefault(word.lower(), []).append(sense)
        self._counts = counts

    @cached_property
    def familiar(self) -> list[Sense]:
        """Senses of words that occur in WordNet's own count of running text, in a fixed order."""
        return [
            sense
            for sense in self.senses.values()
            if any(word.lower() in self._counts for word in sense.words)
        ]

    def ancestors(self, sense: Sense) -> list[Sense]:
        """What the sense is a kind of, the nearest first; first parents only."""
        found: list[Sense] = []
        parents = sense.related.get("@", ())
        while parents and (parent := self.senses.get(parents[0])) and parent not in found:
            found.append(parent)
            parents = parent.related.get("@", ())
        return found

    def all_ancestors(self, sense: Sense) -> set[Key]:
        """Every sense that this one is a kind of, by any path, itself included."""
        if known := self._ancestors.get(sense.key):
            return known
        found = self._ancestors[sense.key] = set[Key]()
        waiting = [sense.key]
        while waiting:
            key = waiting.pop()
            if key not in found and key in self.senses:
                found.add(key)
                related = self.senses[key].related
                waiting += [*related.get("@", ()), *related.get("@i", ())]
        return found

    def to(self, sense: Sense, relation: str) -> list[Sense]:
        """The senses that ``relation`` leads to."""
        keys = sense.related.get(relation, ())
        return [self.senses[key] for key in keys if key in self.senses]


def _checked(path: Path) -> Path:
    if not path.is_file():
        raise InvalidInputError("wordnet", f"{path} is missing; give a folder with WordNet's data")
    return path


def _counts(path: Path) -> set[str]:
    lines = _checked(path).read_text(encoding="utf-8").splitlines()
    return {line.split("%", 1)[0].replace("_", " ") for line in lines}


def _read(path: Path, part: str) -> Iterator[Sense]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            continue
        head, _, gloss = line.partition(" | ")
        fields = head.split()
        count = int(fields[3], 16)
        words = tuple(_plain(fields[4 + 2 * place]) for place in range(count))
        at = 4 + 2 * count
        related: dict[str, tuple[Key, ...]] = {}
        for place in range(int(fields[at])):
            symbol, offset, other, _ = fields[at + 1 + 4 * place : at + 5 + 4 * place]
            related[symbol] = (*related.get(symbol, ()), (other.replace("s", "a"), int(offset)))
        examples = tuple(_EXAMPLE.findall(gloss))
        definition = gloss.split('; "')[0].split(' "')[0].strip().rstrip(";").strip()
        category = _CATEGORIES[int(fields[1])]
        yield Sense((part, int(fields[0])), category, words, definition, examples, related)


def _plain(word: str) -> str:
    return re.sub(r"\([a-z]+\)$", "", word).replace("_", " ")
