"""ollama against a live server: check_ollama.py URL [STRICT_URL]."""

import asyncio

from checks import BAD_LABEL, Checks, Suite
from ollama import AsyncClient, Client


def plain(result):
    return {name: answer.model_dump() for name, answer in result.answers.items()}


def headers(key):
    return {"authorization": f"Bearer {key}"}


def ask(url, key, state, questions, retries):
    client = Client(host=url, headers=headers(key))
    return plain(client.systemone(model="default", state=state, questions=questions))


def ask_many(url, key, states, questions):
    async def all_of_them():
        client = AsyncClient(host=url, headers=headers(key))
        asked = (client.systemone("default", each, questions) for each in states)
        return await asyncio.gather(*asked)

    return [plain(result) for result in asyncio.run(all_of_them())]


checks = Checks("ollama")
Suite(
    checks,
    ask,
    lambda error: getattr(error, "status_code", None),
    ask_many,
    bad=BAD_LABEL,
    no_retries="the client tries once",
).run()
checks.none("zstd", "the client does not compress")
checks.none("models", "the client lists models with Ollama's own /api/tags")
checks.finish()
