import asyncio
from dataclasses import replace

import pytest

from thisthat.scale.replicas.conductor import Conductor, Orders, Reloaded, ReplicasReport, Serving

FIRST = Serving(1, "default", None)
SECOND = Serving(2, "default", 0.5)


async def _until(conductor: Conductor, orders: Orders) -> None:
    while await conductor.beat("a", ReplicasReport(FIRST)) != orders:
        await asyncio.sleep(0.01)


def test_a_change_waits_for_all_and_is_made_by_all() -> None:
    async def run() -> None:
        conductor = Conductor("default", None)
        assert await conductor.beat("a", ReplicasReport()) == Orders(FIRST, None)
        await conductor.beat("b", ReplicasReport(FIRST, metrics=b"page"))
        reload = asyncio.create_task(conductor.reload("default", 0.5))
        await _until(conductor, Orders(FIRST, SECOND))
        await conductor.beat("a", ReplicasReport(FIRST, prepared=2))
        await asyncio.sleep(0.15)
        assert not reload.done()
        # One that comes meanwhile is waited for as well.
        await conductor.beat("c", ReplicasReport(FIRST))
        await conductor.beat("b", ReplicasReport(FIRST, prepared=2))
        await asyncio.sleep(0.15)
        assert await conductor.beat("a", ReplicasReport(FIRST, prepared=2)) == Orders(FIRST, SECOND)
        await conductor.leave("c")
        await asyncio.sleep(0.15)
        for each in "ab":
            assert not reload.done()
            assert await conductor.beat(each, ReplicasReport(SECOND, 2)) == Orders(SECOND, None)
        assert await reload == Reloaded(2)
        assert set(await conductor.pages()) == {"a", "b"}

    asyncio.run(run())


def test_one_that_fails_leaves_all_as_they_are() -> None:
    async def run() -> None:
        conductor = Conductor("default", None)
        await conductor.beat("b", ReplicasReport(FIRST, prepared=2))
        reload = asyncio.create_task(conductor.reload("default", 0.5))
        await _until(conductor, Orders(FIRST, SECOND))
        await conductor.beat("a", ReplicasReport(FIRST, failed=(2, "no memory")))
        assert await reload == Reloaded(0, "replica a: no memory")
        assert await conductor.beat("b", ReplicasReport(FIRST, 2)) == Orders(FIRST, None)
        # Its number is not used again: "b" may still be preparing the change that was given up.
        again = asyncio.create_task(conductor.reload("default", 0.25))
        await _until(conductor, Orders(FIRST, Serving(3, "default", 0.25)))
        again.cancel()

    asyncio.run(run())


@pytest.mark.parametrize("silent", [False, True])
def test_one_that_is_never_ready_is_given_up_unless_it_is_gone(silent: bool) -> None:
    async def run() -> None:
        conductor = Conductor(
            "default", None, gone_seconds=0.1 if silent else 9.0, prepare_seconds=0.4
        )
        await conductor.beat("late", ReplicasReport(FIRST))
        reload = asyncio.create_task(conductor.reload("default", 0.5))
        report = ReplicasReport(FIRST, prepared=2)
        while not reload.done():
            if (await conductor.beat("a", report)).serving == SECOND:
                report = replace(report, serving=SECOND)
            await asyncio.sleep(0.02)
        failure = None if silent else "not ready within 0.4 seconds: late"
        assert await reload == Reloaded(1 if silent else 0, failure)

    asyncio.run(run())


def test_one_that_starts_anew_learns_from_the_replicas() -> None:
    async def run() -> None:
        conductor = Conductor("default", None)
        there = Serving(7, "other", 0.5)
        assert await conductor.beat("a", ReplicasReport(there)) == Orders(there, None)
        assert await conductor.beat("new", ReplicasReport()) == Orders(there, None)
        reload = asyncio.create_task(conductor.reload("other", 1.0))
        await _until(conductor, Orders(there, Serving(8, "other", 1.0)))
        reload.cancel()

    asyncio.run(run())


def test_nobody_to_reload_is_said() -> None:
    conductor = Conductor("default", None, prepare_seconds=0.1)
    ended = asyncio.run(conductor.reload("default", 0.5))
    assert ended.failure == "not ready within 0.1 seconds: no replica reports"
