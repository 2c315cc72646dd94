"""Batches by budget, fairness, cancellation, deadlines, a bounded queue."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.path_engine import PathEngine, path_decider
from tests.serve.support import GatedEngine, run
from thisthat.decide.decider import Decider
from thisthat.decide.job import Job
from thisthat.engine.protocol import Capabilities
from thisthat.engine.rows import Row, RowResult
from thisthat.serve.scheduling.admission import OverloadedError
from thisthat.serve.scheduling.scheduler import ClosedError, DeadlineError, JobOutcome, Scheduler


def job(decider: Decider, size: int = 10, mark: str = "x") -> Job:
    return decider.prepare(mark * size, {"q": "Is it?"})


def later(seconds: float = 20.0) -> float:
    return time.monotonic() + seconds


class Scene:
    """A gated engine behind a scheduler; the first batch is already running."""

    def __init__(self, **budgets: int) -> None:
        self.engine = GatedEngine()
        self.decider = path_decider()
        self.decider.engine = self.engine
        self.batches: list[tuple[int, int]] = []
        budgets = {"batch_tokens": 500, "bulk_tokens": 200, "queue_tokens": 10_000, **budgets}
        self.scheduler = Scheduler(
            **budgets, on_batch=lambda jobs, tokens: self.batches.append((jobs, tokens))
        )

    async def __aenter__(self) -> "Scene":
        self.scheduler.start()
        self.first = self.submit(5)
        await asyncio.to_thread(self.engine.entered.acquire)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.engine.open()
        await asyncio.to_thread(self.scheduler.close)

    def submit(
        self,
        size: int = 10,
        *,
        stream: object | None = None,
        deadline: float | None = None,
        client: object = None,
    ) -> asyncio.Task[JobOutcome]:
        prepared = job(self.decider, size)
        until = later() if deadline is None else deadline
        work = self.scheduler.submit(self.engine, prepared, until, stream, client)
        return asyncio.ensure_future(work)

    async def step(self) -> list[int]:
        """Let the running batch finish and the next one start; the next one's row lengths."""
        self.engine.gate.release()
        await asyncio.to_thread(self.engine.entered.acquire)
        return [len(row.trunk) for row in self.engine.rows[-1]]


def test_requests_that_wait_run_together_as_they_came_under_the_budget() -> None:
    async def scene() -> None:
        async with Scene(batch_tokens=300) as at:
            waiting = [at.submit(size) for size in (60, 20, 40, 30, 50)]
            await asyncio.sleep(0)
            batches = [await at.step(), await at.step(), await at.step()]
            found = [[length - len("Context:\n") for length in lengths] for lengths in batches]
            assert found == [[60, 20], [40, 30], [50]]
            at.engine.open()
            await asyncio.gather(*waiting, at.first)
        assert all(tokens <= 300 for _, tokens in at.batches)

    run(scene())


def test_numbers_are_those_of_the_library() -> None:
    async def scene() -> None:
        async with Scene() as at:
            at.engine.open()
            outcomes = await asyncio.gather(*(at.submit(size) for size in range(1, 40)))
        library = path_decider()
        for size, outcome in zip(range(1, 40), outcomes, strict=True):
            expected = library.decide("x" * size, {"q": "Is it?"})
            prepared = job(library, size)
            assert library.processor.decision(prepared, outcome.result).answers == expected.answers
            assert outcome.entered <= outcome.started <= outcome.finished

    run(scene())


def test_a_stream_of_many_states_delays_a_question_by_one_batch_at_most() -> None:
    async def scene() -> None:
        async with Scene() as at:
            stream = [at.submit(30, stream="many") for _ in range(200)]
            await asyncio.sleep(0)
            await at.step()
            single = at.submit(77)
            await asyncio.sleep(0)
            next_batch = await at.step()
            assert 77 + len("Context:\n") in next_batch
            at.engine.open()
            await asyncio.gather(single, *stream, at.first)
        assert all(tokens <= 500 for _, tokens in at.batches)

    run(scene())


