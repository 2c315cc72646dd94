"""semantic-router against a live server: check_semantic_router.py URL [STRICT_URL]."""

import asyncio
import re

from checks import TIMEOUT, Checks, Suite
from semantic_router.decision_models import SystemOneDecisionModel


def opened(url, key, retries=0):
    return SystemOneDecisionModel(
        name="default", base_url=url, api_key=key, retries=retries, timeout=TIMEOUT, concurrency=20
    )


async def asked(url, key, retries, work):
    model = opened(url, key, retries)
    try:
        return await work(model)
    finally:
        await model.aclose()


def ask(url, key, state, questions, retries):
    return asyncio.run(asked(url, key, retries, lambda model: model.aask(state, questions)))


def ask_many(url, key, states, questions):
    return asyncio.run(asked(url, key, 0, lambda model: model.aask_many(states, questions)))


def status(error):
    # The client has no error class: the status is the argument, or in the text.
    found = re.search(r"\d{3}", str(error))
    return int(found[0]) if found else None


checks = Checks("semantic-router")
Suite(checks, ask, status, ask_many, waits_as_told=False).run()
checks.none("zstd", "the client does not compress")
checks.none("models", "the client lists none")
checks.finish()
