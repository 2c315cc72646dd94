"""The same questions as a request for JSON: the prompt, the schema, the grammar, and reading it.

Values are what a program would ask for: true or false, an option's name, a level's number. The
grammar has no freedom in white space, so that no token is written without need.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from thisthat.questions import Boolean, Question, Score

_TASK = "Answer every question about the context. Reply with one line of JSON."


def request(state: str, questions: Mapping[str, Question], *, questions_first: bool) -> str:
    """The text of the user's turn."""
    asked = "\n".join(["Questions:", *(_described(*item) for item in questions.items())])
    context = f"Context:\n{state}"
    parts = [asked, context] if questions_first else [context, asked]
    return "\n\n".join([_TASK, *parts])


def json_schema(questions: Mapping[str, Question]) -> dict[str, Any]:
    """The JSON schema of a reply."""
    properties = {
        name: {"type": "boolean"}
        if isinstance(question, Boolean)
        else {"enum": list(_values(question))}
        for name, question in questions.items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(questions),
        "additionalProperties": False,
    }


def grammar(questions: Mapping[str, Question]) -> str:
    """The grammar of a reply in llama.cpp's notation."""
    parts = []
    for number, (name, question) in enumerate(questions.items()):
        lead = "{" if number == 0 else ","
        parts.append(json.dumps(f"{lead}{json.dumps(name)}:"))
        values = " | ".join(json.dumps(json.dumps(value)) for value in _values(question))
        parts.append(f"({values})")
    return "root ::= " + " ".join([*parts, json.dumps("}")])


def longest_reply(questions: Mapping[str, Question]) -> str:
    """The longest reply in characters, to know how many tokens to allow."""
    longest = {
        name: max(_values(question), key=lambda value: len(json.dumps(value)))
        for name, question in questions.items()
    }
    return json.dumps(longest)


def chosen(reply: str, questions: Mapping[str, Question]) -> dict[str, str]:
    """The option of every question. Raises ValueError or KeyError for any other reply."""
    told = json.loads(reply)
    return {name: _values(question)[told[name]] for name, question in questions.items()}


def _values(question: Question) -> dict[Any, str]:
    """JSON values and the options they stand for."""
    names = [option.name for option in question.declared]
    if isinstance(question, Boolean):
        return dict(zip((False, True), names, strict=True))
    if isinstance(question, Score):
        return dict(enumerate(names))
    return {name: name for name in names}


def _described(name: str, question: Question) -> str:
    lines = [f"{name}: {question.instructions}"]
    for value, option in zip(_values(question), question.declared, strict=True):
        meaning = f" ({option.description})" if option.description else ""
        lines.append(f"- {json.dumps(value)}{meaning}")
    return "\n".join(lines)
