import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from tests.path_engine import path_decider
from tests.scale.support import QUESTIONS, Stub, stub_decider
from thisthat import BatchDecider, Boolean, InvalidInputError
from thisthat.calibrate.fit_policy import fit_policy
from thisthat.decide.target import parse_target
from thisthat.errors import DeviceMemoryError
from thisthat.items.labels import LabelledStates

STATES: list[Any] = ["The parcel never came.", "a NUL \0", "x" * 1001, None, "Thank you."]


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    def open_decider(*how: Any, **more: Any) -> Any:
        calls.append((how, more))
        return path_decider()

    monkeypatch.setattr("thisthat.decide.opening.open_decider", open_decider)
    return calls


def expected() -> dict[str, list[Any]]:
    first, last = path_decider().decide_many([STATES[0], STATES[4]], QUESTIONS)
    found = {}
    for name in QUESTIONS:
        ends = [first.answers[name], last.answers[name]]
        for column, values in (
            ("best", [each.best for each in ends]),  # type: ignore[attr-defined]
            ("probability", [each.probabilities[each.best_name] for each in ends]),
            ("entropy", [each.entropy for each in ends]),
        ):
            found[f"{name}_{column}"] = [values[0], None, None, None, values[1]]
    return found


def check(columns: dict[str, list[Any]]) -> None:
    assert columns.pop("ticket") == [0, 1, 2, 3, 4]
    errors = columns.pop("error")
    assert [errors[0], errors[4]] == [None, None]
    assert "row 2, body: has a NUL" in errors[1]
    assert "1001 tokens" in errors[2]
    assert "row 4, body: must be text" in errors[3]
    assert columns == expected()


def test_columns_come_back_as_the_sort_of_table_they_came_in() -> None:
    decider = BatchDecider(QUESTIONS, id="ticket", state="body")
    table = {"body": STATES, "ticket": list(range(5)), "more": [None] * 5}
    check(decider(table))
    arrow = decider(pyarrow.table(table))
    assert isinstance(arrow, pyarrow.Table)
    check(arrow.to_pydict())
    batch = decider(pyarrow.RecordBatch.from_pydict(table))
    assert isinstance(batch, pyarrow.RecordBatch)
    check(batch.to_pydict())
    empty = decider(pyarrow.RecordBatch.from_pydict(table).slice(0, 0))
    assert (empty.num_rows, empty.schema.names) == (0, ["ticket", *decider.kinds])


def test_arrays_come_back_as_arrays() -> None:
    decider = BatchDecider(QUESTIONS, state="body")
    found = decider({"body": np.array(["one", "two"])})
    assert all(isinstance(each, np.ndarray) for each in found.values())
    assert found["refund_probability"].dtype == np.float64
    assert found["error"].tolist() == [None, None]


def test_pandas_and_polars_frames() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    decider = BatchDecider(QUESTIONS, id="ticket", state="body")
    table = {"body": STATES, "ticket": list(range(5))}
    framed = decider(pandas.DataFrame(table, index=list("abcde")))
    assert list(framed.index) == list("abcde")
    kept = framed["refund_probability"].dropna().tolist()
    assert kept == [each for each in expected()["refund_probability"] if each is not None]
    found = decider(polars.DataFrame(table))
    check(found.to_dict(as_series=False))


def test_several_columns_make_one_state() -> None:
    found = BatchDecider(QUESTIONS, state=["a", "b"])({"a": ["x"], "b": [1]})
    alone = path_decider().decide({"a": "x", "b": 1}, QUESTIONS)
    assert found["refund_probability"] == [max(alone["refund"].probabilities.values())]


def test_it_is_small_to_pickle_and_opens_where_it_is_called(opened: list[Any]) -> None:
    decider = BatchDecider(QUESTIONS, "here", lam=0.5, keep="tail")
    before = decider({"state": ["s"]})
    data = pickle.dumps(decider)
    assert len(data) < 5000
    again = pickle.loads(data)
    assert len(opened) == 1
    assert again({"state": ["s"]}) == before
    assert again({"state": ["s"]}) == before
    assert opened == [(("here",), {"lam": 0.5, "engine": "auto", "threads": None})] * 2
    again.close()
    assert again({"state": ["x" * 1001]})["cut"] == [1]


def test_a_policy_adds_action_option_and_set(tmp_path: Path) -> None:
    states = [f"state {number}" for number in range(200)]
    right = [
        {name: list(a.probabilities).index(a.best_name) for name, a in each.answers.items()}
        for each in path_decider().decide_many(states, QUESTIONS)
    ]
    labelled = LabelledStates(QUESTIONS, states, right)
    policy = fit_policy(path_decider(), labelled, parse_target("error<=0.2"))
    policy.save(tmp_path / "p.json")
    found = BatchDecider(QUESTIONS, policy=tmp_path / "p.json")({"state": states[:20]})
    alone = path_decider().decide_many(states[:20], QUESTIONS, policy=policy)
    outcomes = [each["queue"].outcome for each in alone]
    assert found["queue_action"] == [each.action for each in outcomes if each]
    assert found["queue_option"] == [each.option for each in outcomes if each]
    assert found["queue_set"] == [list(each.options or ()) for each in outcomes if each]
    assert "act" in found["queue_action"]
    with pytest.raises(InvalidInputError, match="policy: was fitted for something else"):
        BatchDecider(QUESTIONS, policy=policy, layout="schema-first")({"state": ["s"]})
    forced = BatchDecider(QUESTIONS, policy=policy.force(), layout="schema-first")
    assert forced({"state": ["s"]})["queue_action"] != [None]


def test_a_row_too_large_for_the_device_is_its_own_error() -> None:
    class Small(Stub):
        def decide_each(self, states: Any, *_: Any, **__: Any) -> list[Any]:
            if "large" in states:
                raise DeviceMemoryError("does not fit")
            return super().decide_each(states)

    decider = stub_decider()
    decider._opened = Small()  # type: ignore[assignment]
    found = decider({"state": ["a", "large", "b"], "id": [1, 2, 3]})
    assert found["error"] == [None, "state: does not fit", None]


@pytest.mark.parametrize(
    ("settings", "columns", "fault"),
    [
        ({}, {"text": ["a"]}, "columns: has no column 'state'; it has text"),
        ({}, [1], "columns: must be a mapping, an Arrow, pandas or Polars table, not list"),
        ({"id": "n"}, {"state": ["a", "b"], "n": [1]}, "columns: are not equally long"),
        ({}, {"state": "a"}, "state: is one text; give a list"),
        ({"explain": True}, {}, "explain: is not for batches"),
        ({"id": "error"}, {}, "id: 'error' is the name of a column of answers"),
        ({"state": []}, {}, "state: names no column"),
        ({"layout": "upside-down"}, {"state": ["a"]}, "layout: 'upside-down' is not one"),
        ({"server": "http://x", "engine": "onnx"}, {}, "engine: is for a checkpoint"),
    ],
)
def test_what_cannot_be_used_is_named(settings: Any, columns: Any, fault: str) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        BatchDecider({"q": "Is it?"}, **settings)(columns)


def test_schemas_are_classes_questions_json_or_files(tmp_path: Path) -> None:
    class Triage:
        refund: bool

    (tmp_path / "s.json").write_text('{"refund": "Is it so?"}', encoding="utf-8")
    for schema in (
        Triage,
        {"refund": Boolean("Is it?")},
        {"refund": "Is it?"},
        tmp_path / "s.json",
    ):
        assert list(BatchDecider(schema).questions) == ["refund"]
    with pytest.raises(InvalidInputError, match="questions"):
        BatchDecider({})
