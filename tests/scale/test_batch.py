import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scale.support import (
    Stub,
    manifest_of,
    numbered,
    read_part,
    read_parts,
    stub_batch,
    stub_decider,
    write_lines,
)
from thisthat import files
from thisthat.audit.log import DecisionLog
from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.scale import manifest, parts
from thisthat.scale.batch import Batch, Progress
from thisthat.scale.decider import BatchDecider
from thisthat.scale.source import RowSource

ROOT = Path(__file__).parents[2]
KILLS = 5


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_every_row_is_answered_or_has_an_error(tmp_path: Path, form: Any) -> None:
    states = ["one", "bad", "three"]
    path = write_lines(tmp_path / "a.jsonl", [{"id": n, "state": s} for n, s in enumerate(states)])
    with path.open("ab") as file:
        file.write(b'{"id": 3, "sta')
    done = stub_batch(path, tmp_path / "out", format=form).run()
    assert (done.done, done.total("errors"), done.complete) == (4, 2, True)
    first, bad, _, torn = read_part(tmp_path / "out" / f"part-000000.{form}")
    assert str(first["id"]) == "0"
    assert str(first["q_best"]).lower() == "true"
    assert float(first["q_probability"]) == 0.75
    assert bad["error"] == f"{path}, line 2, state: is bad"
    assert not bad["q_best"]
    assert torn["error"].startswith(f"{path}, line 4: is not JSON")
    assert not torn["id"]
    told = manifest_of(tmp_path / "out")
    assert told["totals"] == {"done": 4, "complete": True, "errors": 2}
    assert told["first_errors"] == [bad["error"], torn["error"]]
    assert told["declared"]["conditions"]["checkpoint"] == "stub"


def test_provenance_is_in_the_metadata(tmp_path: Path) -> None:
    stub_batch(numbered(tmp_path / "a.jsonl", 3), tmp_path / "out").run()
    metadata = pyarrow.parquet.read_schema(tmp_path / "out" / "part-000000.parquet").metadata
    told = json.loads(metadata[b"thisthat"])
    declared = manifest_of(tmp_path / "out")["declared"]
    assert told["schema_hash"] == declared["schema_hash"]
    assert told["conditions"] == declared["conditions"]


class Killed(BaseException):
    """As sudden as a kill: no handler of the library catches it."""


class Clock:
    """Raises Killed at a chosen one of the moments at which files are written."""

    def __init__(self) -> None:
        self.left = 0

    def tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed

    def write(self, path: Path, content: Any) -> None:
        self.tick()
        if self.left == 1:
            path.with_name(f".{path.name}.0123456789abcdef").write_bytes(b"half")
            self.tick()
        files.write_atomically(path, content)
        self.tick()


@given(
    rows=st.integers(1, 40),
    part_rows=st.integers(1, 9),
    sample=st.none() | st.integers(1, 30),
    kills=st.lists(st.integers(1, 12), max_size=8),
    form=st.sampled_from(["parquet", "jsonl", "csv"]),
)
def test_a_killed_batch_resumes_with_every_id_once(
    tmp_path_factory: pytest.TempPathFactory,
    rows: int,
    part_rows: int,
    sample: int | None,
    kills: list[int],
    form: Any,
) -> None:
    folder = tmp_path_factory.mktemp("resume")
    batch = stub_batch(
        numbered(folder / "a.jsonl", rows), folder / "out", part_rows=part_rows, format=form
    )
    batch = replace(batch, sample=sample)
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        for module in (parts, manifest):
            patch.setattr(module, "write_atomically", clock.write)
        for moment in [*kills, 0]:
            clock.left = moment
            try:
                done = batch.run()
            except Killed:
                seen = [row["id"] for row in read_parts(folder / "out")]
                assert len(seen) == len(set(seen))
    ids = [row["id"] for row in read_parts(folder / "out")]
    expected = rows if sample is None else min(rows, sample)
    assert len(ids) == len(set(ids)) == expected == done.done
    assert ids == sorted(ids, key=lambda each: int(each[2:]))
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        ".lock",
        "manifest.json",
        *[part.file for part in done.parts],
    ]


