"""``POST /v1/decisions``: OpenAI's form, with questions and answers as lists in the same order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.errors import InvalidInputError, shown
from thisthat.questions import (
    Answer,
    Boolean,
    BooleanAnswer,
    Choice,
    Decision,
    Option,
    Question,
    Score,
    ScoreAnswer,
    Text,
    compact_json,
)
from thisthat.serve.formats.fields import (
    check_size,
    required,
    required_list,
    required_object,
    required_text,
    wrong_type,
)
from thisthat.serve.formats.messages import content_text, conversation, turn
from thisthat.serve.formats.own_fields import REFUSED_SCHEMA, refuse_own_fields
from thisthat.serve.formats.wire import (
    JSON,
    SOURCE_PROPERTIES,
    Operation,
    json_answer,
    source_as_json,
)
from thisthat.serve.problems import Place, fault_of, invalid, invalid_at
from thisthat.serve.schemas import schema
from thisthat.serve.service import ParsedRequest, Service

PATH = "/v1/decisions"
_MOST_ITEMS = 10_000
_OWN_OF_QUESTIONS = ("criteria", "abstain")


@dataclass(frozen=True)
class Named:
    """What an answer repeats from its question: its name, and its choices or labels in order."""

    name: str | None
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class DecisionsAsked:
    """A parsed request, with what its answers repeat."""

    asked: ParsedRequest
    named: tuple[Named, ...]


def decisions_operations(service: Service) -> list[Operation]:
    """The endpoint, answering through ``service``."""

    async def decisions(request: Request) -> Response:
        understood = await service.read(
            request, lambda body: parse(body, service.settings.questions)
        )
        decision = await service.decide(request, understood.asked)
        return json_answer(render(understood, decision), decision)

    summary = "Answer a list of predicates, choices and scores about one input"
    return [Operation(PATH, decisions, summary, {JSON: RESPONSE}, REQUEST, "openai", decides=True)]


def parse(body: Mapping[str, Any], most_questions: int) -> DecisionsAsked:
    """A request's body as a state and questions. Raises Problem."""
    refuse_own_fields(body)
    model = required_text(body, "model")
    state, state_at = _state(required(body, "input"))
    check_size(state, state_at)
    check_size(body.get("questions"), ("questions",))
    questions: dict[str, Question] = {}
    named: list[Named] = []
    for number, spec in enumerate(required_list(body, "questions", 1, most_questions)):
        at: Place = ("questions", number)
        spec = required_object(spec, at)
        refuse_own_fields(spec, _OWN_OF_QUESTIONS, at)
        kind = required_text(spec, "type", at)
        if kind not in _READERS:
            known = ", ".join(_READERS)
            raise invalid_at((*at, "type"), f"is {shown(kind)}; it must be one of {known}")
        name = spec.get("name")
        if name is not None and not isinstance(name, str):
            raise wrong_type((*at, "name"), "a text", name)
        text = content_text(required(spec, "instructions", at), (*at, "instructions"))
        try:
            question, values = _READERS[kind](spec, text, at)
        except InvalidInputError as error:
            raise invalid([fault_of(error, at)]) from None
        questions[str(number)] = question
        named.append(Named(name, values))
    return DecisionsAsked(ParsedRequest(model, state, questions, state_at), tuple(named))


def _state(value: Any) -> tuple[Text, Place]:
    """The state of an input, and its place in the body."""
    at: Place = ("input",)
    if isinstance(value, str):
        return value, at
    if not isinstance(value, list):
        raise wrong_type(at, "a text or a list of messages", value)
    if not 1 <= len(value) <= _MOST_ITEMS:
        raise invalid_at(at, f"{len(value)} items; there must be 1 to {_MOST_ITEMS}")
    alone = _only_json(value)
    if alone is not None:
        return alone, (*at, 0, "content", 0, "data")
    turns = [_item(item, (*at, number)) for number, item in enumerate(value)]
    return conversation(turns), at


def _only_json(items: list[Any]) -> Text | None:
    """The data of an input that is a single piece of JSON."""
    content = items[0].get("content") if len(items) == 1 and isinstance(items[0], dict) else None
    part = content[0] if isinstance(content, list) and len(content) == 1 else None
    if isinstance(part, dict) and part.get("type") == "input_json":
        data = part.get("data")
        if isinstance(data, (dict, list)):
            return data
    return None


