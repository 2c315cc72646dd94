"""``POST /v1/chat/completions``: the options are the enums of a JSON schema.

The last user message is the question, everything before it the state; content is a JSON object of
the schema, and log probabilities are those of the options.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.errors import InvalidInputError, shown
from thisthat.questions import (
    MOST_OPTIONS,
    Answer,
    Boolean,
    Choice,
    Decision,
    Option,
    Question,
    check_characters,
)
from thisthat.serve.formats.fields import (
    check_count,
    check_size,
    optional_boolean,
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
    source_headers,
)
from thisthat.serve.problems import Place, fault_of, invalid, invalid_at
from thisthat.serve.schemas import schema
from thisthat.serve.service import ParsedRequest, Service

PATH = "/v1/chat/completions"
_MOST_MESSAGES = 10_000
_MOST_REFERENCES = 32
_SCHEMA_PLACE: Place = ("response_format", "json_schema", "schema")


@dataclass(frozen=True)
class ChatAsked:
    """A parsed chat request: the question's values by option name, and what to send back."""

    asked: ParsedRequest
    values: Mapping[str, Mapping[str, Any]]
    logprobs: bool
    top: int | None
    stream: bool
    usage_in_stream: bool


def chat_operations(service: Service) -> list[Operation]:
    """The endpoint, answering through ``service``."""

    async def chat_completions(request: Request) -> Response:
        chat = await service.read(request, lambda body: parse(body, service.settings.questions))
        decision = await service.decide(request, chat.asked)
        if not chat.stream:
            return json_answer(render(chat, decision), decision)
        text = f"data: {json.dumps(render_chunk(chat, decision))}\n\ndata: [DONE]\n\n"
        return Response(
            text, headers=source_headers(decision.source), media_type="text/event-stream"
        )

    summary = "Decide between the enum values of a JSON schema"
    answers = {JSON: RESPONSE, "text/event-stream": {}}
    return [Operation(PATH, chat_completions, summary, answers, REQUEST, "openai", decides=True)]


def parse(body: Mapping[str, Any], most_questions: int) -> ChatAsked:
    """A request's body as a state and questions. Raises Problem."""
    refuse_own_fields(body)
    model = required_text(body, "model")
    if body.get("n") not in (None, 1):
        raise invalid_at(("n",), "must be 1; there is one answer to a question")
    turns, question = _split(body)
    state = conversation(turns)
    check_size(state, ("messages",))
    check_size(body.get("response_format"), ("response_format",))
    questions: dict[str, Question] = {}
    values: dict[str, dict[str, Any]] = {}
    properties, definitions = _properties(body)
    check_count(properties, 1, most_questions, (*_SCHEMA_PLACE, "properties"))
    for name, spec in properties.items():
        at = (*_SCHEMA_PLACE, "properties", name)
        reader = _PropertyReader(definitions, at)
        try:
            check_characters(name, "")
            asked_text = _instructions(question, name, spec, alone=len(properties) == 1)
            questions[name], values[name] = reader.read(spec, asked_text)
        except InvalidInputError as error:
            raise invalid([fault_of(error, at)]) from None
    top = body.get("top_logprobs")
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 0):
        raise wrong_type(("top_logprobs",), "a whole number", top)
    options = body.get("stream_options")
    in_stream = isinstance(options, dict) and options.get("include_usage") is True
    return ChatAsked(
        ParsedRequest(model, state, questions, state_at=("messages",), turns=turns),
        values,
        optional_boolean(body, "logprobs"),
        top,
        optional_boolean(body, "stream"),
        in_stream,
    )


