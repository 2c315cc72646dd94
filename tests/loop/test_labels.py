from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.loop.test_joined import DAY, T0, decided, of, put
from thisthat.audit.beside import RequestId
from thisthat.audit.store import SQLiteStore
from thisthat.errors import InvalidInputError
from thisthat.identity import schema_hash
from thisthat.items.labels import read_labelled
from thisthat.loop.labels import REASONS, make_labels
from thisthat.loop.outcome_files import import_outcomes, read_outcomes
from thisthat.loop.outcomes import Outcome, Recorded
from thisthat.loop.review import review_queue, review_tasks
from thisthat.questions import Choice, Score


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    return SQLiteStore(tmp_path / "log.sqlite")


def test_a_decision_becomes_one_label_with_its_questions(store: SQLiteStore) -> None:
    store.append([decided(0, "r", "q"), decided(0, "r", "p"), decided(0, "r", "z")])
    put(store, (1, of("r", "q", option="a")), (1, of("r", "p", option="b")))
    made = make_labels(store, DAY, T0 + DAY)
    [label] = made.labels
    assert (label.id, label.state, label.answers) == ("r", "text", {"q": "a", "p": "b"})
    assert made.excluded == {"censored": 1}


def test_levels_are_labelled_by_number(store: SQLiteStore, tmp_path: Path) -> None:
    said = json.dumps({"0": 0.2, "1": 0.7, "unknown": 0.1})
    score = {"kind": "score", "probabilities": said, "best": "1"}
    store.append([decided(0, name, state_hash=name, **score) for name in ("r", "s")])
    put(store, (1, of("r", option="1")), (1, of("s", option="unknown")))
    made = make_labels(store, DAY, T0 + DAY)
    assert [each.answers for each in made.labels] == [{"q": 1}, {"q": "unknown"}]
    made.save(tmp_path / "a.jsonl")
    # As a text, "1" could be taken for the wording of the first level.
    score_of_numbers = Score(["1", "2"], "How many?", abstain="unknown")
    read = read_labelled(tmp_path / "a.jsonl", {"q": score_of_numbers})
    assert list(read.labels) == [{"q": 1}, {"q": 2}]


def test_ids_tell_states_of_one_request_apart(store: SQLiteStore) -> None:
    store.append([decided(0, "r", state_hash=name, state=name) for name in ("h1", "h2")])
    store.append([decided(0, None)])
    client = RequestId("f00d", "order-1187")
    store.append([decided(0, client, state_hash="h4")])
    put(store, *((1, Outcome(decision=line, option="a")) for line in (4, 3, 2, 1)))
    made = make_labels(store, 0, T0 + DAY)
    assert [each.id for each in made.labels] == ["r#1", "r#2", "line#3", "order-1187"]


def test_decisions_about_the_same_state_become_one_label(store: SQLiteStore) -> None:
    store.append([decided(0, name) for name in ("r", "s", "t")])
    store.append([decided(0, "t", "p"), decided(0, "t", "z"), decided(0, "u", "z")])
    put(store, *((1, of(name, option="a")) for name in ("r", "s", "t")))
    put(store, (1, of("t", "p", option="b")))
    put(store, (1, of("t", "z", option="a")), (1, of("u", "z", option="b")))
    made = make_labels(store, 0, T0 + DAY)
    [label] = made.labels
    assert (label.id, label.answers) == ("r", {"q": "a", "p": "b"})
    assert made.excluded == {"same": 2, "contrary": 2}
    [kept] = make_labels(store, 0, T0 + DAY, keep_contradictory=True).labels
    assert kept.answers == {"q": "a", "p": "b", "z": "b"}


