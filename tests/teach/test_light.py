"""Teaching from end to end on a small random model: the folder, its answers, its lambda."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import thisthat
from tests.teach.small import CUDA, ENGINES, RED, SHADE, STATES, labelled, open_on, rows_of
from thisthat import Boolean, InvalidInputError
from thisthat.checkpoint import open_checkpoint
from thisthat.cli import app
from thisthat.decide.heads import question_key, read_heads
from thisthat.decide.opening import open_decider
from thisthat.errors import CheckpointError
from thisthat.teach.collect import collect, layers_at
from thisthat.teach.light import Learned, Taught, learn, teach, write
from thisthat.teach.rows import Rows

ROOT = Path(__file__).parents[2]


def test_what_the_words_say_is_learned_and_told(taught: Taught) -> None:
    red, shade = taught.learned
    assert red.supported
    assert shade.supported
    assert red.after.value > 0.85 > red.before.value
    said = "\n".join(taught.lines())
    assert "red: 60 labelled states. Right on states it was not fitted on: 0." in said
    assert "\nkept: red, shade\n" in said
    assert "at --lambda 0 it is its parent" in said
    assert "do not show" not in said


def test_the_folder_is_a_small_layer_with_what_was_learned(taught: Taught, parent: Path) -> None:
    assert taught.folder is not None
    files = sorted(path.name for path in taught.folder.iterdir())
    assert files == ["decision.json", "heads.safetensors"]
    assert (taught.folder / "heads.safetensors").stat().st_size < 400_000
    card = json.loads((taught.folder / "decision.json").read_text(encoding="utf-8"))
    assert card["delta"]["kind"] == "heads"
    assert [each["question"] for each in card["provenance"]["taught"]] == ["red", "shade"]
    assert card["provenance"]["labels"] == 120
    above, below = open_checkpoint(taught.folder), open_checkpoint(parent)
    assert above.weights_sha256 != below.weights_sha256
    assert above.fingerprint == below.fingerprint


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_answers_as_taught_and_at_lambda_0_as_the_parent(
    taught: Taught, parent: Path, engine: str
) -> None:
    assert taught.folder is not None
    late = {"other": Boolean("Is it late?")}
    asked = {"red": RED, "shade": SHADE, **late}
    new = ["red deep car", "green deep door", "pale green car", "red pale door", "green car"]
    answers, alone = {}, {}
    for name, place, lam in (
        ("whole", taught.folder, None),
        ("none", taught.folder, 0.0),
        ("parent", parent, None),
    ):
        with open_on(engine, place, lam) as decider:
            answers[name] = [each.answers for each in decider.decide_many(new, asked)]
            alone[name] = [each.answers for each in decider.decide_many(new, late)]
    assert answers["none"] == answers["parent"]
    assert alone["whole"] == alone["none"] == alone["parent"]
    if engine != CUDA:  # there a taught question takes those beside it out of the graphs
        assert [each["other"] for each in answers["whole"]] == [
            each["other"] for each in answers["parent"]
        ]
    for state, each in zip(new, answers["whole"], strict=True):
        assert each["red"].best == ("red" in state)
        assert (each["shade"].best == "light") == ("pale" in state)


def test_teaching_again_stands_on_what_was_taught(taught: Taught, tmp_path: Path) -> None:
    assert taught.folder is not None
    late = Boolean("Is it a car?")
    again = open_checkpoint(taught.folder)
    with open_decider(taught.folder, engine="onnx", threads=1) as decider:
        result = teach(decider, again, {"car": rows_of(late, "car")}, tmp_path / "twice")
        below = decider.ask("red deep car", RED)
    assert result.folder is not None
    with thisthat.open(result.folder, engine="onnx", threads=1) as decider:
        assert decider.ask("red deep car", late).best is True
        assert decider.ask("green deep door", late).best is False
        assert decider.ask("red deep car", RED) == below


def test_labels_that_taught_the_parent_do_not_teach_it_again(
    taught: Taught, parent: Path, tmp_path: Path
) -> None:
    assert taught.folder is not None
    folder, again = taught.folder, tmp_path / "again"
    new = rows_of(RED, "red", [f"{state} new" for state in STATES])
    with open_decider(folder, engine="onnx", threads=1) as decider:
        with pytest.raises(InvalidInputError) as refused:
            teach(decider, open_checkpoint(folder), {"red": rows_of(RED, "red")}, again)
        assert str(refused.value) == (
            f"labels: these labels taught taught; teach all labels on its parent (--checkpoint "
            f"{parent}), or only new ones on top"
        )
        assert not again.exists()
        for state in STATES[:3]:
            new.add(state, int("red" in state), "late")
        known = teach(decider, open_checkpoint(folder), {"red": new}, again).lines()
    assert (
        "about 5% of these labels taught taught: it was fitted on those, so the shares shown"
        in ("\n".join(known))
    )
    with open_decider(folder, lam=0.0, engine="onnx", threads=1) as decider:
        off = open_checkpoint(folder, 0.0)
        assert teach(decider, off, {"red": rows_of(RED, "red")}, tmp_path / "off").known is None


def test_labels_without_a_pattern_are_not_called_a_gain(parent: Path, tmp_path: Path) -> None:
    rows = Rows(RED)
    for number, state in enumerate(STATES):
        rows.add(state, int(np.random.default_rng(1000 + number).integers(2)), f"line {number}")
    with open_decider(parent, engine="onnx", threads=1) as decider:
        result = teach(decider, open_checkpoint(parent), {"red": rows}, tmp_path / "none")
    assert not result.learned[0].supported
    said = "\n".join(result.lines())
    assert "do not show" in said or "nothing was kept, so nothing was written" in said
    assert (result.folder is None) == (not (tmp_path / "none").exists())


def test_features_of_the_parent_are_those_of_the_answer(parent: Path) -> None:
    with open_decider(parent, engine="onnx", threads=1) as decider:
        told: list[int] = []
        found = collect(decider, RED, STATES, told.append)
        assert told == [32, 60]
        assert found.texts == STATES
        answer = decider.ask(STATES[40], RED)
        np.testing.assert_allclose(np.exp(found.logs[40]), list(answer.probabilities.values()))
        assert found.features.shape == (60, len(found.layers), 3, 128)
        with pytest.raises(InvalidInputError, match=r"states\[1\]"):
            collect(decider, RED, ["fine", "long " * 5000])


def test_layers_are_fractions_of_the_depth() -> None:
    assert layers_at((0.4, 0.6, 0.8), 29) == (12, 18, 24)
    assert layers_at((0.4, 0.6, 0.8), 1) == (1,)
    with pytest.raises(CheckpointError, match="hands out no hidden states"):
        layers_at((0.5,), 0)


def test_a_folder_that_holds_something_is_left_alone(parent: Path, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    with (
        open_decider(parent, engine="onnx", threads=1) as decider,
        pytest.raises(InvalidInputError, match="already exists and is not an empty folder"),
    ):
        teach(decider, open_checkpoint(parent), labelled(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


@pytest.mark.parametrize("stopped", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
def test_stopped_while_writing_nothing_is_left(
    parent: Path, tmp_path: Path, stopped: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in sorted(parent.iterdir())}

    def stop(_: int) -> None:
        raise stopped

    rows = labelled()
    with open_decider(parent, engine="onnx", threads=1) as decider:
        learned = learn(decider, rows)
    monkeypatch.setattr("os.fsync", stop)
    expected = KeyboardInterrupt if isinstance(stopped, KeyboardInterrupt) else CheckpointError
    with pytest.raises(expected, match=None if expected is KeyboardInterrupt else "No space left"):
        write(open_checkpoint(parent), rows, learned, tmp_path / "mine")
    assert not list(tmp_path.iterdir())
    assert {path: path.read_bytes() for path in sorted(parent.iterdir())} == before


KILLED = """
import sys, time
from pathlib import Path
from tests.teach.small import labelled
from thisthat.checkpoint import open_checkpoint, ship
from thisthat.decide.opening import open_decider
from thisthat.teach.light import teach

