"""What is accepted is answered in time, whatever the pace: on a clock that the tests move."""

import gc
import heapq
from dataclasses import dataclass, field
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.rng import Rng
from thisthat.serve.scheduling.admission import (
    MAX_WAIT_FACTOR,
    Admission,
    OverloadedError,
    Pace,
    Paces,
)

QUEUE, BULK = 8_192, 1_024
PER_TOKEN = 0.001
FULL = QUEUE * PER_TOKEN
"""How long a full queue takes on an idle machine."""


class Engine:
    """Whose pace is learned."""


ENGINE, SLOW = Engine(), Engine()


def learned(per_token: float = PER_TOKEN, queue: int = QUEUE) -> Admission:
    """An admission that has seen a while of work on an idle machine."""
    admission = Admission(queue, BULK)
    for _ in range(100):
        admission.paces.of(ENGINE).learn(64 * per_token, 64)
    return admission


def fits(admission: Admission, tokens: int, engine: object = ENGINE) -> bool:
    try:
        admission.check(tokens, engine)
    except OverloadedError:
        return False
    return True


def test_tokens_bound_the_queue_at_the_idle_pace() -> None:
    admission = learned()
    admission.enter(QUEUE - 100, bulk=False, engine=ENGINE)
    assert fits(admission, 100)
    assert not fits(admission, 101)
    admission.leave(QUEUE - 100, bulk=False, engine=ENGINE)
    assert fits(admission, QUEUE * 10), "a request that is alone is taken, however large"


def test_a_slower_engine_accepts_less() -> None:
    admission = learned()
    for _ in range(400):
        admission.paces.of(ENGINE).learn(64 * 3 * PER_TOKEN, 64)
    room = MAX_WAIT_FACTOR * QUEUE / 3
    admission.enter(1_000, bulk=False, engine=ENGINE)
    assert fits(admission, round(room * 0.95) - 1_000)
    assert not fits(admission, round(room * 1.3) - 1_000)
    with pytest.raises(OverloadedError) as caught:
        admission.enter(QUEUE, bulk=False, engine=ENGINE)
    assert caught.value.retry_ms == round(admission.expected_seconds * 1000)
    assert caught.value.retry_ms == pytest.approx(3_000, rel=0.05)


def test_streams_count_for_the_wait_with_their_share_of_a_batch_only() -> None:
    admission = learned()
    admission.enter(50 * QUEUE, bulk=True, engine=ENGINE)
    assert admission.expected_seconds == pytest.approx(BULK * PER_TOKEN)
    admission.enter(500, bulk=False, engine=ENGINE)
    assert admission.expected_seconds == pytest.approx((BULK + 500) * PER_TOKEN)
    admission.leave(50 * QUEUE, bulk=True, engine=ENGINE)
    assert admission.expected_seconds == pytest.approx(500 * PER_TOKEN)


def test_a_slower_engine_beside_does_not_look_like_a_slower_machine() -> None:
    admission = learned()
    for _ in range(100):
        admission.paces.of(SLOW).learn(64 * 20 * PER_TOKEN, 64)
    admission.enter(1_000, bulk=False, engine=ENGINE)
    assert admission.expected_seconds == pytest.approx(1_000 * PER_TOKEN)
    assert fits(admission, QUEUE - 1_000)
    assert fits(admission, QUEUE - 1_000, SLOW)
    admission.enter(1_000, bulk=False, engine=SLOW)
    assert admission.expected_seconds == pytest.approx(21_000 * PER_TOKEN)
    assert not fits(admission, QUEUE)
    admission.enter(BULK, bulk=True, engine=SLOW)
    admission.enter(BULK, bulk=True, engine=ENGINE)
    assert admission.expected_seconds == pytest.approx((21_000 + BULK * 10.5) * PER_TOKEN)


def test_the_pace_of_an_engine_goes_with_it() -> None:
    paces, engine = Paces(), Engine()
    paces.of(engine).learn(1.0, 64)
    assert paces.of(engine).now > 0
    gone = ref(engine)
    del engine
    gc.collect()
    assert gone() is None


