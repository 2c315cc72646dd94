"""A server for tests: the path engine behind the real app, in this process or on loopback."""

import asyncio
import io
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import httpx

from tests.path_engine import PathEngine, path_decider
from thisthat.decide.decider import Decider
from thisthat.engine.rows import Row, RowResult
from thisthat.errors import CheckpointError
from thisthat.questions import Source
from thisthat.serve.http.app import create_app
from thisthat.serve.http.run import Server
from thisthat.serve.logs import LOGGER, OTHERS, start_logging
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

T = TypeVar("T")

JSON = {"content-type": "application/json"}

QUESTIONS: dict[str, Any] = {
    "lost": {"type": "noul", "instructions": "Is a parcel lost?", "criteria": {"true": "gone"}},
    "queue": {"type": "choice", "criteria": {"billing": None, "shipping": {"what": ["parcels"]}}},
    "team": {"type": "choice", "instructions": ["Which", 1], "criteria": ["red", "green", "blue"]},
    "anger": {"type": "score", "criteria": ["calm", "annoyed", "furious"]},
    "only": {"type": "choice", "criteria": ["this one"]},
}
REQUEST: dict[str, Any] = {
    "model": "default",
    "state": {"text": "The parcel never came.", "days": 12},
    "questions": QUESTIONS,
}


class GatedEngine(PathEngine):
    """A path engine that waits for the test before every call."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Semaphore(0)
        self.gate = threading.Semaphore(0)
        self.rows: list[list[Row]] = []

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self.rows.append(list(rows))
        self.entered.release()
        assert self.gate.acquire(timeout=20)
        return super().run(rows)

    def open(self) -> None:
        """Let everything through from now on."""
        self.gate.release(100_000)


def opened(ref: str, lam: float | None) -> Decider:
    """What stands in for ``open_decider``: any name opens but "broken"."""
    if ref == "broken":
        raise CheckpointError("broken: the tensor x is missing")
    decider = path_decider()
    decider.source = Source("paths" if ref == "default" else ref, "1", 0.5 if lam is None else lam)
    return decider


def service_for(
    open_decider: Callable[[str, float | None], Decider] = opened,
    load: bool = True,
    **settings: Any,
) -> Service:
    service = Service(Settings(**{"port": 0, "allowed_hosts": ("*",), **settings}), open_decider)
    if load:
        service.checkpoints.load("default", None)
    return service


def gated_service(**settings: Any) -> tuple[Service, GatedEngine]:
    """A service whose engine waits, once it has been warmed up."""
    service = service_for(**settings)
    engine = GatedEngine()
    service.checkpoints.main().engine = engine
    return service, engine


@asynccontextmanager
async def in_process(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """A client that calls the app directly."""
    service.scheduler.start()
    transport = httpx.ASGITransport(app=create_app(service), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        try:
            yield client
        finally:
            await asyncio.to_thread(service.scheduler.close)


@contextmanager
def on_loopback(service: Service) -> Iterator[str]:
    """A real uvicorn in a thread of its own; gives its address."""
    server = Server(service)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not (server.started and service.checkpoints.loaded) and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield server.address
    finally:
        server.should_exit = True
        thread.join(20)


@contextmanager
def held(**settings: Any) -> Iterator[tuple[str, Service, GatedEngine]]:
    """A server whose engine waits for the test."""
    service, engine = gated_service(**settings)
    # The server loads on its own; keep the gated decider it would replace.
    decider = service.checkpoints.main()
    service.checkpoints._open = lambda ref, lam: decider  # type: ignore[method-assign]
    service.checkpoints.warmed = lambda given: given  # type: ignore[method-assign]
    with on_loopback(service) as address:
        try:
            yield address, service, engine
        finally:
            engine.open()


def until(condition: Callable[[], Any]) -> None:
    """Wait for it. Raises AssertionError when it does not come."""
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


@contextmanager
def log_lines() -> Iterator[list[dict[str, Any]]]:
    """The log lines of what happens inside, filled in at the end."""
    stream = io.StringIO()
    lines: list[dict[str, Any]] = []
    loggers = [logging.getLogger(name) for name in (LOGGER, *OTHERS)]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    start_logging(stream, "debug")
    try:
        yield lines
    finally:
        for each, (handlers, propagate, level) in zip(loggers, before, strict=True):
            each.handlers, each.propagate = handlers, propagate
            each.setLevel(level)
        lines += [json.loads(line) for line in stream.getvalue().splitlines()]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of its own, whatever loops this thread already has."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def post(service: Service, path: str, body: Any = None, **more: Any) -> httpx.Response:
    """One request to the app. ``body`` is sent as JSON unless ``content`` is given."""

    async def send() -> httpx.Response:
        async with in_process(service) as client:
            if "content" in more:
                headers = {**JSON, **more.pop("headers", {})}
                return await client.post(path, headers=headers, **more)
            return await client.post(path, json=body, **more)

    return run(send())


def get(service: Service, path: str, **more: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        async with in_process(service) as client:
            return await client.get(path, **more)

    return run(send())
