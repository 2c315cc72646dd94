from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint, opening
from thisthat.cli import app, diagnosis
from thisthat.cli.diagnosis import Diagnosis, HostFact, diagnose
from thisthat.cpus import Cores
from thisthat.decide.opening import open_decider
from thisthat.engine import select
from thisthat.engine.speed import Candidate, Speed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny checkpoint and a store of its own, on a machine without a GPU."""
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "store"))
    monkeypatch.delenv("THISTHAT_BASE", raising=False)
    monkeypatch.setattr(select, "has_nvidia_gpu", lambda: False)
    return tiny.write_checkpoint(tmp_path / "model")


def facts(found: Diagnosis) -> dict[str, HostFact]:
    return {each.name: each for each in found.findings}


def test_everything_is_told_about_a_checkpoint(folder: Path) -> None:
    with open_decider(folder):
        pass
    found = facts(diagnose(str(folder)))
    wanted = {"package", "processor", "instructions", "memory", "cache", "compiler", "GPU"}
    assert wanted | {"checkpoint", "engine", "why this engine", "extras"} <= set(found)
    assert found["checkpoint"].mend is None
    assert str(folder.parent / "store") in found["cache"].fact
    assert "serve" in found["extras"].fact


def test_a_checkpoint_that_was_never_opened_is_told_and_nothing_is_built(folder: Path) -> None:
    found = diagnose(str(folder))
    engine = facts(found)["engine"]
    assert "not known yet" in engine.fact
    assert (engine.mend, engine.meant) == (f"thisthat pull {folder}", True)
    assert "why this engine" not in facts(found)
    assert list((folder.parent / "store").glob("forms/*")) == []
    with open_decider(folder) as decider:
        opened = decider.engine.description
    assert facts(diagnose(str(folder)))["engine"].fact == opened


@pytest.mark.parametrize(
    ("cores", "logical", "fact", "mend"),
    [
        (Cores(2, 2, None, None), 2, "2 usable cores", None),
        (Cores(4, 4, None, 4), 8, "4 usable cores (8 logical ones in the machine)", None),
        (
            Cores(2, 2, None, 1),
            2,
            "1 usable core of 2: OMP_NUM_THREADS is 1",
            "unset OMP_NUM_THREADS",
        ),
        (
            Cores(8, 3, 6, None),
            16,
            "3 usable cores of 8 (16 logical ones in the machine): the affinity mask allows 3, "
            "the container's quota allows 6",
            "start it without taskset, a container without --cpuset-cpus; "
            "give the container more CPUs (docker: --cpus)",
        ),
    ],
)
def test_what_keeps_cores_from_us_is_told_with_its_mend(
    cores: Cores, logical: int, fact: str, mend: str | None
) -> None:
    found = diagnosis.processor_cores(cores, logical)
    assert (found.fact, found.mend, found.meant) == (fact, mend, mend is not None)
    assert diagnosis.processor_cores(cores, logical, "Some CPU").fact == f"Some CPU, {fact}"


def test_a_limit_on_threads_is_told_and_may_be_meant(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.cpus.os.cpu_count", lambda: 64)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = diagnose(str(folder))
    assert "OMP_NUM_THREADS is 1" in facts(found)["processor"].fact
    assert "unset OMP_NUM_THREADS" in str(facts(found)["processor"].mend)
    assert Diagnosis((facts(found)["processor"],)).fine


def test_a_base_that_is_not_here_is_named_and_nothing_is_fetched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.checkpoint.fetch._run_pip", lambda *_: pytest.fail("fetches"))
    found = diagnose()
    assert facts(found)["checkpoint"].mend == "thisthat pull default"
    assert not found.fine
    monkeypatch.setitem(opening.SHIPPED, "other", opening.SHIPPED["default"])
    assert facts(diagnose("other"))["checkpoint"] == HostFact(
        "checkpoint", "the base of other is not fetched yet", "thisthat pull other"
    )
    monkeypatch.setenv("THISTHAT_BASE", "/nowhere")
    missing = facts(diagnose())["checkpoint"]
    assert "there is no file /nowhere" in missing.fact
    assert missing.mend is not None


def test_a_checkpoint_that_does_not_open_is_to_be_mended(tmp_path: Path, folder: Path) -> None:
    found = facts(diagnose(str(tmp_path / "nope")))
    assert "nope" in found["checkpoint"].fact
    assert found["checkpoint"].mend == (
        "name another checkpoint, or fix the file that the message names"
    )


@pytest.mark.parametrize(
    ("free", "most", "current", "fact", "mends"),
    [
        (8 << 20, None, 0, "8.0 GiB free", False),
        (8 << 20, 3 << 30, 1 << 30, "2.0 GiB free", False),
        (100 << 10, None, 0, "100 MiB free", True),
        (None, None, 0, "this system does not say how much is free", False),
    ],
)
def test_memory_is_what_the_container_leaves(
    tmp_path: Path, free: int | None, most: int | None, current: int, fact: str, mends: bool
) -> None:
    info = tmp_path / "meminfo"
    if free is not None:
        info.write_text(f"MemTotal: 1 kB\nMemAvailable: {free} kB\n")
    (tmp_path / "memory.max").write_text("max" if most is None else str(most))
    (tmp_path / "memory.current").write_text(str(current))
    found = diagnosis.memory(info, tmp_path)
    assert (found.fact, found.mend is not None) == (fact, mends)


def test_a_store_that_cannot_be_written_is_to_be_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "file" / "store"))
    found = diagnosis.cache_folder()
    assert "cannot be written" in found.fact
    assert "THISTHAT_HOME" in str(found.mend)
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "later"))
    assert diagnosis.cache_folder().fact.endswith("not there yet")


@pytest.mark.parametrize(
    ("reason", "mend"),
    [
        ("THISTHAT_NATIVE is 0", "unset THISTHAT_NATIVE"),
        ("cc did not run: no such file", "install a C compiler (gcc or clang), or name one in CC"),
        ("this processor has no dot products of bytes", None),
    ],
)
def test_why_it_is_not_faster_says_what_to_do(reason: str, mend: str | None) -> None:
    assert diagnosis._how_to_compile(reason) == mend


TIMED = Speed(((Candidate("onnx", 2), 31.25), (Candidate("native", 2), float("inf"))))


@pytest.mark.parametrize(
    ("engine", "untimed", "speed", "fact"),
    [
        ("onnxruntime 1.31, cpu, int8", "no C compiler", None, "is not used: no C compiler"),
        # A record from when there was one says nothing about now.
        ("onnxruntime 1.31, cpu, int8", "no C compiler", TIMED, "is not used: no C compiler"),
        (
            "onnxruntime 1.31, cpu, int8",
            None,
            TIMED,
            "64 tokens: onnx, 2 threads: 31.2 ms; native, 2 threads: did not open",
        ),
        ("native kernels (vnni), cpu", "never asked", TIMED, "chosen by a short measurement"),
        ("native kernels (vnni), cpu", "never asked", None, "it is the fastest engine here"),
        ("torch 2.13, cuda", "never asked", TIMED, "it is the fastest engine here"),
    ],
)
def test_the_choice_of_an_engine_is_told_with_what_was_measured(
    engine: str,
    untimed: str | None,
    speed: Speed | None,
    fact: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(select, "why_not_timed", lambda _: untimed)
    monkeypatch.setattr(select, "default_form", lambda _: "int8")
    monkeypatch.setattr("thisthat.engine.speed.known_speed", lambda _: speed)
    assert fact in diagnosis.why_this_engine(open_checkpoint(folder), engine).fact


def test_weights_that_are_not_of_eight_bits_are_told_so(folder: Path) -> None:
    why = diagnosis.why_this_engine(open_checkpoint(folder), "onnxruntime 1.31, cpu, float32")
    assert "eight-bit weights, which these are not" in why.fact


def test_secrets_are_not_shown() -> None:
    given = {"THISTHAT_KEYS": "secret", "THISTHAT_NATIVE": "0", "OTHER": "x"}
    assert [(each.name, each.fact) for each in diagnosis.variables(given)] == [
        ("THISTHAT_NATIVE", "0"),
        ("THISTHAT_KEYS", "set"),
    ]


def test_the_command_ends_with_1_for_what_is_to_be_mended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = CliRunner().invoke(app, ["doctor", "--json"])
    record = json.loads(shown.output)
    assert (shown.exit_code, record["fine"]) == (1, False)
    assert {"name": "checkpoint", "mend": "thisthat pull default"}.items() <= next(
        each for each in record["findings"] if each["name"] == "checkpoint"
    ).items()
    told = CliRunner().invoke(app, ["doctor"])
    assert "→ thisthat pull default" in told.output
    lines = told.output.splitlines()
    # Through a pipe a path stands whole in its line, and no line is padded.
    assert any(str(folder.parent / "store") in line for line in lines)
    assert lines == [line.rstrip() for line in lines]
    monkeypatch.setattr(diagnosis, "_findings", lambda _: [HostFact("a", "b")])
    assert CliRunner().invoke(app, ["doctor"]).exit_code == 0