def stay(*_):
    print("there", flush=True)
    time.sleep(600)

def fitting(name, share):
    if share > 0.8:
        stay()

parent, output, moment = sys.argv[1:]
if moment == "writing":
    ship.write_card = stay
with open_decider(parent, engine="onnx", threads=1) as decider:
    progress = fitting if moment == "fitting" else lambda name, share: None
    teach(decider, open_checkpoint(parent), labelled(), Path(output), progress)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="leftovers are held by no lock on Windows")
def test_killed_at_any_moment_the_parent_is_intact_and_the_next_run_cleans_up(
    parent: Path, taught: Taught, tmp_path: Path
) -> None:
    assert taught.folder is not None
    output = tmp_path / "mine"
    before = {path: path.read_bytes() for path in sorted(parent.iterdir())}
    left = []
    for moment in ("fitting", "writing"):
        command = [sys.executable, "-c", KILLED, str(parent), str(output), moment]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"there\n"
            child.kill()
        assert child.returncode == -signal.SIGKILL
        assert {path: path.read_bytes() for path in sorted(parent.iterdir())} == before
        assert not output.exists()
        left.append([[path.name for path in beside.iterdir()] for beside in tmp_path.iterdir()])
    assert left == [[], [["heads.safetensors"]]]
    with open_decider(parent, engine="onnx", threads=1) as decider:
        teach(decider, open_checkpoint(parent), labelled(), output)
    assert list(tmp_path.iterdir()) == [output]
    heads = "heads.safetensors"
    assert (output / heads).read_bytes() == (taught.folder / heads).read_bytes()