def test_where_rows_run_apart_questions_wait_for_one_state_of_a_stream() -> None:
    async def scene() -> None:
        async with Scene(bulk_tokens=100) as at:
            at.engine.capabilities = Capabilities(rows_apart=True)
            streams = [at.submit(30, stream=name) for name in "aaabbb"]
            singles = [at.submit(20) for _ in range(6)]
            await asyncio.sleep(0)
            at.engine.open()
            await asyncio.gather(at.first, *singles, *streams)
        lengths = [len(row.trunk) - len("Context:\n") for rows in at.engine.rows for row in rows]
        assert lengths.index(30) > 1
        for start, length in enumerate(lengths[:-1]):
            assert length != 30 or lengths[start + 1] == 20 or 20 not in lengths[start:]
        assert sorted(lengths) == [5, *[20] * 6, *[30] * 6]

    run(scene())


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("stream", [None, "many"])
def test_what_one_client_sends_is_not_in_front_of_another(apart: bool, stream: Any) -> None:
    async def scene() -> None:
        async with Scene(batch_tokens=200, bulk_tokens=200) as at:
            at.engine.capabilities = Capabilities(rows_apart=apart)
            flood = [at.submit(60, client="a", stream=stream) for _ in range(20)]
            await asyncio.sleep(0)
            others = [at.submit(70 + n, client=n, stream=stream and (n,)) for n in range(3)]
            await asyncio.sleep(0)
            at.engine.open()
            await asyncio.gather(at.first, *flood, *others)
        lengths = [len(row.trunk) - len("Context:\n") for rows in at.engine.rows for row in rows]
        assert lengths[:5] == [5, 60, 70, 71, 72]

    run(scene())


def test_a_client_within_its_share_is_accepted_though_another_fills_the_queue() -> None:
    async def scene() -> None:
        async with Scene(queue_tokens=400) as at:
            flood = [at.submit(20, client="a") for _ in range(20)]
            await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
            refused = [each for each in flood if each.done()]
            assert all(isinstance(each.exception(), OverloadedError) for each in refused)
            honest = at.submit(20, client="b")
            with pytest.raises(OverloadedError):
                await at.submit(20, client="a")
            assert not honest.done()
            at.engine.open()
            await asyncio.gather(honest, *set(flood) - set(refused))

    run(scene())


def test_streams_take_turns_and_are_never_starved() -> None:
    async def scene() -> None:
        async with Scene(batch_tokens=200, bulk_tokens=100) as at:
            sizes = {"a": 31, "b": 32}
            streams = [at.submit(sizes[name], stream=name) for name in "aaaaabbbbb"]
            singles = [at.submit(50) for _ in range(12)]
            await asyncio.sleep(0)
            seen: list[int] = []
            for _ in range(4):
                lengths = [n - len("Context:\n") for n in await at.step()]
                assert 50 in lengths
                seen += [n for n in lengths if n != 50]
            assert seen == [31, 32, 31, 32]
            at.engine.open()
            await asyncio.gather(at.first, *streams, *singles)

    run(scene())


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    async def scene() -> None:
        async with Scene(queue_tokens=200) as at:
            waiting = at.submit(20)
            await asyncio.sleep(0)
            with pytest.raises(OverloadedError) as caught:
                await at.submit(60)
            assert 50 <= caught.value.retry_ms <= 30_000
            in_stream = at.submit(60, stream="many")
            await asyncio.sleep(0)
            assert not in_stream.done()
            at.engine.open()
            await asyncio.gather(waiting, in_stream)

    run(scene())


def test_a_request_larger_than_the_queue_is_taken_when_nothing_else_is_there() -> None:
    async def scene() -> None:
        async with Scene(queue_tokens=10, batch_tokens=10) as at:
            with pytest.raises(OverloadedError):
                await at.submit(400)
            at.engine.open()
            await at.first
            await at.submit(400)

    run(scene())


