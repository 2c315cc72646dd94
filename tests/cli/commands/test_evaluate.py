"""`thisthat eval` on a real tiny checkpoint: its outputs, exit codes and refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.lab.train import tiny
from tests.serve.support import on_loopback, service_for
from thisthat.checkpoint import open_checkpoint
from thisthat.cli import app
from thisthat.decide.opening import open_decider
from thisthat.errors import InvalidInputError
from thisthat.questions import Boolean
from thisthat.teach.light import teach
from thisthat.teach.rows import Rows

RED = Boolean("Is it red?")
STATES = [f"{colour} {n} {thing}" for n in range(20) for colour, thing in
          (("red", "car"), ("blue", "car"), ("red", "hat"), ("green", "hat"))]  # fmt: skip


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    return tiny.write_checkpoint(tmp_path_factory.mktemp("parent"), **sizes, **heads)


@pytest.fixture(scope="module")
def taught(parent: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = Rows(RED)
    for number, state in enumerate(STATES):
        rows.add(state, int("red" in state), str(number))
    with open_decider(parent, engine="onnx", threads=1) as decider:
        folder = tmp_path_factory.mktemp("taught") / "mine"
        assert teach(decider, open_checkpoint(parent), {"red": rows}, folder).folder
    return folder


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text(json.dumps({"red": "Is it red?"}))
    path = tmp_path / "labelled.csv"
    path.write_text("\n".join(["state,red", *(f"{s},{'red' in s}" for s in STATES)]))
    return path


def run(labels: Path, *words: object) -> Result:
    schema = labels.with_name("s.json")
    command = ["eval", str(labels), "--schema", str(schema), *map(str, words)]
    return CliRunner().invoke(app, command)


def test_before_and_after_and_a_page(labels: Path, parent: Path, taught: Path) -> None:
    output = labels.with_name("report.html")
    how = ["--engine", "onnx", "--json", "-o", output]
    done = run(labels, "--checkpoint", taught, "--against", parent, *how)
    assert done.exit_code == 0, done.exception
    body = json.loads(done.stdout)
    red = body["questions"]["red"]
    assert (red["labels"], red["verdict"]) == (80, "better")
    assert red["measures"]["accuracy"]["value"] > red["before"]["measures"]["accuracy"]["value"]
    assert body["against"]["name"] != body["checkpoint"]["name"] == "mine"
    assert "<svg" in output.read_text(encoding="utf-8")
    # At λ = 0 it is its parent, so the same checkpoint stands for before.
    same = run(labels, "--checkpoint", taught, "--against-lambda", 0, "--engine", "onnx", "--json")
    assert json.loads(same.stdout)["questions"]["red"]["difference"] == red["difference"]


def test_labels_that_taught_are_warned_about(labels: Path, parent: Path, taught: Path) -> None:
    said = f"warning: these labels taught {taught}; the figures do not tell how it does on others"
    assert said in run(labels, "--checkpoint", taught, "--engine", "onnx").stderr
    for others in (("--checkpoint", taught, "--lambda", 0), ("--checkpoint", parent)):
        assert "taught" not in run(labels, *others, "--engine", "onnx").stderr
    labels.write_text("state,red\n" + "\n".join(f"red {n} hat {n},yes" for n in range(9)))
    assert "taught" not in run(labels, "--checkpoint", taught, "--engine", "onnx").stderr


def test_labels_that_taught_give_no_guarantee(labels: Path, taught: Path) -> None:
    schema, policy = labels.with_name("s.json"), labels.with_name("p.json")
    rows = [{"state": s, "answers": {"red": "red" in s}} for s in reversed(STATES)]
    (labels.with_name("same.jsonl")).write_text("\n".join(map(json.dumps, rows)))
    command = ["--schema", schema, "--target", "error<=0.2", "-o", policy, "--checkpoint", taught]
    for name in ("labelled.csv", "same.jsonl"):
        words = ["threshold", "fit", labels.with_name(name), *command]
        done = CliRunner().invoke(app, [*map(str, words)])
        assert f"{name}: these labels taught {taught}; a guarantee needs others" in str(
            done.exception
        )
    assert not policy.exists()
    few = [f"{s},{'red' in s}" for s in STATES[:3]]
    others = [f"red {n} door {n},yes" for n in range(40)] + [f"blue door {n},no" for n in range(40)]
    labels.write_text("\n".join(["state,red", *few, *others]))
    done = CliRunner().invoke(app, [*map(str, ["threshold", "fit", labels, *command])])
    assert f"warning: about 4% of these labels taught {taught}; the guarantee is" in done.stderr


def test_worse_is_exit_code_1(labels: Path, parent: Path, taught: Path) -> None:
    done = run(labels, "--checkpoint", parent, "--against", taught, "--engine", "onnx")
    assert done.exit_code == 1
    assert "  worse; 'yes' is found less often: 0 of 40, before 40 of 40\n" in done.stdout
    assert "red: 80 labelled states" in done.stdout


def test_a_server_is_judged_too(labels: Path) -> None:
    with on_loopback(service_for()) as address:
        done = run(labels, "--server", address, "--json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["questions"]["red"]["labels"] == 80


def test_a_server_may_have_been_taught_so_nobody_is_told_to_describe(labels: Path) -> None:
    with on_loopback(service_for()) as address:
        done = run(labels, "--server", address)
    assert "accuracy 0.500" in done.stdout
    assert "note:" not in done.stderr


def test_a_server_that_answers_both_is_not_compared_with_itself(labels: Path) -> None:
    with on_loopback(service_for()) as address:
        done = run(labels, "--server", address, "--against", "default")
    assert isinstance(done.exception, InvalidInputError)
    assert done.exception.field == "--against"
    assert "so there is nothing to compare; 'default' is what it serves" in str(done.exception)


def test_a_boolean_that_is_often_wrong_and_not_described_is_told_so(
    labels: Path, parent: Path, taught: Path
) -> None:
    hint = r"note: red: \d+ of 80 wrong, and no criteria say what yes and no mean"
    assert re.search(hint, run(labels, "--checkpoint", parent, "--engine", "onnx").stderr)
    swapped = {"True": "False", "False": "True"}
    labels.write_text(re.sub(r"(True|False)", lambda found: swapped[found[0]], labels.read_text()))
    # Taught in this wording, so that another one would lose what was taught.
    done = run(labels, "--checkpoint", taught, "--engine", "onnx")
    assert "accuracy 0.000" in done.stdout
    assert "note:" not in done.stderr
    labels.with_name("s.json").write_text(json.dumps({"red": "Is this red?"}))
    done = run(labels, "--checkpoint", taught, "--engine", "onnx")
    assert "note: red: " in done.stderr
    assert "keeps nothing taught for this wording with these options" in done.stderr
    criteria = {"true": "it is red", "false": "it is blue or green"}
    described = {"type": "boolean", "instructions": "Is it red?", "criteria": criteria}
    labels.with_name("s.json").write_text(json.dumps({"red": described}))
    assert "note:" not in run(labels, "--checkpoint", parent, "--engine", "onnx").stderr


def test_bad_input_is_refused_before_a_checkpoint_is_opened(
    labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: 1 / 0)
    assert "is an input; write to another file" in str(run(labels, "-o", labels).exception)
    for text, message in (
        ("state,red\n", "labelled.csv: has no labelled rows"),
        ("state,red\nx,maybe", "line 2, answers.red: 'maybe' is not an option"),
        ("state,blue\nx,yes", "column blue: is not a question; known are red"),
        ("id,state,red\n1,x,yes\n1,y,no", "line 3, id: '1' stands in"),
    ):
        labels.write_text(text)
        assert message in str(run(labels).exception)
    assert not labels.with_name("report.html").exists()


def test_one_answer_and_contradictions_are_warned_about(labels: Path, parent: Path) -> None:
    labels.write_text("state,red\nred 1,yes\nred 2,yes\n")
    done = run(labels, "--checkpoint", parent, "--engine", "onnx")
    assert done.exit_code == 0, done.exception
    assert "warning: red: every row has the answer 'yes'" in done.stderr
    labels.write_text("state,red\nred 1,yes\nred 1,no\n")
    done = run(labels, "--checkpoint", parent, "--engine", "onnx")
    assert "warning: red: 1 of 2 rows contradict an earlier one" in done.stderr
