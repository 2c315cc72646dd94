"""openai against a live server, decisions and chats: check_openai.py URL [STRICT_URL]."""

import asyncio
import json
from typing import Literal

from checks import BAD, BOOLEAN, CHOICE, MANY, STATE, TIMEOUT, Checks, Suite, raw
from openai import APIStatusError, AsyncOpenAI, OpenAI
from pydantic import BaseModel


class Ticket(BaseModel):
    """A schema whose options are what a chat completion chooses from."""

    team: Literal["billing", "shipping"]
    lost: bool


MESSAGES = [{"role": "user", "content": STATE}, {"role": "user", "content": "Sort this letter."}]


def as_list(questions):
    return [converted(name, question) for name, question in questions.items()]


def converted(name, question):
    kind, base = question["type"], {"name": name, "instructions": question["instructions"]}
    criteria = question.get("criteria")
    if kind == "noul":
        return {**base, "type": "predicate"}
    if kind == "choice":
        choices = [
            {"value": value} if text is None else {"value": value, "description": text}
            for value, text in criteria.items()
        ]
        return {**base, "type": "choice", "choices": choices}
    if kind == "score":
        return {**base, "type": "score", "levels": [{"label": level} for level in criteria]}
    return {**base, "type": kind}


def as_input(state):
    if isinstance(state, str):
        return state
    return [{"role": "user", "content": [{"type": "input_json", "data": state}]}]


def opened(url, key, retries=0):
    return OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=retries, timeout=TIMEOUT)


def ask(url, key, state, questions, retries):
    with opened(url, key, retries) as client:
        decided = client.decisions.create(
            model="default", input=as_input(state), questions=as_list(questions)
        )
    return {answer.name: answer.model_dump() for answer in decided.answers}


def ask_many(url, key, states, questions):
    async def all_of_them():
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key=key, timeout=TIMEOUT) as client:
            create = client.decisions.create
            asked = (
                create(model="default", input=each, questions=as_list(questions)) for each in states
            )
            return await asyncio.gather(*asked)

    return [
        {answer.name: answer.model_dump() for answer in decided.answers}
        for decided in asyncio.run(all_of_them())
    ]


class Decisions(Suite):
    """The checks, compared with what /v1/decisions sends."""

    def agrees(self, state, questions):
        given = self.ask(self.checks.url, "any", state, questions, 0)
        self.compare(given, state, questions)

    def compare(self, given, state, questions):
        body = {"model": "default", "input": as_input(state), "questions": as_list(questions)}
        expected = raw(self.checks.url, "/v1/decisions", body)["answers"]
        assert list(given) == [answer["name"] for answer in expected]
        for answer, found in zip(expected, given.values(), strict=True):
            assert found == {**found, **answer}, f"{found} instead of {answer}"

    def at_once(self):
        together = self.ask_many(self.checks.url, "any", MANY, CHOICE)
        for state, given in zip(MANY, together, strict=True):
            self.compare(given, state, CHOICE)

    def refused(self, status, key, state, questions):
        # OpenAI's form of an invalid body is a 400.
        super().refused({422: 400}.get(status, status), key, state, questions)


def boolean():
    suite.agrees(STATE, BOOLEAN)
    completion = opened(checks.url, "any").chat.completions.parse(
        model="default", messages=MESSAGES, response_format=Ticket, logprobs=True, top_logprobs=2
    )
    assert isinstance(completion.choices[0].message.parsed, Ticket)
    assert completion.choices[0].logprobs.content
    return "also in a chat completion, with logprobs"


def choice():
    suite.agrees(STATE, CHOICE)
    schema = {"name": "ticket", "strict": True, "schema": Ticket.model_json_schema()}
    stream = opened(checks.url, "any").chat.completions.create(
        model="default",
        messages=MESSAGES,
        response_format={"type": "json_schema", "json_schema": schema},
        stream=True,
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    Ticket.model_validate(json.loads(text))
    return "also in a chat completion, streamed"


def models():
    names = [model.id for model in opened(checks.url, "any").models.list()]
    assert "default" in names, names
    assert opened(checks.url, "any").models.retrieve("default").id == "default"


checks = Checks("openai")
status = lambda error: error.status_code if isinstance(error, APIStatusError) else None  # noqa: E731
suite = Decisions(checks, ask, status, ask_many, bad=BAD)
suite.run()
checks.check("booleans", boolean)
checks.check("choices", choice)
checks.none("zstd", "the client does not compress")
checks.check("models", models)
if checks.strict:
    checks.results["422"]["note"] = (
        checks.results["422"]["note"] or "as 400, which is OpenAI's form"
    )
checks.finish()
