"""The real server over the path engine, on a free port, for tests that need a browser."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.path_engine import path_decider
from thisthat.serve.http.run import Server
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings


@contextmanager
def live_server(**settings: object) -> Iterator[str]:
    """The server's address while it runs."""
    service = Service(Settings(port=0, **settings), lambda ref, lam: path_decider())  # type: ignore[arg-type]
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
