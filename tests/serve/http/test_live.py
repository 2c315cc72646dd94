"""A real uvicorn on loopback: slow clients, clients that leave, overload, fairness, draining."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.path_engine import path_decider
from tests.serve.support import (
    QUESTIONS,
    REQUEST,
    held,
    log_lines,
    on_loopback,
    run,
    service_for,
    until,
)
from thisthat.questions_json import questions_from_json
from thisthat.serve.http.run import Server


def connect(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20)


def raw_request(body: bytes, length: int | None = None, path: str = "/v1/systemone") -> bytes:
    size = len(body) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n"
    return (head + "content-type: application/json\r\n\r\n").encode() + body


def everything(client: socket.socket) -> bytes:
    """All bytes until the server closes the connection."""
    pieces = []
    while piece := client.recv(65_536):
        pieces.append(piece)
    return b"".join(pieces)


def test_a_body_that_does_not_come_is_408() -> None:
    with on_loopback(service_for(body_seconds=0.2)) as address, connect(address) as client:
        client.sendall(raw_request(b'{"model"', length=1000))
        answer = everything(client)
        assert b" 408 " in answer.splitlines()[0]
        assert b"within 0.2 seconds" in answer


@pytest.mark.parametrize("sent", [b"", b"POST /v1/systemone HTTP/1.1\r\nhost: x\r\n"])
def test_headers_that_do_not_come_close_the_connection(sent: bytes) -> None:
    with on_loopback(service_for(header_seconds=0.2)) as address, connect(address) as client:
        client.sendall(sent)
        assert client.recv(65_536) == b""


def test_slow_headers_after_a_finished_request_close_the_connection_too() -> None:
    with on_loopback(service_for(header_seconds=0.3)) as address, connect(address) as client:
        client.sendall(raw_request(json.dumps(REQUEST).encode()))
        first = client.recv(65_536)
        assert b" 200 " in first.splitlines()[0]
        client.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert b"HTTP/1.1" not in everything(client)


def test_a_flood_of_header_bytes_is_cut_off() -> None:
    with on_loopback(service_for()) as address, connect(address) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            for number in range(20_000):
                client.sendall(f"x-{number}: {'y' * 50}\r\n".encode())
        with contextlib.suppress(ConnectionError):
            assert b" 431 " in client.recv(65_536).splitlines()[0]
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_headers_without_an_end_are_a_431_that_names_the_limit() -> None:
    with on_loopback(service_for(header_bytes=2_000)) as address, connect(address) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n" + b"x-a: y\r\n" * 100)
        client.sendall(b"x-b: z\r\n" * 200)
        answer = everything(client)
        assert b" 431 " in answer.splitlines()[0]
        assert b"more than 2000 bytes" in answer


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/", "/openapi.json"])
def test_probes_that_ask_for_headers_alone_get_them(path: str) -> None:
    with on_loopback(service_for()) as address, connect(address) as client:
        client.sendall(f"HEAD {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        head, _, body = everything(client).partition(b"\r\n\r\n")
        assert b" 200 " in head.splitlines()[0]
        assert body == b""


def test_what_is_no_http_is_refused_like_all_else() -> None:
    with on_loopback(service_for()) as address:
        with connect(address) as client:
            client.sendall(b"this is no request\r\n\r\n")
            head, _, body = everything(client).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        lines = head.lower().splitlines()
        assert any(line.startswith(b"x-request-id: ") for line in lines)
        assert b"x-content-type-options: nosniff" in lines
        assert json.loads(body)["code"] == "bad_http"
        assert 'thisthat_errors_total{kind="bad_http"} 1.0' in httpx.get(f"{address}/metrics").text


def test_what_is_to_be_done_after_loading_is_done_once() -> None:
    service = service_for(load=False)
    seen: list[bool] = []
    server = Server(service, lambda: seen.append(service.checkpoints.loaded is not None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: seen)
    server.should_exit = True
    thread.join(20)
    assert seen == [True]


def test_a_large_body_is_refused_before_it_is_sent() -> None:
    with on_loopback(service_for()) as address, connect(address) as client:
        client.sendall(raw_request(b"", length=100_000_000))
        assert b" 413 " in client.recv(65_536).splitlines()[0]


def test_a_client_that_leaves_frees_its_place() -> None:
    with held() as (address, service, engine):
        with ThreadPoolExecutor(2) as threads:
            first = threads.submit(httpx.post, f"{address}/v1/systemone", json=REQUEST, timeout=20)
            engine.entered.acquire()
            with connect(address) as leaving:
                leaving.sendall(raw_request(json.dumps(REQUEST).encode()))
                until(lambda: service.scheduler.waiting_tokens > 0)
            until(lambda: service.scheduler.waiting_tokens == 0)
            engine.open()
            assert first.result().status_code == 200
        until(lambda: service.in_flight == 0)
        assert len(engine.rows) == 1
        page = httpx.get(f"{address}/metrics").text
        assert 'thisthat_errors_total{kind="client_gone"} 1.0' in page


def test_a_stream_whose_client_leaves_stops() -> None:
    body = {"states": [f"state {n}" for n in range(2000)], "questions": {"q": "Is it?"}}
    with held() as (address, service, engine):
        with httpx.stream("POST", f"{address}/v1/decide", json=body, timeout=20) as stream:
            engine.entered.acquire()
            engine.gate.release(3)
            next(stream.iter_lines())
        engine.gate.release(20)
        until(lambda: service.streams == 0)
        assert sum(len(rows) for rows in engine.rows) < 1000
        engine.open()
        page = httpx.get(f"{address}/metrics").text
        assert 'thisthat_errors_total{kind="client_gone"} 1.0' in page


def test_a_question_is_answered_while_ten_thousand_states_are_under_way() -> None:
    states = [f"state {n}" for n in range(10_000)]
    body = {"states": states, "questions": {"q": "Is it?"}}
    with (
        held() as (address, service, engine),
        ThreadPoolExecutor(1) as threads,
        httpx.stream("POST", f"{address}/v1/decide", json=body, timeout=60) as stream,
    ):
        lines = stream.iter_lines()
        engine.entered.acquire()
        single = threads.submit(httpx.post, f"{address}/v1/systemone", json=REQUEST, timeout=20)
        until(lambda: service.scheduler.waiting_tokens > 0)  # those of streams do not count
        before = len(engine.rows)
        engine.gate.release()
        engine.entered.acquire()
        branches = [len(row.branches) for row in engine.rows[before]]
        assert max(branches) > 1, "the question is not in the next batch"
        engine.open()
        assert single.result().status_code == 200
        library = path_decider()
        for number, line in enumerate(lines):
            answer = json.loads(line)
            assert answer["index"] == number
            if number % 500 == 0:
                expected = library.ask(states[number], "Is it?")
                assert answer["answers"]["q"]["probabilities"] == expected.probabilities
        assert number == 9_999


def test_more_than_the_queue_holds_is_told_to_retry() -> None:
    with held(queue_tokens=2_000, batch_tokens=2_000) as (address, _service, engine):
        with ThreadPoolExecutor(20) as threads:
            first = threads.submit(httpx.post, f"{address}/v1/systemone", json=REQUEST, timeout=20)
            engine.entered.acquire()
            more = [
                threads.submit(httpx.post, f"{address}/v1/systemone", json=REQUEST, timeout=20)
                for _ in range(19)
            ]
            until(lambda: sum(each.done() for each in more) >= 10)
            assert 0 < _gauge(address, "thisthat_unanswered_tokens") <= 2_000
            engine.open()
            answers = [each.result() for each in [first, *more]]
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) == {200, 503}
        for answer in answers:
            if answer.status_code == 503:
                assert answer.json()["code"] == "overloaded"
                assert int(answer.headers["retry-after-ms"]) >= 50
                assert int(answer.headers["retry-after"]) >= 1
        assert _gauge(address, "thisthat_unanswered_tokens") == 0


def test_no_answer_is_lost_or_swapped_among_many_clients() -> None:
    library = path_decider()
    questions = questions_from_json(QUESTIONS)

    async def ask(client: httpx.AsyncClient, number: int) -> None:
        state = f"state {number} {'x' * (number * 13 % 90)}"
        answered = await client.post("/v1/systemone", json={**REQUEST, "state": state})
        assert answered.status_code == 200, answered.text
        expected = library.decide(state, questions)
        got = answered.json()["answers"]
        assert got["lost"]["noul"] == expected["lost"].probabilities["yes"]
        assert got["team"]["probabilities"] == expected["team"].probabilities

    async def clients(address: str) -> None:
        async with httpx.AsyncClient(base_url=address, timeout=600) as client:
            await asyncio.gather(*(ask(client, number) for number in range(120)))

    # On a machine that is busy with other things nobody may be turned away for that.
    patient = {f"{what}_seconds": 600.0 for what in ("deadline", "body", "header", "send")}
    with on_loopback(service_for(queue_tokens=1_000_000, **patient)) as address:
        run(clients(address))


SCRIPT = """
import sys
from tests.serve.support import gated_service
from thisthat.serve.logs import start_logging
from thisthat.serve.http.run import run_server

