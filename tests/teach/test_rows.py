"""Label files: both row formats, JSON lines and CSV, and every fault by line and field."""

import json
from pathlib import Path

import pytest

from thisthat import Boolean, Choice, InvalidInputError, Score
from thisthat.teach.rows import LEAST_ROWS, read_rows

QUESTIONS = {
    "refund": Boolean("Is a refund asked for?"),
    "queue": Choice(["billing", "shipping"], "Which queue?"),
    "anger": Score(["calm", "angry"], "How angry?"),
}


def lines(count: int = LEAST_ROWS) -> list[dict]:
    return [
        {"id": n, "state": f"case {n}", "answers": {"refund": n % 2 == 0, "anger": n % 2}}
        for n in range(count)
    ]


def written(path: Path, rows: list) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_named_answers_are_grouped_by_question(tmp_path: Path) -> None:
    found = read_rows(written(tmp_path / "a.jsonl", lines()), QUESTIONS)
    assert list(found) == ["refund", "anger"]
    assert found["refund"].labels[:3] == [1, 0, 1]
    assert found["anger"].labels[:3] == [0, 1, 0]
    assert found["refund"].states[1] == "case 1"


def test_csv_says_the_same(tmp_path: Path) -> None:
    rows = ["id,state,refund,queue,anger"]
    for n in range(LEAST_ROWS + 1):
        queue = ["billing", "shipping", ""][min(n, 2)] if n < 1 else ["billing", "shipping"][n % 2]
        rows.append(f'{n},"case {n}, said ""she""",{["no", "true"][n % 2]},{queue},{n % 2}')
    path = tmp_path / "a.csv"
    path.write_text("\ufeff" + "\r\n".join(rows), encoding="utf-8")
    found = read_rows(path, QUESTIONS)
    assert found["refund"].labels[:3] == [0, 1, 0]
    assert found["queue"].labels[:3] == [0, 1, 0]
    assert found["anger"].labels[:3] == [0, 1, 0]
    assert found["refund"].states[0] == 'case 0, said "she"'


def test_an_empty_cell_is_no_label(tmp_path: Path) -> None:
    rows = ["state,refund,queue"]
    rows += [f"case {n},{['no', 'yes'][n % 2]},{'billing' if n % 3 else ''}" for n in range(60)]
    rows.append("last,yes,shipping")
    path = tmp_path / "a.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    found = read_rows(path, QUESTIONS)
    assert [len(found[name].states) for name in ("refund", "queue")] == [61, 41]


def test_rows_with_their_own_questions_are_grouped_by_question(tmp_path: Path) -> None:
    rows = [
        {
            "kind": kind,
            "state": f"case {n}",
            "question": text,
            "options": options if n % 3 else options[::-1] if kind == "choice" else options,
            "answer": n % 2,
        }
        for n in range(24)
        for kind, text, options in (
            ("boolean", "Is it?", [["no", None], ["yes", None]]),
            ("choice", "Which?", [["a", None], ["b", "bees"]]),
        )
    ]
    found = read_rows(written(tmp_path / "a.jsonl", rows))
    assert list(found) == ["Is it?", "Which?"]
    assert found["Which?"].question == Choice([("b", "bees"), ("a", None)], "Which?")
    # Row 0 declares b, a and answers b; row 2 declares a, b and answers a.
    assert found["Which?"].labels[:3] == [0, 0, 1]


