"""Conversations as states: what the OpenAI formats send as messages, read as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thisthat.errors import InvalidInputError, shown
from thisthat.questions import Text, check_text, compact_json
from thisthat.serve.formats.fields import required, required_object, required_text, wrong_type
from thisthat.serve.problems import Place, from_invalid_input, invalid_at

_TEXT_PARTS = ("text", "input_text", "output_text")


def content_text(content: Any, at: Place) -> str:
    """The text of a message's content: a text, or parts of text and JSON. Raises Problem (422)."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise wrong_type(at, "a text or a list of parts", content)
    return "\n".join(_part_text(part, (*at, number)) for number, part in enumerate(content))


def _part_text(part: Any, at: Place) -> str:
    part = required_object(part, at)
    kind = required_text(part, "type", at)
    if kind in _TEXT_PARTS:
        return required_text(part, "text", at)
    if kind == "refusal":
        return required_text(part, "refusal", at)
    if kind == "input_json":
        data = required(part, "data", at)
        if not isinstance(data, (dict, list)):
            raise wrong_type((*at, "data"), "an object or a list", data)
        check_json(data, (*at, "data"))
        return compact_json(data)
    raise invalid_at((*at, "type"), f"is {shown(kind)}; only text and JSON can be read")


def conversation(turns: Sequence[tuple[str, str]]) -> Text:
    """(speaker, text) turns as one state: a single turn as it is, several with their speakers."""
    if len(turns) == 1:
        return turns[0][1]
    return "\n\n".join(f"{speaker}: {text}" for speaker, text in turns)


def turn(message: Mapping[str, Any], at: Place) -> tuple[str, str]:
    """One message of a conversation. Raises Problem (422)."""
    role = required_text(message, "role", at)
    text = content_text(message.get("content"), (*at, "content"))
    calls = message.get("tool_calls")
    if calls is not None:
        if not isinstance(calls, list):
            raise wrong_type((*at, "tool_calls"), "a list", calls)
        check_json(calls, (*at, "tool_calls"))
        text = "\n".join([*([text] if text else []), *map(compact_json, calls)])
    return role, text


def check_json(value: Text, at: Place) -> None:
    """Raise Problem (422) for JSON that a state could not hold."""
    try:
        check_text(value, "")
    except InvalidInputError as error:
        raise from_invalid_input(error, at) from None