def test_a_cancelled_job_gives_up_its_place() -> None:
    async def scene() -> None:
        async with Scene(queue_tokens=200) as at:
            waiting = at.submit(40)
            streaming = at.submit(40, stream="many")
            await asyncio.sleep(0)
            assert at.scheduler.waiting_tokens > 0
            waiting.cancel()
            streaming.cancel()
            await asyncio.wait([waiting, streaming])
            assert at.scheduler.waiting_tokens == 0
            at.scheduler.admission.check(100, at.engine)
            at.engine.open()
            await at.first
            at.scheduler.admission.check(10_000, at.engine)
        assert [jobs for jobs, _ in at.batches] == [1]

    run(scene())


@pytest.mark.parametrize("seconds", [-1.0, 0.05])
@pytest.mark.parametrize("stream", [None, "many"])
def test_a_job_that_does_not_start_in_time_is_given_up(seconds: float, stream: Any) -> None:
    async def scene() -> None:
        async with Scene() as at:
            late = at.submit(20, deadline=time.monotonic() + seconds, stream=stream)
            with pytest.raises(DeadlineError):
                await late
            assert at.scheduler.waiting_tokens == 0
            at.engine.open()
            await at.first
            assert at.scheduler.admission.unanswered_tokens == 0
        assert len(at.engine.rows) == 1

    run(scene())


def test_a_job_that_has_begun_by_its_deadline_is_finished() -> None:
    async def scene() -> None:
        async with Scene() as at:
            late = at.submit(20, deadline=time.monotonic() + 0.2)
            await at.step()
            await asyncio.sleep(0.3)
            at.engine.open()
            assert (await late).result.rows

    run(scene())


@pytest.mark.parametrize("leaves", [False, True])
def test_a_job_of_a_batch_whose_turn_has_not_come_is_given_up_too(leaves: bool) -> None:
    async def scene() -> None:
        async with Scene() as at:
            at.engine.capabilities = Capabilities(rows_apart=True)
            ahead = at.submit(20, client="a")
            until = later() if leaves else time.monotonic() + 0.2
            late = at.submit(30, deadline=until, client="b")
            behind = at.submit(40, client="c")
            await asyncio.sleep(0)
            await at.step()
            if leaves:
                late.cancel()
            await asyncio.wait([late])
            assert isinstance(late.exception(), DeadlineError) if not leaves else late.cancelled()
            at.engine.open()
            outcomes = await asyncio.gather(at.first, ahead, behind)
            assert [outcome.batch for outcome in outcomes] == [1, 3, 3]
            assert at.scheduler.admission.unanswered_tokens == 0
        lengths = [len(row.trunk) - len("Context:\n") for rows in at.engine.rows for row in rows]
        assert lengths == [5, 20, 40]

    run(scene())


def test_a_deadline_holds_when_the_event_loop_is_late() -> None:
    async def scene() -> None:
        async with Scene() as at:
            late = at.submit(20, deadline=time.monotonic() + 0.1)
            await asyncio.sleep(0)
            time.sleep(0.2)
            at.engine.open()
            at.scheduler.close()
            with pytest.raises(DeadlineError):
                await late
        assert len(at.engine.rows) == 1

    run(scene())


def test_closing_finishes_what_waits_and_takes_no_more() -> None:
    async def scene() -> None:
        at = Scene()
        async with at:
            waiting = at.submit(20)
            await asyncio.sleep(0)
        assert (await waiting).result.rows
        with pytest.raises(ClosedError):
            await at.submit(20)

    run(scene())


class FussyEngine(PathEngine):
    """Fails on every batch with a row of a certain length in it."""

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        if any(len(row.trunk) == 29 for row in rows):
            raise MemoryError("too much")
        return super().run(rows)


