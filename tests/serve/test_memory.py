"""One budget for everything in flight."""

import gc

import pytest

from tests.serve.support import REQUEST, post, service_for
from thisthat.serve.memory import SMALL, Holding, Memory, give_back
from thisthat.serve.problems import Problem

MOST = 30 * SMALL


def test_large_requests_leave_room_for_small_ones() -> None:
    memory = Memory(MOST)
    large, other, small = Holding(memory), Holding(memory), Holding(memory)
    large.add(20 * SMALL)
    with pytest.raises(Problem) as refused:
        other.add(2 * SMALL)
    assert (refused.value.status, refused.value.retry_ms) == (503, 1000)
    small.add(SMALL)
    with pytest.raises(Problem):
        small.add(1)
    large.release()
    other.add(2 * SMALL)
    assert memory.used == 3 * SMALL


def test_what_never_fits_is_413() -> None:
    with pytest.raises(Problem) as refused:
        Holding(Memory(MOST)).add(20 * SMALL + 1)
    assert refused.value.status == 413
    assert str(20 * SMALL) in refused.value.message


def test_whoever_has_left_holds_nothing_any_more() -> None:
    memory = Memory(MOST)
    held = Holding(memory)
    held.add(5)
    held.release()
    assert not held.fits(5)
    assert memory.used == 0


def test_relief_is_told_once() -> None:
    told: list[int] = []
    memory = Memory(MOST, lambda: told.append(memory.used))
    held = Holding(memory)
    for size in (10 * SMALL, -9 * SMALL, -SMALL):
        held.add(size)
    assert told == [SMALL]
    give_back()


def test_relief_is_told_of_while_others_still_hold_much() -> None:
    told: list[int] = []
    memory = Memory(MOST, lambda: told.append(memory.used))
    Holding(memory).add(10 * SMALL)
    passing = Holding(memory)
    for _ in range(4):
        passing.add(3 * SMALL)
        passing.add(-3 * SMALL)
    assert told == [10 * SMALL, 10 * SMALL], "after every second one"


def test_a_request_beyond_the_budget_is_refused_before_it_is_built() -> None:
    service = service_for(memory_bytes=1 << 20)
    answered = post(service, "/v1/systemone", {**REQUEST, "state": ["x" * 900_000]})
    assert answered.status_code == 413
    assert answered.json()["code"] == "request_too_large"
    assert service.memory.used == 0
    assert post(service, "/v1/systemone", REQUEST).status_code == 200


def test_a_refused_body_is_let_go_of_without_the_collector() -> None:
    """Its error goes round in a circle with the thread that read it, and with all it had built."""
    body = b'{"state":[%b7],"questions":{"q":1}}' % (b"7," * 60_000)
    service = service_for()
    gc.collect()
    gc.disable()
    try:
        assert post(service, "/v1/systemone", content=body).status_code == 422
        left = [each for each in gc.get_objects() if type(each) is list and len(each) == 60_001]
        assert not left
    finally:
        gc.enable()