def test_kill_nine_at_random_moments(tmp_path: Path) -> None:
    rows = KILLS * 200  # At ten milliseconds for five rows, more than all kills leave time for.
    path = numbered(tmp_path / "a.jsonl", rows)
    program = (
        "import sys, time; from pathlib import Path; from tests.scale.support import *\n"
        "class Slow(Stub):\n"
        "    def decide_each(self, states, *a, **k):\n"
        "        time.sleep(0.01); return super().decide_each(states)\n"
        "batch = stub_batch(Path(sys.argv[1]), Path(sys.argv[2]), part_rows=5)\n"
        "batch.decider._opened = Slow()\n"
        "print('ready', flush=True); batch.run()"
    )
    chance = random.Random(4)
    command = [sys.executable, "-c", program, str(path), str(tmp_path / "out")]
    kills = 0
    while True:
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        try:
            assert child.wait(chance.uniform(0.02, 0.3) if kills < KILLS else None) == 0
            break
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            kills += 1
            ids = [row["id"] for row in read_parts(tmp_path / "out")]
            assert len(ids) == len(set(ids))
    assert kills == KILLS
    assert [row["id"] for row in read_parts(tmp_path / "out")] == [f"t-{n}" for n in range(rows)]


def test_what_changed_is_refused_by_name(tmp_path: Path) -> None:
    path, out = numbered(tmp_path / "a.jsonl", 5), tmp_path / "out"
    batch = stub_batch(path, out)
    batch.run()
    before = (out / "manifest.json").read_bytes()

    class Other(Stub):
        def conditions(self, **_: Any) -> Any:
            return replace(super().conditions(), checkpoint="another", lam=0.5)

    another = stub_decider()
    another._opened = Other()  # type: ignore[assignment]
    asked = BatchDecider({"q": "Is it another?"}, id="id")
    asked._opened = Stub()  # type: ignore[assignment]
    more = numbered(tmp_path / "b.jsonl", 6)
    for changed, fault in (
        (replace(batch, decider=another), "the checkpoint is another, not stub; λ is 0.5, not 1"),
        (replace(batch, decider=asked), "the schema changed"),
        (replace(batch, format="csv"), "format is csv, not parquet"),
        (replace(batch, sample=2), "sample is 2, not None"),
        (replace(batch, source=RowSource([more], "id")), r"b\.jsonl is new; .*a\.jsonl is gone"),
        (replace(batch, source=RowSource([path])), "id is None, not id"),
    ):
        with pytest.raises(InvalidInputError, match=f"something else: .*{fault}.*--restart"):
            changed.run()
    numbered(path, 4)
    with pytest.raises(InvalidInputError, match=r"a\.jsonl changed\. --restart begins anew"):
        batch.run()
    assert (out / "manifest.json").read_bytes() == before
    assert batch.run(restart=True).done == 4
    assert [row["id"] for row in read_parts(out)] == ["t-0", "t-1", "t-2", "t-3"]


def test_a_folder_that_is_not_ours_stays_as_it_is(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.jsonl", 5)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "part-000000.parquet").write_bytes(b"theirs")
    for restart in (False, True):
        with pytest.raises(InvalidInputError, match=r"holds 'part-000000\.parquet' and no man"):
            stub_batch(path, theirs).run(restart=restart)
    (theirs / "manifest.json").write_text('{"files": []}', encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"manifest\.json: is not the manifest of a batch"):
        stub_batch(path, theirs).run(restart=True)
    assert sorted(each.name for each in theirs.iterdir()) == [
        "manifest.json",
        "part-000000.parquet",
    ]
    with pytest.raises(InvalidInputError, match="is a file; a batch writes a folder"):
        stub_batch(path, path).run()


def test_a_disk_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = stub_batch(numbered(tmp_path / "a.jsonl", 5), tmp_path / "out")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts, "write_atomically", full)
    with pytest.raises(InvalidInputError, match=r"out: cannot be written: .*No space left"):
        batch.run()
    monkeypatch.undo()
    assert batch.run().done == 5
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match="cannot be written"):
        replace(batch, folder=tmp_path / "file" / "out").run()


def test_a_part_that_was_touched_is_named(tmp_path: Path) -> None:
    batch = stub_batch(numbered(tmp_path / "a.jsonl", 5), tmp_path / "out", part_rows=2)
    batch.run()
    part = tmp_path / "out" / "part-000001.parquet"
    part.write_bytes(b"")
    with pytest.raises(InvalidInputError, match=r"part-000001\.parquet: has 0 bytes, not"):
        batch.run()
    part.unlink()
    with pytest.raises(InvalidInputError, match=r"part-000001\.parquet: is missing"):
        batch.run()