def test_one_job_that_fails_does_not_take_the_others_down() -> None:
    async def scene() -> list[Any]:
        async with Scene() as at:
            decider = path_decider()
            decider.engine = FussyEngine()
            tasks = [
                asyncio.ensure_future(
                    at.scheduler.submit(decider.engine, job(decider, size), later())
                )
                for size in (10, 20, 30)
            ]
            await asyncio.sleep(0)
            at.engine.open()
            return await asyncio.gather(*tasks, return_exceptions=True)

    first, second, third = run(scene())
    assert isinstance(first, JobOutcome)
    assert isinstance(second, MemoryError)
    assert isinstance(third, JobOutcome)


class PausingEngine(PathEngine):
    """Reads ten tokens a pass, and lets the test in before each."""

    capabilities = Capabilities(rows_apart=True, pauses=True)

    def __init__(self) -> None:
        super().__init__()
        self.order: list[int] = []
        self.passes = 0
        self.on_pass: Callable[[], None] = lambda: None

    def run_in_passes(
        self, rows: Sequence[Row], before_pass: Callable[[], None]
    ) -> list[RowResult]:
        for _ in range(0, sum(row.fresh_tokens for row in rows), 10):
            before_pass()
            self.passes += 1
            self.on_pass()
        return self.run(rows)

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self.order.append(len(rows[0].trunk) - len("Context:\n"))
        return super().run(rows)


def pausing() -> tuple[PausingEngine, Decider, Scheduler]:
    engine, decider = PausingEngine(), path_decider()
    decider.engine = engine
    return engine, decider, Scheduler(batch_tokens=500, bulk_tokens=200, queue_tokens=1_000)


