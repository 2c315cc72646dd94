"""``POST /v1/decide``: one schema, up to 10,000 states, a line of JSON per state.

Lines come in the order of the states, each as soon as it is known. A state that cannot be used gets
a line that says why; the others are still answered.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_args

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from thisthat.calibrate.policy import Policy
from thisthat.decide.conditions import Conditions
from thisthat.decide.decider import Decider, Job
from thisthat.decide.evidence import Explanation
from thisthat.decide.option_order import Order
from thisthat.decide.options import DecideOptions, Wide
from thisthat.decide.tournament import Tournament
from thisthat.engine.rows import RowResult
from thisthat.errors import InvalidInputError
from thisthat.prompt.format import Keep, Layout, Packing
from thisthat.questions import Decision, Question, Text, check_text
from thisthat.remote.conditions_header import conditions_header
from thisthat.serve.formats.fields import (
    one_of,
    optional_boolean,
    optional_lambda,
    required_list,
    required_text,
)
from thisthat.serve.formats.own_fields import OWN_FIELDS
from thisthat.serve.formats.systemone import QUESTIONS, parse_questions
from thisthat.serve.formats.wire import (
    PROBABILITY_SCHEMA,
    TEXT_SCHEMA,
    add_route,
    source_as_json,
    source_headers,
)
from thisthat.serve.problems import (
    Fault,
    Problem,
    dotted,
    fault_of,
    from_invalid_input,
    invalid,
    invalid_at,
)
from thisthat.serve.scheduling.deadline import SERVER, Deadline, read_stream_deadline
from thisthat.serve.service import Service, facts_of
from thisthat.serve.traces import Span

PATH = "/v1/decide"
LINES = "application/x-ndjson"
_AHEAD = 32
_EXPLAINED_AHEAD = 4
_KEYS = ("model", "states", "questions", *OWN_FIELDS)


@dataclass(frozen=True)
class ManyAsked:
    """A request understood: many states, the same questions about each, one way to decide."""

    model: str
    lam: float | None
    states: Sequence[Text]
    questions: Mapping[str, Question]
    way: DecideOptions
    explain: bool


def decide_router(service: Service) -> APIRouter:
    """The endpoint, answering through ``service``."""
    router = APIRouter()

    async def decide(request: Request) -> Response:
        asked = parse(await service.read(request), service.settings.states)
        decider = service.checkpoints.find(asked.model, asked.lam)
        service.check_questions(asked.questions)
        conditions, forced = _conditions(decider, asked)
        if service.streams >= service.settings.bulk_streams:
            raise Problem(503, "overloaded", "too many streams are open", retry_ms=1000)
        fields = request.state.fields
        fields |= source_as_json(decider.source)
        fields |= {"states": len(asked.states), "questions": len(asked.questions)}
        fields |= {"tokens": 0, "cached_tokens": 0}
        if forced:
            fields["policy_forced"] = "; ".join(forced)
        return StreamingResponse(
            _Stream(service, decider, asked, conditions, request).lines(),
            headers=source_headers(decider.source) | conditions_header(conditions),
            media_type=LINES,
        )

    add_route(
        router,
        PATH,
        decide,
        summary="Answer the same questions about many states",
        request=REQUEST,
        answers={LINES: RESPONSE},
        shape="detail",
        decides=True,
    )
    return router


def parse(body: Mapping[str, Any], most_states: int) -> ManyAsked:
    """A request's body as states and questions. Raises Problem (422) with every fault."""
    unknown = [key for key in body if key not in _KEYS]
    if unknown:
        raise invalid_at((unknown[0],), f"is not known; known are {', '.join(_KEYS)}")
    model = required_text(body, "model") if "model" in body else "default"
    lam = optional_lambda(body)
    states = required_list(body, "states", 1, most_states)
    faults: list[Fault] = []
    for number, state in enumerate(states):
        try:
            check_text(state, "")
        except InvalidInputError as error:
            faults.append(fault_of(error, ("states", number)))
    if faults:
        raise invalid(faults[:100])
    explain = optional_boolean(body, "explain")
    way = _way(body)
    if explain and way.wide == "in-rounds":
        raise invalid_at(("explain",), 'cannot be had together with wide "in-rounds"')
    return ManyAsked(model, lam, states, parse_questions(body), way, explain)


def _way(body: Mapping[str, Any]) -> DecideOptions:
    try:
        return DecideOptions(
            layout=one_of(body, "layout", get_args(Layout)),
            packing=one_of(body, "packing", get_args(Packing)) or "apart",
            keep=one_of(body, "keep", get_args(Keep)),
            order=one_of(body, "order", get_args(Order)) or "as-given",
            wide=one_of(body, "wide", get_args(Wide)) or "at-once",
            policy=_policy(body),
        )
    except InvalidInputError as error:
        raise from_invalid_input(error) from None


