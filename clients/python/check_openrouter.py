"""openrouter against a live server: check_openrouter.py URL [STRICT_URL]."""

import asyncio

from checks import BAD_LABEL, TIMEOUT, Checks, Suite
from openrouter import OpenRouter, errors
from openrouter.utils import BackoffStrategy, RetryConfig

TYPED = {
    401: errors.UnauthorizedResponseError,
    413: errors.PayloadTooLargeResponseError,
    429: errors.TooManyRequestsResponseError,
    503: errors.ServiceUnavailableResponseError,
}


def plain(result):
    return {name: answer.model_dump() for name, answer in result.answers.items()}


def opened(url, key, retries=0):
    # Zero tries are not an option of this client; none are made when there is no time for them.
    strategy = BackoffStrategy(10, 5000, 1.5, TIMEOUT * 1000 if retries else 0)
    config = RetryConfig("backoff" if retries else "none", strategy, False)
    return OpenRouter(api_key=key, server_url=f"{url}/v1", retry_config=config)


def ask(url, key, state, questions, retries):
    with opened(url, key, retries) as client:
        return plain(client.system_one.create(model="default", state=state, questions=questions))


def ask_many(url, key, states, questions):
    async def all_of_them():
        async with opened(url, key) as client:
            create = client.system_one.create_async
            asked = (create(model="default", state=each, questions=questions) for each in states)
            return await asyncio.gather(*asked)

    return [plain(result) for result in asyncio.run(all_of_them())]


def status(error):
    found = getattr(error, "status_code", None)
    assert isinstance(error, TYPED.get(found, errors.OpenRouterError)), repr(error)
    return found


def models():
    with opened(checks.url, "any") as client:
        listed = client.models.list()
        names = [model.id for model in listed.result.data]
    assert "default" in names, names


checks = Checks("openrouter")
Suite(checks, ask, status, ask_many, bad=BAD_LABEL, retries_429=False).run()
checks.none("zstd", "the client does not compress")
checks.check("models", models)
checks.finish()
