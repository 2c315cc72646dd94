import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.path_engine import path_decider
from tests.scale.support import manifest_of, read_parts, write_lines
from tests.serve.support import on_loopback, service_for
from thisthat import InvalidInputError
from thisthat.audit.store import SQLiteStore
from thisthat.cli import app, main
from thisthat.scale.answering import Here
from thisthat.scale.ray import Room

SCHEMA = {
    "refund": "Is it within policy?",
    "queue": {"type": "choice", "criteria": ["billing", "shipping"]},
}


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    rows = [{"ticket": f"t{n}", "body": f"state {n}"} for n in range(10)]
    write_lines(tmp_path / "a.jsonl", rows)


def batch(*arguments: str, given: str | None = None) -> Any:
    words = ["batch", "--schema", "s.json", "-o", "out", *arguments]
    done = CliRunner().invoke(app, words, input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


COLUMNS = ("--id", "ticket", "--state", "body")


def test_a_file_becomes_a_folder_and_running_again_answers_nothing() -> None:
    first = batch("a.jsonl", *COLUMNS)
    assert "out: 10 rows in 1 part" in first.output
    rows = read_parts(Path("out"))
    assert [row["ticket"] for row in rows] == [f"t{n}" for n in range(10)]
    alone = path_decider().decide("state 3", {"refund": "Is it within policy?"})
    assert rows[3]["refund_probability"] == max(alone["refund"].probabilities.values())
    before = manifest_of(Path("out"))
    again = batch("a.jsonl", *COLUMNS)
    assert manifest_of(Path("out")) == before
    assert "nothing was left to do" not in first.output
    assert again.output.endswith("; nothing was left to do\n")


def test_standard_input_is_read_and_named() -> None:
    given = '"one"\n{"state": "two"}\ntorn'
    done = batch("-", "--format", "jsonl", given=given)
    rows = read_parts(Path("out"))
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert rows[2]["error"].startswith("standard input, line 3: is not JSON")
    assert "1 row has an error: standard input, line 3" in done.output
    assert manifest_of(Path("out"))["declared"]["input"][0]["name"] == "standard input"
    batch("-", "--format", "jsonl", given=given)
    with pytest.raises(InvalidInputError, match="standard input changed"):
        batch("-", "--format", "jsonl", given='"three"')


def test_a_dry_run_estimates_and_writes_nothing() -> None:
    done = batch("a.jsonl", *COLUMNS, "--dry-run")
    assert "10 rows, 0 of them done" in done.output
    assert "rows/s, 0:00:0" in done.output
    assert "tokens saved by the kept schema" in done.output
    assert not Path("out").exists()


def _files_of_labels() -> None:
    rows: list[dict[str, Any]] = [{"id": f"t{n}", "state": f"state {n}"} for n in range(4)]
    write_lines(Path("answers.jsonl"), [*rows, {**rows[0], "answers": {"refund": True}}])
    write_lines(Path("names.jsonl"), [{**row, "queue": "billing"} for row in rows])
    Path("names.csv").write_text("id,state,refund,other\nt1,state 1,yes,x")
    Path("answers.tsv").write_text("state\tanswers\nstate 1\t{}")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("answers.jsonl", "answers.jsonl, line 5: has the column 'answers'"),
        ("names.jsonl", "names.jsonl, line 1: has the column 'queue'"),
        ("names.csv", "names.csv: has the column 'refund'"),
        ("answers.tsv", "answers.tsv: has the column 'answers'"),
    ],
)
def test_labels_are_taken_for_states_only_where_their_column_is_named(
    name: str, place: str
) -> None:
    _files_of_labels()
    for more in ((), ("--dry-run",)):
        with pytest.raises(InvalidInputError) as caught:
            batch(name, *more)
        assert str(caught.value) == (
            f"{place}, so it holds labels, not states alone; to compare answers with labels, use "
            "`thisthat eval FILE --schema SCHEMA`; to answer them all the same, add --state state"
        )
    assert not [each for each in Path().glob("out/*") if each.name != ".lock"]
    batch(name, "--state", "state")
    labelled = read_parts(Path("out"))
    write_lines(Path("alone.jsonl"), [f"state {n}" for n in range(4)])
    batch("alone.jsonl", "--restart")
    alone = [row["refund_probability"] for row in read_parts(Path("out"))]
    assert labelled[0]["refund_probability"] in alone[:2]