def _split(body: Mapping[str, Any]) -> tuple[list[tuple[str, str]], str]:
    """The earlier turns and the question of a conversation."""
    messages = required_list(body, "messages", 1, _MOST_MESSAGES)
    places: list[Place] = [("messages", number) for number in range(len(messages))]
    turns = [turn(required_object(each, at), at) for each, at in zip(messages, places, strict=True)]
    if turns[-1][0] != "user":
        raise invalid_at(
            ("messages", len(turns) - 1, "role"),
            f"is {shown(turns[-1][0])}; the last message is the question and must be the user's",
        )
    question = content_text(messages[-1].get("content"), ("messages", len(turns) - 1, "content"))
    return turns[:-1], question


def _properties(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    form = body.get("response_format")
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        raise invalid_at(
            ("response_format",),
            "must be a json_schema whose properties are enums or booleans: the options to decide "
            "between; nothing is generated here",
        )
    wrapper = required_object(form.get("json_schema"), ("response_format", "json_schema"))
    schema = required_object(wrapper.get("schema"), _SCHEMA_PLACE)
    properties = required_object(schema.get("properties"), (*_SCHEMA_PLACE, "properties"))
    definitions = {
        f"#/{key}/{name}": spec
        for key in ("$defs", "definitions")
        if isinstance(schema.get(key), dict)
        for name, spec in schema[key].items()
    }
    return properties, definitions


def _instructions(question: str, name: str, spec: Any, alone: bool) -> str:
    described = spec.get("description") if isinstance(spec, dict) else None
    own = described if isinstance(described, str) and described else name
    if alone and own == name:
        return question
    return f"{question}\n{own}" if question else own


class _PropertyReader:
    """Reads one property of the schema as a question and its values by option name."""

    def __init__(self, definitions: Mapping[str, Any], at: Place) -> None:
        self._definitions = definitions
        self._at = at

    def read(self, spec: Any, instructions: str) -> tuple[Question, dict[str, Any]]:
        spec = self._resolved(spec)
        nullable = False
        if isinstance(spec.get("anyOf"), list):
            parts = [self._resolved(part) for part in spec["anyOf"]]
            left = [part for part in parts if part.get("type") != "null"]
            nullable = len(left) < len(parts)
            if len(left) == 1:
                spec = left[0]
            elif left and all("const" in part for part in left):
                spec = {"oneOf": left}
        kinds = spec.get("type")
        if isinstance(kinds, list):
            nullable = nullable or "null" in kinds
        if kinds == "boolean" or (isinstance(kinds, list) and set(kinds) == {"boolean", "null"}):
            # The options of a choice say what is asked; a boolean has only its name for that.
            asked = instructions if instructions.strip() else str(self._at[-1])
            return Boolean(asked, abstain=nullable), {"no": False, "yes": True}
        values = self._values(spec)
        if None in [value for value, _ in values]:
            nullable = True
            values = [(value, text) for value, text in values if value is not None]
        options = [Option(_name(value), text) for value, text in values]
        named = {option.name: value for option, (value, _) in zip(options, values, strict=True)}
        return Choice(options, instructions, abstain=nullable), named

    def _values(self, spec: Mapping[str, Any]) -> list[tuple[Any, str | None]]:
        for key in ("enum", "oneOf"):
            given = spec.get(key)
            # One more than there may be: null is no option but lets the answer abstain.
            if isinstance(given, list) and len(given) > MOST_OPTIONS + 1:
                raise invalid_at(self._at, f"{len(given)} given; there must be 1 to {MOST_OPTIONS}")
        values: list[tuple[Any, str | None]]
        if isinstance(spec.get("enum"), list):
            values = [(value, None) for value in spec["enum"]]
        elif "const" in spec:
            values = [(spec["const"], None)]
        elif isinstance(spec.get("oneOf"), list) and all(
            isinstance(part, dict) and "const" in part for part in spec["oneOf"]
        ):
            values = [(part["const"], _description(part)) for part in spec["oneOf"]]
        else:
            raise invalid_at(
                self._at,
                "has no enum or const and is not a boolean: there is nothing to decide between",
            )
        if not all(value is None or isinstance(value, (str, int, float)) for value, _ in values):
            raise invalid_at(self._at, "has a value that is neither a text nor a number")
        if math.inf in [abs(value) for value, _ in values if isinstance(value, float)]:
            raise invalid_at(self._at, "has a number too large for JSON to hold")
        return values

    def _resolved(self, given: Any) -> Mapping[str, Any]:
        for _ in range(_MOST_REFERENCES):
            spec = required_object(given, self._at)
            whole = spec.get("allOf")
            if isinstance(whole, list) and len(whole) == 1:
                given = whole[0]
            elif isinstance(spec.get("$ref"), str):
                if spec["$ref"] not in self._definitions:
                    raise invalid_at(
                        self._at, f"refers to {shown(spec['$ref'])}, which is not defined"
                    )
                given = self._definitions[spec["$ref"]]
            else:
                return spec
        raise invalid_at(self._at, f"has more than {_MOST_REFERENCES} references in a row")


def _name(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _description(part: Mapping[str, Any]) -> str | None:
    text = part.get("description", part.get("title"))
    return text if isinstance(text, str) else None


def render(chat: ChatAsked, decision: Decision) -> dict[str, Any]:
    """A chat completion with the chosen values as its content."""
    message = {"role": "assistant", "content": _content(chat, decision), "refusal": None}
    completion = _completion("chat.completion", chat, decision, {"message": message})
    return completion | {"usage": _usage(decision)}


def render_chunk(chat: ChatAsked, decision: Decision) -> dict[str, Any]:
    """The whole answer as the one chunk of a stream."""
    delta = {"role": "assistant", "content": _content(chat, decision)}
    chunk = _completion("chat.completion.chunk", chat, decision, {"delta": delta})
    return chunk | ({"usage": _usage(decision)} if chat.usage_in_stream else {})


def _completion(
    kind: str, chat: ChatAsked, decision: Decision, said: dict[str, Any]
) -> dict[str, Any]:
    source = decision.source
    logprobs = _logprobs(chat, decision)
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": source.name,
        "system_fingerprint": f"{source.name}-{source.version}-{source.lam:g}",
        **source_as_json(source),
        "choices": [{"index": 0, **said, "finish_reason": "stop", "logprobs": logprobs}],
    }


def _usage(decision: Decision) -> dict[str, Any]:
    return {
        "prompt_tokens": decision.usage.input_tokens,
        "completion_tokens": 0,
        "total_tokens": decision.usage.input_tokens,
        "prompt_tokens_details": {"cached_tokens": decision.usage.cached_tokens},
    }


def _content(chat: ChatAsked, decision: Decision) -> str:
    chosen = {
        name: None if answer.abstained else chat.values[name][answer.best_name]
        for name, answer in decision.answers.items()
    }
    return json.dumps(chosen, ensure_ascii=False)


def _logprobs(chat: ChatAsked, decision: Decision) -> dict[str, Any] | None:
    if not chat.logprobs:
        return None
    positions = [
        _position(chat.values[name], answer, chat.top) for name, answer in decision.answers.items()
    ]
    return {"content": positions, "refusal": None}


def _position(values: Mapping[str, Any], answer: Answer, top: int | None) -> dict[str, Any]:
    """The distribution over a property's values, most probable first, as one token position."""
    ranked = sorted(answer.probabilities.items(), key=lambda entry: -entry[1])
    entries = [_entry(values, answer, name, p) for name, p in ranked]
    return {**entries[0], "top_logprobs": entries if top is None else entries[:top]}


def _entry(values: Mapping[str, Any], answer: Answer, name: str, p: float) -> dict[str, Any]:
    token = "null" if name == answer.abstain else _name(values[name])
    coded = list(token.encode("utf-8", "surrogatepass"))
    return {"token": token, "logprob": math.log(p), "bytes": coded}


REQUEST = schema("chat request", **REFUSED_SCHEMA)
RESPONSE = schema("chat answer", **SOURCE_PROPERTIES)
