from __future__ import annotations

from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from thisthat.errors import InvalidInputError, ServerError
from thisthat.remote import server
from thisthat.remote.server import RemoteServer


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "5"}, 5),
        ({"retry-after": "5", "retry-after-ms": "40"}, 0.04),
        ({"retry-after": "900"}, 30),
        ({"retry-after": "-1"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "tomorrow"}, 0.5),
        ({}, 0.5),
    ],
)
def test_waits_are_those_asked_for_and_bounded(headers: dict[str, str], seconds: float) -> None:
    sent = Message()
    for name, value in headers.items():
        sent[name] = value
    assert server.wait(sent, 1) == seconds


def test_an_address_is_the_root() -> None:
    roots = {RemoteServer(f"http://x:1{end}").root for end in ("", "/", "/v1", "/v1/")}
    assert roots == {"http://x:1"}


@pytest.mark.parametrize(
    "url", ["x:1", "ftp://x", "http://", "http://[x", "http://x:y", "http://x\n"]
)
def test_what_is_no_address_is_named(url: str) -> None:
    with pytest.raises(InvalidInputError, match=r"server: .* is not an http or https address"):
        RemoteServer(url)


def test_an_address_without_its_scheme_is_told_how_it_is_written() -> None:
    with pytest.raises(InvalidInputError, match=r"'x:1' is not .* address; write http://x:1"):
        RemoteServer("x:1")


def test_bad_settings_are_named() -> None:
    with pytest.raises(InvalidInputError, match="timeout: is 0; it must be a positive number"):
        RemoteServer("http://x:1", timeout=0)


@pytest.mark.parametrize("key", ["secret\n", "secret\u2192"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InvalidInputError, match="key: has characters") as caught:
        RemoteServer("http://x:1", key)
    assert "secret" not in str(caught.value)


def test_an_address_where_nothing_listens_is_asked_about() -> None:
    with pytest.raises(ServerError, match=r"refused; is a server running there \(thisthat serve\)"):
        RemoteServer("http://127.0.0.1:9").post("/v1/decide", {}, "1 state")


def test_a_key_is_not_taken_to_where_a_server_redirects() -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("location", "/other")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as redirecting:
        Thread(target=redirecting.serve_forever, daemon=True).start()
        there = RemoteServer(f"http://127.0.0.1:{redirecting.server_port}", "secret")
        with pytest.raises(ServerError, match="HTTP 302"):
            there.post("/v1/decide", {}, "a state")
        redirecting.shutdown()
    assert asked == ["/v1/decide"]