def _policy(body: Mapping[str, Any]) -> Policy | None:
    given, force = body.get("policy"), optional_boolean(body, "force_policy")
    if given is None:
        if force:
            raise invalid_at(("force_policy",), "is for a policy, and there is none")
        return None
    policy = Policy.from_json(given)
    return policy.force() if force else policy


def _conditions(decider: Decider, asked: ManyAsked) -> tuple[Conditions, list[str]]:
    """Under which conditions is answered, and for which of them the policy had to be forced.

    Raises Problem (422) for a policy that was fitted for others and is not forced.
    """
    way = asked.way
    try:
        conditions = decider.conditions(way.layout, way.packing, way.order)
        forced = [] if way.policy is None else way.policy.check(asked.questions, conditions)
    except InvalidInputError as error:
        raise from_invalid_input(error) from None
    return conditions, forced


def render(index: int, outcome: Decision | Problem) -> dict[str, Any]:
    """One line: the decision about a state, or what is wrong with that state."""
    if isinstance(outcome, Decision):
        return {"index": index, **outcome.as_dict()}
    field = dotted(outcome.faults[0].at) if outcome.faults else None
    message = outcome.faults[0].message if outcome.faults else outcome.message
    return {"index": index, "error": {"code": outcome.kind, "field": field, "message": message}}


