"""Clients that break the protocol: endless trailers and heads, disconnects, slow readers."""

import contextlib
import json
import time

from tests.attacks.conftest import MEBIBYTE, Target

DECIDE = {"states": [f"state {n}" for n in range(400)], "questions": {"q": "Is it?"}}
HOST = b"host: localhost\r\ncontent-type: application/json\r\n"


def decide(states: int = 400, **more: object) -> bytes:
    body = json.dumps({**DECIDE, "states": DECIDE["states"][:states], **more}).encode()
    head = b"POST /v1/decide HTTP/1.1\r\n" + HOST
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


def flood(target: Target, start: bytes, line: bytes, pause: float = 0.0) -> int:
    """How many bytes the server takes of a line that never ends, in two seconds."""
    sent = 0
    piece = line * (65_536 // len(line) + 1)
    until = time.monotonic() + 2
    with target.connect() as client, contextlib.suppress(OSError):
        client.settimeout(0.5)
        client.sendall(start)
        time.sleep(pause)
        while time.monotonic() < until:
            sent += client.send(piece)
    return sent


def test_trailers_have_an_end(target: Target) -> None:
    start = b"POST /v1/systemone HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n"
    with target.watched():
        assert flood(target, start + b"2\r\n{}\r\n0\r\n", b"x-a: v\r\n", 0.3) < 8 * MEBIBYTE
        assert flood(target, start + b"2\r\n{}\r\n0\r\nx-a: ", b"v" * 64, 0.3) < 8 * MEBIBYTE
        assert flood(target, start + b"2;x=", b"v" * 64, 0.3) < 8 * MEBIBYTE


def test_a_head_behind_a_running_request_has_an_end(target: Target) -> None:
    with target.watched():
        for line in (b"x-a: v\r\n", b"v" * 64, b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"):
            start = decide() + b"GET /healthz HTTP/1.1\r\n"
            assert flood(target, start, line, 0.2) < 8 * MEBIBYTE


def test_tiny_chunks_do_not_stall(target: Target) -> None:
    start = b"POST /v1/systemone HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n"
    with target.watched():
        assert flood(target, start, b"1\r\n \r\n") < 8 * MEBIBYTE


def test_clients_that_leave_take_their_work_along(target: Target) -> None:
    pipelined = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    clients = [target.connect() for _ in range(16)]
    with target.watched():
        for client in clients:
            client.sendall(decide() + pipelined)
        until = time.monotonic() + 10
        while target.metric("thisthat_requests_in_flight") < 16 and time.monotonic() < until:
            time.sleep(0.02)
        for client in clients:
            client.close()
        time.sleep(2)
    # An honest client may be asking at this moment.
    assert target.metric("thisthat_requests_in_flight") == 0
    assert target.post("/v1/decide", json.dumps({**DECIDE, "states": ["x"]}).encode())[0] == 200


def test_clients_that_do_not_read_are_bounded(target: Target) -> None:
    """Sixteen streams of answers a hundred times as long as their questions."""
    names = [f"{n:03}" + "o" * 60 for n in range(60)]
    many = {str(n): {"type": "choice", "criteria": names} for n in range(10)}
    clients = [target.connect() for _ in range(16)]
    try:
        with target.watched():
            for client in clients:
                client.sendall(decide(states=100, questions=many))
            time.sleep(1.5)
    finally:
        for client in clients:
            client.close()