start_logging()
service, engine = gated_service(drain_seconds=20)
decider = service.checkpoints.main()
service.checkpoints._open = lambda ref, lam: decider
service.checkpoints.warmed = lambda given: given
import threading
def release():
    sys.stdin.readline()
    engine.open()
threading.Thread(target=release, daemon=True).start()
run_server(service)
"""


def test_sigterm_finishes_what_was_accepted_and_refuses_the_rest() -> None:
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
    )
    assert process.stderr is not None
    assert process.stdin is not None
    try:
        address = ""
        for line in process.stderr:
            event = json.loads(line)
            address = event.get("address", address)
            if event["message"] == "ready":
                break
        with ThreadPoolExecutor(1) as threads:
            accepted = threads.submit(
                httpx.post, f"{address}/v1/systemone", json=REQUEST, timeout=20
            )
            until(lambda: _gauge(address, "thisthat_requests_in_flight") == 1)
            process.send_signal(signal.SIGTERM)
            until(lambda: httpx.get(f"{address}/readyz").status_code == 503)
            refused = httpx.post(f"{address}/v1/systemone", json=REQUEST)
            assert refused.status_code == 503
            assert refused.json()["code"] == "draining"
            assert refused.headers["retry-after-ms"] == "1000"
            process.stdin.write("go\n")
            process.stdin.flush()
            assert accepted.result().status_code == 200
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


LONG_LINES = {
    "states": [f"state {n}" for n in range(8000)],
    "questions": {"q": {"type": "choice", "criteria": [f"{n} {'x' * 20}" for n in range(60)]}},
}
"""Asks for more bytes than the buffers between a server and a client hold."""


@contextlib.contextmanager
def never_reading(address: str) -> Iterator[socket.socket]:
    """A client that asks for a long stream and takes nothing of it."""
    parts = urlsplit(address)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((parts.hostname, parts.port))
        client.sendall(raw_request(json.dumps(LONG_LINES).encode(), path="/v1/decide"))
        yield client


def test_a_client_that_never_reads_does_not_make_draining_longer() -> None:
    seconds = 4.0
    service = service_for(drain_seconds=seconds)
    server = Server(service)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started and service.checkpoints.loaded)
    with never_reading(server.address):
        until(lambda: service.streams == 1)
        started = time.monotonic()
        server.handle_exit(signal.SIGTERM, None)
        thread.join(20)
        assert not thread.is_alive()
        assert time.monotonic() - started < 2 * seconds
    assert service.streams == service.in_flight == 0


def test_a_client_that_never_reads_loses_its_connection_and_its_place() -> None:
    with log_lines() as lines, on_loopback(service := service_for(send_seconds=0.3)) as address:
        with never_reading(address) as client:
            until(lambda: service.streams == 1)
            until(lambda: service.streams == service.in_flight == 0)
            # The end, or a reset: not a wait for what never comes.
            with contextlib.suppress(ConnectionError):
                everything(client)
        page = httpx.get(f"{address}/metrics").text
        assert 'thisthat_errors_total{kind="stopped_reading"} 1.0' in page
    (line,) = [line for line in lines if line.get("path") == "/v1/decide"]
    assert (line["status"], line["error"]) == (499, "stopped_reading")


def test_a_client_that_reads_slowly_keeps_its_connection() -> None:
    with (
        on_loopback(service := service_for(send_seconds=1.0)) as address,
        never_reading(address) as client,
    ):
        enough = time.monotonic() + 2.5
        while time.monotonic() < enough:
            assert client.recv(65_536)
            time.sleep(0.02)
        assert service.streams == 1


def _gauge(address: str, name: str) -> int:
    page = httpx.get(f"{address}/metrics").text
    found = re.search(rf"^{name} (\d+)", page, re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_a_checkpoint_that_does_not_open_ends_the_command(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("thisthat")), "serve", str(tmp_path / "none")]
    done = subprocess.run([*command, "--port", "0"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr
