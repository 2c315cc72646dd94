"""Ray: a pool of workers that answer a batch's rows, and answers for a Ray Data dataset.

A batch on Ray reads its rows and writes its parts where it was started, so that workers need no
shared disk and the manifest is the same; only rows and answers travel. For more rows than one
reader can feed, ``decide`` reads and writes with Ray Data.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

from thisthat.decide.conditions import Conditions
from thisthat.errors import InvalidInputError, MissingExtraError, ThisThatError
from thisthat.scale.answering import CHARACTERS, Answered, Groups, RowAnswerer
from thisthat.scale.decider import BatchDecider
from thisthat.scale.source import InputRow

STORE_BYTES = 16 * CHARACTERS
"""Room in the object store for every worker: its groups of rows on the way, and their answers."""

DEFAULTS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Tell nobody that we run.
    "RAY_worker_niceness": "0",  # By default workers yield to all others.
    # By default a proxy that takes 15 seconds to start, as on a busy machine, is killed for it.
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "30",
}
"""What a cluster started here has in its environment, unless the caller's says otherwise."""

_GROUPS = 2
"""Groups that a worker has at a time, so that it never waits for the next."""
_AHEAD = 4
"""Groups, for every worker, that may be answered or on the way before the next part needs them."""
_TRIES = 3
_START_SECONDS = 300.0

Running: TypeAlias = dict[Any, tuple[int, Any, list[InputRow]]]
"""Of every answer on its way the number of its group, its worker and its rows."""


class WorkerError(ThisThatError):
    """A worker that cannot start, or dies again and again on the same rows."""


