"""systemone-client against a live server: check_systemone_client.py URL [STRICT_URL]."""

import asyncio

from checks import TIMEOUT, Checks, Suite
from systemone import AsyncClient, Client


def ask(url, key, state, questions, retries):
    # As in the client's own documentation, no model is named.
    with Client(url, api_key=key, timeout=TIMEOUT) as client:
        result = client.system_one(state=state, questions=questions)
    return plain(result)


def plain(result):
    kinds = (result.nouls, result.choices, result.scores)
    found = {name: vars(answer) for kind in kinds for name, answer in kind.items()}
    return {name: found[name] for name in result.raw["answers"]}


def ask_many(url, key, states, questions):
    async def all_of_them():
        async with AsyncClient(url, api_key=key, timeout=TIMEOUT) as client:
            return await asyncio.gather(*(client.system_one(each, questions) for each in states))

    return [plain(result) for result in asyncio.run(all_of_them())]


checks = Checks("systemone-client")
Suite(
    checks,
    ask,
    lambda error: getattr(error, "status", None),
    ask_many,
    no_retries="the client tries once",
).run()
checks.none("zstd", "the client does not compress")
checks.none("models", "the client lists none")
checks.finish()
