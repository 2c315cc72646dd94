"""Asks an endpoint: bounded concurrency, retries that honour retry-after, a token budget,
latency at the client, every exchange recorded; or no network at all, from a recording.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.items.item import Item
from thisthat.remote.retry_after import retry_after_seconds
from thisthat_lab.bench.systems.endpoints.recording import Exchange, Recorder, Recording, key_of
from thisthat_lab.bench.systems.endpoints.wire import UnusableError, Wire, tokens
from thisthat_lab.bench.systems.protocol import Done, Identity, SystemOptions
from thisthat_lab.bench.systems.replies import Reply, unanswered

_RETRIED = {408, 409, 425, 429}
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0


class EndpointSystem:
    """A system behind a URL.

    A request is tried again after 408, 409, 425, 429, any 5xx and a lost connection, until
    ``patience`` seconds have passed since its first try. ``token_budget`` bounds the tokens of the
    whole run: once it is spent the remaining questions are unanswered. Waiting between tries is
    not part of a question's latency.
    """

    independent: ClassVar[bool] = True

    def __init__(self, wire: Wire, url: str, options: SystemOptions) -> None:
        if options.concurrency < 1:
            raise InvalidInputError("concurrency", f"is {options.concurrency}; at least 1")
        root = url.rstrip("/").removesuffix("/v1")
        if options.replay is None and not root.startswith(("http://", "https://")):
            raise InvalidInputError("system", f"{url!r} is not an http or https address")
        self._wire = wire
        self._address = root + wire.path
        self._options = options
        self._spent = 0
        self.damaged_lines = 0

    @property
    def identity(self) -> Identity:
        """The model's name at that address."""
        scheme = type(self._wire).__name__.removesuffix("Wire").lower()
        return Identity(self._options.model or "unnamed", "endpoint", engine=scheme)

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """See System."""
        if self._options.replay is not None:
            self._replay(items, done)
        else:
            asyncio.run(self._ask_all(items, done))

    def _replay(self, items: Sequence[Item], done: Done) -> None:
        assert self._options.replay is not None
        recording = Recording(self._options.replay)
        self.damaged_lines = recording.damaged
        for number, item in enumerate(items):
            body = self._wire.request(item, self._options.model)
            exchange = recording.find(key_of(self._wire.path, body))
            if exchange is None:
                done(number, unanswered("not in the recording"))
            else:
                done(number, self._reply(item, exchange))

    async def _ask_all(self, items: Sequence[Item], done: Done) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("asking an endpoint", "bench") from None
        headers = {"Authorization": f"Bearer {self._options.key or 'none'}"}
        waiting = iter(enumerate(items))
        recorder = Recorder(self._options.record) if self._options.record else None
        limits = httpx.Limits(max_connections=self._options.concurrency)
        try:
            async with httpx.AsyncClient(
                headers=headers, timeout=self._options.timeout, limits=limits
            ) as client:

                async def work() -> None:
                    for number, item in waiting:
                        done(number, await self._ask(client, recorder, item))

                workers = [asyncio.ensure_future(work()) for _ in range(self._options.concurrency)]
                try:
                    await asyncio.gather(*workers)
                finally:
                    for worker in workers:
                        worker.cancel()
        finally:
            if recorder:
                recorder.close()

    async def _ask(self, client: Any, recorder: Recorder | None, item: Item) -> Reply:
        budget = self._options.token_budget
        if budget is not None and self._spent >= budget:
            return unanswered("token budget spent")
        body = self._wire.request(item, self._options.model)
        exchange = await self._exchange(client, item, body)
        if recorder:
            recorder.add(exchange)
        reply = self._reply(item, exchange)
        self._spent += reply.input_tokens + reply.output_tokens
        return reply

    async def _exchange(self, client: Any, item: Item, body: Mapping[str, Any]) -> Exchange:
        import httpx

        begun = time.monotonic()
        tries, waited = 0, 0.0
        while True:
            tries += 1
            sent = time.monotonic()
            status: int | None = None
            advised: float | None = None
            try:
                response = await asyncio.wait_for(
                    client.post(self._address, json=body), self._options.timeout
                )
                status, text = response.status_code, response.text
                advised = retry_after_seconds(response.headers.get)
            except (httpx.TimeoutException, asyncio.TimeoutError):
                text = "timed out"
            except httpx.HTTPError as error:
                text = f"connection failed: {type(error).__name__}"
            seconds = time.monotonic() - sent
            pause = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (tries - 1)) * random.uniform(0.8, 1.2)
            pause = max(pause, advised) if advised is not None else pause
            retried = status is None or status in _RETRIED or status >= 500
            spent = time.monotonic() - begun
            if not retried or spent + pause > self._options.patience:
                return Exchange(
                    key=key_of(self._wire.path, body),
                    item=item.fingerprint,
                    path=self._wire.path,
                    request=body,
                    status=status,
                    text=text,
                    seconds=seconds,
                    tries=tries,
                    waited=waited,
                )
            await asyncio.sleep(pause)
            waited += pause

    def _reply(self, item: Item, exchange: Exchange) -> Reply:
        if exchange.status is None:
            return unanswered(exchange.text.partition(":")[0], exchange.seconds)
        if exchange.status != 200:
            problem = "rate limited" if exchange.status == 429 else f"HTTP {exchange.status}"
            return unanswered(problem, exchange.seconds)
        try:
            payload = json.loads(exchange.text)
        except (ValueError, RecursionError):
            return unanswered("invalid JSON", exchange.seconds)
        try:
            reading = self._wire.read(item, payload)
        except UnusableError as error:
            read = tokens(payload, "prompt_tokens", "input_tokens")
            written = tokens(payload, "completion_tokens", "output_tokens")
            return Reply(None, None, str(error), exchange.seconds, read, written)
        return Reply(
            reading.chosen,
            reading.probabilities,
            None,
            exchange.seconds,
            reading.input_tokens,
            reading.output_tokens,
        )
