"""The site, built once for all its tests, without a network and with the extra `docs` alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser

from tests.browser import chromium

ROOT = Path(__file__).parents[2]

# Whatever asks for a host by name fails, so that the site cannot need one, nor what `docs` lacks.
NO_NETWORK = """
import socket, sys
lacking = "torch transformers pyarrow pandas polars duckdb matplotlib sklearn ray mcp"
sys.modules.update(dict.fromkeys(lacking.split()))
def refuse(*given, **named):
    raise OSError(f"the site needs no network: {given}")
socket.socket.connect = socket.getaddrinfo = refuse
"""


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text(NO_NETWORK)
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "site" / "build.py"), str(folder / "site")],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "site"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="package")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started