def test_more_labels_are_said_to_help_only_where_the_last_did(taught: Taught) -> None:
    red = replace(taught.learned[0], rows=100)
    assert red.half is not None
    more = replace(red, half=red.after.value - 0.1)
    assert more.another_doubling == pytest.approx(0.1 / 2**0.5)
    assert more.lines()[-1].endswith("twice as many would bring about +0.07.")
    flat = replace(red, half=1.0).lines()[-1]
    assert "With half of these labels it is right 1.00 of the time; twice as many" in flat
    assert flat.endswith("would bring little.")
    for half in (1.0, red.after.value - 0.1):
        few = replace(red, rows=99, half=half).lines()[-1]
        assert few == "  Fewer than 100 labels do not tell what more of them would bring."


def judged(red: Learned, before: float, after: float, half: float) -> Learned:
    """The same question with so many right answers before and after."""
    labels = np.array(red.labels)

    def right(share: float) -> np.ndarray:
        hits = np.random.default_rng(0).permutation(len(labels)) < share * len(labels)
        return np.where((np.arange(2) == labels[:, None]) == hits[:, None], 0.9, 0.1)

    fitted = replace(red.fitted, before=right(before), after=right(after))
    return replace(red, fitted=fitted, half=half)


def test_advice_goes_by_what_more_labels_would_bring(taught: Taught) -> None:
    red = replace(taught.learned[0], rows=100)
    rising = judged(red, 0.8, 0.82, half=0.7).lines()
    assert rising[-2].startswith("  These rows do not show that it is right more often. It is kept")
    assert rising[-1].endswith("twice as many would bring about +0.09: label more.")
    flat = judged(red, 0.8, 0.82, half=0.84).lines()
    assert "would bring little: if that is too seldom, look for wrong labels" in flat[-1]
    assert "label more" not in "\n".join(flat)
    few = judged(replace(red, rows=99), 0.8, 0.8, half=0.8).lines()
    assert few[-1].startswith("  Fewer than 100 labels do not tell what more")
    assert few[-1].endswith("; label more to find out.")


def test_a_head_says_why_it_is_kept_or_is_not(taught: Taught) -> None:
    red = judged(taught.learned[0], 0.8, 0.8, half=0.8)
    before, after = red.fitted.before, red.fitted.after

    def fitting(surer: float, better: np.ndarray = after) -> Learned:
        """The head with every probability of its best option so much higher."""
        moved = better + surer * np.sign(better - 0.5)
        return replace(red, fitted=replace(red.fitted, before=before, after=moved))

    assert red.head is None  # as often right, with the same probabilities
    assert red.as_json()["kept"] is False
    assert red.lines()[1] == (
        "  It is right no more often and its probabilities fit no better (log loss 0.545 before, "
        "0.545 after), so this is not kept; it is left as it is."
    )
    surer = fitting(0.05)  # the wrong ones, too
    assert (surer.gain.value, surer.head) == (0, None)
    milder = fitting(-0.05)
    assert milder.head is not None
    assert (
        "  These rows do not show that it is right more often. It is kept because its "
        "probabilities fit better: log loss 0.545 before, 0.509 after."
    ) in milder.lines()
    righter = fitting(0.09, judged(red, 0.8, 0.82, half=0.8).fitted.after)
    assert righter.gain.value > 0 == righter.gain.low
    assert righter.head is not None
    assert (
        "  These rows do not prove the gain, and its probabilities fit no better: log loss 0.545 "
        "before, 0.776 after. It is kept because it was right more often."
    ) in righter.lines()