def test_other_columns_and_a_question_as_the_id_are_no_labels() -> None:
    Path("other.csv").write_text("refund,state,answer,note\nt1,state 1,x,y")
    assert "1 row in 1 part" in batch("other.csv", "--id", "refund").output
    write_lines(Path("b.jsonl"), ["one", {"state": "two", "note": {"answers": 1}}])
    assert "2 rows in 1 part" in batch("b.jsonl", "--restart").output


def test_the_kept_schema_saves_tokens() -> None:
    done = batch("a.jsonl", *COLUMNS, "--layout", "schema-first")
    assert "tokens saved by the kept schema" in done.output
    (part,) = manifest_of(Path("out"))["parts"]
    assert part["cached_tokens"] > part["input_tokens"] / 2
    assert "kept schema" not in batch("a.jsonl", *COLUMNS, "--restart").output.splitlines()[-1]


def test_the_decision_log_is_written() -> None:
    batch("a.jsonl", *COLUMNS, "--decision-log", "log.sqlite")
    lines = list(SQLiteStore(Path("log.sqlite")).read({"request": "t3"}, None, None, None))
    assert {line.question for line in lines} == {"refund", "queue"}


def test_a_server_gives_the_same_answers() -> None:
    write_lines(Path("b.jsonl"), ["state 0", "long " * 4000, "state 2"])
    batch("b.jsonl", "--format", "jsonl")
    here = read_parts(Path("out"))
    with on_loopback(service_for()) as address:
        batch("b.jsonl", "--format", "jsonl", "--server", address, "--restart")
        there = read_parts(Path("out"))
        assert [row["refund_probability"] for row in there] == [
            row["refund_probability"] for row in here
        ]
        assert "tokens" in there[1]["error"]
        told = manifest_of(Path("out"))
        batch("b.jsonl", "--format", "jsonl", "--server", address)
        assert manifest_of(Path("out")) == told


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["a.jsonl", "--format", "xml"], "--format: 'xml' is none of parquet, jsonl, csv"),
        (["a.jsonl", "--input-format", "xml"], "--input-format: 'xml' is none of"),
        (["a.jsonl", "--force-policy"], "--force-policy: needs --policy"),
        (["-", "a.jsonl"], "standard input goes alone"),
        (["none.jsonl"], "none.jsonl: there is no such file, and no file matches it"),
        (["a.jsonl"], "a.jsonl, line 1: has no column 'state'; it has ticket, body"),
        (["a.jsonl", "--id", "body", "--state", "none"], "has no column 'none'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments: list[str], fault: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    words = ["thisthat", "batch", *arguments, "--schema", "s.json", "-o", "out"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert fault in capsys.readouterr().err
    assert not [each for each in Path().glob("out/*") if each.name != ".lock"]


@pytest.mark.parametrize(
    ("form", "how"),
    [("csv", "; --format jsonl chooses what is written into it"), ("jsonl", "")],
)
def test_a_folder_named_like_a_file_is_told_it_is_one(form: str, how: str) -> None:
    words = ("a.jsonl", *COLUMNS, "--format", form, "-o", "o.jsonl")
    told = f"warning: o.jsonl: -o names a folder, not a file{how}\n"
    assert told in batch(*words).stderr
    assert "warning" not in batch(*words).stderr


def test_ray_answers_where_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Pool(Here):
        def __enter__(self) -> "Pool":
            return self

        def __exit__(self, *_: object) -> None:
            asked.append("closed")

    def start(decider: Any, room: Any, address: str | None) -> Pool:
        asked.extend([room, address])
        return Pool(decider)

    monkeypatch.setattr("thisthat.scale.ray.RayWorkers", start)
    where = ("--on", "ray", "--workers", "3", "--gpus-per-worker", "0.5", "--address", "auto")
    assert "10 rows in 1 part" in batch("a.jsonl", *COLUMNS, *where).output
    assert asked == [Room(3, None, 0.5), "auto", "closed"]
    with pytest.raises(InvalidInputError, match="--on: 'spark' is none of ray"):
        batch("a.jsonl", *COLUMNS, "--on", "spark")
    with pytest.raises(InvalidInputError, match=r"--workers.*need --on ray"):
        batch("a.jsonl", *COLUMNS, "--workers", "3")
