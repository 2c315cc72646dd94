import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.scale.support import (
    QUESTIONS,
    PathBatchDecider,
    manifest_of,
    numbered,
    read_parts,
    write_lines,
)
from thisthat.audit.log import DecisionLog
from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.scale import ray as on_ray
from thisthat.scale.batch import Batch
from thisthat.scale.ray import (
    DEFAULTS,
    STORE_BYTES,
    RayWorkers,
    Room,
    WorkerError,
    connect,
    decide,
)
from thisthat.scale.source import RowSource

pytest.importorskip("ray")
ROOT = Path(__file__).parents[2]


def machine(cpus: float, gpus: float = 0.0, store: float = 1e9) -> dict[str, float]:
    return {"CPU": cpus, "GPU": gpus, "object_store_memory": store}


@pytest.mark.parametrize(
    ("room", "nodes", "beside", "expected"),
    [
        (Room(), [machine(8)], 0, (1, 8)),
        (Room(), [machine(8), machine(4)], 0, (3, 4)),
        (Room(), [machine(2)], 1, (1, 1)),
        (Room(cpus=2), [machine(8), machine(5)], 0, (6, 2)),
        (Room(gpus=0.5), [machine(8, 2), machine(16)], 0, (4, 1)),
        (Room(workers=2, cpus=3), [machine(8)], 2, (2, 3)),
    ],
)
def test_workers_fill_the_machines(
    room: Room, nodes: Any, beside: int, expected: tuple[int, int]
) -> None:
    assert room.on(nodes, beside) == expected


