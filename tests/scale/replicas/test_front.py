import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import zstandard
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from thisthat.scale.replicas.front import Front, schema_key
from thisthat.serve.settings import Settings

QUESTIONS = {"refund": {"type": "noul", "instructions": "Is it?"}, "b": {"type": "noul"}}


def key(body: Any, **headers: str) -> str | None:
    told = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return schema_key(told, json.dumps(body).encode())


def test_requests_of_one_schema_share_a_key() -> None:
    one = key({"state": "a", "questions": QUESTIONS})
    assert one == key({"questions": dict(reversed(QUESTIONS.items())), "state": "another"})
    assert one != key({"state": "a", "questions": {"refund": {"type": "noul"}}})
    assert one != key({"state": "a", "questions": QUESTIONS}, authorization="Bearer someone")
    chat = {"messages": [], "response_format": {"type": "json_schema"}}
    assert key(chat) == key({**chat, "messages": ["other"]}) is not None


def test_compressed_bodies_have_the_same_key() -> None:
    body = json.dumps({"state": "a" * 9, "questions": QUESTIONS}).encode()
    plain = schema_key({}, body)
    assert plain is not None
    assert schema_key({b"content-encoding": b"zstd"}, zstandard.compress(body)) == plain
    assert schema_key({b"content-encoding": b"GZIP"}, gzip.compress(body)) == plain


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"identity", b""),
        (b"identity", b"[1]"),
        (b"identity", b'{"state": "no questions"}'),
        (b"identity", b"\xff\xfe{"),
        (b"identity", b"[" * 100_000),
        (b"identity", b'{"questions": 1, "state": "' + b"a" * (1 << 20) + b'"}'),
        (b"gzip", b"not gzip"),
        (b"zstd", zstandard.compress(b"a" * (1 << 24))),
        (b"\xff", b'{"questions": 1}'),
    ],
)
def test_what_has_no_schema_has_no_key(encoding: bytes, body: bytes) -> None:
    assert schema_key({b"content-encoding": encoding}, body) is None


HEAD = {"type": "http.response.start", "status": 200, "headers": []}
PART = {"type": "http.response.body", "body": b"yes", "more_body": True}
LAST = {"type": "http.response.body", "body": b" and no", "more_body": False}


class Dying:
    """Ray's handle of a replica that is gone once it has said so much."""

    def __init__(self, *said: dict[str, Any]) -> None:
        self._said = said

    def options(self, **_: Any) -> "Dying":
        return self

    async def remote(self, *_: Any) -> AsyncIterator[list[dict[str, Any]]]:
        from ray.exceptions import ActorDiedError

        for message in self._said:
            yield [message]
        raise ActorDiedError


def answered(replica: Dying) -> httpx.Response:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        front = Front(Settings(), replica)
        await (await front(Request(scope, receive)))(scope, receive, send)

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://front") as client:
            return await client.post("/v1/systemone", json={"questions": QUESTIONS})

    return asyncio.run(ask())


@pytest.mark.parametrize("said", [(), (HEAD,)])
def test_a_replica_that_dies_before_its_answer_can_be_asked_again(said: Any) -> None:
    pytest.importorskip("ray")
    found = answered(Dying(*said))
    assert (found.status_code, found.json()["code"]) == (503, "replica_lost")
    assert found.headers["retry-after-ms"] == "500"


def test_a_replica_that_dies_after_its_answer_has_answered() -> None:
    pytest.importorskip("ray")
    found = answered(Dying(HEAD, PART, LAST))
    assert (found.status_code, found.content) == (200, b"yes and no")


def test_a_replica_that_dies_in_its_answer_breaks_the_connection() -> None:
    exceptions = pytest.importorskip("ray.exceptions")
    with pytest.raises(exceptions.ActorDiedError):
        answered(Dying(HEAD, PART))