def test_an_input_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.jsonl", 9)
    batch = stub_batch(path, tmp_path / "out", part_rows=3)

    def grow(_: Progress) -> None:
        with path.open("a") as file:
            file.write("\n")

    with pytest.raises(InvalidInputError, match=r"a\.jsonl: changed while it was read"):
        batch.run(tell=grow)
    assert read_parts(tmp_path / "out") == []


def test_strict_stops_at_the_first_row_without_an_answer(tmp_path: Path) -> None:
    rows = [{"id": n, "state": "bad" if n == 7 else "fine"} for n in range(10)]
    batch = stub_batch(write_lines(tmp_path / "a.jsonl", rows), tmp_path / "out", part_rows=2)
    with pytest.raises(InvalidInputError, match=r"a\.jsonl, line 8, state: is bad"):
        replace(batch, strict=True).run()
    assert len(read_parts(tmp_path / "out")) == 6
    assert batch.run().total("errors") == 1


def test_a_sample_is_the_same_every_time_and_spread(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.jsonl", 100)
    ids = []
    for name in ("one", "two"):
        stub_batch(path, tmp_path / name, sample=10).run()
        ids.append([row["id"] for row in read_parts(tmp_path / name)])
    assert ids[0] == ids[1]
    assert len(ids[0]) == 10
    assert max(int(each[2:]) for each in ids[0]) > 50


def test_progress_tells_rate_time_left_and_tokens(tmp_path: Path) -> None:
    told: list[Progress] = []
    batch = stub_batch(numbered(tmp_path / "a.jsonl", 10), tmp_path / "out", part_rows=4)
    batch.run(tell=told.append)
    assert [each.done for each in told] == [4, 8, 10]
    assert (told[1].input_tokens, told[1].cached_tokens) == (80, 32)
    assert told[1].rate > 0
    assert told[1].left is not None
    assert told[1].left > 0
    assert told[2].left == 0
    told.clear()
    assert batch.run(tell=told.append).done == 10
    assert told == []


def test_an_estimate_writes_nothing(tmp_path: Path) -> None:
    batch = stub_batch(numbered(tmp_path / "a.jsonl", 200), tmp_path / "out")
    found = batch.estimate()
    assert (found.rows, found.done, found.answered) == (200, 0, 64)
    assert found.left is not None
    assert not (tmp_path / "out").exists()


def test_the_decision_log_has_every_row_under_its_id(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"id": n, "state": f"s {n}"} for n in range(5)])
    with DecisionLog(tmp_path / "log.sqlite") as log:
        stub_batch(path, tmp_path / "out", log=log, part_rows=2).run()
        lines = list(log.store.read({}, None, None, None))
    assert sorted(line.request or "" for line in lines) == ["0", "1", "2", "3", "4"]


def test_parquet_without_its_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Parquet.*jsonl.*\.\[batch\]"):
        stub_batch(tmp_path / "a.jsonl", tmp_path / "out")
    stub_batch(numbered(tmp_path / "a.jsonl", 3), tmp_path / "out", format="jsonl").run()


@pytest.mark.parametrize("setting", ["part_rows", "sample"])
def test_settings_have_limits(tmp_path: Path, setting: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{setting}: is 0; at least 1 is needed"):
        stub_batch(tmp_path / "a.jsonl", tmp_path / "out", **{setting: 0})


def test_a_column_of_answers_is_no_id(tmp_path: Path) -> None:
    source = RowSource([tmp_path / "a.jsonl"], "q_best")
    with pytest.raises(InvalidInputError, match="id: 'q_best' is a column of answers"):
        Batch(source, BatchDecider({"q": "Is it?"}), tmp_path / "out")


def test_two_runs_of_one_folder_take_turns(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.jsonl", 30)

    class Slow(Stub):
        def decide_each(self, states: Any, *_: Any, **__: Any) -> list[Any]:
            time.sleep(0.005)
            return super().decide_each(states)

    def run() -> None:
        batch = stub_batch(path, tmp_path / "out", part_rows=3)
        batch.decider._opened = Slow()  # type: ignore[assignment]
        batch.run()

    both = [threading.Thread(target=run) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [row["id"] for row in read_parts(tmp_path / "out")] == [f"t-{n}" for n in range(30)]


def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    peaks = []
    for count in (2_000, 20_000):
        path = numbered(tmp_path / f"{count}.jsonl", count)
        batch = stub_batch(path, tmp_path / str(count), part_rows=1_000)
        tracemalloc.start()
        batch.run()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