def test_every_answer_without_a_label_has_a_reason(store: SQLiteStore) -> None:
    store.append(
        [
            decided(0, "good"),
            decided(1, "young"),
            decided(0, "silent"),
            decided(0, "good"),
            decided(0, "reward"),
            decided(0, "both", state_hash="h4"),
            decided(0, "unknown"),
            decided(0, "stateless", state=None),
            decided(0, "again"),
            decided(0, "several", state_hash="h1"),
            decided(0, "several", state_hash="h2"),
            decided(0, "this", state_hash="h3"),
            decided(0, "other", state_hash="h3"),
        ]
    )
    names = ("good", "young", "both", "stateless", "again", "several", "this")
    put(store, *((1, of(name, option="a", source="x")) for name in names))
    put(store, (2, of("both", option="b")), (2, of("unknown", option="c")))
    put(store, (2, of("other", option="b")))
    put(store, (2, of("reward", reward=1)))
    made = make_labels(store, DAY, T0 + DAY)
    assert [each.id for each in made.labels] == ["good"]
    reasons = dict.fromkeys(REASONS.keys() - {"another wording"}, 1)
    assert made.excluded == {**reasons, "unassigned": 2, "contrary": 2}
    kept = make_labels(store, DAY, T0 + DAY, keep_contradictory=True)
    answers = {each.id: each.answers["q"] for each in kept.labels}
    assert answers == {"good": "a", "both": "b", "other": "b"}


def test_wordings_of_one_name_are_not_mixed(store: SQLiteStore) -> None:
    now, then = Choice(["a", "b"], "Which one?"), Choice(["a", "b"], "Which?")
    asked = [{"q": then}, {"q": now}, {"q": now, "p": now}, {"q": now, "z": now}]
    for questions in asked:
        name = "".join(questions) + str(questions["q"].instructions)
        hashed = schema_hash(questions)
        store.append([decided(0, name, q, schema=hashed, state_hash=name) for q in questions])
        put(store, (1, of(name, option="a")))
    with pytest.raises(InvalidInputError, match="questions: 'q' stands in 4 schemas of this log"):
        make_labels(store, 0, T0 + DAY)
    made = make_labels(store, 0, T0 + DAY, questions={"q": now, "p": now})
    assert [each.id for each in made.labels] == ["qWhich one?", "qpWhich one?"]
    assert made.excluded == {"another wording": 2, "censored": 2}
    first = make_labels(store, 0, T0 + DAY, questions={"q": then})
    assert [each.id for each in first.labels] == ["qWhich?"]


def test_labels_hold_nothing_from_after_their_moment(store: SQLiteStore) -> None:
    store.append([decided(0, "r"), decided(DAY, "s", state_hash="h2")])
    put(store, (5, of("r", option="a")), (DAY + 5, of("s", option="a")), (9, of("r", option="b")))
    early = make_labels(store, 1, T0 + 9)
    assert [each.answers for each in early.labels] == [{"q": "a"}]
    assert early.excluded == {}
    later = make_labels(store, 1, T0 + DAY + 5)
    assert later.labels == []
    assert later.excluded == {"contradictory": 1, "censored": 1}


def test_saved_labels_are_lines_for_their_owner(store: SQLiteStore, tmp_path: Path) -> None:
    store.append([decided(0, "r", state="größer")])
    put(store, (1, of("r", option="a")))
    path = tmp_path / "labels.jsonl"
    make_labels(store, 0, T0 + DAY).save(path)
    assert path.stat().st_mode & 0o077 == 0
    [line] = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"id": "r", "state": "größer", "answers": {"q": "a"}}
    assert "größer" in line
    questions = {"q": Choice(["a", "b"])}
    assert read_labelled(path, questions).labels == [{"q": 0}]