def test_an_option_that_is_lost_is_told_beside_the_gain(taught: Taught) -> None:
    red = taught.learned[0]
    labels = np.array(red.labels)
    yes = np.flatnonzero(labels == 1)

    def saying(wrong: np.ndarray) -> np.ndarray:
        said = labels.copy()
        said[wrong] = 1 - said[wrong]
        return np.where(np.arange(2) == said[:, None], 0.9, 0.1)

    fitted = replace(red.fitted, before=saying(labels == 0), after=saying(yes[:6]))
    lines = replace(red, fitted=fitted).lines()
    found = f"{len(yes) - 6} of {len(yes)}, before {len(yes)} of {len(yes)}"
    no = len(labels) - len(yes)
    assert lines[1] == f"  Found: no {no} of {no}, before 0 of {no}; yes {found}."
    assert lines[2] == f"  But 'yes' is found less often: {found}."
    assert replace(red, fitted=fitted).as_json()["found_less_often"] == ["yes"]


def test_a_head_that_is_shown_to_be_worse_is_not_kept(
    taught: Taught, parent: Path, tmp_path: Path
) -> None:
    red, shade = taught.learned
    worse = judged(red, 0.9, 0.5, half=0.5)
    assert worse.gain.high < 0
    assert worse.as_json()["kept"] is False
    found = write(open_checkpoint(parent), labelled(), (worse, shade), tmp_path / "some")
    assert found.folder is not None
    assert list(read_heads(found.folder / "heads.safetensors")) == [question_key(SHADE)]
    said = found.lines()
    assert said[1] == "  It is right less often, so this is not kept; it is left as it is."
    assert "kept: shade; left as before: red" in said
    none = write(open_checkpoint(parent), labelled(), (worse,), tmp_path / "none")
    assert none.folder is None
    assert none.lines()[-1] == "nothing was kept, so nothing was written"
    # A loss that may be chance is no reason, where the probabilities fit better.
    chance = judged(red, 0.81, 0.8, half=0.8)
    milder = 0.5 + 0.8 * (chance.fitted.after - 0.5)
    assert chance.gain.value < 0 <= chance.gain.high
    assert chance.head is None
    assert replace(chance, fitted=replace(chance.fitted, after=milder)).head is not None


def test_the_command_teaches_from_a_csv_file(parent: Path, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps({"red": "Is it red?"}))
    rows = ["id,state,red", *(f"{n},{s},{'red' in s}" for n, s in enumerate(STATES))]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    files = [str(tmp_path / name) for name in ("rows.csv", "schema.json", "mine")]
    command = ["teach", files[0], "--schema", files[1], "-o", files[2], "--engine", "onnx"]
    said = CliRunner().invoke(app, [*command, "--checkpoint", str(parent)])
    assert said.exit_code == 0, said.output
    assert "red: 60 labelled states" in said.output
    with thisthat.open(tmp_path / "mine", engine="onnx", threads=1) as decider:
        assert decider.ask("red deep car", RED).best is True
    again = [*command[:-3], str(tmp_path / "mine2"), *command[-2:], "--checkpoint", files[2]]
    for deep in ([], ["--deep"]):
        refused = CliRunner().invoke(app, [*again, *deep])
        assert f"{files[0]}: these labels taught mine; teach all labels on its parent" in str(
            refused.exception
        )
        assert not (tmp_path / "mine2").exists()


def test_the_command_names_a_fault_and_writes_nothing(parent: Path, tmp_path: Path) -> None:
    rows = [{"state": state, "answers": {"red": "blue"}} for state in STATES]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "schema.json").write_text(json.dumps({"red": "Is it red?"}))
    base = ["teach", str(tmp_path / "rows.jsonl"), "-o", str(tmp_path / "mine")]
    for extra, message in (
        (["--schema", str(tmp_path / "schema.json")], "line 1, answers.red: 'blue' is not an"),
        ([], "--schema"),
        (["--deep", "--lambda", "0.5"], "--lambda: is for the light teach"),
        (["-o", str(tmp_path / "rows.jsonl" / "mine")], "rows.jsonl is not a folder"),
    ):
        said = CliRunner().invoke(app, [*base, "--model", str(parent), *extra])
        assert said.exit_code != 0
        assert message in " ".join(f"{said.output} {said.exception}".split())
        assert not (tmp_path / "mine").exists()
