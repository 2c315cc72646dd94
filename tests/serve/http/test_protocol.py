"""The protocol's bounds on a real uvicorn: trailers, pipelines, connections, early answers."""

import contextlib
import json
import socket
import time

import httpx
import pytest

from tests.serve.http.test_live import connect, everything, raw_request
from tests.serve.support import JSON, REQUEST, held, on_loopback, service_for, until

BODY = json.dumps(REQUEST).encode()
CHUNKED = (
    b"POST /v1/systemone HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n"
)


def chunked(trailers: bytes, more: bytes = b"") -> bytes:
    return CHUNKED + more + b"\r\n%x\r\n%b\r\n0\r\n%b\r\n" % (len(BODY), BODY, trailers)


def answers(client: socket.socket, count: int) -> list[httpx.Response]:
    """So many responses from one connection."""
    found: list[httpx.Response] = []
    data = b""
    while len(found) < count:
        piece = client.recv(65_536)
        assert piece, data
        data += piece
        while b"\r\n\r\n" in data:
            head, _, rest = data.partition(b"\r\n\r\n")
            status, *lines = head.decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            size = int(headers["content-length"])
            if len(rest) < size:
                break
            found.append(
                httpx.Response(int(status.split()[1]), headers=headers, content=rest[:size])
            )
            data = rest[size:]
    return found


def test_trailers_never_become_headers() -> None:
    with on_loopback(service_for(keys=("one",))) as address, connect(address) as client:
        client.sendall(CHUNKED + b"\r\n%x\r\n%b\r\n" % (len(BODY), BODY))
        client.sendall(b"0\r\nauthorization: Bearer one\r\n\r\n")
        assert answers(client, 1)[0].status_code == 401
        client.sendall(chunked(b"authorization: Bearer two\r\n", b"authorization: Bearer one\r\n"))
        assert answers(client, 1)[0].status_code == 200


@pytest.mark.parametrize("pause", [0.0, 0.2])
def test_long_trailers_are_431(pause: float) -> None:
    with held(header_bytes=2_000) as (address, _, engine), connect(address) as client:
        engine.open()
        client.sendall(CHUNKED + b"\r\n%x\r\n%b\r\n0\r\n" % (len(BODY), BODY))
        time.sleep(pause)
        with contextlib.suppress(ConnectionError):
            for _ in range(20):
                client.sendall(b"x-a: v\r\n" * 500)
        with contextlib.suppress(ConnectionError):
            answer = everything(client)
            assert b" 431 " in answer.splitlines()[0]
            assert b"the trailers have more than 2000 bytes" in answer


def test_requests_sent_early_are_answered_in_order() -> None:
    bodies = [json.dumps({**REQUEST, "state": f"{n} " + "x" * 900}).encode() for n in range(30)]
    with on_loopback(service_for()) as address, connect(address) as client:
        client.sendall(b"".join(raw_request(body) for body in bodies))
        got = answers(client, 30)
        alone = [
            httpx.post(f"{address}/v1/systemone", content=body, headers=JSON) for body in bodies
        ]
    assert [each.json()["answers"] for each in got] == [each.json()["answers"] for each in alone]


def test_what_is_sent_behind_a_running_request_is_bounded() -> None:
    with held() as (address, service, engine), connect(address) as client:
        client.sendall(raw_request(BODY))
        engine.entered.acquire()
        before = service.memory.used
        for _ in range(10):
            client.sendall(b"GET /healthz HTTP/1.1\r\nx-a: " + b"y" * 60_000)
            time.sleep(0.02)
        assert service.memory.used - before < 100_000
        engine.open()
        [answer] = answers(client, 1)
        assert answer.status_code == 200
        assert answer.headers["connection"] == "close"
        with contextlib.suppress(ConnectionError):
            assert everything(client) == b""


def test_garbage_behind_a_running_request_does_not_spoil_its_answer() -> None:
    with held() as (address, _, engine), connect(address) as client:
        client.sendall(raw_request(BODY) + b"this is no request\r\n\r\n")
        engine.entered.acquire()
        engine.open()
        [answer] = answers(client, 1)
        assert answer.status_code == 200
        with contextlib.suppress(ConnectionError):
            assert b"HTTP/1.1 200" not in everything(client)


def test_a_connection_lives_on_after_an_early_refusal() -> None:
    with on_loopback(service_for(keys=("one",))) as address, connect(address) as client:
        client.sendall(raw_request(b"{" + b" " * 5_000, length=200_001))
        assert answers(client, 1)[0].status_code == 401
        client.sendall(b" " * 195_000)
        client.sendall(chunked(b"", b"authorization: Bearer one\r\n"))
        assert answers(client, 1)[0].status_code == 200


def test_a_refused_body_that_never_ends_loses_its_connection() -> None:
    with (
        on_loopback(service_for(keys=("one",), body_bytes=100_000)) as address,
        connect(address) as client,
    ):
        client.sendall(CHUNKED + b"\r\n")
        assert answers(client, 1)[0].status_code == 401
        flood = (b"400\r\n" + b" " * 1024 + b"\r\n") * 20_000
        with pytest.raises(ConnectionError):
            client.sendall(flood)


def test_the_longest_silent_connection_makes_room() -> None:
    with on_loopback(service_for(connections=5)) as address, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(address)) for _ in range(5)]
        time.sleep(0.1)
        assert httpx.get(f"{address}/healthz").status_code == 200
        with contextlib.suppress(ConnectionError):
            assert silent[0].recv(10) == b""
        silent[4].sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert answers(silent[4], 1)[0].status_code == 200


def test_without_room_a_connection_is_503() -> None:
    with held(connections=2) as (address, service, engine), contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(connect(address)).sendall(raw_request(BODY))
        until(lambda: service.in_flight == 2)
        with connect(address) as client:
            answer = everything(client)
        assert b" 503 " in answer.splitlines()[0]
        assert b"retry-after-ms: 1000" in answer
        engine.open()


def test_nothing_is_held_once_everybody_is_gone() -> None:
    service = service_for()
    with on_loopback(service) as address:
        with connect(address) as client:
            client.sendall(raw_request(b" " * 50_000, length=100_000))
            until(lambda: service.memory.used > 60_000)
        states = {"states": ["x"] * 50, "questions": {"q": "Is it?"}}
        assert httpx.post(f"{address}/v1/decide", json=states).status_code == 200
        large = {**REQUEST, "state": ["y" * 50] * 400}
        assert httpx.post(f"{address}/v1/systemone", json=large).status_code == 422
        until(lambda: service.memory.used == 0)
