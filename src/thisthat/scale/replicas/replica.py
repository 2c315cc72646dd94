"""A replica: the server's own app and scheduler, asked by a front instead of over HTTP."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from thisthat.audit.log import DecisionLog
from thisthat.decide.decider import Decider
from thisthat.decide.opening import open_decider
from thisthat.errors import CheckpointError, ThisThatError
from thisthat.scale.replicas.conductor import (
    BEAT_SECONDS,
    Orders,
    Reloaded,
    ReplicasReport,
    Serving,
)
from thisthat.scale.replicas.metrics import joined
from thisthat.serve.checkpoints import Loaded
from thisthat.serve.http.app import create_app
from thisthat.serve.http.run import SWITCH_SECONDS
from thisthat.serve.logs import log, start_logging
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings
from thisthat.serve.traces import Traces

_METRICS_SECONDS = 1.0
_LEAVE_SECONDS = 1.0


@dataclass(frozen=True)
class ReplicaPlan:
    """What a replica is made of: settings, what ``open_decider`` takes beside a checkpoint and λ,
    and where decisions are logged."""

    settings: Settings
    opening: Mapping[str, Any] = field(default_factory=dict)
    decision_log: str | None = None
    log_sync: bool = False
    log_level: str = "info"

    def service(self) -> Service:
        """A service of its own."""
        settings = self.settings
        record = None
        if self.decision_log is not None:
            kept = settings.log_states
            record = DecisionLog(self.decision_log, keep_states=kept, required=self.log_sync)
        return Service(settings, self.open, Traces.configured(settings.traces), record)

    def open(self, ref: str, lam: float | None) -> Decider:
        """Open a checkpoint."""
        return open_decider(ref, lam=lam, **self.opening)


class Replica:
    """Answers requests that a front sends, and follows the conductor.

    ``conductor`` is Ray Serve's handle of it, ``name`` what it knows this replica by.
    """

    # Ray Serve awaits it.
    async def __init__(  # type: ignore[misc]
        self, plan: ReplicaPlan, conductor: Any, name: str | None = None
    ) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        start_logging(level=plan.log_level)
        self._name = name or _own_name()
        self._conductor = conductor
        self._service = plan.service()
        self._service.reload = self._reload
        self._service.metrics_page = self._page
        self._app = create_app(self._service)
        self._service.scheduler.start()
        self._report, self._told = ReplicasReport(), 0.0
        self._ready: tuple[int, Loaded] | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        await self._follow(await self._beat())
        gc.collect()
        gc.freeze()
        self._beating = asyncio.create_task(self._beat_on())

    async def answer(self, scope: Mapping[str, Any], body: bytes) -> AsyncIterator[list[Any]]:
        """The ASGI messages that answer a request, as many at a time as there are."""
        messages: asyncio.Queue[Any] = asyncio.Queue()
        sent, gone = False, asyncio.Event()

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def run() -> None:
            try:
                await self._app(dict(scope), receive, messages.put)
            finally:
                await messages.put(None)

        work = asyncio.create_task(run())
        try:
            ended = False
            while not ended:
                found = [await messages.get()]
                while not messages.empty():
                    found.append(messages.get_nowait())
                ended = found[-1] is None
                if found := [each for each in found if each is not None]:
                    yield found
            await work
        finally:
            gone.set()

    async def check_health(self) -> None:
        """Raise where the replica no longer follows, so that another one takes its place."""
        if self._beating.done():
            raise RuntimeError("the replica no longer hears the conductor")

    async def __del__(self) -> None:
        """Stop once all requests are answered; Ray waits for them before."""
        self._beating.cancel()
        with suppress(Exception):  # The conductor may be gone already.
            await asyncio.wait_for(self._leave(), _LEAVE_SECONDS)
        await asyncio.to_thread(self._service.scheduler.close)
        await asyncio.to_thread(self._service.close_log)

    async def _leave(self) -> None:
        await self._conductor.leave.remote(self._name)

    async def _beat_on(self) -> None:
        lost = False
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self._follow(await self._beat())
                lost = False
            # Everything: the conductor may be starting anew; until then all stays as it is.
            except Exception as error:
                if not lost:
                    log("cannot follow the conductor", replica=self._name, error=repr(error))
                lost = True

    async def _beat(self) -> Orders:
        now = time.monotonic()
        if now - self._told > _METRICS_SECONDS:
            self._told = now
            self._report = replace(self._report, metrics=self._service.metrics.page())
        orders: Orders = await self._conductor.beat.remote(self._name, self._report)
        return orders

    async def _follow(self, orders: Orders) -> None:
        """Switch to what is to be served, make ready what is proposed, drop what is not."""
        serving, proposed, ready = orders.serving, orders.proposed, self._ready
        if self._report.serving != serving:
            if ready is not None and ready[0] == serving.number:
                self._service.checkpoints.switch(ready[1])
            else:
                await asyncio.to_thread(self._service.checkpoints.load, serving.ref, serving.lam)
            log("serving", replica=self._name, ref=serving.ref, lam=serving.lam)
            self._report = replace(self._report, serving=serving)
        if proposed is None:
            if self._preparing is None:
                self._ready = None
                self._report = replace(self._report, prepared=None, failed=None)
        elif self._preparing is None and not self._tried(proposed.number):
            self._preparing = asyncio.create_task(self._prepare(proposed))

    def _tried(self, number: int) -> bool:
        failed = self._report.failed
        return self._report.prepared == number or (failed is not None and failed[0] == number)

    async def _prepare(self, proposed: Serving) -> None:
        number, checkpoints = proposed.number, self._service.checkpoints
        try:
            loaded = await asyncio.to_thread(checkpoints.prepare, proposed.ref, proposed.lam)
        # Everything: whatever opening raises, every replica keeps what it has.
        except Exception as error:
            told = str(error) if isinstance(error, ThisThatError) else type(error).__name__
            self._report = replace(self._report, prepared=None, failed=(number, told))
        else:
            self._ready = number, loaded
            self._report = replace(self._report, prepared=number, failed=None)
        finally:
            self._preparing = None

    def _reload(self, ref: str, lam: float | None) -> Loaded:
        """Switch all replicas; called outside the event loop."""
        ended: Reloaded = self._outside(self._conductor.reload, ref, lam)
        if ended.failure is not None:
            raise CheckpointError(f"no replica switched: {ended.failure}")
        log("all replicas switched", replicas=ended.replicas, ref=ref, lam=lam)
        return self._service.checkpoints.current()

    def _page(self) -> bytes:
        """The metrics of all replicas; called outside the event loop."""
        pages: dict[str, bytes] = self._outside(self._conductor.pages)
        return joined({**pages, self._name: self._service.metrics.page()})

    def _outside(self, method: Any, *args: Any) -> Any:
        async def asked() -> Any:
            return await method.remote(*args)

        return asyncio.run_coroutine_threadsafe(asked(), self._loop).result()


def _own_name() -> str:
    from ray import serve

    return str(serve.get_replica_context().replica_id.unique_id)