def test_a_short_wait_is_no_reason_to_refuse() -> None:
    # An engine that batches: a full batch taught it a pace that single requests never reach.
    admission = learned(per_token=0.000_003)
    for _ in range(200):
        admission.paces.of(ENGINE).learn(0.01, 64)
    admission.enter(64, bulk=False, engine=ENGINE)
    assert fits(admission, 63 * 64)


def test_before_the_first_job_only_tokens_count() -> None:
    admission = Admission(QUEUE, BULK)
    admission.enter(64, bulk=False, engine=ENGINE)
    assert admission.expected_seconds == 0.0
    assert fits(admission, QUEUE - 64)
    assert not fits(admission, QUEUE)


def test_the_idle_pace_falls_soon_and_rises_over_minutes_of_work() -> None:
    pace = Pace()
    pace.learn(64 * 0.004, 64)
    assert pace.now == pace.idle == pytest.approx(0.004)
    for _ in range(300):
        pace.learn(64 * 0.001, 64)
    assert pace.now == pytest.approx(0.001, rel=0.01)
    assert pace.idle == pytest.approx(0.001, rel=0.05)
    worked = 0.0
    while worked < 10:
        pace.learn(64 * 0.002, 64)
        worked += 64 * 0.002
    assert pace.now == pytest.approx(0.002, rel=0.05)
    assert pace.idle < 0.001_1
    while worked < 3_600:
        pace.learn(64 * 0.002, 64)
        worked += 64 * 0.002
    assert pace.idle == pytest.approx(0.002, rel=0.01)


@dataclass
class Run:
    """What came of a stretch of traffic."""

    waits: list[float] = field(default_factory=list)
    refused: int = 0
    busy: float = 0.0
    ended: float = 0.0


def traffic(rate: float, slower: float, seconds: float, sizes: list[int], seed: int = 0) -> Run:
    """Requests at a rate to an engine that is ``slower`` than idle, one after another."""
    admission = learned()
    rng = Rng("traffic", seed)
    done, free, at = Run(), 0.0, 0.0
    running: list[tuple[float, float, int]] = []
    while at < seconds:
        at += 2 * rng.uniform() / rate
        while running and running[0][0] <= at:
            _, took, tokens = heapq.heappop(running)
            admission.paces.of(ENGINE).learn(took, tokens)
            admission.leave(tokens, bulk=False, engine=ENGINE)
        tokens = rng.choice(sizes)
        try:
            admission.enter(tokens, bulk=False, engine=ENGINE)
        except OverloadedError:
            done.refused += 1
            continue
        took = tokens * PER_TOKEN * slower
        free = max(free, at) + took
        heapq.heappush(running, (free, took, tokens))
        done.waits.append(free - at)
        done.busy += took
    done.ended = max(free, at)
    return done


@given(
    slower=st.floats(1.0, 3.0),
    over=st.floats(1.5, 10.0),
    sizes=st.lists(st.integers(20, 600), min_size=1, max_size=5),
)
@settings(max_examples=25, deadline=None)
def test_under_overload_nobody_accepted_waits_for_two_full_queues(
    slower: float, over: float, sizes: list[int]
) -> None:
    sustained = 1 / (sum(sizes) / len(sizes) * PER_TOKEN * slower)
    run = traffic(over * sustained, slower, 60.0, sizes)
    assert run.refused > 0
    settled = run.waits[len(run.waits) // 10 :]
    assert max(settled) < 2 * FULL
    assert run.busy > 0.95 * run.ended, "shedding must not leave the engine without work"


@given(slower=st.floats(1.0, 1.4), seed=st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_below_the_sustainable_rate_nothing_is_refused(slower: float, seed: int) -> None:
    sustained = 1 / (64 * PER_TOKEN * slower)
    assert traffic(0.9 * sustained, slower, 120.0, [64], seed).refused == 0
