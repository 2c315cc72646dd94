"""Commands and labels: each reads the one format, and none takes labels for states."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.lab.train import tiny
from tests.path_engine import path_decider
from thisthat import Boolean
from thisthat.cli import app
from thisthat.items.files import write_items

SPEC = {"red": {"type": "boolean", "instructions": "Red?"}}


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SPEC))
    return path


def labels(path: Path, count: int = 60) -> Path:
    rows = [
        f"{n},state {n},{path_decider().ask(f'state {n}', Boolean('Red?')).best}"
        for n in range(count)
    ]
    path.write_text("\n".join(["id,state,red", *rows]))
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.jsonl",
            '"s"\n{"state": "s", "answers": {"red": true}}',
            "line 2: has the key 'answers'",
        ),
        ("a.jsonl", '{"state": "s", "answers": {"red": true}, "note": "n"}', "the key 'answers'"),
        ("a.jsonl", '{"text": "s", "answers": {"red": true}}', "line 1: has the key 'answers'"),
        ("a.jsonl", '{"id": 1, "state": "s", "red": true}', "line 1: has the key 'red'"),
        ("a.jsonl", '{"state": "s", "answer": "yes"}', "line 1: has the key 'answer'"),
        (
            "a.jsonl",
            '{"kind": "x", "state": "s", "question": "?", "options": [], "answer": 0}',
            "line 1: has the key 'answer'",
        ),
        ("a.csv", "state,red\ns,yes", "a.csv: has the column 'red'"),
        ("a.tsv", "state\tanswers\ns\t{}", "a.tsv: has the column 'answers'"),
    ],
)
def test_labels_are_never_taken_for_states(
    name: str, text: str, message: str, schema: Path, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    evaluate = "to compare answers with labels, use `thisthat eval FILE --schema SCHEMA`"
    alone = (
        "put only the value of `state` on each line"
        if name == "a.jsonl"
        else "keep only the column `state` (docs/check.md has the line)"
    )
    evaluate += f"; to ask about the states alone, {alone}"
    for words, instead in (
        (["ask", "--states", path, "--schema", schema], evaluate),
        (["check", schema, "--states", path], evaluate),
        (
            ["label", path, "--schema", schema, "-o", tmp_path / "next.csv"],
            "give labels as --labelled FILE",
        ),
    ):
        said = str(run(*words).exception)
        assert message in said
        assert "so it holds labels, not " in said
        assert instead in said
        assert ('goes under another one, as in {"record": {…}}' in said) is (name == "a.jsonl")


def test_a_state_with_keys_like_labels_goes_under_another_key(schema: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"record": {"state": "s", "red": "wine", "answers": {"red": "no"}}}')
    done = run("ask", "--states", path, "--schema", schema)
    assert done.exit_code == 0, done.exception


@pytest.mark.parametrize("command", [("ask", "hi"), ("check", "--states", "x"), ("eval", "x")])
def test_labels_given_as_the_schema_are_told_what_it_is(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    said = str(run(*command, "--schema", labels(tmp_path / "a.csv")).exception)
    assert said.startswith(f"{tmp_path / 'a.csv'}: is not JSON")
    assert said.endswith("; a schema is a JSON file of named questions")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "questions: must be an object of named questions, not list"),
        ('{"red": {"type": "bool"}}', "questions.red.type: is 'bool'; it must be one of boolean"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ["ask", "hi", "--schema"],
        ["check", "--states", "states.jsonl", "--schema"],
        ["label", "states.jsonl", "-o", "next.csv", "--schema"],
        ["eval", "a.csv", "--schema"],
        ["test", "a.csv", "--schema"],
        ["teach", "a.csv", "-o", "taught", "--schema"],
        ["calibrate", "folder", "a.csv", "--schema"],
        ["threshold", "fit", "a.csv", "--target", "error<=0.1", "--schema"],
        ["batch", "states.jsonl", "-o", "answers", "--schema"],
        ["mcp"],
        ["bench", "decisions", "a.csv", "--system", "majority", "--schema"],
    ],
    ids=" ".join,
)
def test_a_faulty_schema_is_named_with_its_file(
    words: list[str], text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    labels(tmp_path / "a.csv")
    (tmp_path / "states.jsonl").write_text('"s"')
    (tmp_path / "faulty.json").write_text(text)
    said = str(run(*words, "faulty.json").exception)
    assert said.startswith(f"faulty.json, {message}")


def test_states_are_read_from_tables(schema: Path, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    states = ["one", "two, with a comma", "three"]
    lines = tmp_path / "states.jsonl"
    lines.write_text("\n".join(map(json.dumps, states)))
    table = [f'{n},"{state}",x' for n, state in enumerate(states)]
    (tmp_path / "states.csv").write_text("\n".join(["id,state,other", *table]))
    (tmp_path / "states.tsv").write_text("\n".join(["state", *states]))
    with gzip.open(tmp_path / "states.csv.gz", "wt") as file:
        file.write((tmp_path / "states.csv").read_text())
    parquet.write_table(pyarrow.table({"state": states}), tmp_path / "states.parquet")

    def answers(path: Path) -> list[object]:
        done = run("ask", "--states", path, "--schema", schema)
        assert done.exit_code == 0, done.exception
        return [json.loads(line)["answers"] for line in done.stdout.splitlines()]

    expected = answers(lines)
    assert len(expected) == 3
    for name in ("states.csv", "states.tsv", "states.csv.gz", "states.parquet"):
        assert answers(tmp_path / name) == expected, name
    words = ["--states", tmp_path / "states.csv", "--injections", 0, "--json"]
    checked = run("check", schema, *words)
    assert checked.exit_code in (0, 1), checked.exception
    assert json.loads(checked.stdout)["states"] == 3


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "text,other\ns,x", "a.csv: has no column 'state'; it has text, other"),
        ("a.csv", "id,state\n1,s\n2", "a.csv, line 3: has 1 cell, and the header 2"),
        ("a.csv", "state\n", "a.csv: has no states"),
        ("a.csv", 'state\n" "\n', "a.csv, line 2, state: is blank"),
        (
            "a.txt",
            "Where is it?\n",
            "a.txt, line 1: is not JSON: Expecting value (column 1); put a",
        ),
        ("a.parquet", "PAR1", "a.parquet: cannot be read"),
    ],
)
def test_tables_without_states_are_refused(
    name: str, text: str, message: str, schema: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    done = run("ask", "--states", tmp_path / name, "--schema", schema)
    assert message in str(done.exception)


def test_labels_are_cases(schema: Path, tmp_path: Path) -> None:
    path = labels(tmp_path / "a.csv")
    done = run("test", path, "--schema", schema)
    assert (done.exit_code, done.output.split(",")[0]) == (0, "60 of 60 expectations hold")
    other = "True" if path.read_text().splitlines()[1].endswith("False") else "False"
    with path.open("a") as file:
        file.write(
            f"\n60,state 60,\nx,other,{path_decider().ask('other', Boolean('Red?')).best is False}"
        )
    done = run("test", path, "--schema", schema)
    assert done.exit_code == 1
    assert "FAILED x [red]: expected" in done.output
    with path.open("a") as file:
        file.write(f"\ny,state 0,{other}")
    assert "line 64, red: expects another option than" in str(
        run("test", path, "--schema", schema).exception
    )
    assert "needs the schema of its questions (--schema)" in str(run("test", path).exception)
    cases = tmp_path / "cases.json"
    cases.write_text("{}")
    assert "--schema: is for labels" in str(run("test", cases, "--schema", schema).exception)


def test_temperatures_are_fitted_on_labels_of_either_format(schema: Path, tmp_path: Path) -> None:
    items = [item for item in tiny.colour_items(600) if item.kind == "boolean"]
    write_items(tmp_path / "own.jsonl", items)
    rows = [{"state": item.state, "answers": {"red": item.answer == 1}} for item in items]
    (tmp_path / "named.jsonl").write_text("\n".join(map(json.dumps, rows)))
    own = run("calibrate", tmp_path, tmp_path / "own.jsonl", "--dry-run")
    named = run("calibrate", tmp_path, tmp_path / "named.jsonl", "--schema", schema, "--dry-run")
    assert own.exit_code == 0, own.exception
    assert "state-first boolean: temperature" in own.output
    assert named.output == own.output
    bare = run("calibrate", tmp_path, tmp_path / "named.jsonl", "--dry-run")
    assert "needs the schema of its questions (--schema)" in str(bare.exception)


def test_thresholds_warn_about_contradictions(schema: Path, tmp_path: Path) -> None:
    path = labels(tmp_path / "a.csv", 300)
    first = path.read_text().splitlines()[1].split(",")[2]
    with path.open("a") as file:
        file.write(f"\n300,state 0,{'False' if first == 'True' else 'True'}")
    done = run("threshold", "fit", path, "--schema", schema, "--target", "error<=0.1")
    assert done.exit_code == 0, done.exception
    assert "warning: red: 1 of 301 rows contradict an earlier one" in done.stderr
    assert f"saved as {schema.with_name('schema.policy.json')}" in done.stdout


def test_the_bench_scores_labels_with_a_schema(schema: Path, tmp_path: Path) -> None:
    path = labels(tmp_path / "mine.csv")
    words = ["bench", "decisions", path, "--system", "majority", "--out", tmp_path]
    assert "needs the schema of its questions (--schema)" in str(run(*words).exception)
    done = run(*words, "--schema", schema)
    assert done.exit_code == 0, done.exception
    assert json.loads((tmp_path / "decisions-mine.json").read_text())["questions"]["count"] == 60