def test_others_go_between_the_passes_of_a_long_job() -> None:
    async def scene() -> None:
        engine, decider, scheduler = pausing()
        begun, go = threading.Event(), threading.Event()
        engine.on_pass = lambda: (begun.set(), go.wait(20))[0]
        scheduler.start()

        def submit(size: int, stream: object | None = None) -> asyncio.Task[JobOutcome]:
            work = scheduler.submit(engine, job(decider, size), later(), stream)
            return asyncio.ensure_future(work)

        long = [submit(900), submit(800, "many")]
        await asyncio.to_thread(begun.wait, 20)
        # More than may wait: neither counts for the short ones' queue.
        short = [submit(size) for size in (20, 30, 40)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await submit(850)
        go.set()
        outcomes = await asyncio.gather(*short, *long)
        await asyncio.to_thread(scheduler.close)
        assert engine.order == [20, 30, 40, 900, 800]
        expected = path_decider().decide("x" * 900, {"q": "Is it?"})
        prepared = job(decider, 900)
        found = decider.processor.decision(prepared, outcomes[3].result)
        assert found.answers == expected.answers
        assert scheduler.admission.unanswered_tokens == 0

    run(scene())


def test_a_long_job_ends_when_its_caller_leaves() -> None:
    async def scene() -> None:
        engine, decider, scheduler = pausing()
        begun, go = threading.Event(), threading.Event()
        engine.on_pass = lambda: (begun.set(), go.wait(20))[0]
        scheduler.start()
        task = asyncio.ensure_future(scheduler.submit(engine, job(decider, 900), later()))
        await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        await asyncio.to_thread(scheduler.close)
        assert engine.passes == 1
        assert not engine.order
        assert scheduler.admission.expected_seconds == 0

    run(scene())


class TimedEngine(PathEngine):
    """A second a token on a clock of its own; a job of many pauses after every ten.

    ``on_part`` is called in the engine's thread whenever ten tokens, or a whole row, are computed.
    """

    capabilities = Capabilities(rows_apart=True, pauses=True)

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.finished: dict[int, float] = {}
        self.on_part: Callable[[], None] = lambda: None

    def run_in_passes(
        self, rows: Sequence[Row], before_pass: Callable[[], None]
    ) -> list[RowResult]:
        for _ in range(0, sum(row.fresh_tokens for row in rows), 10):
            before_pass()
            self._compute(10)
        return self._answered(rows)

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self._compute(sum(row.fresh_tokens for row in rows))
        return self._answered(rows)

    def _compute(self, seconds: float) -> None:
        self.now += seconds
        self.on_part()

    def _answered(self, rows: Sequence[Row]) -> list[RowResult]:
        self.finished[len(rows[0].trunk) - len("Context:\n")] = self.now
        return super().run(rows)


class TimedScene:
    """A scheduler on the engine's clock; jobs are told apart by their length."""

    def __init__(self) -> None:
        self.engine, self.decider = TimedEngine(), path_decider()
        self.decider.engine = self.engine
        budgets = {"batch_tokens": 100_000, "bulk_tokens": 900, "queue_tokens": 1_000_000}
        self.scheduler = Scheduler(**budgets, clock=lambda: self.engine.now)
        self.entered: dict[int, float] = {}
        self.tasks: list[asyncio.Task[JobOutcome]] = []

    async def __aenter__(self) -> "TimedScene":
        self.loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.scheduler.start()
        while not all(task.done() for task in self.tasks):
            await asyncio.gather(*self.tasks)
        await asyncio.to_thread(self.scheduler.close)

    def submit(self, size: int, client: object = None) -> None:
        self.entered[size] = self.engine.now
        work = self.scheduler.submit(self.engine, job(self.decider, size), later(), None, client)
        self.tasks.append(asyncio.ensure_future(work))

    def submit_from_engine(self, size: int, client: object = None) -> None:
        """From the engine's thread; the job waits when this returns."""
        queued = threading.Event()

        def enter() -> None:
            self.submit(size, client)
            self.loop.call_soon(queued.set)

        self.loop.call_soon_threadsafe(enter)
        assert queued.wait(20)

    def tokens(self, size: int) -> int:
        return job(self.decider, size).fresh_tokens

    def waited(self, size: int) -> float:
        """Seconds from arrival to the answer, beyond its own."""
        return self.engine.finished[size] - self.entered[size] - self.tokens(size)


def test_a_short_request_waits_for_a_part_of_the_long_ones_of_another() -> None:
    async def scene() -> TimedScene:
        async with TimedScene() as at:
            for number in range(3):
                at.submit(950 + number, "attacker")
            coming = iter(range(1, 30))

            def arrive() -> None:
                busy = any(size not in at.engine.finished for size in at.entered if size < 100)
                if at.engine.now % 200 < 10 and not busy:
                    at.submit_from_engine(next(coming, 99), "honest")

            at.engine.on_part = arrive
        return at

    at = run(scene())
    honest = [size for size in at.engine.finished if size < 99]
    assert len(honest) > 10
    assert max(map(at.waited, honest)) < 10, "it goes before the next part, ten tokens"
    assert [size for size in at.engine.finished if size >= 950] == [950, 951, 952]


def test_jobs_of_every_length_pause_for_shorter_ones() -> None:
    async def scene() -> TimedScene:
        async with TimedScene() as at:
            for size in (950, 500, 10):
                at.submit(size)
        return at

    at = run(scene())
    assert list(at.engine.finished) == [10, 500, 950]


def test_a_long_request_gets_a_quarter_while_short_ones_keep_coming() -> None:
    async def scene() -> TimedScene:
        async with TimedScene() as at:
            at.submit(950, "patient")
            sizes = iter(range(1, 10_000))

            def arrive() -> None:
                waiting = sum(size not in at.engine.finished for size in at.entered if size < 90)
                if 950 not in at.engine.finished and waiting < 3:
                    at.submit_from_engine(next(sizes) % 40 + 1, "busy")

            at.engine.on_part = arrive
        return at

    at = run(scene())
    own = at.tokens(950)
    assert at.engine.finished[950] <= 4.2 * own
    assert at.engine.finished[950] >= 2 * own, "short ones were let in"
