"""``POST /v1/systemone``: questions by id in, answers by id out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from thisthat.errors import InvalidInputError
from thisthat.questions import (
    Answer,
    BooleanAnswer,
    Decision,
    Question,
    ScoreAnswer,
)
from thisthat.questions_json import question_from_json
from thisthat.serve.checkpoints import ALWAYS
from thisthat.serve.formats.fields import optional_boolean, required, required_object, required_text
from thisthat.serve.formats.own_fields import REFUSED_SCHEMA, refuse_own_fields
from thisthat.serve.formats.wire import (
    PROBABILITY_SCHEMA,
    SOURCE_SCHEMA,
    TEXT_SCHEMA,
    add_route,
    json_answer,
    source_as_json,
)
from thisthat.serve.problems import Fault, fault_of, invalid, invalid_at
from thisthat.serve.service import Asked, Service

PATH = "/v1/systemone"


def systemone_router(service: Service) -> APIRouter:
    """The endpoint, answering through ``service``."""
    router = APIRouter()

    async def systemone(request: Request) -> Response:
        asked = parse(await service.read(request))
        decision = await service.decide(request, asked)
        return json_answer(render(decision), decision)

    add_route(
        router,
        PATH,
        systemone,
        summary="Answer typed questions about one state",
        request=REQUEST,
        answers={"application/json": RESPONSE},
        shape="detail",
        decides=True,
    )
    return router


def parse(body: Mapping[str, Any]) -> Asked:
    """A request's body as a state and questions. Raises Problem (422) with every fault."""
    refuse_own_fields(body)
    if optional_boolean(body, "stream"):
        raise invalid_at(("stream",), "must be false; there is nothing to stream here")
    # A client may leave the name out: there is one checkpoint, and the answer says which.
    model = required_text(body, "model") if "model" in body else ALWAYS[0]
    state = required(body, "state")
    return Asked(model, state, parse_questions(body))


def parse_questions(body: Mapping[str, Any]) -> dict[str, Question]:
    """The questions by id. Raises Problem (422) with the faults of all of them."""
    specs = required_object(required(body, "questions"), ("questions",))
    if not specs:
        raise invalid_at(("questions",), "none given; at least 1 is needed")
    questions: dict[str, Question] = {}
    faults: list[Fault] = []
    for name, spec in specs.items():
        try:
            if not name:
                raise InvalidInputError("", "has an empty id")
            questions[name] = question_from_json(spec)
        except InvalidInputError as error:
            faults.append(fault_of(error, ("questions", name)))
    if faults:
        raise invalid(faults)
    return questions


def render(decision: Decision) -> dict[str, Any]:
    """The answers by id, with every field that clients look for."""
    return {
        "model": decision.source.name,
        "answers": {name: render_answer(answer) for name, answer in decision.answers.items()},
        "usage": {
            "input_tokens": decision.usage.input_tokens,
            "output_tokens": 0,
            "cached_tokens": decision.usage.cached_tokens,
        },
        **source_as_json(decision.source),
    }


def render_answer(answer: Answer) -> dict[str, Any]:
    """One answer. A question that could abstain also says how probable that was."""
    abstain = {} if answer.abstain is None else {"abstain": answer.probabilities[answer.abstain]}
    if isinstance(answer, BooleanAnswer):
        return {"type": "noul", "noul": answer.yes, **abstain}
    if isinstance(answer, ScoreAnswer):
        return {
            "type": "score",
            "score": answer.expected,
            "confidence": answer.confidence,
            "legend": {str(level): text for level, text in enumerate(answer.legend)},
            "probabilities": {str(level): p for level, p in enumerate(answer.levels)},
            **abstain,
        }
    return {
        "type": "choice",
        "choice": answer.best_name,
        "confidence": answer.confidence,
        "probabilities": dict(answer.probabilities),
        **abstain,
    }


_INSTRUCTIONS = {"anyOf": [*TEXT_SCHEMA["anyOf"], {"type": "null"}]}
_ABSTAIN = {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "\\S"}, {"type": "null"}]}


def _question(kinds: list[str], criteria: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type", *required],
        "additionalProperties": False,
        "properties": {
            "type": {"enum": kinds},
            "instructions": _INSTRUCTIONS,
            "criteria": criteria,
            "abstain": _ABSTAIN,
        },
    }


QUESTION: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "description": "A plain text is a boolean."},
        _question(
            ["noul", "boolean"],
            {
                "anyOf": [
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {"true": _INSTRUCTIONS, "false": _INSTRUCTIONS},
                    },
                    {"type": "null"},
                ]
            },
            [],
        ),
        _question(
            ["choice"],
            {
                "anyOf": [
                    {
                        "type": "object",
                        "minProperties": 1,
                        "maxProperties": 255,
                        "additionalProperties": _INSTRUCTIONS,
                    },
                    {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": 255,
                        "uniqueItems": True,
                        "items": {"type": "string", "pattern": "\\S"},
                    },
                ]
            },
            ["criteria"],
        ),
        _question(
            ["score"],
            {"type": "array", "minItems": 1, "maxItems": 255, "items": TEXT_SCHEMA},
            ["criteria"],
        ),
    ]
}

QUESTIONS: dict[str, Any] = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 400,
    "additionalProperties": QUESTION,
}

REQUEST: dict[str, Any] = {
    "type": "object",
    "required": ["state", "questions"],
    "properties": {
        "model": {"type": "string", "default": "default", "examples": ["default"]},
        "state": TEXT_SCHEMA,
        "questions": QUESTIONS,
        "stream": {"enum": [False, None]},
        **REFUSED_SCHEMA,
    },
    "examples": [
        {
            "model": "default",
            "state": "The parcel never came.",
            "questions": {
                "lost": {"type": "noul", "instructions": "Is a parcel lost?"},
                "queue": {"type": "choice", "criteria": {"billing": None, "shipping": "parcels"}},
                "anger": {"type": "score", "criteria": ["calm", "annoyed", "furious"]},
            },
        }
    ],
}

_PROBABILITIES = {"type": "object", "additionalProperties": PROBABILITY_SCHEMA}

RESPONSE: dict[str, Any] = {
    "type": "object",
    "required": ["model", "answers", "usage", *SOURCE_SCHEMA["required"]],
    "properties": {
        **SOURCE_SCHEMA["properties"],
        "model": {"type": "string"},
        "usage": {
            "type": "object",
            "required": ["input_tokens", "output_tokens"],
            "properties": {
                "input_tokens": {"type": "integer", "minimum": 0},
                "output_tokens": {"const": 0},
                "cached_tokens": {"type": "integer", "minimum": 0},
            },
        },
        "answers": {
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    {
                        "type": "object",
                        "required": ["type", "noul"],
                        "properties": {"type": {"const": "noul"}, "noul": PROBABILITY_SCHEMA},
                    },
                    {
                        "type": "object",
                        "required": ["type", "choice", "confidence", "probabilities"],
                        "properties": {
                            "type": {"const": "choice"},
                            "choice": {"type": "string"},
                            "confidence": PROBABILITY_SCHEMA,
                            "probabilities": _PROBABILITIES,
                        },
                    },
                    {
                        "type": "object",
                        "required": ["type", "score", "confidence", "legend", "probabilities"],
                        "properties": {
                            "type": {"const": "score"},
                            "score": {"type": "number", "minimum": 0, "maximum": 254},
                            "confidence": PROBABILITY_SCHEMA,
                            "legend": {"type": "object", "additionalProperties": TEXT_SCHEMA},
                            "probabilities": _PROBABILITIES,
                        },
                    },
                ]
            },
        },
    },
}
