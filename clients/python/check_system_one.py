"""system-one[http] against a live server: check_system_one.py URL [STRICT_URL]."""

import asyncio

from checks import BAD_LABEL, TIMEOUT, Checks, Suite
from system_one import AsyncSystemOne, SystemOne
from system_one.settings import HTTPConfig


def plain(result):
    return {name: answer.model_dump() for name, answer in result.answers.items()}


def config(url, key, retries=0):
    return HTTPConfig(
        base_url=url, api_key=key, model="default", timeout=TIMEOUT, max_retries=retries
    )


def ask(url, key, state, questions, retries):
    return plain(SystemOne(config=config(url, key, retries)).ask(state, questions))


def ask_many(url, key, states, questions):
    async def all_of_them():
        client = AsyncSystemOne(config=config(url, key))
        return await asyncio.gather(*(client.ask(each, questions) for each in states))

    return [plain(result) for result in asyncio.run(all_of_them())]


checks = Checks("system-one")
Suite(checks, ask, lambda error: getattr(error, "status", None), ask_many, bad=BAD_LABEL).run()
checks.none("zstd", "the client does not compress")
checks.none("models", "the client lists none")
checks.finish()
