"""pydantic-ai-slim against a live server: check_pydantic_ai.py URL [STRICT_URL].

The checks go through the model class, which validates more than any other client; an agent with a
typed output goes all the way.
"""

import asyncio
from dataclasses import asdict
from typing import Annotated, Literal

from checks import BAD_LABEL, DESCRIBED, STATE, Checks, Suite
from pydantic import BaseModel, Field, TypeAdapter
from pydantic_ai import Agent
from pydantic_ai.models.decision import DecisionQuestion, DecisionRequest
from pydantic_ai.models.system_one import SystemOneModel
from pydantic_ai.providers.system_one import SystemOneProvider

QUESTIONS = TypeAdapter(dict[str, Annotated[DecisionQuestion, Field(discriminator="type")]])


class Ticket(BaseModel):
    """What a letter to a shop is about."""

    lost: bool = Field(description="Is a parcel lost?")
    team: Literal["billing", "shipping"] = Field(description="Which team should answer?")


def opened(url, key):
    return SystemOneModel("default", provider=SystemOneProvider(base_url=url, api_key=key))


async def asked(model, state, questions):
    request = DecisionRequest(state=state, questions=QUESTIONS.validate_python(questions))
    answered = await model.decide(request, {})
    return {name: asdict(answer) for name, answer in answered.answers.items()}


def ask(url, key, state, questions, retries):
    return asyncio.run(asked(opened(url, key), state, questions))


def ask_many(url, key, states, questions):
    async def all_of_them():
        model = opened(url, key)
        return await asyncio.gather(*(asked(model, each, questions) for each in states))

    return asyncio.run(all_of_them())


def described():
    suite.agrees(STATE, DESCRIBED)
    result = Agent(opened(checks.url, "any"), output_type=Ticket).run_sync(STATE)
    assert isinstance(result.output, Ticket), result.output
    assert result.usage().input_tokens > 0
    return "also with an agent and a typed output"


checks = Checks("pydantic-ai-slim")
suite = Suite(
    checks,
    ask,
    lambda error: getattr(error, "status_code", None),
    ask_many,
    bad=BAD_LABEL,
    no_retries="the client tries once and hands the headers on",
)
suite.run()
checks.check("described options", described)
checks.none("zstd", "the client does not compress")
checks.none("models", "the client lists none")
checks.finish()
