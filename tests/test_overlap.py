import threading
from collections.abc import Iterator

import pytest

from thisthat.overlap import overlapped


def test_everything_comes_out_in_order() -> None:
    assert list(overlapped(range(5), lambda number: number * number)) == [
        (number, number * number) for number in range(5)
    ]
    assert list(overlapped([], lambda number: number)) == []


def test_the_next_is_prepared_while_one_is_worked_on() -> None:
    second_is_prepared = threading.Event()

    def pieces() -> Iterator[int]:
        yield 1
        second_is_prepared.set()
        yield 2

    def work(_: int) -> bool:
        return second_is_prepared.wait(timeout=10)

    assert [done for _, done in overlapped(pieces(), work)] == [True, True]


def test_what_preparing_raises_comes_first() -> None:
    def pieces() -> Iterator[int]:
        yield 1
        raise ValueError("the second is no good")

    with pytest.raises(ValueError, match="no good"):
        next(overlapped(pieces(), lambda piece: piece))


def test_what_work_raises_comes_out() -> None:
    def work(number: int) -> int:
        return 1 // number

    found = overlapped([1, 0, 1], work)
    assert next(found) == (1, 1)
    with pytest.raises(ZeroDivisionError):
        next(found)
