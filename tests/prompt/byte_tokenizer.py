"""A tokenizer for tests: one token per byte, and one for each of the 255 labels when alone."""

from itertools import product
from string import ascii_uppercase

_LABELS = [*ascii_uppercase, *("".join(pair) for pair in product(ascii_uppercase, repeat=2))][:255]
_IDS = {label: 256 + index for index, label in enumerate(_LABELS)}
_TEXTS = {number: label for label, number in _IDS.items()}

VOCABULARY = 256 + len(_IDS)


def encode(text: str) -> list[int]:
    if text in _IDS:
        return [_IDS[text]]
    return list(text.encode())


def decode(tokens: tuple[int, ...] | list[int]) -> str:
    return b"".join(_TEXTS[t].encode() if t > 255 else bytes([t]) for t in tokens).decode(
        errors="replace"
    )
