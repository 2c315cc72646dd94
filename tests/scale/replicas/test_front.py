import gzip
import json
from typing import Any

import pytest
import zstandard

from thisthat.scale.replicas.front import schema_key

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
