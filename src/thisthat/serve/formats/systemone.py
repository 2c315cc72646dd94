"""``POST /v1/systemone``: questions by id in, answers by id out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.errors import InvalidInputError
from thisthat.questions import (
    Answer,
    BooleanAnswer,
    Decision,
    Question,
    ScoreAnswer,
    check_characters,
)
from thisthat.questions_json import question_from_json
from thisthat.serve.checkpoints import ALWAYS
from thisthat.serve.formats.fields import (
    check_count,
    check_size,
    optional_boolean,
    required,
    required_object,
    required_text,
)
from thisthat.serve.formats.messages import check_json
from thisthat.serve.formats.own_fields import REFUSED_SCHEMA, refuse_own_fields
from thisthat.serve.formats.wire import (
    JSON,
    SOURCE_PROPERTIES,
    Operation,
    json_answer,
    source_as_json,
)
from thisthat.serve.problems import Fault, fault_of, invalid, invalid_at
from thisthat.serve.schemas import schema
from thisthat.serve.service import ParsedRequest, Service

PATH = "/v1/systemone"


def systemone_operations(service: Service) -> list[Operation]:
    """The endpoint, answering through ``service``."""

    async def systemone(request: Request) -> Response:
        asked = await service.read(request, lambda body: parse(body, service.settings.questions))
        decision = await service.decide(request, asked)
        return json_answer(render(decision), decision)

    summary = "Answer typed questions about one state"
    return [Operation(PATH, systemone, summary, {JSON: RESPONSE}, REQUEST, decides=True)]


def parse(body: Mapping[str, Any], most_questions: int) -> ParsedRequest:
    """A request's body as a state and questions. Raises Problem (422) listing its faults."""
    refuse_own_fields(body)
    if optional_boolean(body, "stream"):
        raise invalid_at(("stream",), "must be false; there is nothing to stream here")
    # The name is optional: there is one checkpoint, and the answer names it.
    model = required_text(body, "model") if "model" in body else ALWAYS[0]
    state = required(body, "state")
    check_size(state, ("state",))
    check_json(state, ("state",))
    return ParsedRequest(model, state, parse_questions(body, most_questions), legend=True)


def parse_questions(body: Mapping[str, Any], most: int) -> dict[str, Question]:
    """The questions by id. Raises Problem (422) with the faults of all of them."""
    specs = required_object(required(body, "questions"), ("questions",))
    check_count(specs, 1, most, ("questions",))
    check_size(specs, ("questions",))
    questions: dict[str, Question] = {}
    faults: list[Fault] = []
    for name, spec in specs.items():
        try:
            if not name:
                raise InvalidInputError("", "has an empty id")
            check_characters(name, "")
            questions[name] = question_from_json(spec)
        except InvalidInputError as error:
            faults.append(fault_of(error, ("questions", name)))
    if faults:
        raise invalid(faults)
    return questions


def render(decision: Decision) -> dict[str, Any]:
    """The answers by id, with every field that clients expect."""
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
    """One answer. A question that could abstain also reports that probability."""
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


REQUEST = schema("systemone request", **REFUSED_SCHEMA)
RESPONSE = schema("systemone answer", **SOURCE_PROPERTIES)
