"""Token ids of text, word by word from a cache.

Byte-level tokenizers split a text into words before they merge anything, and never merge across the
splits: the ids of a text are those of its words, one after another. Words recur, so looking them up
takes a fraction of the tokenizer's time. Most texts need not even be split into words: what stands
between two single spaces begins and ends where words do, so it is looked up as one. Implements one
way of splitting, that of the default's base, and only its ASCII part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from tokenizers import Tokenizer

_CUTS = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}
"""Every digit is a word of its own; the rest is split as GPT-2 does."""

_SPACE = r"[ \t\n\v\f\r]"
_WORDS = re.compile(
    r"[0-9]|'s|'t|'re|'ve|'m|'ll|'d"
    r"| ?[A-Za-z]+"
    r"| ?[^ \t\n\v\f\rA-Za-z0-9]+"
    # A run of spaces leaves its last one to the next word; a digit takes none.
    rf"|{_SPACE}+(?![^ \t\n\v\f\r0-9])|{_SPACE}+"
)
_SPACES = " \t\n\v\f\r"
_MOST_WORDS = 1 << 16
_LONGEST_WORD = 32
_LONGEST_TEXT = 1 << 16

_Ids: TypeAlias = "tuple[int, ...]"


class WordCache:
    """``encode`` with a cache. Returns exactly the ids that ``encode`` returns."""

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        self._encode = encode
        self._known = _Known(encode)

    def __call__(self, text: str) -> list[int]:
        """The token ids of ``text``."""
        # Splitting a long text would hold the interpreter; the tokenizer does not.
        if len(text) > _LONGEST_TEXT or not text.isascii():
            return list(self._encode(text))
        known = self._known
        if max(len(known), len(known.after_space)) > _MOST_WORDS:
            known = self._known = _Known(self._encode)
        first, *others = text.split(" ")
        if others and first.rstrip(_SPACES) != first:
            return list(known.words(text))
        try:
            after = chain.from_iterable(map(known.after_space.__getitem__, others))
            return [*known.words(first), *after]
        except _SpacesTogetherError:
            return list(known.words(text))


class _SpacesTogetherError(Exception):
    """What a run of spaces belongs to depends on what is on both sides of it."""


class _Known(dict[str, _Ids]):
    """Ids by word; new words are encoded and, unless long, cached."""

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        super().__init__()
        self._encode = encode
        self.after_space = _AfterSpace(self.words)

    def __missing__(self, word: str) -> _Ids:
        ids = tuple(self._encode(word))
        if len(word) <= _LONGEST_WORD:
            self[word] = ids
        return ids

    def words(self, text: str) -> Iterator[int]:
        """The ids of a text, word by word."""
        return chain.from_iterable(map(self.__getitem__, _WORDS.findall(text)))


class _AfterSpace(dict[str, _Ids]):
    """Ids of a space and what follows it up to the next; cached unless long."""

    def __init__(self, words: Callable[[str], Iterable[int]]) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, piece: str) -> _Ids:
        if piece.strip(_SPACES) != piece or not piece:
            raise _SpacesTogetherError
        ids = tuple(self._words(" " + piece))
        if len(piece) < _LONGEST_WORD:
            self[piece] = ids
        return ids


def cuts_words(tokenizer: Tokenizer) -> bool:
    """Whether this tokenizer gives a text the ids of the words that ``WordCache`` splits it into.

    Special tokens must be read as plain text; other added tokens could match across splits.
    """
    cutter = tokenizer.pre_tokenizer
    return (
        cutter is not None
        and tokenizer.normalizer is None
        and tokenizer.padding is None
        and tokenizer.truncation is None
        and tokenizer.encode_special_tokens
        and all(token.special for token in tokenizer.get_added_tokens_decoder().values())
        and json.loads(cutter.__getstate__()) == _CUTS
    )