def test_repeated_rows_count_once(tmp_path: Path) -> None:
    rows = [{**each, "id": n} for n, each in enumerate(lines() + lines())]
    found = read_rows(written(tmp_path / "a.jsonl", rows), QUESTIONS)
    assert (len(found["refund"].states), found["refund"].repeated) == (LEAST_ROWS, LEAST_ROWS)


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"answers": {"refund": "maybe"}}, "line 3, answers.refund", "'maybe' is not an option"),
        ({"answers": {"colour": "red"}}, "line 3, answers.colour", "is not a question; known are"),
        ({"answers": {"anger": 2}}, "line 3, answers.anger", "2 is not an option"),
        ({"answers": {}}, "line 3, answers", "must be an object of labels"),
        ({"id": 0}, "line 3, id", "0 stands in .*line 1 already"),
        ({"state": 5}, "line 3, state", "must be text"),
        ({"state": "case 1"}, "line 3, answers.refund", "where the same state in .*line 2.* 'no'"),
        ({"note": "x"}, "line 3, note", "is not known; a row has answers, id, state"),
    ],
)
def test_a_fault_is_named_by_line_and_field(
    change: dict, field: str, message: str, tmp_path: Path
) -> None:
    rows = lines()
    rows[2] = {**rows[2], **change}
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_rows(written(tmp_path / "a.jsonl", rows), QUESTIONS)
    assert caught.value.field == f"{tmp_path / 'a.jsonl'}, {field}"


def test_a_label_twice_in_one_row_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", lines())
    twice = '{"state": "case x", "answers": {"refund": true, "refund": false}}'
    path.write_text(f"{path.read_text()}\n{twice}\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"line \d+: has the key 'refund' twice in one"):
        read_rows(path, QUESTIONS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("text,refund\nx,yes", 'has no column "state"'),
        ("state,colour\nx,red", "column colour: is not a question"),
        ("state,refund\nx", "line 2: has 1 cell, and the header 2$"),
        ("state,refund\nx,yes,no", "line 2: has 3 cells, and the header 2; a text with commas"),
        ("state,refund\nx,perhaps", "line 2, answers.refund: 'perhaps' is not an option"),
        ('state,refund\n"x,yes', "line 2: is not CSV"),
        ("state,refund\n", "has no labelled rows; an empty cell and null are no label"),
        (
            "id,state\n7,x",
            r'has no labels; beside "state", it needs .* \(refund, queue, anger\) or a column',
        ),
        (
            "id,state,refund\n7,x,yes\n8, ,no",
            "line 3, state: is blank; fill it in or remove the row",
        ),
        ("state,state,refund\nx,y,yes", "column state: stands twice"),
        ("id,id,state,refund\n7,8,x,yes", "column id: stands twice"),
        ("id,state,refund\n7,x,yes\n7,y,no", "line 3, id: '7' stands in .*line 2 already"),
    ],
)
def test_a_fault_in_csv_too(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message):
        read_rows(path, QUESTIONS)


def test_files_that_teach_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_rows(path, QUESTIONS)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_rows(path)
    for questions in (QUESTIONS, None):
        path.write_text("\n")
        with pytest.raises(InvalidInputError, match="has no labelled rows"):
            read_rows(path, questions)
    with pytest.raises(InvalidInputError) as several:
        read_rows(written(path, lines(19)), QUESTIONS)
    few = "has 19 different rows; at least 20 are needed"
    assert str(several.value) == f"{path}: cannot teach:\n  refund: {few}\n  anger: {few}"
    alone = [{**row, "answers": {"refund": row["answers"]["refund"]}} for row in lines(19)]
    with pytest.raises(InvalidInputError, match=rf"a\.jsonl, refund: {few}"):
        read_rows(written(path, alone), QUESTIONS)
    same = [{"state": f"case {n}", "answers": {"refund": True}} for n in range(30)]
    with pytest.raises(
        InvalidInputError, match=r"refund: has the answer 'yes' in every .* label states with other"
    ):
        read_rows(written(path, same), QUESTIONS)
    with pytest.raises(InvalidInputError, match=r"needs the schema of its questions \(--schema\)"):
        read_rows(written(path, lines()))
    with pytest.raises(InvalidInputError, match=r"a.csv.*--schema"):
        read_rows(tmp_path / "a.csv")


def test_one_question_has_one_set_of_options(tmp_path: Path) -> None:
    row = {"kind": "choice", "state": "x", "question": "Which?", "options": ["a", "b"], "answer": 0}
    rows = [row, {**row, "state": "y", "options": ["a", "c"]}]
    with pytest.raises(InvalidInputError, match=r"line 2: has other options than .*line 1"):
        read_rows(written(tmp_path / "a.jsonl", rows))
