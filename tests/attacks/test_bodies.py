"""Bodies made to grow, to stall or to quote themselves: refused, cheaply, one way or another."""

import gzip
import json
import random
import threading
from typing import Any

import pytest
import zstandard

from tests.attacks.conftest import MEBIBYTE, Target

QUESTIONS = {"q": "Is it?"}


def systemone(**fields: Any) -> bytes:
    return json.dumps({"state": "x", "questions": QUESTIONS, **fields}).encode()


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size // 2).hex().encode()


def escapes(count: int) -> bytes:
    """What made a text of escapes take a hundred times its size."""
    return b'{"zz":"%b","state":"%b%b","questions":{"q":"Is it?"}}' % (
        noise(480_000),
        b"[" * 80,
        b"\\n" * count,
    )


def lists(inner: bytes, count: int) -> bytes:
    return b'{"zz":"%b","state":[%b%b],"questions":{"q":"Is it?"}}' % (
        noise(480_000),
        (inner + b",") * (count - 1),
        inner,
    )


def small_questions(inner: str, count: int) -> bytes:
    questions = b",".join(b'"%d":%b' % (n, json.dumps(inner).encode()) for n in range(count))
    return b'{"state":"x","questions":{%b}}' % questions


BODIES = {
    "escapes, gzip": lambda: (gzip.compress(escapes(31_500_000), 9), "gzip"),
    "escapes": lambda: (escapes(7_000_000), ""),
    "escapes, zstd": lambda: (zstandard.compress(escapes(31_000_000), 3), "zstd"),
    "empty lists, gzip": lambda: (gzip.compress(lists(b"[]", 21_000_000), 9), "gzip"),
    "bad questions": lambda: (small_questions("", 900_000), ""),
    "many bad questions": lambda: (small_questions("", 120_000), ""),
    "bad questions, 400": lambda: (small_questions("\x00" * 5_000, 400), ""),
    "many integers": lambda: (systemone(state=[7] * 5_000_000), ""),
    "integers within the limit": lambda: (systemone(state=[7] * 450_000), ""),
    "long integers": lambda: (lists(b"7" * 4200, 3_000), ""),
    "floats within the limit": lambda: (systemone(state=[0.1234567] * 450_000), ""),
    "lists within the limit": lambda: (systemone(state=[[]] * 99_000), ""),
    "one long text": lambda: (systemone(state="a" * 15 * MEBIBYTE), ""),
    "wide texts": lambda: (systemone(more=["\U0001f600" + "a" * 900_000] * 17), ""),
    "long keys": lambda: (systemone(state={"k" * 500_000: [0] * 100_000}), ""),
    "digits": lambda: (systemone(state="7" * MEBIBYTE), ""),
    "long instructions": lambda: (systemone(questions={"q": "7" * 1_000_000}), ""),
    "huge option": lambda: (systemone(layout="x" * 7 * MEBIBYTE), ""),
    "surrogate name": lambda: (systemone(questions={"\ud800": "Is it?"}), ""),
    "beyond floats": lambda: (systemone(more=7).replace(b": 7", b": 1e999"), ""),
}


UNUSED = ("wide texts",)
"""Fields that nobody reads may hold anything."""


@pytest.mark.parametrize("name", BODIES)
def test_one_request(target: Target, name: str) -> None:
    body, encoding = BODIES[name]()
    headers = {"content-encoding": encoding} if encoding else {}
    with target.watched():
        status, answer = target.post("/v1/systemone", body, **headers)
    assert len(answer) < 100_000
    if name in UNUSED:
        assert status == 200
    elif answer:
        assert status in (413, 422)
        assert json.loads(answer)["code"]


STREAMS = {
    "digits": {"states": ["7" * 400_000] * 35},
    "long texts with keep": {"states": ["a " * 400_000] * 18, "keep": "head"},
    "policy": {"states": ["x"], "policy": {"format": 1, "target": [[]] * 60_000}},
    "layout": {"states": ["x"], "layout": "x" * 7 * MEBIBYTE},
}


@pytest.mark.parametrize("name", STREAMS)
def test_one_stream(target: Target, name: str) -> None:
    body = json.dumps({"questions": QUESTIONS, **STREAMS[name]}).encode()
    with target.watched():
        status, answer = target.post("/v1/decide", body)
    assert status in (200, 422)
    assert len(answer) < 100_000


def test_many_bodies_together_are_bounded(target: Target) -> None:
    """Forty clients that each send 15 MiB and then wait."""
    head = b"POST /v1/systemone HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    body = b" " * 15 * MEBIBYTE
    clients = [target.connect() for _ in range(40)]

    def send(number: int) -> None:
        for client in clients[number::4]:
            try:
                client.sendall(head + b"content-length: %d\r\n\r\n" % (16 * MEBIBYTE) + body)
            except OSError:
                continue

    try:
        with target.watched():
            threads = [threading.Thread(target=send, args=[number]) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        for client in clients:
            client.close()


def test_many_large_requests_together_are_bounded(target: Target) -> None:
    bodies = [BODIES[name]()[0] for name in ("integers within the limit", "long keys", "digits")]

    def send(number: int) -> None:
        status, _ = target.post("/v1/systemone", bodies[number % 3])
        assert status in (0, 422, 503)

    threads = [threading.Thread(target=send, args=[number]) for number in range(12)]
    with target.watched():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_refused_bodies_of_eight_clients_do_not_pile_up(target: Target) -> None:
    """Each was kept by its error until the collector came: 868 MiB."""
    kinds = [BODIES[name]() for name in ("escapes, zstd", "integers within the limit")]

    def send() -> None:
        for body, encoding in kinds * 2:
            headers = {"content-encoding": encoding} if encoding else {}
            status, _ = target.post("/v1/systemone", body, **headers)
            assert status in (0, 413, 422, 503)

    threads = [threading.Thread(target=send) for _ in range(8)]
    with target.watched():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
