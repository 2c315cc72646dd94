"""Questions about words, their meanings and what they name, several about one state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from thisthat.items.item import Item
from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import YES_NO
from thisthat_lab.suites.lexicon.wordnet import Sense, WordNet
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_CATEGORIES = _TABLES.read("categories", dict[str, str])
_RELATIONS = _TABLES.words("relations")
_GENERAL = 3
"""Ancestors so near the root ("whole", "entity") say nothing; questions leave them out."""


@dataclass(frozen=True)
class LexiconSettings:
    """``folder`` holds WordNet's database files (Debian's wordnet-base installs them)."""

    folder: Path = Path("/usr/share/wordnet")


def training_items(seed: int, settings: LexiconSettings | None = None) -> Iterator[Item]:
    """Endless items; those about one state follow one another."""
    folder = (settings or LexiconSettings()).folder
    return _Stream(_read(folder), Rng("lexicon", seed)).items()


@lru_cache(maxsize=1)
def _read(folder: Path) -> WordNet:
    return WordNet(folder)


class _Stream:
    def __init__(self, wordnet: WordNet, rng: Rng) -> None:
        self._net, self._rng = wordnet, rng
        self._senses = wordnet.familiar
        self._peers: dict[str, list[Sense]] = {}
        for sense in self._senses:
            self._peers.setdefault(sense.category, []).append(sense)
            self._peers.setdefault(sense.key[0], []).append(sense)

    def items(self) -> Iterator[Item]:
        makers: list[Callable[[Sense], Iterator[Item | None]]]
        makers = [self._sentence, self._definition, self._word, self._listed, self._pair]
        while True:
            sense = self._rng.choice(self._senses)
            make = self._rng.weighted(makers, [3, 3, 3, 2, 1])
            yield from (item for item in make(sense) if item is not None)

    def _sentence(self, sense: Sense) -> Iterator[Item | None]:
        shown = [
            (word, text)
            for word in sense.words
            for text in sense.examples
            if re.search(rf"\b{re.escape(word)}\b", text)
        ]
        if not shown:
            return
        word, text = self._rng.choice(shown)
        if self._rng.chance(0.3):
            gap = re.sub(rf"\b{re.escape(word)}\b", "…", text, count=1)
            yield self._choice("gap", gap, word, [other.word for other in self._others(sense, 7)])
            return
        senses = self._net.by_word[word.lower()]
        rivals = [other.definition for other in senses if other is not sense]
        yield self._choice(
            "meaning", text, sense.definition, self._filled(rivals, sense), word=word
        )
        if rivals:
            yes = self._rng.chance(0.5)
            definition = sense.definition if yes else self._rng.choice(rivals)
            yield self._boolean("in_sense", text, yes, word=word, definition=definition)
        yield self._category(f'{text}\n\nThe word: "{word}"', sense)

    def _definition(self, sense: Sense) -> Iterator[Item | None]:
        state: Text = sense.definition
        if self._rng.chance(0.2):
            state = {"entry": sense.definition}
        yield self._choice("word_for", state, sense.word, [o.word for o in self._others(sense, 7)])
        yield from self._about(state, sense)

    def _word(self, sense: Sense) -> Iterator[Item | None]:
        word = self._rng.choice(sense.words)
        first = self._net.by_word[word.lower()][0] is sense
        if len(self._net.by_word[word.lower()]) > 3 and not first:
            return
        states: list[Text] = [word, f"word: {word}", f'The word "{word}"', {"word": word}]
        state = self._rng.choice(states)
        others = [other.definition for other in self._others(sense, 6)]
        yield self._choice("means", state, sense.definition, others)
        if alike := [other for other in sense.words if other != word]:
            others = [other.word for other in self._others(sense, 6)]
            yield self._choice("same", state, self._rng.choice(alike), others)
        if opposites := self._net.to(sense, "!"):
            others = [*sense.words, *(other.word for other in self._others(sense, 5))]
            others = [other for other in others if other != word]
            yield self._choice("opposite", state, opposites[0].word, others)
        parts = [p for symbol in ("%p", "%m", "%s") for p in self._net.to(sense, symbol)]
        if parts:
            others = [other.word for other in self._others(parts[0], 6)]
            yield self._choice("part", state, self._rng.choice(parts).word, others)
        yield from self._about(state, sense)

    def _listed(self, sense: Sense) -> Iterator[Item | None]:
        near = [a for a in self._net.ancestors(sense)[:3] if a.related.get("~")]
        if not near or sense.key[0] != "n":
            return
        kind = self._rng.choice(near)
        members = [s for s in self._net.to(kind, "~") if s is not sense]
        others = self._unrelated(kind, self._rng.integer(2, 5))
        if not others:
            return
        words = self._rng.shuffled([sense.word, *(other.word for other in others)])
        joint = self._rng.choice([", ", "\n", " / "])
        yield self._choice("member", joint.join(words), sense.word, words, kind=kind.word)
        yes = self._rng.chance(0.5)
        named = [sense, *others] if yes else others
        listed = joint.join(self._rng.shuffled([s.word for s in named]))
        yield self._boolean("any", listed, yes, kind=kind.word)
        if len(members) >= 2:
            group = [sense, *self._rng.sample(members, min(len(members), 4))]
            words = self._rng.shuffled([others[0].word, *(s.word for s in group)])
            yield self._choice("odd", joint.join(words), others[0].word, words)

    def _pair(self, sense: Sense) -> Iterator[Item | None]:
        kinds = self._net.ancestors(sense)[:2]
        pairs = {
            0: list(sense.words[1:]),
            1: [other.word for other in self._net.to(sense, "!")],
            2: [other.word for other in self._net.to(sense, "~")],
            3: [other.word for other in kinds],
            4: [other.word for other in self._unrelated(sense, 1)],
        }
        known = [place for place, words in pairs.items() if words]
        if not known:
            return
        answer = self._rng.choice(known)
        second = self._rng.choice(pairs[answer])
        state = self._rng.choice(
            [f"{sense.word}, {second}", f"first: {sense.word}\nsecond: {second}"]
        )
        yield self._choice("relation", state, _RELATIONS[answer], list(_RELATIONS))

    def _about(self, state: Text, sense: Sense) -> Iterator[Item | None]:
        yield self._category(state, sense)
        kinds = self._net.ancestors(sense)
        kinds = kinds[: max(1, len(kinds) - _GENERAL)] if sense.key[0] == "n" else kinds[:1]
        if not kinds:
            return
        kind = self._rng.choice(kinds[:3])
        others = [other.word for other in self._unrelated(sense, 7)]
        yield self._choice("kind", state, kind.word, others)
        if not others:
            return
        yes = self._rng.chance(0.5)
        yield self._boolean("is_kind", state, yes, kind=kind.word if yes else others[0])

    def _category(self, state: Text, sense: Sense) -> Item | None:
        if sense.category not in _CATEGORIES:
            return None
        part = sense.category.split(".")[0]
        others = [text for name, text in _CATEGORIES.items() if name.startswith(part)]
        return self._choice("category", state, _CATEGORIES[sense.category], others)

    def _others(self, sense: Sense, most: int) -> list[Sense]:
        """Senses that are not this one: some of its own category, some of any of its kind."""
        count = self._rng.integer(1, most)
        near = self._rng.chance(0.6) and len(self._peers.get(sense.category, ())) > 1
        peers = self._peers[sense.category if near else sense.key[0]]
        drawn = (self._rng.choice(peers) for _ in range(2 * count))
        return [other for other in drawn if not set(other.words) & set(sense.words)][:count]

    def _unrelated(self, sense: Sense, count: int) -> list[Sense]:
        """Senses of the same part of speech, neither a kind of this one nor the other way round."""
        mine, found = self._net.all_ancestors(sense), list[Sense]()
        for _ in range(8 * count):
            other = self._rng.choice(self._peers[sense.key[0]])
            related = other.key in mine or sense.key in self._net.all_ancestors(other)
            if not related and other not in found:
                found.append(other)
        return found[:count]

    def _filled(self, rivals: Sequence[str], sense: Sense) -> list[str]:
        drawn = self._rng.sample(rivals, min(len(rivals), 5))
        return (
            drawn if len(drawn) > 2 else [*drawn, *(o.definition for o in self._others(sense, 4))]
        )

    def _choice(
        self, family: str, state: Text, right: str, others: Sequence[str], **named: str
    ) -> Item | None:
        wrong = [other for other in dict.fromkeys(others) if other != right]
        if not wrong:
            return None
        wrong = self._rng.sample(wrong, self._rng.integer(1, min(len(wrong), 9)))
        names = self._rng.shuffled([right, *wrong])
        question = self._rng.choice(_TABLES.words(family)).format(**named)
        options = tuple((name, None) for name in names)
        return Item(
            "lexicon", f"lexicon_{family}", "choice", state, question, options, names.index(right)
        )

    def _boolean(self, family: str, state: Text, yes: bool, **named: str) -> Item:
        question = self._rng.choice(_TABLES.words(family)).format(**named)
        return Item("lexicon", f"lexicon_{family}", "boolean", state, question, YES_NO, int(yes))
