"""Running jobs and procedures on an engine: which jobs run together, and what is read meanwhile."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from thisthat.decide.budget import within_budget
from thisthat.decide.job import Job, JobResult
from thisthat.decide.procedures import Procedure
from thisthat.engine.flat_pass import pack
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Row, RowResult

_CHUNK_TOKENS = 16_384
_FIRST_WAVE, _LARGEST_WAVE = 32, 128
"""States read while the device answers earlier ones: few at first, to begin soon."""

_Begun: TypeAlias = tuple[int, Procedure, Job]


def run_jobs(
    engine: Engine,
    jobs: Sequence[Job],
    *,
    together: bool = False,
    before_pass: Callable[[], None] | None = None,
) -> Iterator[tuple[int, JobResult]]:
    """Run several jobs: (number of the job, its result), as they finish.

    ``together`` runs jobs that an engine can read in one pass at once, which takes less time in
    all; each is credited with its share by tokens. Where the engine computes rows separately, a
    job's numbers do not depend on the others; an engine that batches may change their last bits.
    With ``before_pass`` the engine pauses where it can.
    """
    groups = [list(range(len(jobs)))]
    if engine.capabilities.rows_apart:
        most = engine.capabilities.tokens_together if together else 0
        groups = pack([job.fresh_tokens for job in jobs], most)
    for group in groups:
        started = time.perf_counter()
        rows = [row for number in group for row in jobs[number].rendered.rows]
        results = iter(_answered(engine, rows, before_pass))
        tokens = sum(jobs[number].fresh_tokens for number in group)
        each = (time.perf_counter() - started) / max(tokens, 1)
        for number in group:
            job = jobs[number]
            own = list(itertools.islice(results, len(job.rendered.rows)))
            yield number, JobResult(own, each * job.fresh_tokens)


def _answered(
    engine: Engine, rows: Sequence[Row], before_pass: Callable[[], None] | None
) -> list[RowResult]:
    if not rows:
        return []
    return engine.run(rows) if before_pass is None else engine.run_in_passes(rows, before_pass)


def run_procedures(
    engine: Engine, procedures: Mapping[int, Procedure]
) -> Iterator[tuple[int, Procedure]]:
    """Run everything, job after job; yields procedures with their numbers as they finish."""
    left = dict(procedures)
    while left:
        jobs = [(number, _job(each)) for number, each in left.items()]
        for chunk in _chunks([job for _, job in jobs]):
            for place, result in run_jobs(engine, [jobs[at][1] for at in chunk], together=True):
                number = jobs[chunk[place]][0]
                left[number].take(result)
                if left[number].next_job() is None:
                    yield number, left.pop(number)


def runs_in_waves(engine: Engine, states: int) -> bool:
    """Whether there are enough states for ``run_in_waves`` to pay off on this engine."""
    return states > _FIRST_WAVE and engine.capabilities.runs_ahead


def run_in_waves(
    engine: Engine, begin: Callable[[Sequence[int]], Mapping[int, Procedure]], every: range
) -> Iterator[tuple[int, Procedure]]:
    """Like ``run_procedures``, but the device answers some states while the next are read.

    For procedures of a single job. One thread does all of it: two would wait for each other's turn
    in the interpreter.
    """
    running: list[tuple[list[_Begun], float, Callable[[], list[RowResult]]]] = []
    for wave in _waves(every):
        begun = [(number, each, _job(each)) for number, each in begin(wave).items()]
        if not begun:
            continue
        started = time.perf_counter()
        results = engine.begin([row for _, _, job in begun for row in job.rendered.rows])
        running.append((begun, time.perf_counter() - started, results))
    for begun, seconds, results in running:
        started = time.perf_counter()
        found = iter(results())
        share = (seconds + time.perf_counter() - started) / len(begun)
        for number, each, job in begun:
            each.take(JobResult(list(itertools.islice(found, len(job.rendered.rows))), share))
            yield number, each


def _job(procedure: Procedure) -> Job:
    job = procedure.next_job()
    assert job is not None, "a procedure begins with a job"
    return job


def _waves(every: range) -> Iterator[range]:
    """Slices that double until they are large."""
    start, size = 0, _FIRST_WAVE
    while start < len(every):
        yield every[start : start + size]
        start, size = start + size, min(2 * size, _LARGEST_WAVE)


def _chunks(jobs: Sequence[Job]) -> Iterator[list[int]]:
    """Job numbers, sorted by prefix and length, split by a token budget."""
    order = sorted(
        range(len(jobs)),
        key=lambda number: (
            hash(jobs[number].rendered.rows[0].prefix) if jobs[number].rendered.rows else 0,
            jobs[number].rendered.tokens,
        ),
    )
    return within_budget(order, lambda number: jobs[number].fresh_tokens, _CHUNK_TOKENS)
