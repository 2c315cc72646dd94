"""One reader of labels: every format says the same, and every fault is named by line and field."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from thisthat import Boolean, Choice, InvalidInputError, Score
from thisthat.items.labels import (
    LabelledStates,
    label_columns,
    label_key,
    labelled_items,
    labelled_questions,
    option_index,
    read_labelled,
)
from thisthat.questions import Question

QUESTIONS: dict[str, Question] = {
    "refund": Boolean("Is a refund asked for?"),
    "queue": Choice(["billing", "nan"], "Which queue?"),
    "anger": Score(["calm", "angry"], "How angry?"),
}
ROWS: list[dict[str, Any]] = [
    {"id": "a", "state": 'said "she", twice', "answers": {"refund": True, "queue": "nan"}},
    {"id": "b", "state": "zwei\nZeilen", "answers": {"refund": False, "anger": 1}},
    {"state": "x", "answers": {"anger": 0}},
]
READ = [{"refund": 1, "queue": 1}, {"refund": 0, "anger": 1}, {"anger": 0}]


def cells() -> list[dict[str, Any]]:
    return [
        {"id": row.get("id"), "state": row["state"]}
        | {name: row["answers"].get(name) for name in QUESTIONS}
        for row in ROWS
    ]


def jsonl(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def as_jsonl(folder: Path) -> Path:
    return jsonl(folder / "a.jsonl", ROWS)


def as_zst(folder: Path) -> Path:
    path = folder / "a.jsonl.zst"
    path.write_bytes(zstandard.compress(as_jsonl(folder).read_bytes()))
    return path


def as_csv(folder: Path) -> Path:
    path = folder / "a.csv"
    path.write_text(
        "state,refund,queue,anger,id\n"
        '"said ""she"", twice",true,nan,,a\n"zwei\nZeilen",no,,1,b\nx,,,0,\nunlabelled,,,,\n'
    )
    return path


def as_csv_of_json(folder: Path) -> Path:
    path = folder / "a.csv"
    path.write_text(
        "id,state,answers\n"
        'a,"said ""she"", twice","{""refund"": true, ""queue"": ""nan""}"\n'
        'b,"zwei\nZeilen","{""refund"": false, ""anger"": 1}"\n,x,"{""anger"": 0}"\n'
    )
    return path


def as_parquet(folder: Path) -> Path:
    return parquet(folder / "a.parquet", cells())


def as_nested_parquet(folder: Path) -> Path:
    return parquet(folder / "a.parquet", ROWS)


def as_frame(folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(cells())


@pytest.mark.parametrize(
    "form",
    [as_jsonl, as_zst, as_csv, as_csv_of_json, as_parquet, as_nested_parquet, as_frame],
    ids=lambda form: form.__name__,
)
def test_every_format_says_the_same(form: Any, tmp_path: Path) -> None:
    read = read_labelled(form(tmp_path), QUESTIONS)
    assert list(read.states) == [row["state"] for row in ROWS]
    assert list(read.labels) == READ
    assert list(read.ids) == ["a", "b", None]
    assert read.counts == {"refund": 2, "queue": 1, "anger": 2}


def test_a_frame_may_hold_numbers_with_gaps() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1, 2], "state": ["s", "t"], "anger": [1.0, float("nan")]})
    frame["refund"] = pandas.array([True, None], dtype="boolean")
    read = read_labelled(frame, QUESTIONS)
    assert (list(read.labels), list(read.ids)) == ([{"anger": 1, "refund": 1}], ["1"])
    with pytest.raises(InvalidInputError, match=r"frame, row 1, answers\.anger: 7 is not an"):
        read_labelled(pandas.DataFrame({"state": ["s", "t"], "anger": [1, 7]}), QUESTIONS)
    with pytest.raises(InvalidInputError, match="frame: names questions"):
        read_labelled(frame)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"state": "s", "anger": 2}], r"row 1, answers\.anger: 2 is not an option"),
        ([{"state": "s", "mood": 2}], "column mood: is not a question; known are refund"),
        ([{"text": "s", "anger": 1}], 'has no column "state"'),
        ([{"state": None, "anger": 1}], "row 1, state: must be text"),
        ([{"state": "s", "answers": "{"}], "row 1, answers: is not JSON"),
        ([{"state": "s", "answers": "3"}], "row 1, answers: must be an object of labels"),
        ([{"state": "s", "answers": "{}", "anger": 1}], 'column anger: stands beside "answers"'),
        ([{"id": 4, "state": s, "anger": 1} for s in "st"], "row 2, id: 4 stands in .*row 1"),
        ([{"state": "s", "anger": None}], "has no labelled rows"),
    ],
)
def test_faults_of_tables(rows: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_labelled(parquet(tmp_path / "a.parquet", rows), QUESTIONS)


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("state,anger,anger\ns,1,0\n")
    with pytest.raises(InvalidInputError, match="column anger: stands twice"):
        read_labelled(tmp_path / "a.csv", QUESTIONS)


ROW = {"kind": "choice", "state": "s", "question": "?", "options": ["a", "b"], "answer": 1}


def test_rows_that_bring_their_questions_need_no_schema(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [ROW, {**ROW, "options": ["b", "a"]}])
    read = read_labelled(path)
    assert (read.questions, list(read.labels)) == (
        {"?": Choice(["a", "b"], "?")},
        [{"?": 1}, {"?": 0}],
    )
    assert list(read.alone().labels) == [{"question": 1}, {"question": 0}]
    with pytest.raises(InvalidInputError, match=r"line 1: brings its own question; leave the sche"):
        read_labelled(path, QUESTIONS)
    for other in (as_jsonl, as_zst, as_csv, as_parquet, as_nested_parquet):
        with pytest.raises(
            InvalidInputError, match=r"needs the schema of its questions \(--schema\)"
        ):
            read_labelled(other(tmp_path))
    with pytest.raises(InvalidInputError, match=r"line 1, options\[1\]\.name: 'a' is already"):
        read_labelled(jsonl(path, [{**ROW, "options": ["a", "a"]}]))


def test_each_label_as_a_question_and_as_an_item(tmp_path: Path) -> None:
    given = list(labelled_questions(as_csv(tmp_path), QUESTIONS))
    assert [(state, label) for state, _, label in given] == [
        (row["state"], label)
        for row, right in zip(ROWS, READ, strict=True)
        for label in right.values()
    ]
    items = list(labelled_items(as_csv(tmp_path), QUESTIONS))
    assert [(item.state, item.as_question(), item.answer) for item in items] == given
    assert [item.family for item in items] == ["refund", "queue", "refund", "anger", "anger"]
    own = jsonl(tmp_path / "b.jsonl", [ROW, {**ROW, "options": ["b", "c", "d"]}])
    asked = [question for _, question, _ in labelled_questions(own)]
    assert asked == [Choice(["a", "b"], "?"), Choice(["b", "c", "d"], "?")]
    for question in (Boolean("?", abstain=True), Boolean(), Boolean({"ask": "?"})):
        with pytest.raises(InvalidInputError, match=r"questions\.refund: needs instructions"):
            list(labelled_items(as_csv(tmp_path), {**QUESTIONS, "refund": question}))


def test_what_is_odd_is_told() -> None:
    labels = [{"refund": 1, "anger": 0}, {"refund": 0}, {"refund": 1}, {"anger": 0}]
    labelled = LabelledStates(QUESTIONS, ["s", "s", "t", "s"], labels, ["1", "2", "3", "4"])
    assert labelled.contradictions() == [("refund", 1, 0)]
    contradiction, repeat, one_answer = labelled.doubts()
    assert repeat.startswith("anger: 1 of 2 rows repeat another; ")
    assert contradiction.startswith("refund: 1 of 3 rows contradict an earlier one")
    assert contradiction.endswith("the first is 2, against 1")
    assert one_answer == "anger: every row has the answer '0: calm'"


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ({"state": "s", "answers": {}}, "answers"),
        ({"id": 1, "state": "s", "answers": {"a": 1}}, "answers"),
        ({"state": "s", "answers": None, "more": 2}, "answers"),
        ({"text": "s", "answers": {"refund": True}}, "answers"),
        ({"record": "s", "answers": {"refund": True}}, "answers"),
        ({**ROW, "split": "dev"}, "answer"),
        ({"state": "s", "answer": "yes"}, "answer"),
        ({"text": "s", "answer": 0}, "answer"),
        ({"id": 1, "state": "s", "refund": True}, "refund"),
        ({"text": "s", "anger": None}, "anger"),
        ({"state": "s"}, None),
        ({"state": "s", "text": "t", "id": 1, "note": "n"}, None),
        ({"refund": "asked for", "anger": "none"}, None),
        ({"answers": 1, "answer": 2}, None),
        ("state answers", None),
        (["state", "answers"], None),
    ],
)
def test_rows_of_labels_are_told_from_states(row: object, key: str | None) -> None:
    assert label_key(row, QUESTIONS) == key


def test_a_question_may_be_called_like_what_is_no_label() -> None:
    questions = ["state", "text", "id"]
    assert label_key({"id": 1, "state": "s", "text": "t"}, questions) is None
    assert label_columns(questions) == ("answers", "text")


@pytest.mark.parametrize(
    ("question", "label", "known"),
    [
        (Boolean("Is it?"), "2", "no, yes, true, false"),
        (Boolean("Is it?"), 2, "no, yes, true, false"),
        (Score(["no hurry", "now"], "How soon?"), True, "0 or 'no hurry', 1 or 'now'"),
        (Score(["no hurry", "now"], "How soon?"), "today", "0 or 'no hurry', 1 or 'now'"),
        (
            Score(["no hurry", "now"], "How soon?", True),
            2,
            "0 or 'no hurry', 1 or 'now', none of these",
        ),
        (Score(["1", "10"], "How many?"), 10, "0, 1 or '10'"),
        (Score(["now"], "How soon?"), "0: now", "0 or 'now'"),
        (Score(["x", "0"], "How many?"), "y", "0 or 'x', 1"),
        (Score([{"days": 1}, "more"], "How soon?"), "days", "0: {\"days\": 1}, 1 or 'more'"),
        (Choice({"a": "first", "b": None}, "Which?"), "c", "a, b"),
    ],
)
def test_a_wrong_label_is_told_what_it_may_be(question: Any, label: str, known: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        option_index(question, label)
    assert caught.value.message == f"{label!r} is not an option; known are {known}"


@pytest.mark.parametrize(
    ("question", "label", "instead"),
    [
        (Choice(["plumbing", "roof"], "Which?"), "Plumbing", "it differs from 'plumbing' only"),
        (Choice(["air  con", "roof"], "Which?"), " Air con", "it differs from 'air  con' only"),
        (Choice(["IT", "it"], "Which?"), "It", "it differs from 'IT' and 'it' only"),
        (Score(["no hurry", "now"], "How soon?"), "Now", "it differs from 'now' only"),
        (Score(["no hurry", "now"], "How soon?"), "1 ", "it differs from '1' only"),
        (Boolean("Is it?"), "Yes ", "it differs from 'yes' only"),
        (Boolean("Is it?"), " TRUE", "it differs from 'true' only"),
        (Boolean("Is it?"), "1", "write yes or no, or TRUE or FALSE"),
        (Boolean("Is it?"), "0", "write yes or no, or TRUE or FALSE"),
        (Boolean("Is it?"), 1, "write yes or no, or TRUE or FALSE"),
    ],
)
def test_a_label_that_is_nearly_right_is_refused_and_told_why(
    question: Any, label: object, instead: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        option_index(question, label)
    ending = " in case or blanks" if instead.endswith("only") else ""
    assert caught.value.message == f"{label!r} is not an option; {instead}{ending}"


@pytest.mark.parametrize(
    ("levels", "label", "place"),
    [
        (["calm", "angry"], "angry", 1),
        (["calm", "angry"], "1", 1),
        (["calm", "angry"], 1, 1),
        (["calm", "angry"], "none of these", 2),
        (["0", "1"], "1", 1),  # number and text say the same
        (["10", "20"], "20", 1),  # only a text
        (["10", "20"], "1", 1),  # only a number
        (["1", "2"], 1, 1),  # a number is never a text
    ],
)
def test_a_level_is_named_by_number_or_text(levels: list[str], label: object, place: int) -> None:
    assert option_index(Score(levels, "How much?", abstain=True), label) == place


@pytest.mark.parametrize("label", ["no", "NO", "No", "FALSE", "False", False])
def test_a_boolean_is_labelled_in_any_case(label: object) -> None:
    assert option_index(Boolean("Is it?"), label) == 0


@pytest.mark.parametrize("label", [" no", "0", "0.0", 0, "n", ""])
def test_what_only_looks_like_a_boolean_is_refused(label: object) -> None:
    with pytest.raises(InvalidInputError, match="is not an option"):
        option_index(Boolean("Is it?"), label)


@pytest.mark.parametrize("label", ["1", "none of these"])
def test_a_label_that_may_mean_two_levels_is_refused(label: str, tmp_path: Path) -> None:
    score = Score(["1", "2", "none of these"], "How much?", abstain=True)
    with pytest.raises(InvalidInputError, match=r"may mean .*reword that level") as caught:
        option_index(score, label)
    for row in ({"state": "s", "answers": {"stars": label}}, {"state": "s", "stars": label}):
        path = tmp_path / ("a.jsonl" if "answers" in row else "a.csv")
        path.write_text(json.dumps(row) if "answers" in row else f"state,stars\ns,{label}\n")
        with pytest.raises(InvalidInputError) as read:
            read_labelled(path, {"stars": score})
        assert read.value.message == caught.value.message
    assert read.value.field.endswith("line 2, answers.stars")


def test_every_format_may_name_levels_by_their_texts(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{"state": "s", "anger": "angry"}, {"state": "t", "anger": "calm"}]
    csv = tmp_path / "a.csv"
    csv.write_text("state,anger\ns,angry\nt,calm\n")
    lines = [{"state": row["state"], "answers": {"anger": row["anger"]}} for row in rows]
    sources = [csv, parquet(tmp_path / "a.parquet", rows), jsonl(tmp_path / "a.jsonl", lines)]
    for source in [*sources, pandas.DataFrame(rows)]:
        assert list(read_labelled(source, QUESTIONS).labels) == [{"anger": 1}, {"anger": 0}]


@pytest.mark.parametrize(
    ("heading", "told"),
    [
        ("message,refund", "its columns are message, refund"),
        ("state;refund", "its columns are state;refund (cells must be separated by commas)"),
    ],
)
def test_a_table_without_states_is_told_its_columns(
    heading: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"{heading}\n", encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read_labelled(path, {"refund": Boolean("Is it?")})
    assert caught.value.message == f'has no column "state"; {told}'


def test_spaces_around_a_column_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("state, refund\nIt broke.,yes\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="csv, column ' refund': is not a question"):
        read_labelled(path, {"refund": Boolean("Is it?")})


@pytest.mark.parametrize("text", ["", "\ufeff", "\n\n"])
def test_an_empty_table_is_told_that_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read_labelled(path, {"refund": Boolean("Is it?")})
    assert str(caught.value) == f"{path}: is empty"


def test_empty_columns_at_the_end_are_ignored(tmp_path: Path) -> None:
    path, asked = tmp_path / "labels.csv", {"red": Boolean("Is it red?")}
    path.write_text("\n\nid,state,red,, \na,x,yes,,\n\nb,y,no, ,\n", encoding="utf-8")
    found = read_labelled(path, asked)
    assert (found.ids, found.states) == (["a", "b"], ["x", "y"])
    assert list(found.labels) == [{"red": 1}, {"red": 0}]
    assert found.places[1] == f"{path}, line 6"


QUOTES = "; a text with commas needs double quotes around it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "state,red,,\nx,yes,,\ny,no,,so\n",
            ", line 3: has 'so' in column 4, but columns 3 and 4 have no name; name or delete them",
        ),
        (
            "state,red,\nx,yes,sure\n",
            ", line 2: has 'sure' in column 3, but column 3 has no name; name it or delete it",
        ),
        ("state,,red\nx,,yes\n", ": column 2 has no name; name it or delete it"),
        (",state, ,red,\n,x,,yes,\n", ": columns 1 and 3 have no name; name or delete them"),
        ("state,red,,\nx,yes,\n", ", line 2: has 3 cells, and the header 4"),
        ("state,red,\nx,yes,,\n", f", line 2: has 4 cells, and the header 3{QUOTES}"),
        (",,\n,,\n", ': has no column "state"; its columns are none'),
    ],
)
def test_columns_without_a_name_are_refused_where_something_stands_in_them(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read_labelled(path, {"red": Boolean("Is it red?")})
    assert str(caught.value) == f"{path}{message}"


def test_up_to_ten_wrong_labels_are_named(tmp_path: Path) -> None:
    path, asked = tmp_path / "a, b.csv", {"red": Boolean("Is it red?")}

    def refused(wrong: int) -> InvalidInputError:
        rows = [f"state {n},{'maybe' if n < wrong else 'yes'}" for n in range(20)]
        path.write_text("\n".join(["state,red", *rows]), encoding="utf-8")
        with pytest.raises(InvalidInputError) as caught:
            read_labelled(path, asked)
        return caught.value

    first = "'maybe' is not an option; known are no, yes, true, false"
    assert refused(1).message == first
    two = refused(2)
    assert two.field == f"{path}, line 2, answers.red"
    assert two.message == f"{first}; also line 3, answers.red: 'maybe' is not an option"
    others = [f"  line {n}, answers.red: 'maybe' is not an option" for n in range(3, 12)]
    assert refused(13).message.split("\n") == [f"{first}; also", *others, "  and 3 others"]


def test_rows_that_repeat_another_are_doubtful_once_they_are_more_than_a_tenth(
    tmp_path: Path,
) -> None:
    path = tmp_path / "labels.csv"
    for repeats, told in ((10, False), (11, True)):
        states = [f"state {number}" for number in range(100 - repeats)] + ["state 0"] * repeats
        rows = [f"{number},{state},yes" for number, state in enumerate(states)]
        path.write_text("id,state,red\n" + "\n".join(rows))
        doubts = read_labelled(path, {"red": Boolean("Is it red?")}).doubts()
        assert any("red: 11 of 100 rows repeat another; " in doubt for doubt in doubts) == told
