"""`thisthat label` on a real tiny checkpoint: the file to fill in, doubts, refusals."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.lab.train import tiny
from thisthat.cli import app
from thisthat.cli.commands.label import _told
from thisthat.items.labels import LabelledStates, read_labelled
from thisthat.questions import Boolean
from thisthat.teach.choose import Doubt

STATES = [f"{colour} {n} {thing}" for n in range(15) for colour, thing in
          (("red", "car"), ("blue", "car"), ("red", "hat"), ("green", "hat"))]  # fmt: skip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    return tiny.write_checkpoint(tmp_path_factory.mktemp("parent"), **sizes, **heads)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text(json.dumps({"red": "Is it red?"}))
    (tmp_path / "states.jsonl").write_text("\n".join(map(json.dumps, STATES)))
    lines = ["id,state,red", *(f"r{n},{s},{'red' in s}" for n, s in enumerate(STATES))]
    lines[1] = lines[1].replace("True", "False")  # r0 is wrong
    (tmp_path / "labelled.csv").write_text("\n".join(lines))
    return tmp_path


def run(folder: Path, checkpoint: Path, *words: object) -> Result:
    how = ["--schema", folder / "s.json", "--checkpoint", checkpoint, "--engine", "onnx"]
    return CliRunner().invoke(app, [str(word) for word in ("label", *words, *how)])


def test_states_to_label_are_written_once_and_unlabelled(folder: Path, checkpoint: Path) -> None:
    some = "\n".join((folder / "labelled.csv").read_text().splitlines()[:31])
    (folder / "some.csv").write_text(some)
    output = folder / "next.csv"
    words = (folder / "states.jsonl", "--count", 7, "--labelled", folder / "some.csv")
    done = run(folder, checkpoint, *words, "-o", output)
    assert done.exit_code == 0, done.output
    assert "7 of 60 states chosen" in done.output
    rows = list(csv.DictReader(output.open()))
    chosen = [row["state"] for row in rows]
    assert len(set(chosen)) == 7
    assert not set(chosen) & set(STATES[:30])
    assert [row["red"] for row in rows] == [""] * 7
    filled = output.read_text().replace(f"{chosen[0]},", f"{chosen[0]},yes")
    output.write_text(filled)
    read = read_labelled(output, {"red": Boolean("Is it red?")})
    assert list(read.states) == chosen[:1]


def test_rounds_of_labels_are_joined_as_the_page_says(folder: Path, checkpoint: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "teach.md"
    [line] = re.findall(r"^python -c .* > all\.csv$", page.read_text(), re.MULTILINE)
    states = folder / "states.jsonl"
    for name, part in (("done.csv", STATES[:20]), ("next.csv", STATES[20:40])):
        states.write_text("\n".join(map(json.dumps, part)))
        assert run(folder, checkpoint, states, "--count", 7, "-o", folder / name).exit_code == 0
        rows = list(csv.reader((folder / name).open()))
        assert rows[0] == ["id", "state", "red"]
        assert {row[0] for row in rows[1:]} == {""}
        filled = [rows[0], *([*row[:2], "yes"] for row in rows[1:])]
        if name == "next.csv":
            filled = [row[1:] for row in filled]
        csv.writer((folder / name).open("w")).writerows(filled)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(line, shell=True, cwd=folder, check=True, env={**os.environ, "PATH": path})
    read = read_labelled(folder / "all.csv", {"red": Boolean("Is it red?")})
    assert len(set(read.states)) == len(read.states) == 14
    lines = folder / "next.jsonl"
    assert run(folder, checkpoint, states, "--count", 1, "-o", lines).exit_code == 0
    assert set(json.loads(lines.read_text())) == {"state", "answers"}


def test_states_of_a_table_keep_their_ids(folder: Path, checkpoint: Path) -> None:
    rows = [f"t{n}\t{state}" for n, state in enumerate(STATES)]
    (folder / "states.tsv").write_text("\n".join(["id\tstate", *rows]))
    output = folder / "next.csv"
    done = run(folder, checkpoint, folder / "states.tsv", "--count", 7, "-o", output, "--json")
    assert done.exit_code == 0, done.output
    chosen = list(csv.DictReader(output.open()))
    assert [row["id"] for row in chosen] == [each["row"] for each in json.loads(done.stdout)]
    for row in chosen:
        assert row["state"] == STATES[int(row["id"][1:])]


def test_a_wrong_label_is_found_and_to_be_judged_anew(folder: Path, checkpoint: Path) -> None:
    output = folder / "doubts.jsonl"
    done = run(folder, checkpoint, "--labelled", folder / "labelled.csv", "-o", output, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found[0]["row"], found[0]["label"], found[0]["answer"]) == ("r0", "no", "yes")
    assert len(found) < 5
    said = run(folder, checkpoint, "--labelled", folder / "labelled.csv", "-o", output).stdout
    assert re.search(r"^(1 label|\d labels) may be wrong; look again:\n  r0, red: ", said)
    row = json.loads(output.read_text().splitlines()[0])
    assert row == {"id": "r0", "state": STATES[0], "answers": {"red": None}}


def test_of_many_doubts_the_surest_are_told() -> None:
    known = LabelledStates({"red": Boolean("?")}, STATES[:30], [{"red": n % 2} for n in range(30)])
    doubts = [Doubt("red", row, "no", "yes", 0.9) for row in range(14)]
    lines = _told(doubts, known)
    assert lines[0] == "14 labels may be wrong; look again. The surest 10:"
    assert len(lines) == 11
    assert _told(doubts[:10], known)[0] == "10 labels may be wrong; look again:"


def test_a_long_state_is_told_by_its_beginning() -> None:
    known = LabelledStates(
        {"red": Boolean("?")},
        ["word " * 30 + str(n) for n in range(30)],
        [{"red": n % 2} for n in range(30)],
    )
    line = _told([Doubt("red", 0, "no", "yes", 0.9)], known)[1]
    assert line.endswith("(0.90): " + "word " * 13 + "word…")


def test_too_few_labels_are_not_called_right(folder: Path, checkpoint: Path) -> None:
    some = "\n".join((folder / "labelled.csv").read_text().splitlines()[:11])
    (folder / "some.csv").write_text(some)
    done = run(folder, checkpoint, "--labelled", folder / "some.csv", "-o", folder / "again.csv")
    assert "nothing to judge by: no question has 20 states and two answers" in done.output
    assert "no label seems wrong" not in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "x.csv"), "states: or --labelled is needed"),
        (("{f}/states.jsonl", "-o", "x.txt"), "must end in .csv or .jsonl"),
        (("{f}/labelled.csv", "-o", "x.csv"), "has the column 'red', so it holds labels"),
        (("{f}/twice.csv", "-o", "x.csv"), "line 3, id: 'a' is already the id of"),
        (("{f}/json.jsonl", "-o", "x.csv"), "need a .jsonl file"),
        (("{f}/empty.jsonl", "-o", "x.csv"), "has no states"),
    ],
)
def test_refusals_write_nothing(
    words: tuple[str, ...], message: str, folder: Path, checkpoint: Path
) -> None:
    (folder / "json.jsonl").write_text('{"a": 1}\n')
    (folder / "empty.jsonl").write_text("")
    (folder / "twice.csv").write_text("id,state\na,one\na,two")
    before = sorted(folder.iterdir())
    named = [word.replace("{f}", str(folder)) for word in words]
    done = run(folder, checkpoint, *named[:-1], folder / named[-1])
    assert done.exit_code != 0
    assert message in str(done.exception)
    assert sorted(folder.iterdir()) == before
