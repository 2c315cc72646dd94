"""litellm against a live server, all three formats: check_litellm.py URL [STRICT_URL]."""

import asyncio
import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from checks import BAD_LABEL, BOOLEAN, CHOICE, STATE, TIMEOUT, Checks, Suite

litellm.suppress_debug_info = True
litellm.telemetry = False

MESSAGES = [{"role": "user", "content": STATE}, {"role": "user", "content": "Sort this letter."}]
SCHEMA = {
    "type": "object",
    "properties": {"team": {"enum": ["billing", "shipping"]}, "lost": {"type": "boolean"}},
    "required": ["team", "lost"],
    "additionalProperties": False,
}


def plain(result):
    return {name: answer.model_dump() for name, answer in result.answers.items()}


def arguments(url, key, state, questions):
    return {
        "model": "typesafe/default",
        "api_base": url,
        "api_key": key,
        "state": state,
        "questions": questions,
        "timeout": TIMEOUT,
    }


def ask(url, key, state, questions, retries):
    if retries:
        # litellm's own retries are those of the OpenAI client, in chat completions.
        complete(url, key, retries)
        return None
    return plain(litellm.systemone(**arguments(url, key, state, questions)))


def ask_many(url, key, states, questions):
    async def all_of_them():
        asked = (litellm.asystemone(**arguments(url, key, each, questions)) for each in states)
        return await asyncio.gather(*asked)

    return [plain(result) for result in asyncio.run(all_of_them())]


def complete(url, key, retries=0):
    return litellm.completion(
        model="openai/default",
        api_base=f"{url}/v1",
        api_key=key,
        messages=MESSAGES,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "ticket", "strict": True, "schema": SCHEMA},
        },
        max_retries=retries,
        timeout=TIMEOUT,
    )


def boolean():
    suite.agrees(STATE, BOOLEAN)
    content = json.loads(complete(checks.url, "any").choices[0].message.content)
    assert content["team"] in ("billing", "shipping")
    assert isinstance(content["lost"], bool)
    return "also in a chat completion"


def choice():
    suite.agrees(STATE, CHOICE)
    decided = litellm.decisions(
        model="openai/default",
        api_base=f"{checks.url}/v1",
        api_key="any",
        input=STATE,
        questions=[
            {
                "type": "choice",
                "name": "team",
                "instructions": "Which team?",
                "choices": [{"value": "billing"}, {"value": "shipping"}],
            }
        ],
    )
    assert decided.answers[0].choice in ("billing", "shipping")
    return "also through /v1/decisions"


def models():
    names = litellm.get_valid_models(
        check_provider_endpoint=True,
        custom_llm_provider="openai",
        api_base=checks.url,
        api_key="any",
    )
    assert any(name.endswith("default") for name in names), names


checks = Checks("litellm")
suite = Suite(
    checks, ask, lambda error: getattr(error, "status_code", None), ask_many, bad=BAD_LABEL
)
suite.run()
checks.check("booleans", boolean)
checks.check("choices", choice)
checks.none("zstd", "the client does not compress")
checks.check("models", models)
checks.finish()