class _Stream:
    """Keeps a few jobs of one request in the scheduler and gives their lines in order."""

    def __init__(
        self,
        service: Service,
        decider: Decider,
        asked: ManyAsked,
        conditions: Conditions,
        request: Request,
    ) -> None:
        self._conditions = conditions
        self._request_id: str = request.state.request_id
        self._fields: dict[str, Any] = request.state.fields
        self._asked_for = read_stream_deadline(request.scope["headers"], request.state.arrived)
        self._service = service
        self._decider = decider
        self._asked = asked

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines; closing the iterator takes what still waits out of the queue."""
        service = self._service
        waiting: deque[asyncio.Future[Decision | Problem]] = deque()
        service.streams += 1
        ahead = _EXPLAINED_AHEAD if self._asked.explain else _AHEAD
        try:
            number = 0
            for start in range(0, len(self._asked.states), ahead):
                waiting += await self._begun(self._asked.states[start : start + ahead])
                while len(waiting) > ahead:
                    yield _line(number, await waiting.popleft())
                    number += 1
            while waiting:
                yield _line(number, await waiting.popleft())
                number += 1
        finally:
            service.streams -= 1
            for future in waiting:
                future.cancel()

    # Tokenising takes time that other requests need the event loop for: hence the threads.

    async def _begun(self, states: Sequence[Text]) -> list[asyncio.Future[Decision | Problem]]:
        work: list[Awaitable[Decision]]
        if self._asked.explain:
            work = [self._explained(state) for state in states]
        elif self._asked.way.wide == "in-rounds":
            work = [self._in_rounds(state) for state in states]
        else:
            with self._tokenising(len(states)) as span:
                jobs = await asyncio.to_thread(self._prepared, states)
                ready = [job for job in jobs if isinstance(job, Job)]
                span.tell({"tokens": sum(job.rendered.tokens for job in ready)})
            work = [self._at_once(job) for job in jobs]
        return [
            asyncio.ensure_future(self._outcome(state, each))
            for state, each in zip(states, work, strict=True)
        ]

    async def _outcome(self, state: Text, work: Awaitable[Decision]) -> Decision | Problem:
        try:
            decision = await work
        except InvalidInputError as error:
            return invalid([fault_of(error)])
        except Problem as problem:
            return problem
        self._fields["tokens"] += decision.usage.input_tokens
        self._fields["cached_tokens"] += decision.usage.cached_tokens
        policy = self._asked.way.policy
        decision = self._decider.conclude(
            state, self._asked.questions, decision, self._conditions, policy, self._request_id
        )
        if policy is not None:
            self._service.count_policy(policy, decision)
        return decision

    def _prepared(self, states: Sequence[Text]) -> list[Job | InvalidInputError]:
        try:
            return self._decider.prepare_many(states, self._asked.questions, self._asked.way)
        except InvalidInputError as error:
            # Lines may be out already: only a line can say what is wrong now.
            return [error] * len(states)

    async def _at_once(self, prepared: Job | InvalidInputError) -> Decision:
        if isinstance(prepared, InvalidInputError):
            raise prepared
        self._service.check_tokens(prepared.rendered.tokens)
        return await self._run(prepared)

    async def _in_rounds(self, state: Text) -> Decision:
        asked = self._asked
        with self._tokenising() as span:
            rounds = await asyncio.to_thread(
                Tournament, self._decider, state, asked.questions, asked.way
            )
            span.tell({} if rounds.job is None else facts_of(rounds.job))
        while rounds.job is not None:
            self._service.check_tokens(rounds.job.rendered.tokens, "in one round")
            decision = await self._run(rounds.job)
            with self._tokenising() as span:
                await asyncio.to_thread(rounds.take, decision)
                span.tell({} if rounds.job is None else facts_of(rounds.job))
        return rounds.decision

    async def _explained(self, state: Text) -> Decision:
        asked, service = self._asked, self._service
        with self._tokenising() as span:
            explanation = await asyncio.to_thread(
                Explanation, self._decider, state, asked.questions, asked.way
            )
            span.tell({"tokens": explanation.tokens})
        service.check_tokens(explanation.tokens, "with its explanation")
        whole = await self._run(explanation.job)
        started = time.perf_counter()
        results: list[RowResult] = []
        for piece in explanation.pieces(service.settings.bulk_tokens):
            results += await service.run_rows(self._decider, piece, self._deadline(), self)
        return explanation.decision(whole, results, time.perf_counter() - started)

    async def _run(self, job: Job) -> Decision:
        deadline = self._deadline()
        outcome = await self._service.run(self._decider, job, deadline, self._request_id, self)
        return outcome.decision

    @contextmanager
    def _tokenising(self, states: int = 1) -> Iterator[Span]:
        with self._service.traces.stage("tokenise") as span:
            questions = len(self._asked.questions)
            span.tell({"request_id": self._request_id, "states": states, "questions": questions})
            yield span

    def _deadline(self) -> Deadline:
        """What the client asked for, for all states; none may stand still for longer."""
        seconds = self._service.settings.deadline_seconds * _AHEAD
        standing_still = Deadline(time.monotonic() + seconds, seconds, SERVER)
        if self._asked_for is None:
            return standing_still
        return min(self._asked_for, standing_still, key=lambda deadline: deadline.at)


def _line(index: int, outcome: Decision | Problem) -> bytes:
    return json.dumps(render(index, outcome)).encode() + b"\n"


REQUEST: dict[str, Any] = {
    "type": "object",
    "required": ["states", "questions"],
    "additionalProperties": False,
    "properties": {
        "model": {"type": "string", "examples": ["default"]},
        "states": {"type": "array", "minItems": 1, "maxItems": 10_000, "items": TEXT_SCHEMA},
        "questions": QUESTIONS,
        "lambda": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "layout": {"enum": [*get_args(Layout), None]},
        "packing": {"enum": [*get_args(Packing), None]},
        "keep": {"enum": [*get_args(Keep), None]},
        "order": {"enum": [*get_args(Order), None]},
        "wide": {"enum": [*get_args(Wide), None]},
        "explain": {"type": ["boolean", "null"]},
        "policy": {"type": ["object", "null"], "description": "A policy file's content."},
        "force_policy": {
            "type": ["boolean", "null"],
            "description": "Apply a policy fitted for something else, without its guarantee.",
        },
    },
    "examples": [
        {
            "states": ["The parcel never came.", "You charged me twice."],
            "questions": {"queue": {"type": "choice", "criteria": ["billing", "shipping"]}},
            "layout": "schema-first",
        }
    ],
}
RESPONSE: dict[str, Any] = {
    "description": "One JSON object per line, in the order of the states.",
    "type": "object",
    "required": ["index"],
    "properties": {
        "index": {"type": "integer", "minimum": 0},
        "answers": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["type", "best", "probabilities", "confidence", "entropy"],
                "properties": {
                    "probabilities": {
                        "type": "object",
                        "additionalProperties": PROBABILITY_SCHEMA,
                    },
                },
            },
        },
        "evidence": {
            "type": "object",
            "description": "By question, the parts of the state that its answer rests on.",
            "additionalProperties": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["where", "text", "moved", "fall", "best_without"],
                    "properties": {
                        "where": {"type": "string"},
                        "text": {"type": "string"},
                        "moved": {"type": "number", "minimum": 0, "maximum": 1},
                        "fall": {"type": "number", "minimum": -1, "maximum": 1},
                        "best_without": {"type": "string"},
                    },
                },
            },
        },
        "error": {
            "type": "object",
            "required": ["code", "field", "message"],
        },
    },
}
