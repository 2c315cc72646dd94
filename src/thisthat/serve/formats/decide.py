"""``POST /v1/decide``: one schema, up to 10,000 states, a line of JSON per state.

Lines come in the order of the states, each as soon as it is ready. A state that cannot be used gets
a line that says why; the others are still answered.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from thisthat.decide.conditions import Conditions
from thisthat.decide.decider import Decider
from thisthat.decide.options import CHOICES, FLAGS, DecideOptions
from thisthat.decide.policy import Policy
from thisthat.decide.procedures import Procedure
from thisthat.errors import InvalidInputError
from thisthat.questions import Decision, Question, Text, check_text
from thisthat.remote.conditions_header import conditions_header
from thisthat.serve import problems
from thisthat.serve.formats.fields import (
    characters,
    check_size,
    count_values,
    one_of,
    optional_boolean,
    optional_lambda,
    required_list,
    required_text,
)
from thisthat.serve.formats.own_fields import OWN_FIELDS
from thisthat.serve.formats.systemone import parse_questions
from thisthat.serve.formats.wire import Operation, source_as_json, source_headers
from thisthat.serve.problems import (
    Fault,
    Problem,
    dotted,
    fault_of,
    invalid,
    invalid_at,
    without_frames,
)
from thisthat.serve.scheduling.deadline import SERVER, Deadline, read_stream_deadline
from thisthat.serve.schemas import Schema, schema
from thisthat.serve.service import TOKEN_BYTES, Service, note_untaught
from thisthat.serve.settings import Settings
from thisthat.serve.trials import Chooser

PATH = "/v1/decide"
LINES = "application/x-ndjson"
_AHEAD = 32
_EXPLAINED_AHEAD = 4
_MOST_POLICY_VALUES = 65_536
_GROUP_CHARACTERS = 1 << 16
_STREAM_BYTES = 8 << 20
_OPTION_BYTES = 200
_KEYS = ("model", "states", "questions", *OWN_FIELDS)


@dataclass(frozen=True)
class ManyAsked:
    """A parsed request: many states, the questions about each, and how to decide."""

    model: str
    lam: float | None
    states: Sequence[Text]
    questions: Mapping[str, Question]
    options: DecideOptions


def decide_operations(service: Service) -> list[Operation]:
    """The endpoint, answering through ``service``."""

    async def decide(request: Request) -> Response:
        asked = await service.read(
            request, lambda body: parse(body, service.settings, request.state.request_id)
        )
        champion = service.checkpoints.find(asked.model, asked.lam)
        trials, chooser = service.trials, Chooser(champion)
        tried = champion is service.checkpoints.main() and asked.lam is None
        if trials is not None and tried and asked.options.policy is None:
            chooser = Chooser(champion, trials, trials.arm(request))
        decider = chooser.decider()
        conditions, forced = _conditions(decider, asked)
        if service.streams >= service.settings.bulk_streams:
            raise Problem(503, "overloaded", "too many streams are open", retry_ms=1000)
        fields = request.state.fields
        fields |= source_as_json(decider.source)
        fields |= {"states": len(asked.states), "questions": len(asked.questions)}
        fields |= {"tokens": 0, "cached_tokens": 0}
        note_untaught(request, decider, asked.questions)
        if forced:
            fields["policy_forced"] = "; ".join(forced)
        stream = _Stream(service, chooser, asked, request)
        stream.hold()
        return StreamingResponse(
            stream.lines(),
            headers=source_headers(decider.source) | conditions_header(conditions),
            media_type=LINES,
        )

    summary = "Answer the same questions about many states"
    return [Operation(PATH, decide, summary, {LINES: RESPONSE}, REQUEST, decides=True)]


def parse(body: Mapping[str, Any], most: Settings, request_id: str | None = None) -> ManyAsked:
    """A request's body as states and questions. Raises Problem (422) listing its faults."""
    unknown = [key for key in body if key not in _KEYS]
    if unknown:
        raise invalid_at((unknown[0],), f"is not known; known are {', '.join(_KEYS)}")
    model = required_text(body, "model") if "model" in body else "default"
    lam = optional_lambda(body)
    states = required_list(body, "states", 1, most.states)
    faults: list[Fault] = []
    for number, state in enumerate(states):
        check_size(state, ("states", number))
        try:
            check_text(state, "")
        except InvalidInputError as error:
            faults.append(fault_of(error, ("states", number)))
    if faults:
        raise invalid(faults)
    options = _options(body, request_id)
    return ManyAsked(model, lam, states, parse_questions(body, most.questions), options)


def _options(body: Mapping[str, Any], request_id: str | None) -> DecideOptions:
    given: dict[str, Any] = {name: optional_boolean(body, name) for name in FLAGS}
    for name, words in CHOICES.items():
        chosen = one_of(body, name, words)
        if chosen is not None:
            given[name] = chosen
    try:
        return DecideOptions(**given, policy=_policy(body), request_id=request_id)
    except InvalidInputError as error:
        raise problems.from_invalid_input(error) from None


def _policy(body: Mapping[str, Any]) -> Policy | None:
    given, force = body.get("policy"), optional_boolean(body, "force_policy")
    if given is None:
        if force:
            raise invalid_at(("force_policy",), "needs a policy")
        return None
    if count_values(given, _MOST_POLICY_VALUES) >= _MOST_POLICY_VALUES:
        raise invalid_at(("policy",), f"has more than {_MOST_POLICY_VALUES} values")
    policy = Policy.from_json(given)
    return policy.force() if force else policy


