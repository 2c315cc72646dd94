from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import thisthat.decide.opening
from tests.path_engine import path_decider
from tests.remote.test_connecting import Clock
from tests.testing.samples import FILE
from thisthat import InvalidInputError
from thisthat.errors import ServerError
from thisthat.questions_json import questions_from_json
from thisthat.serve.formats.systemone import render
from thisthat.testing.answering import open_answerer
from thisthat.testing.cases import Case, read_cases


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(FILE))
    return read_cases(path)


class Handler(BaseHTTPRequestHandler):
    """Answers as the real server renders, or as ``replies`` says first."""

    replies: list[tuple[int, bytes]]
    seen: list[dict[str, Any]]
    keys: list[str | None]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(body)
        self.keys.append(self.headers["Authorization"])
        status, text = self.replies.pop() if self.replies else (200, self._answer(body))
        self.send_response(status)
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(text)

    def _answer(self, body: dict[str, Any]) -> bytes:
        if self.path != "/v1/systemone":
            return b"{}"
        questions = questions_from_json(body["questions"])
        return json.dumps(render(path_decider().decide(body["state"], questions))).encode()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[Handler]]]:
    handler = type("Fresh", (Handler,), {"replies": [], "seen": [], "keys": []})
    running = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"systemone+http://127.0.0.1:{running.server_port}", handler
    running.shutdown()
    running.server_close()
    thread.join()


def test_a_server_and_the_library_give_the_same_distributions(
    cases: list[Case], server: tuple[str, type[Handler]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thisthat.decide.opening, "open_decider", lambda *_, **__: path_decider())
    url, handler = server
    library = open_answerer("default")
    assert library.label == "paths 1, λ = 0.5"
    served = open_answerer(url + "/v1/", key="secret")
    for mine, other in zip(library.answer(cases), served.answer(cases), strict=True):
        assert list(mine) == list(other)
        for name in mine:
            assert list(mine[name]) == list(other[name])
            assert other[name] == pytest.approx(dict(mine[name]), abs=1e-12)
    assert set(handler.keys) == {"Bearer secret"}
    kinds = {spec["type"] for body in handler.seen for spec in body["questions"].values()}
    assert kinds == {"noul", "choice", "score"}
    assert "secret" not in served.label


def test_a_busy_server_is_asked_again(cases: list[Case], server: tuple[str, type[Handler]]) -> None:
    url, handler = server
    handler.replies += [(503, b""), (429, b"")]
    assert len(open_answerer(url).answer(cases)) == 2


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((422, b'{"detail": "no such model"}'), "HTTP 422 for case '.*': .*no such model"),
        ((200, b"<html>"), "no answer to"),
        ((200, b'{"answers": {}}'), "unexpected shape"),
        ((200, b"[]"), "unexpected shape"),
    ],
)
def test_what_a_server_does_wrong_is_told(
    cases: list[Case], server: tuple[str, type[Handler]], reply: tuple[int, bytes], message: str
) -> None:
    url, handler = server
    handler.replies += [reply] * 2
    with pytest.raises(ServerError, match=message):
        open_answerer(url).answer(cases)


def test_a_server_that_stays_busy_and_one_that_is_not_there(
    cases: list[Case], server: tuple[str, type[Handler]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, handler = server
    handler.replies += [(503, b"full")] * 500
    monkeypatch.setattr("thisthat.remote.server.time", Clock())
    with pytest.raises(ServerError, match="HTTP 503"):
        open_answerer(url).answer(cases)
    with pytest.raises(ServerError, match="no answer"):
        open_answerer("systemone+http://127.0.0.1:9").answer(cases)


def test_bad_references_are_named(cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="is not an http or https address"):
        open_answerer("systemone+ftp://x")
    with pytest.raises(InvalidInputError, match=r"is a server; write systemone\+http://x:8000"):
        open_answerer("http://x:8000")
    with pytest.raises(InvalidInputError, match="lambda: is for a checkpoint"):
        open_answerer("systemone+http://x", lam=0.5)
    monkeypatch.setattr(thisthat.decide.opening, "open_decider", lambda *_, **__: path_decider())
    long = Case("long", "x" * 5000, cases[0].questions, cases[0].specs, cases[0].expected)
    with pytest.raises(InvalidInputError, match=r"cases\[1\].state: 5000 tokens"):
        open_answerer("default").answer([cases[0], long])
    with pytest.raises(InvalidInputError, match=r"cases\[0\].state: 5000 tokens"):
        open_answerer("default").answer([long])
