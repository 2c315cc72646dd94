"""The real server over the path engine, on a free port, for tests that need a browser."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tests.path_engine import PathEngine, path_decider
from thisthat.decide.decider import Decider
from thisthat.engine.rows import Row, RowResult
from thisthat.questions import Source
from thisthat.serve.http.run import Server
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings


class TurnedEngine(PathEngine):
    """Gives every slot's logits in reverse: other answers to the same prompts."""

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        return [
            replace(result, logits=tuple(logits[::-1] for logits in result.logits))
            for result in super().run(rows)
        ]


def opened(ref: str, lam: float | None) -> Decider:
    """The path decider, which as another checkpoint or at another λ answers otherwise."""
    decider = path_decider()
    other = ref != "default"
    if other or lam not in (None, decider.source.lam):
        decider.engine = TurnedEngine()
        lam = decider.source.lam if lam is None else lam
        decider.source = Source(ref if other else "paths", "1", lam)
    return decider


@contextmanager
def live_server(**settings: object) -> Iterator[str]:
    """The server's address while it runs."""
    with live_service(Service(Settings(port=0, **settings), opened)) as address:  # type: ignore[arg-type]
        yield address


@contextmanager
def live_service(service: Service) -> Iterator[str]:
    """A service's address while a server runs around it."""
    server = Server(service)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not (server.started and service.checkpoints.loaded):
            if not thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.01)
        yield server.address
    finally:
        server.should_exit = True
        thread.join()