def _item(item: Any, at: Place) -> tuple[str, str]:
    item = required_object(item, at)
    kind = item.get("type", "message")
    if kind == "message":
        return turn(item, at)
    if kind in ("function_call", "custom_tool_call"):
        given = required_text(item, "arguments" if kind == "function_call" else "input", at)
        return f"call {required_text(item, 'name', at)}", given
    if kind in ("function_call_output", "custom_tool_call_output"):
        return "output", content_text(required(item, "output", at), (*at, "output"))
    raise invalid_at((*at, "type"), f"is {compact_json(kind)}, which cannot be read")


def _predicate(spec: Mapping[str, Any], text: str, at: Place) -> tuple[Question, tuple[Any, ...]]:
    return Boolean(text), ()


def _choice(spec: Mapping[str, Any], text: str, at: Place) -> tuple[Question, tuple[Any, ...]]:
    entries = required_list(spec, "choices", 2, 255, at)
    values: list[str | bool] = []
    options: list[Option] = []
    for number, entry in enumerate(entries):
        place: Place = (*at, "choices", number)
        entry = required_object(entry, place)
        value = required(entry, "value", place)
        if not isinstance(value, (str, bool)):
            raise wrong_type((*place, "value"), "a text or a boolean", value)
        if any(value == other and type(value) is type(other) for other in values):
            raise invalid_at((*place, "value"), f"{shown(value)} is given twice")
        values.append(value)
        options.append(Option(_option_name(value, entries), _description(entry, place)))
    return Choice(options, text), tuple(values)


def _option_name(value: str | bool, entries: list[Any]) -> str:
    """A boolean as text, distinct from a text that reads the same."""
    if isinstance(value, str):
        return value
    name = compact_json(value)
    texts = [entry.get("value") for entry in entries if isinstance(entry, dict)]
    return f"{name} (boolean)" if name in texts else name


def _score(spec: Mapping[str, Any], text: str, at: Place) -> tuple[Question, tuple[Any, ...]]:
    labels: list[str] = []
    levels: list[str] = []
    for number, entry in enumerate(required_list(spec, "levels", 1, 255, at)):
        place: Place = (*at, "levels", number)
        entry = required_object(entry, place)
        label = required_text(entry, "label", place)
        described = _description(entry, place)
        labels.append(label)
        levels.append(f"{label}: {described}" if described else label)
    return Score(levels, text), tuple(labels)


def _description(entry: Mapping[str, Any], at: Place) -> str | None:
    value = entry.get("description")
    if value is not None and not isinstance(value, str):
        raise wrong_type((*at, "description"), "a text", value)
    return value or None


_READERS = {"predicate": _predicate, "choice": _choice, "score": _score}


def render(understood: DecisionsAsked, decision: Decision) -> dict[str, Any]:
    """The answers in the order of the questions."""
    usage = decision.usage
    return {
        "model": decision.source.name,
        "answers": [
            _render_answer(named, answer)
            for named, answer in zip(understood.named, decision.answers.values(), strict=True)
        ],
        "usage": {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input_tokens,
        },
        **source_as_json(decision.source),
    }


def _render_answer(named: Named, answer: Answer) -> dict[str, Any]:
    if isinstance(answer, BooleanAnswer):
        return {"type": "predicate", "name": named.name, "probability": answer.yes}
    numbers = list(answer.probabilities.values())
    pairs = list(zip(named.values, numbers, strict=True))
    if isinstance(answer, ScoreAnswer):
        found: dict[str, Any] = {"type": "score", "name": named.name, "score": answer.expected}
        entries = [
            {"label": label, "probability": p, "value": level}
            for level, (label, p) in enumerate(pairs)
        ]
    else:
        best = max(range(len(numbers)), key=numbers.__getitem__)
        found = {"type": "choice", "name": named.name, "choice": named.values[best]}
        entries = [{"probability": p, "value": value} for value, p in pairs]
    return {**found, "confidence": answer.confidence, "probabilities": entries}


REQUEST = schema("decisions request", **REFUSED_SCHEMA)
RESPONSE = schema("decisions answer", **SOURCE_PROPERTIES)