def test_a_review_goes_to_label_studio_and_back(store: SQLiteStore, tmp_path: Path) -> None:
    store.append(
        [
            decided(0, "r1", sure=0.9, state_hash="h1"),
            decided(0, "r2", sure=0.55, state_hash="h2"),
            decided(0, "r3", sure=0.55, state_hash="h2"),
            decided(0, "r4", sure=0.6, state_hash="h4", state=None),
            decided(0, "r5", sure=0.5, state_hash="h5"),
            decided(0, "r6", sure=0.7, state_hash="h6"),
        ]
    )
    put(store, (1, of("r5", option="a")))
    tasks = review_tasks(review_queue(store, 2, T0 + DAY))
    assert [each["data"]["decision"] for each in tasks] == [3, 6]
    first = tasks[0]["data"]
    assert (first["question"], first["state"]) == ("q", "text")
    assert first["options"] == [{"value": "a"}, {"value": "b"}]
    # Nobody recorded how it was asked.
    assert (first["asks"], first["meanings"]) == ("q", "a\nb")
    [said] = tasks[0]["predictions"]
    assert (said["score"], said["result"][0]["value"]) == (0.55, {"choices": ["a"]})
    answer = {**said["result"][0], "value": {"choices": ["b"]}, "id": "x"}
    done = {"id": 1, "result": [answer], "updated_at": "1970-01-15T00:00:00.5Z"}
    tasks[0]["annotations"] = [{"result": [], "was_cancelled": True}, done]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    [(where, outcome)] = read_outcomes(path)
    assert where == f"{path}[0]"
    assert (outcome.decision, outcome.option, outcome.source) == (3, "b", "label-studio")
    assert outcome.time == 14 * DAY + 0.5
    assert import_outcomes(store, path) == Recorded(1, 0)
    assert import_outcomes(store, path) == Recorded(0, 1)
    labels = make_labels(store, 0, time.time() + 1).labels
    assert {each.id: each.answers["q"] for each in labels} == {"r3": "b", "r5": "a"}


@pytest.mark.parametrize(
    "tasks",
    [
        {"data": {}},
        [{"data": {}}],
        [{"data": {"decision": 1}, "annotations": [{"result": [{"type": "choices"}]}]}],
        [{"data": {"decision": "x"}, "annotations": [{"result": []}]}, 3],
    ],
)
def test_other_json_is_no_review(tmp_path: Path, tasks: object) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="Label Studio"):
        read_outcomes(path)


def test_csv_and_json_lines_hold_the_same(tmp_path: Path) -> None:
    table, lines = tmp_path / "o.csv", tmp_path / "o.jsonl"
    table.write_text(
        "\ufeffdecision,request,question,option,reward,happened,time,key\n"
        "4,,,,,no,,\n"
        ',"r,1",q,yes,,,2026-01-31T00:00:00Z,k\n'
        ",r2,q,,0.5,,12.5,\n",
        encoding="utf-8",
    )
    rows = [
        {"decision": 4, "happened": False},
        {"request": "r,1", "question": "q", "option": "yes", "time": 1769817600, "key": "k"},
        {"request": "r2", "question": "q", "reward": 0.5, "time": 12.5},
    ]
    lines.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    both = [[each for _, each in read_outcomes(path)] for path in (table, lines)]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("o.csv", "decision,colour\n1,red\n", "o.csv, line 1: names 'colour'; known columns are"),
        ("o.csv", "", "o.csv, line 1: is empty"),
        (
            "o.csv",
            "request;option\nr;yes\n",
            "source, time, key (cells must be separated by commas)",
        ),
        ("o.csv", "decision,option\n1\n", "o.csv, line 2: has another number of cells"),
        ("o.csv", "decision,reward\n1,0.5\n2,5\n", "o.csv, line 3, reward: must be a number"),
        ("o.csv", "decision,reward\n1,much\n", "o.csv, line 2, reward: must be a number"),
        ("o.csv", 'decision,option\n1,"a\n', "o.csv, after line 1: unexpected end of data"),
        ("o.jsonl", '{"decision": 1, "option": "a"}\n[]\n', "o.jsonl, line 2: must be an object"),
        ("o.txt", "", "must end in .jsonl, .csv or .json"),
    ],
)
def test_a_bad_file_names_line_and_field(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read_outcomes(tmp_path / name)
    assert message in str(caught.value)
