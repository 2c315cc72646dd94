"""Question and option texts as each family of checkpoints was trained to read them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from thisthat.prompt_format import PromptFormat
from thisthat.questions import Boolean, Option, Question, Score, Text, compact_json

WITHOUT_INSTRUCTIONS = "Which answer fits the context?"
_PROPOSED = "{text}\nProposed answer: {level}\nDoes the proposed answer fit?"
_INDEX_FROM = 8
_LEVEL_NUMBER = re.compile(r"^\s*-?\d+\s*:\s*")


@dataclass(frozen=True, slots=True)
class Ask:
    """One slot's worth of wording: the question text and its option texts."""

    text: str
    options: tuple[str, ...]


def state_text(state: Text, form: PromptFormat) -> str:
    """The state as the model reads it: text as it is, JSON on one line."""
    if isinstance(state, str):
        return state
    return compact_json(_indexed(state) if form.family == "decider" else state)  # type: ignore[arg-type]


def asks(question: Question, form: PromptFormat) -> list[Ask]:
    """What is asked of the model for one question: one Ask, or one per level when isolated."""
    text = _text(question.instructions) or WITHOUT_INSTRUCTIONS
    options = question.declared
    if form.isolated_levels and isinstance(question, Score):
        texts = [_text(option.description) or option.name for option in options]
        # A level is judged without its number, as the checkpoints were trained.
        levels = [_LEVEL_NUMBER.sub("", level) for level in texts]
        return [Ask(_PROPOSED.format(text=text, level=level), ("no", "yes")) for level in levels]
    if form.legend:
        return [Ask(_with_legend(text, question), tuple(option.name for option in options))]
    one_line = form.family == "thisthat"
    return [Ask(text, tuple(_described(option, one_line) for option in options))]


def _text(value: Text | None) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else compact_json(value)


def _described(option: Option, one_line: bool) -> str:
    description = _text(option.description)
    text = f"{option.name}: {description}" if description else option.name
    # An option with line breaks could look like further options to the model.
    return " ".join(text.split()) if one_line else text


def _with_legend(text: str, question: Question) -> str:
    options = question.declared
    if isinstance(question, Boolean) and not any(option.description for option in options):
        return text
    heading = "Levels" if isinstance(question, Score) else "Options"
    lines = [
        f"- {option.name}: {_text(option.description)}"
        if option.description
        else f"- {option.name}"
        for option in options
    ]
    return "\n".join([f"{text}\n\n{heading}:", *lines])


def _indexed(value: object) -> object:
    if isinstance(value, dict):
        return {key: _indexed(inner) for key, inner in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) < _INDEX_FROM:
        return [_indexed(inner) for inner in value]
    return [
        {"_index": index, **{key: _indexed(inner) for key, inner in element.items()}}
        if isinstance(element, dict)
        else {"_index": index, "value": _indexed(element)}
        for index, element in enumerate(value)
    ]