@pytest.mark.parametrize(
    ("room", "nodes", "beside", "fault"),
    [
        (Room(workers=3), [machine(2), machine(2)], 0, "3 do not fit.*needs 2 CPU, 0 GPU and 64 M"),
        (Room(), [machine(1)], 1, "and reading and writing 1 CPU; its machines have 1 CPU"),
        (Room(gpus=1), [machine(64)], 0, "needs 1 CPU, 1 GPU"),
        (Room(), [machine(8, store=STORE_BYTES - 1)], 0, "8 CPU, 0 GPU and 63 MiB of object"),
        (Room(workers=2, cpus=5), [machine(9)], 0, "2 do not fit"),
        (Room(), [], 0, "1 do not fit"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_hangs(
    room: Room, nodes: Any, beside: int, fault: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"workers: .*{fault}"):
        room.on(nodes, beside)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"workers": 0}, "workers: is 0; at least 1"),
        ({"cpus": -1}, "cpus-per-worker: is -1; at least 1"),
        ({"gpus": -0.5}, "gpus-per-worker: is -0.5; it must be 0 or more"),
        ({"gpus": float("nan")}, "gpus-per-worker: is nan"),
    ],
)
def test_a_room_has_limits(settings: Any, fault: str) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        Room(**settings)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"Ray needs.*\.\[ray\]"):
        connect()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import ray

    os.environ.update(DEFAULTS)
    ray.init(
        num_cpus=2,
        object_store_memory=300 << 20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    yield ray
    ray.shutdown()


class SlowDecider(PathBatchDecider):
    """Leaves time to be killed."""

    def decide(self, states: Sequence[Any]) -> list[Any]:
        time.sleep(0.02)
        return super().decide(states)


class DeadlyDecider(PathBatchDecider):
    """Dies of one of its states."""

    def decide(self, states: Sequence[Any]) -> list[Any]:
        if "state 7" in states:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().decide(states)


class UnluckyDecider(PathBatchDecider):
    """Dies of one of its states as often as rows are tried, and no more."""

    deaths: Path

    def decide(self, states: Sequence[Any]) -> list[Any]:
        if "state 2" in states and (died := len(list(self.deaths.iterdir()))) <= on_ray._TRIES:
            (self.deaths / str(died)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().decide(states)


class UnopenedDecider(PathBatchDecider):
    def _open(self) -> Any:
        raise InvalidInputError("checkpoint", "is not there")


def batch_of(path: Path, folder: Path, decider: PathBatchDecider, **settings: Any) -> Batch:
    return Batch(RowSource([path], "id"), decider, folder, **{"part_rows": 20, **settings})


def test_a_batch_on_ray_writes_what_a_batch_writes(cluster: Any, tmp_path: Path) -> None:
    states = [f"state {n}" if n % 9 else "x" * 9_000 for n in range(70)]
    rows = [{"id": n, "state": state} for n, state in enumerate(states)]
    path = write_lines(tmp_path / "a.jsonl", [*rows, {"id": 70, "state": 7}])
    decider = PathBatchDecider(QUESTIONS, id="id")
    batch_of(path, tmp_path / "here", decider).run()
    told: list[int] = []
    with (
        DecisionLog(tmp_path / "log.sqlite") as log,
        RayWorkers(decider, Room(workers=2, cpus=1)) as pool,
    ):
        on = batch_of(path, tmp_path / "there", decider, workers=pool, log=log)
        assert on.estimate().answered == 71
        assert on.run(tell=lambda now: told.append(now.done)).complete
        strict = batch_of(path, tmp_path / "strict", decider, workers=pool, strict=True)
        with pytest.raises(InvalidInputError, match=r"a\.jsonl, line 1, state: .*tokens"):
            strict.run()
        logged = sorted(int(line.request or -1) for line in log.store.read({}, None, None, None))
    assert read_parts(tmp_path / "there") == read_parts(tmp_path / "here")
    here, there = manifest_of(tmp_path / "here"), manifest_of(tmp_path / "there")
    for told_by in (here, there):
        for part in told_by["parts"]:
            part.pop("seconds")
    assert there == here
    assert told == [20, 40, 60, 71]
    assert logged == sorted(3 * [n for n in range(70) if n % 9])


def test_a_killed_worker_costs_nothing(cluster: Any, tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.jsonl", 120)
    decider = SlowDecider(QUESTIONS, id="id")
    with RayWorkers(decider, Room(workers=2, cpus=1)) as pool:
        kills = iter(pool.workers)

        def kill(_: Any) -> None:
            if (worker := next(kills, None)) is not None:
                cluster.kill(worker, no_restart=False)

        batch = batch_of(path, tmp_path / "out", decider, workers=pool, part_rows=5)
        assert batch.run(tell=kill).complete
    assert [row["id"] for row in read_parts(tmp_path / "out")] == [f"t-{n}" for n in range(120)]


def test_rows_that_kill_their_worker_are_named(cluster: Any, tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.jsonl", 20)
    decider = DeadlyDecider(QUESTIONS, id="id")
    with RayWorkers(decider, Room(workers=1, cpus=1)) as pool:
        batch = batch_of(path, tmp_path / "out", decider, workers=pool, part_rows=5)
        with pytest.raises(WorkerError, match=r"died 4 times on the rows .*line 6 to .*line 10"):
            batch.run()
    assert [row["id"] for row in read_parts(tmp_path / "out")] == [f"t-{n}" for n in range(5)]


def test_rows_whose_answers_were_lost_with_others_are_asked_alone(
    cluster: Any, tmp_path: Path
) -> None:
    path = numbered(tmp_path / "a.jsonl", 20)
    decider = UnluckyDecider(QUESTIONS, id="id")
    decider.deaths = tmp_path / "deaths"
    decider.deaths.mkdir()
    with RayWorkers(decider, Room(workers=1, cpus=1)) as pool:
        assert batch_of(path, tmp_path / "out", decider, workers=pool, part_rows=5).run().complete
    assert len(list(decider.deaths.iterdir())) == on_ray._TRIES + 1
    assert [row["id"] for row in read_parts(tmp_path / "out")] == [f"t-{n}" for n in range(20)]


def test_what_a_worker_cannot_open_is_said_as_here(cluster: Any) -> None:
    with pytest.raises(InvalidInputError, match="checkpoint: is not there"):
        RayWorkers(UnopenedDecider(QUESTIONS, id="id"), Room(workers=1, cpus=1))


def test_workers_that_never_start_are_given_up(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider = PathBatchDecider(QUESTIONS, id="id")
    with RayWorkers(decider, Room(workers=1, cpus=2)):
        monkeypatch.setattr(on_ray, "_START_SECONDS", 1.0)
        with pytest.raises(WorkerError, match=r"1 of 1 workers did not start within 1 sec.*0 CPUs"):
            RayWorkers(decider, Room(workers=1, cpus=2))


def test_a_dataset_is_answered(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray, "BatchDecider", PathBatchDecider)
    rows = [{"id": f"t-{n}", "body": f"state {n}"} for n in range(50)]
    asked = decide(cluster.data.from_items(rows), QUESTIONS, id_column="id", state="body")
    found = sorted(asked.take_all(), key=lambda row: int(row["id"][2:]))
    columns = {name: [row[name] for row in rows] for name in ("id", "body")}
    expected = PathBatchDecider(QUESTIONS, id="id", state="body")(columns)
    assert {name: [row[name] for row in found] for name in expected} == expected
    with pytest.raises(InvalidInputError, match=r"workers: 2 do not fit.*writing 1 CPU"):
        decide(cluster.data.from_items(rows), QUESTIONS, workers=2, cpus_per_worker=1)


def test_a_killed_driver_goes_on(cluster: Any, tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.jsonl", 300)
    program = (
        "import sys; from pathlib import Path; from tests.scale.test_ray import *\n"
        "decider = SlowDecider(QUESTIONS, id='id')\n"
        "with RayWorkers(decider, Room(workers=1, cpus=1), sys.argv[3]) as pool:\n"
        "    batch = batch_of(Path(sys.argv[1]), Path(sys.argv[2]), decider, workers=pool)\n"
        "    batch.run(tell=lambda now: print(now.done, flush=True))\n"
    )
    address = cluster.get_runtime_context().gcs_address
    command = [sys.executable, "-c", program, str(path), str(tmp_path / "out"), address]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    while int(child.stdout.readline()) < 100:
        pass
    child.kill()
    child.wait()
    seen = [row["id"] for row in read_parts(tmp_path / "out")]
    assert 80 <= len(set(seen)) == len(seen) < 300
    subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    assert [row["id"] for row in read_parts(tmp_path / "out")] == [f"t-{n}" for n in range(300)]
