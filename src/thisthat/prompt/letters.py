"""The usual wording: options behind letters, a reply in JSON that names one.

For comparison only; our checkpoints are neither trained on it nor asked with it.
"""

from __future__ import annotations

from collections.abc import Sequence

OPENING = '{"answer": "'
CLOSING = '"}'


def letter_prompt(
    state: str, question: str, options: Sequence[tuple[str, str | None]], letters: Sequence[str]
) -> str:
    """The whole prompt; option k stands behind ``letters[k]``."""
    lines = [
        f"({letter}) {name}: {text}" if text else f"({letter}) {name}"
        for letter, (name, text) in zip(letters, options, strict=False)
    ]
    reply = f"Reply with the letter of one option as JSON: {OPENING}LETTER{CLOSING}"
    head = [f"Context:\n{state}\n", f"Question: {question}", "Options:"]
    return "\n".join([*head, *lines, reply])