def _conditions(decider: Decider, asked: ManyAsked) -> tuple[Conditions, list[str]]:
    """The conditions of the answers, and those for which the policy had to be forced.

    Raises Problem (422) for a policy fitted for other conditions and not forced.
    """
    policy = asked.options.policy
    try:
        conditions = decider.conditions_for(asked.options)
        forced = [] if policy is None else policy.check(asked.questions, conditions)
    except InvalidInputError as error:
        raise problems.from_invalid_input(error) from None
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
        self, service: Service, chooser: Chooser, asked: ManyAsked, request: Request
    ) -> None:
        self._request = request
        self._fields: dict[str, Any] = request.state.fields
        self._asked_for = read_stream_deadline(request.scope["headers"], request.state.arrived)
        self._service = service
        self._chooser = chooser
        self._noted = False
        self._asked = asked

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines; closing the iterator removes queued jobs."""
        service = self._service
        waiting: deque[asyncio.Future[Decision | Problem]] = deque()
        service.streams += 1
        # Send what is slow to tokenise to the engine as early as possible.
        together = self._ahead if self._asked.options.procedure == "at-once" else 1
        try:
            number = 0
            for states, size in _groups(self._asked.states, together):
                waiting += await self._begun(states, size)
                while len(waiting) > self._ahead:
                    yield _line(number, await waiting.popleft())
                    number += 1
            while waiting:
                yield _line(number, await waiting.popleft())
                number += 1
        finally:
            service.streams -= 1
            for future in waiting:
                future.cancel()

    def hold(self) -> None:
        """Choose how many states to work on at a time, and hold the memory they take."""
        most = _EXPLAINED_AHEAD if self._asked.options.explain else _AHEAD
        tokens = min(
            max(map(characters, self._asked.states)), self._service.settings.request_tokens
        )
        options = sum(len(question.declared) for question in self._asked.questions.values())
        each = tokens * TOKEN_BYTES + options * _OPTION_BYTES
        self._ahead = max(1, min(most, _STREAM_BYTES // each))
        self._request.state.memory.add(self._ahead * each)

    async def _begun(
        self, states: Sequence[Text], size: int
    ) -> list[asyncio.Future[Decision | Problem]]:
        options, questions = self._asked.options, self._asked.questions
        decider, piece = self._chooser.decider(), self._service.settings.bulk_tokens
        begin = partial(decider.begin_many, states, questions, options, piece)
        with self._service.tokenising(options.request_id, len(states)) as span:
            # Tokenising here would block the event loop for other requests.
            try:
                if size > _GROUP_CHARACTERS:
                    begun = await self._service.begin_large(self._request, size, begin)
                else:
                    begun = await asyncio.to_thread(begin)
            except Problem as problem:
                told = without_frames(problem)
                return [asyncio.ensure_future(_given(told)) for _ in states]
            usable = [each for each in begun if not isinstance(each, InvalidInputError)]
            tokens = sum(each.tokens for each in usable)
            span.tell({"questions": len(questions), "tokens": tokens})
        return [
            asyncio.ensure_future(self._outcome(decider, state, each))
            for state, each in zip(states, begun, strict=True)
        ]

    async def _outcome(
        self, decider: Decider, state: Text, procedure: Procedure | InvalidInputError
    ) -> Decision | Problem:
        options = self._asked.options
        if isinstance(procedure, InvalidInputError):
            return invalid([fault_of(procedure)])
        try:
            await self._service.run(decider, procedure, self._deadline, self._request, self)
            recorded = self._chooser.recorded(options, decider)
            decision = await self._service.conclude(decider, state, procedure, recorded)
        except InvalidInputError as error:
            return invalid([fault_of(error)])
        except Problem as problem:
            return without_frames(problem)
        # Everything: engines raise their runtime's own types.
        except Exception:
            champion = self._chooser.champion
            self._note(None)
            if decider is champion:
                raise
            again = partial(champion.begin_many, [state], self._asked.questions, options)
            [procedure] = await asyncio.to_thread(again)
            return await self._outcome(champion, state, procedure)
        self._note(decision.seconds)
        if self._service.trials is not None and options.policy is None:
            self._service.trials.shadow(self._request, state, self._asked.questions)
        self._fields["tokens"] += decision.usage.input_tokens
        self._fields["cached_tokens"] += decision.usage.cached_tokens
        if options.policy is not None:
            self._service.count_policy(options.policy, options.request_id)
        return decision

    def _note(self, seconds: float | None) -> None:
        """Note how the arm does: once, since all states of a request have the same."""
        if not self._noted:
            self._noted = True
            self._chooser.note(seconds)

    def _deadline(self) -> Deadline:
        """The client's deadline for all states, bounded by the longest wait for one."""
        seconds = self._service.settings.deadline_seconds * _AHEAD
        standing_still = Deadline(time.monotonic() + seconds, seconds, SERVER)
        if self._asked_for is None:
            return standing_still
        return min(self._asked_for, standing_still, key=lambda deadline: deadline.at)


async def _given(problem: Problem) -> Decision | Problem:
    return problem


def _groups(states: Sequence[Text], together: int) -> Iterator[tuple[Sequence[Text], int]]:
    """Neighbouring states, few enough and short enough to be tokenised at once, and their size."""
    start = size = 0
    for number, state in enumerate(states):
        length = characters(state)
        if number > start and (number - start == together or size + length > _GROUP_CHARACTERS):
            yield states[start:number], size
            start, size = number, 0
        size += length
    yield states[start:], size


def _line(index: int, outcome: Decision | Problem) -> bytes:
    return json.dumps(render(index, outcome)).encode() + b"\n"


_SETTINGS: dict[str, Schema] = {
    **{name: {"enum": [*words, None]} for name, words in CHOICES.items()},
    **{name: {"type": ["boolean", "null"]} for name in FLAGS},
}
REQUEST = schema("decide request", **_SETTINGS)
RESPONSE = schema("decide line")