@dataclass(frozen=True)
class Room:
    """What each of so many ``workers`` takes; None is as much as the cluster has.

    Without GPUs one worker takes a whole machine, because weights are shared by its threads; with
    GPUs there is one for every ``gpus`` of them. Raises InvalidInputError.
    """

    workers: int | None = None
    cpus: int | None = None
    gpus: float = 0.0

    def __post_init__(self) -> None:
        for field, value in (("workers", self.workers), ("cpus-per-worker", self.cpus)):
            if value is not None and value < 1:
                raise InvalidInputError(field, f"is {value}; at least 1 is needed")
        if not 0 <= self.gpus < 1_000:
            raise InvalidInputError("gpus-per-worker", f"is {self.gpus:g}; it must be 0 or more")

    def on(self, nodes: list[dict[str, float]], beside: int = 0) -> tuple[int, int]:
        """How many workers, of how many CPUs each, on machines with these resources.

        ``beside`` CPUs are left for others. Raises InvalidInputError for what does not fit.
        """
        smallest = min((node.get("CPU", 0.0) for node in nodes), default=0.0)
        cpus = self.cpus or (1 if self.gpus else max(1, int(smallest) - beside))
        left, fits = beside, 0
        for node in sorted(nodes, key=lambda each: -each.get("CPU", 0.0)):
            taken = min(left, int(node.get("CPU", 0.0)))
            here = [(node.get("CPU", 0.0) - taken) // cpus]
            here.append(node.get("object_store_memory", 0.0) // STORE_BYTES)
            if self.gpus:
                here.append(node.get("GPU", 0.0) // self.gpus)
            left, fits = left - taken, fits + int(min(here))
        workers = self.workers or max(1, fits)
        if left or workers > fits:
            needs = f"each needs {_resources(cpus, self.gpus, STORE_BYTES)}"
            needs += f", and reading and writing {beside} CPU" if beside else ""
            has = "; ".join(
                _resources(*(node.get(name, 0.0) for name in ("CPU", "GPU", "object_store_memory")))
                for node in nodes
            )
            message = (
                f"{workers} do not fit the cluster: {needs}; its machines have {has or 'none'}"
            )
            raise InvalidInputError("workers", message)
        return workers, cpus


def _resources(cpus: float, gpus: float, store: float) -> str:
    return f"{cpus:g} CPU, {gpus:g} GPU and {int(store) >> 20} MiB of object store"


def connect(address: str | None = None) -> Any:
    """Ray, connected to a cluster or started on this machine. Raises MissingExtraError.

    Raises InvalidInputError for an address where nothing answers.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("Ray", "ray") from error
    if not ray.is_initialized():
        for name, value in DEFAULTS.items():
            os.environ.setdefault(name, value)
        try:
            ray.init(address=address, include_dashboard=False if address is None else None,
                     logging_level="ERROR", log_to_driver=False)  # fmt: skip
        except (ConnectionError, ValueError) as error:
            raise InvalidInputError(
                "address", f"{address!r}: no cluster answers: {error}"
            ) from None
    return ray


def machines(ray: Any) -> list[dict[str, float]]:
    """The resources of every machine of the cluster."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


class RayWorkers:
    """Workers in a cluster that answer a batch's rows; a context, which stops them at its end.

    A worker that dies is started again, and gets its rows again. ``workers`` are Ray's actors,
    ``ray`` its module. Raises InvalidInputError before
    anything starts where the cluster has no room, WorkerError where no worker starts, and what
    opening the checkpoint raises there.
    """

    def __init__(self, decider: BatchDecider, room: Room, address: str | None = None) -> None:
        self.ray = connect(address)
        self.count, cpus = room.on(machines(self.ray))
        sent = copy(decider)
        if sent.threads is None and not room.gpus:
            sent.threads = cpus
        remote = self.ray.remote(num_cpus=cpus, num_gpus=room.gpus, max_restarts=-1,
                                  max_task_retries=_TRIES)  # fmt: skip
        self.workers = [remote(_Worker).remote(sent) for _ in range(self.count)]
        try:
            self.conditions = self._started()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RayWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers."""
        for worker in self.workers:
            self.ray.kill(worker)

    def answer(self, groups: Groups, how: RowAnswerer) -> Iterator[Answered]:
        """The groups' answers, in order; whichever worker has room gets the next group."""
        kept = how.id_column, how.log
        free = deque(self.workers * _GROUPS)
        running: Running = {}
        ready: dict[int, Answered] = {}
        given = taken = 0
        while True:
            while free and given - taken < _AHEAD * self.count and (rows := groups.next()):
                worker = free.popleft()
                running[worker.answer.remote(rows, *kept)] = given, worker, rows
                given += 1
            if not running:
                return
            [done], _ = self.ray.wait(list(running))
            for number, worker, answered in self._finished(done, running, kept):
                free.append(worker)
                ready[number] = answered
                groups.took(answered.seconds)
                while taken in ready:
                    yield ready.pop(taken)
                    taken += 1

    def _finished(
        self, done: Any, running: Running, kept: tuple[str, bool]
    ) -> Iterator[tuple[int, Any, Answered]]:
        """The number, worker and answers of a group that is done, which leaves ``running``.

        Where its worker died, the same of every group that it had, asked one by one: it may have
        died of the next one before this one's answers were sent.
        """
        number, worker, rows = running.pop(done)
        try:
            answered = self._get(done, rows)
        except WorkerError:
            had = [(number, done, rows)]
            had += [(n, future, r) for future, (n, w, r) in running.items() if w is worker]
            self.ray.wait([future for _, future, _ in had], num_returns=len(had))
            for number, future, rows in sorted(had, key=itemgetter(0)):
                running.pop(future, None)
                yield number, worker, self._got_alone(worker, future, rows, kept)
        else:
            yield number, worker, answered

    def _got_alone(
        self, worker: Any, future: Any, rows: list[InputRow], kept: tuple[str, bool]
    ) -> Answered:
        """A group's answers, asked again if they were lost; then of nothing else can it die."""
        try:
            found: Answered = self._get(future, rows)
        except WorkerError:
            found = self._get(worker.answer.remote(rows, *kept), rows)
        return found

    def _started(self) -> Conditions:
        """The conditions of all workers, once all are there."""
        asked = [worker.conditions.remote() for worker in self.workers]
        done, late = self.ray.wait(asked, num_returns=len(asked), timeout=_START_SECONDS)
        found: list[Conditions] = [self._get(each) for each in done]
        if late:
            free = self.ray.available_resources()
            has = f"{free.get('CPU', 0):g} CPUs and {free.get('GPU', 0):g} GPUs are free"
            message = f"{len(late)} of {len(asked)} workers did not start within"
            raise WorkerError(f"{message} {_START_SECONDS:g} seconds; {has}")
        for each in found[1:]:
            if differs := found[0].differences(each):
                raise WorkerError(f"two workers do not answer alike: {'; '.join(differs)}")
        return found[0]

    def _get(self, future: Any, rows: list[InputRow] | None = None) -> Any:
        errors = self.ray.exceptions
        try:
            return self.ray.get(future)
        except errors.RayTaskError as error:
            raise error.cause if isinstance(error.cause, ThisThatError) else error from None
        except errors.RayActorError as error:
            what = f"on the rows {rows[0].where} to {rows[-1].where}" if rows else "at its start"
            raise WorkerError(f"a worker died {_TRIES + 1} times {what}: {error}") from None


class _Worker:
    """What runs in a worker."""

    def __init__(self, decider: BatchDecider) -> None:
        self._decider = decider

    def conditions(self) -> Conditions:
        return self._decider.conditions

    def answer(self, rows: list[InputRow], id_column: str, log: bool) -> Answered:
        return RowAnswerer(self._decider, id_column, log).answer(rows)


def decide(
    dataset: Any,
    schema: Any,
    *,
    id_column: str | None = None,
    workers: int | None = None,
    cpus_per_worker: int | None = None,
    gpus_per_worker: float = 0.0,
    batch_rows: int = 256,
    **settings: Any,
) -> Any:
    """A Ray dataset with the answers to a dataset's states: the columns of ``BatchDecider``.

    ``settings`` are those of ``BatchDecider(schema, …)``; one CPU is left for reading and writing.
    Raises InvalidInputError where the cluster has no room for the workers.
    """
    ray = connect()
    room = Room(workers, cpus_per_worker, gpus_per_worker)
    size, cpus = room.on(machines(ray), beside=1)
    if not gpus_per_worker:
        settings = {"threads": cpus, **settings}
    decider = BatchDecider(schema, id=id_column, **settings)
    return dataset.map_batches(
        _Mapped,
        fn_constructor_args=(decider,),
        compute=ray.data.ActorPoolStrategy(size=size),
        num_cpus=cpus,
        num_gpus=gpus_per_worker,
        batch_format="pyarrow",
        batch_size=batch_rows,
    )


class _Mapped:
    """A decider in a worker of Ray Data, which makes it of a class."""

    def __init__(self, decider: BatchDecider) -> None:
        self._decider = decider

    def __call__(self, table: Any) -> Any:
        return self._decider(table)
