import json
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
from argparse import Namespace
from pathlib import Path

import pytest

from tests.teach.small import write_parent
from thisthat.engine.native.compiler import variants_here
from thisthat_lab.bench.registry import REGISTRY
from thisthat_lab.bench.result import read_result

SCRIPT = Path(__file__).parents[1] / "scripts" / "audit.py"
CLEAN = {"name": "a", "version": "1", "vulns": []}
WEAK = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
UNKNOWN = {"name": "c", "version": "3", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("report", "code", "said"),
    [
        ([CLEAN, UNKNOWN], 0, "1 of 2 packages audited, 0 known weaknesses"),
        ([CLEAN, WEAK], 1, "b 2: PYSEC-1, fixed in 2.1"),
        ([UNKNOWN], 2, "nothing was audited: the registry cannot be reached"),
        (None, 2, "nothing was audited: the registry cannot be reached"),
    ],
)
def test_no_advisories_are_no_clean_audit(report: object, code: int, said: str) -> None:
    given = "" if report is None else json.dumps({"dependencies": report, "fixes": []})
    done = subprocess.run(
        [sys.executable, SCRIPT], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert said in done.stdout


def test_a_program_and_those_it_starts_see_avx2_alone() -> None:
    script = ["sh", str(SCRIPT.parent / "avx2_only.sh")]
    if "avx2" not in variants_here() or not shutil.which("cc") or not shutil.which("unshare"):
        pytest.skip("there is no AVX2, no C compiler or no unshare here")
    if subprocess.run([*script, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this processor or system cannot let CPUID fault")
    code = (
        "from numpy._core._multiarray_umath import __cpu_features__ as seen\n"
        "from thisthat.engine.native.compiler import variants_here\n"
        "print(seen['AVX2'], seen['AVX512F'], variants_here())"
    )
    program = [sys.executable, "-c", code]
    for command in ([*script, *program], [*script, "sh", "-c", shlex.join(program)]):
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert said.strip() == "True False ['avx2', 'plain']"
    # Faults that are no CPUID are the program's own.
    fault = [sys.executable, "-c", "import ctypes; ctypes.string_at(0)"]
    done = subprocess.run([*script, *fault], check=False, capture_output=True)
    assert done.returncode in (-signal.SIGSEGV, 128 + signal.SIGSEGV)


def test_more_decisions_need_more_machines() -> None:
    script = runpy.run_path(str(SCRIPT.parent / "simulate_scale.py"))
    machine = script["Machine"]("m", 100.0, 1.0)
    found = {
        (a_day, online): script["needed"](machine, a_day, online)
        for a_day in (1e8, 1e9)
        for online in (False, True)
    }
    assert 1e9 / 86_400 / 100 <= found[1e9, False] < 1.02 * 1e9 / 86_400 / 100
    assert found[1e8, False] < found[1e8, True] < found[1e9, False] < found[1e9, True]


def test_parts_come_together_again_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    script = [sys.executable, SCRIPT.parent / "parts.py"]
    whole = tmp_path / "delta.bin"
    whole.write_bytes(bytes(range(256)) * 10_000)
    cut = [*script, "split", whole, "--out", tmp_path / "parts", "--megabytes", "1"]
    subprocess.run(cut, check=True, capture_output=True)
    pieces = sorted((tmp_path / "parts").glob("delta.bin.[0-9]*"))
    assert [piece.stat().st_size for piece in pieces] == [1 << 20, 1 << 20, 2_560_000 - (2 << 20)]
    join = [*script, "join", tmp_path / "parts", "--out", tmp_path / "back"]
    subprocess.run(join, check=True, capture_output=True)
    assert (tmp_path / "back" / "delta.bin").read_bytes() == whole.read_bytes()
    (tmp_path / "back" / "delta.bin").unlink()
    pieces[1].write_bytes(b"other")
    done = subprocess.run(join, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is not the part that was cut" in done.stderr
    pieces[1].unlink()
    done = subprocess.run(join, check=False, capture_output=True, text=True)
    assert "is missing" in done.stderr
    assert not (tmp_path / "back" / "delta.bin").exists()


def test_the_half_hour_skips_what_is_there_and_stops_where_it_cannot_go_on(tmp_path: Path) -> None:
    script = runpy.run_path(str(SCRIPT.parent / "train_and_measure.py"))
    recipe = tmp_path / "run.toml"
    source = {"name": "scenes", "suite": "scenes"}
    recipe.write_text(
        f'name = "r"\noutput = "run"\nschedule = {{ steps = 1 }}\n[model]\ninitial = "nowhere"\n'
        f'[[sources]]\nname = "{source["name"]}"\nsuite = "{source["suite"]}"\n'
    )
    arguments = [str(recipe), "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert script["main"]([*arguments, "--last", "calibrate"]) == 1
    log = (tmp_path / "out" / "log.txt").read_text()
    assert "== train" in log
    assert "== ship" not in log
    done = tmp_path / "run" / "checkpoint"
    done.mkdir(parents=True)
    (done / "decision.json").write_text("{}")
    assert script["main"]([*arguments, "--last", "train"]) == 0
    assert (tmp_path / "out" / "log.txt").read_text() == log
    assert script["main"]([*arguments, "--first", "ship", "--last", "ship", "--rank", "8"]) == 1
    assert "--rank 8" in (tmp_path / "out" / "log.txt").read_text()


@pytest.mark.parametrize(("suite", "mazes"), [("spatial", True), ("scenes", False)])
def test_a_recipe_with_mazes_is_measured_on_mazes(suite: str, mazes: bool, tmp_path: Path) -> None:
    script = runpy.run_path(str(SCRIPT.parent / "train_and_measure.py"))
    recipe = tmp_path / "run.toml"
    recipe.write_text(
        'name = "r"\noutput = "run"\nschedule = { steps = 1 }\n[model]\ninitial = "nowhere"\n'
        f'[[sources]]\nname = "made"\nsuite = "{suite}"\n'
    )
    given = Namespace(recipe=recipe, out=tmp_path, measurements=None)
    chosen = script["HalfHour"](given).measurements
    assert ("spatial" in chosen, "cohort" in chosen) == (mazes, mazes)
    assert set(chosen) <= set(REGISTRY)
    given.measurements = ["order"]
    assert script["HalfHour"](given).measurements == ["order"]


def test_parts_on_a_gpu_are_shown_run_stopped_and_not_run_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = runpy.run_path(str(SCRIPT.parent / "measure_on_a_gpu.py"))
    main, part = script["main"], script["Part"]
    out = tmp_path / "out"
    assert main(["--dry-run", "--out", str(out)]) == 0
    shown = capfd.readouterr().out
    named = ("host", "taught", "lambda", "stand-ins", "one-card", "gpu", "deep-teach-one-card")
    for name in named:
        assert f"\n{name}, at most " in "\n" + shown
    assert "bench gpu --quick" in shown
    assert not out.exists()

    def python(name: str, code: str, **how: object) -> object:
        return part(name, 1 if "sleep" in code else 60, (sys.executable, "-c", code), **how)

    parts = [
        python(
            "told",
            "print('said so, 6,900 tokens/s'); open(r'{out}/{part}/file', 'w')",
            figures=(("tokens a second", r"([\d,]+) tokens/s"), ("nowhere", "(nothing)")),
        ),
        python("broken", "raise SystemExit(3)"),
        python("slow", "import time; time.sleep(60)"),
        python("hungry", "", needs_data=True),
    ]
    assert main(["--out", str(out)], parts) == 1
    said = capfd.readouterr().out
    assert "said so" in said
    assert "broken: failed with 3" in said
    assert "slow: stopped after 1 s" in said
    assert "hungry: left out: --data" in said
    assert (out / "told.log").read_text() == "said so, 6,900 tokens/s\n"
    (line,) = read_result(out / "results" / "told" / "told.json").lines
    assert (line.label, line.value) == ("tokens a second", 6900)
    assert (out / "told" / "file").is_file()
    packed = tmp_path / "away" / "all.tar.gz"
    assert main(["told", "--out", str(out), "--pack", str(packed)], parts) == 0
    assert "told: done before" in capfd.readouterr().out
    with tarfile.open(packed) as opened:
        files = {each.name for each in opened.getmembers() if each.isfile()}
    assert files == {"results/told/told.json", "told.log", "broken.log", "slow.log"}
    with pytest.raises(SystemExit):
        main(["nothing", "--out", str(out)], parts)


def test_every_measurement_of_a_part_exists() -> None:
    script = runpy.run_path(str(SCRIPT.parent / "measure_on_a_gpu.py"))
    for part in script["PARTS"]:
        words = list(part.command)
        if "bench" in words:
            assert words[words.index("bench") + 1] in REGISTRY
        for word in words:
            if word.endswith(".py"):
                assert (SCRIPT.parents[1] / word).is_file()


def test_a_teach_in_a_process_of_its_own_is_timed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = runpy.run_path(str(SCRIPT.parent / "measure_teach.py"))
    parent = write_parent(tmp_path / "parent")
    rows = ["--rows", "40", "--tokens", "200", "--cores", "1"]
    script["main"](["--rounds", "1", *rows, "--checkpoint", str(parent)])
    first, last, goals = capsys.readouterr().out.splitlines()
    figures = r"\d+\.\d s, \d+ MB at the peak, torch (not loaded|not installed)"
    assert re.fullmatch(rf"round 1: {figures}", first)
    assert re.fullmatch(rf"40 labels of 200 tokens, 1 core: {figures}", last)
    assert goals == "goals: at most 60 s, at most 600 MB, torch not installed"
    (tmp_path / "labels.csv").write_text("state\n")
    (tmp_path / "schema.json").write_text("{}")
    with pytest.raises(SystemExit, match=r"thisthat teach failed: .*schema\.json, questions: must"):
        script["teach"](sys.executable, tmp_path, 1, "default", 1)
