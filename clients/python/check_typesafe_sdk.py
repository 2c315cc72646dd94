"""typesafe-sdk against a live server: check_typesafe_sdk.py URL [STRICT_URL]."""

import asyncio
import json

from checks import BOOLEAN, TIMEOUT, Checks, Suite, raw, same
from typesafe_sdk import AsyncTypeSafeClient, RetryPolicy, TypeSafeAPIError, TypeSafeClient

LONG = {"letters": [{"number": number, "text": "The parcel never came."} for number in range(60)]}


def plain(result):
    return {name: answer.model_dump() for name, answer in result.answers.items()}


def ask(url, key, state, questions, retries):
    policy = RetryPolicy(max_retries=retries, backoff_initial=0.01)
    with TypeSafeClient(base_url=url, api_key=key, retry=policy, timeout=TIMEOUT) as client:
        return plain(client.system_one(state, questions))


def ask_many(url, key, states, questions):
    async def all_of_them():
        async with AsyncTypeSafeClient(base_url=url, api_key=key, timeout=TIMEOUT) as client:
            return await asyncio.gather(*(client.system_one(each, questions) for each in states))

    return [plain(result) for result in asyncio.run(all_of_them())]


def zstd():
    assert len(json.dumps(LONG)) > 1024
    body = {"model": "default", "state": LONG, "questions": BOOLEAN}
    expected = raw(checks.url, "/v1/systemone", body)["answers"]
    with TypeSafeClient(
        base_url=checks.url, api_key="any", compression="zstd", timeout=TIMEOUT
    ) as client:
        result = client.system_one(LONG, BOOLEAN)
    assert result.raw_http_response.request.headers["content-encoding"] == "zstd"
    same(plain(result), expected)


def models():
    with TypeSafeClient(base_url=checks.url, api_key="any", timeout=TIMEOUT) as client:
        assert "default" in [model.name for model in client.models.list().models]


checks = Checks("typesafe-sdk")
status = lambda error: error.status if isinstance(error, TypeSafeAPIError) else None  # noqa: E731
Suite(checks, ask, status, ask_many).run()
checks.check("zstd", zstd)
checks.check("models", models)
checks.finish()
