"""Starting and stopping the server: uvicorn, loading in the background, draining on a signal."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from thisthat.errors import InvalidInputError
from thisthat.serve.formats.wire import source_as_json
from thisthat.serve.http.app import create_app
from thisthat.serve.http.protocol import bounded_protocol
from thisthat.serve.logs import log
from thisthat.serve.service import Service

_POLL = 0.02
_KEEP_ALIVE_SECONDS = 30
_OTHER_FILES = 200
_LAST_SECONDS = 1
"""For whatever is left after draining; then its connections are cut."""
SWITCH_SECONDS = 0.0005
"""The longest the engine's thread and the event loop wait for each other, instead of 5 ms."""


class Server(uvicorn.Server):
    """A uvicorn server that loads its checkpoint once it listens and drains before it stops."""

    def __init__(self, service: Service, after_loading: Callable[[], None] = lambda: None) -> None:
        """``after_loading`` is called once, before the server reports that it is ready."""
        settings = service.settings
        self._after_loading = after_loading
        self.service = service
        self.failed: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        super().__init__(
            uvicorn.Config(
                create_app(service),
                host=settings.host,
                port=settings.port,
                http=bounded_protocol(
                    settings,
                    service.memory,
                    lambda kind: service.metrics.errors.labels(kind).inc(),
                ),
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_LAST_SECONDS,
            )
        )

    @property
    def address(self) -> str:
        """The address the server listens on; port 0 was replaced by a free one."""
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """First signal: finish accepted requests, refuse new ones. Second: stop at once."""
        if self.service.draining or self._loop is None:
            super().handle_exit(sig, frame)
            return
        self.service.draining = True
        self._loop.call_soon_threadsafe(self._start_drain, sig)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Load the checkpoint in the background; until then only probes get an answer.

        That it listens is announced when it can answer, so a checkpoint that cannot be opened is
        the only thing that is heard of.
        """
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if not self.started:
            return
        log("loading", checkpoint=self.service.settings.checkpoint)
        threading.Thread(target=self._load, name="thisthat-load", daemon=True).start()

    def _load(self) -> None:
        settings = self.service.settings
        started = time.perf_counter()
        try:
            if self.service.log is not None:
                self.service.log.begin()
            loaded = self.service.checkpoints.load(settings.checkpoint, settings.lam)
        # Everything: this is a thread of its own, where an unhandled error would leave a
        # server that listens and is never ready. ``run_server`` raises it again.
        except BaseException as error:
            self.failed = error
            self.should_exit = True
            return
        if self.service.trials is not None:
            self.service.trials.start()
        self._after_loading()
        log("listening", address=self.address)
        others = self.service.checkpoints.others()
        also = {name: source_as_json(each.main.source) for name, each in others.items()}
        beside: dict[str, Any] = {"also": also} if also else {}
        log(
            "ready",
            **source_as_json(loaded.main.source),
            engine=loaded.main.engine.description,
            seconds=round(time.perf_counter() - started, 2),
            **beside,
        )

    def _start_drain(self, sig: int) -> None:
        log("draining", signal=signal.Signals(sig).name, in_flight=self.service.in_flight)
        self._drain_task = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        until = time.monotonic() + self.service.settings.drain_seconds
        while self.service.in_flight and time.monotonic() < until:
            await asyncio.sleep(_POLL)
        self.should_exit = True


def run_server(service: Service) -> None:
    """Serve until told to stop. Raises InvalidInputError for an address it cannot have.

    Raises what loading the checkpoint raised, too.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    _allow_files(service.settings.connections + _OTHER_FILES)
    server = Server(service, _freeze_what_is_there)
    try:
        server.run()
    except SystemExit:
        if server.started or server.lifespan.should_exit:
            raise
        settings = service.settings
        raise InvalidInputError(
            "--host, --port",
            f"cannot listen on {settings.host}, port {settings.port}, for the reason just logged; "
            "--port takes another one, 0 any that is free",
        ) from None
    if server.failed is not None:
        raise server.failed


def _allow_files(wanted: int) -> None:
    """Let the process open as many files as it may have connections, where the system allows it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _freeze_what_is_there() -> None:
    """Exempt start-up objects from garbage collection, which would stop every thread."""
    gc.collect()
    gc.freeze()
