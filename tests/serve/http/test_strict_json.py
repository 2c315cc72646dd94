"""Bodies of any size give what the standard parser gives, or one clear fault."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.serve.http import strict_json
from thisthat.serve.http.strict_json import JsonLimits, read_json
from thisthat.serve.problems import Problem

LIMITS = JsonLimits(72)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=60,
)  # fmt: skip


def read(body: bytes, limits: JsonLimits = LIMITS, **more: Any) -> Any:
    return read_json(body, limits, lambda value: value, **more)


@pytest.fixture
def tiny_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_json, "SLICE", 8)
    monkeypatch.setattr(strict_json, "_PIECE", 16)


@pytest.mark.usefixtures("tiny_slices")
def test_slices_give_what_one_call_gives() -> None:
    @given(values, st.booleans(), st.sampled_from([None, 1]))
    def check(value: Any, ascii_only: bool, indent: int | None) -> None:
        body = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
        assert read(body, JsonLimits(1000)) == value

    check()


@pytest.mark.usefixtures("tiny_slices")
def test_slices_refuse_what_one_call_refuses() -> None:
    text = '{"a": [1, 22, "3\\"3", {"b": []}], "cc": {"d": null, "e": "\\\\"}, "f": 123456789}'

    @given(st.integers(0, len(text) - 1), st.sampled_from(["", ",", "]", "[", "}", '"', ":", "1 "]))
    def check(at: int, instead: str) -> None:
        changed = text[:at] + instead + text[at + 1 :]
        try:
            wanted = json.loads(changed)
        except ValueError:
            with pytest.raises(Problem):
                read(changed.encode())
        else:
            assert read(changed.encode()) == wanted

    check()


def test_a_large_body_is_read_as_it_is() -> None:
    value = {
        "states": [{"text": "é" * 300, "n": [n, -n / 7]} for n in range(3000)],
        "long": '\U0001f600\\"' * 20_000,
        "nested": {"wide": {str(n): [] for n in range(20_000)}},
    }
    for ascii_only in (True, False):
        assert read(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"[" + b"1," * 600_000 + b"1]", "more than 500000 values"),
        (b"[" + b"[]," * 200_000 + b"1]", "more than 100000 objects and lists"),
        (b'["' + b"a" * 1_100_000 + b'"]', "a text of more than 1048576 bytes"),
        (b'["' + b"\\n" * 600_000 + b'"]', "a text of more than 1048576 bytes"),
        (b"[" * 100_000 + b"]" * 100_000, "deeper than 72 levels"),
        (b"[" + b"1, " * 40_000 + b"]", "is not JSON"),
        (b"[" + b"1, " * 40_000 + b"1}", "is not JSON"),
        (b"{" + b'"a": 1, ' * 20_000 + b'"b": 2}', "twice"),
        (b'{"a": 1, "b": "' + b"x" * 100_000 + b'", "a": 2}', "twice"),
        (b"[" + b" " * 100_000 + b"] []", "is not JSON"),
        (b'["' + b"x" * 100_000, "has no end"),
        (b'["' + b"x" * 100_000 + b'\xff"]', "byte 100002 is 0xff"),
    ],
)
def test_what_is_over_a_limit_is_refused_before_it_is_built(body: bytes, says: str) -> None:
    with pytest.raises(Problem) as raised:
        read(body)
    assert says in raised.value.message


def test_memory_is_asked_for_before_anything_is_built() -> None:
    asked: list[int] = []

    def refuse(size: int) -> None:
        asked.append(size)
        raise MemoryError

    for body in (b"[" + b'"\xf0\x9f\x98\x80",' * 20_000 + b"1]", b"[" + b"{}," * 50_000 + b"1]"):
        with pytest.raises(MemoryError):
            read(body, hold=refuse)
    assert asked[0] > 4 * 7 * 20_000
    assert asked[1] > 200 * 50_000
