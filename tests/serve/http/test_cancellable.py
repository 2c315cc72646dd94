"""Blocks that others end: where they wait, once, and never instead of a cancellation."""

import asyncio

import pytest

from tests.serve.support import run
from thisthat.serve.http.cancellable import CancelScope, ScopeCancelledError


def test_a_block_that_nobody_ends_is_a_block() -> None:
    async def work() -> int:
        with CancelScope():
            await asyncio.sleep(0)
            return 7

    assert run(work()) == 7


def test_a_block_ends_where_it_waits_and_the_task_goes_on() -> None:
    async def work() -> str:
        block = CancelScope()
        asyncio.get_running_loop().call_soon(block.cancel)
        with pytest.raises(ScopeCancelledError), block:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)
        return "went on"

    assert run(work()) == "went on"


def test_ending_a_block_that_is_over_does_nothing() -> None:
    async def work() -> str:
        block = CancelScope()
        with block:
            await asyncio.sleep(0)
        block.cancel()
        await asyncio.sleep(0)
        return "went on"

    assert run(work()) == "went on"


def test_an_error_of_the_block_stays_what_it_is() -> None:
    async def work() -> None:
        with CancelScope():
            raise ValueError("own")

    with pytest.raises(ValueError, match="own"):
        run(work())


def test_a_cancelled_task_is_cancelled() -> None:
    async def wait(block: CancelScope) -> None:
        with block:
            await asyncio.get_running_loop().create_future()

    async def work() -> None:
        task = asyncio.ensure_future(wait(CancelScope()))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        run(work())
