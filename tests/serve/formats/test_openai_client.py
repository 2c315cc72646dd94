"""One real client, unmodified, over a real socket. `clients/` does the same with all of them."""

import asyncio
from collections.abc import Iterator
from typing import Any, Literal
from unittest.mock import patch

import openai
import pytest
from pydantic import BaseModel

from tests.serve.support import on_loopback, run, service_for
from thisthat.serve.http.keys import RateLimit
from thisthat.serve.service import Service

QUESTIONS: list[Any] = [
    {"type": "predicate", "name": "lost", "instructions": "A parcel is lost."},
    {
        "type": "choice",
        "name": "team",
        "instructions": "Which team?",
        "choices": [{"value": "billing", "description": "charges"}, {"value": "shipping"}],
    },
    {
        "type": "score",
        "name": "anger",
        "instructions": "How angry?",
        "levels": [{"label": "calm"}, {"label": "annoyed"}, {"label": "furious"}],
    },
]
JSON_INPUT: list[Any] = [
    {
        "role": "user",
        "content": [{"type": "input_json", "data": {"text": "It is late.", "days": 3}}],
    }
]
MESSAGES: list[Any] = [
    {"role": "user", "content": "The parcel never came."},
    {"role": "user", "content": "Sort this letter."},
]


class Ticket(BaseModel):
    team: Literal["billing", "shipping"]
    lost: bool


@pytest.fixture(scope="module")
def strict() -> Service:
    return service_for(keys=("right",), body_bytes=20_000)


@pytest.fixture(scope="module")
def address(strict: Service) -> Iterator[str]:
    with on_loopback(strict) as found:
        yield f"{found}/v1"


@pytest.fixture(scope="module")
def open_address() -> Iterator[str]:
    with on_loopback(service_for()) as found:
        yield f"{found}/v1"


def client(address: str, key: str = "any", retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(base_url=address, api_key=key, max_retries=retries)


def decide(client: openai.OpenAI, given: Any = "The parcel never came.") -> Any:
    return client.decisions.create(model="default", input=given, questions=QUESTIONS)


@pytest.mark.parametrize("given", ["The parcel never came.", JSON_INPUT])
def test_decisions_have_every_kind_of_answer(open_address: str, given: Any) -> None:
    lost, team, anger = decide(client(open_address), given).answers
    assert 0 <= lost.probability <= 1
    assert sum(each.probability for each in team.probabilities) == 1
    assert team.choice == max(team.probabilities, key=lambda each: each.probability).value
    assert anger.score == sum(each.value * each.probability for each in anger.probabilities)
    assert [lost.name, team.name, anger.name] == ["lost", "team", "anger"]


def test_a_chat_completion_is_parsed_into_the_callers_class(open_address: str) -> None:
    completion = client(open_address).chat.completions.parse(
        model="default", messages=MESSAGES, response_format=Ticket, logprobs=True
    )
    assert isinstance(completion.choices[0].message.parsed, Ticket)
    assert completion.choices[0].logprobs is not None
    assert completion.choices[0].logprobs.content


def test_the_models_are_listed(open_address: str) -> None:
    assert "default" in [model.id for model in client(open_address).models.list()]


def test_twenty_at_once_get_their_own_answers(open_address: str) -> None:
    states = [f"Letter {number}" for number in range(20)]

    async def together() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=open_address, api_key="any") as many:
            create = many.decisions.create
            asked = (create(model="default", input=s, questions=QUESTIONS) for s in states)
            return await asyncio.gather(*asked)

    for state, found in zip(states, run(together()), strict=True):
        assert found.answers == decide(client(open_address), state).answers


def test_errors_arrive_as_the_clients_own_classes(address: str) -> None:
    with pytest.raises(openai.AuthenticationError):
        decide(client(address, "wrong"))
    with pytest.raises(openai.APIStatusError) as large:
        decide(client(address, "right"), "x" * 30_000)
    assert large.value.status_code == 413
    with pytest.raises(openai.BadRequestError) as invalid:
        decide(client(address, "right"), 7)
    assert invalid.value.param == "input"
    with pytest.raises(openai.NotFoundError):
        client(address, "right").models.retrieve("gpt-9")


def test_a_refused_request_is_tried_again() -> None:
    service = service_for()
    # Six requests a minute are one at a time; ten seconds pass after the third request.
    times = iter([0.0, 0.0, 0.0, 10.0])
    service.rates = RateLimit(6, clock=lambda: next(times))
    service.rates.spend("127.0.0.1")
    with on_loopback(service) as found:
        with pytest.raises(openai.RateLimitError) as refused:
            decide(client(f"{found}/v1"))
        assert refused.value.response.headers["retry-after-ms"] == "10000"
        with patch("openai._base_client.SyncAPIClient._sleep_for_retry") as sleep:
            assert decide(client(f"{found}/v1", retries=1)).answers
    assert sleep.call_count == 1
    assert next(times, None) is None


def test_a_server_that_drains_says_when_to_come_back(address: str, strict: Service) -> None:
    strict.draining = True
    try:
        with pytest.raises(openai.InternalServerError) as refused:
            decide(client(address, "right"))
    finally:
        strict.draining = False
    assert refused.value.status_code == 503
    assert refused.value.response.headers["retry-after-ms"] == "1000"
