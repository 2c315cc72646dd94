"""Teaching over HTTP: who may, what is refused and where, and what stands beside afterwards."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.lab.train import tiny
from tests.serve.support import get, in_process, on_loopback, post, run, until
from thisthat.decide.opening import open_decider
from thisthat.items.labels import read_labelled
from thisthat.questions_json import questions_from_json
from thisthat.serve.http.teach import MOST_BESIDE
from thisthat.serve.problems import Problem
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings
from thisthat.serve.teaching.teacher import Teacher
from thisthat.serve.teaching.worker import Order

OPENING = {"engine": "onnx", "threads": 1}
QUESTIONS: dict[str, Any] = {
    "red": {"type": "noul", "instructions": "Is it red?"},
    "shade": {"type": "choice", "instructions": "Which shade?", "criteria": ["dark", "light"]},
}
WORDS = ["red", "green", "pale", "deep", "door", "car"]
STATES = [
    " ".join(np.random.default_rng(number).choice(WORDS, 4)) + f" {number}" for number in range(60)
]
ROWS = [
    {
        "state": state,
        "answers": {"red": "red" in state, "shade": "light" if "pale" in state else "dark"},
    }
    for state in STATES
]
ORDER = Order("teach", "x", 1.0, OPENING, QUESTIONS, 1 << 30, ".")
NEW = ["red deep car", "green deep door", "pale green car", "red pale door"]


def test_the_page_sends_the_labels_of_a_table(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "serve.md").read_text(encoding="utf-8")
    [program] = re.findall(r'^python -c "(.*)" \|$', page, re.MULTILINE)
    mailbox = root / "examples" / "mailbox"
    done = subprocess.run([sys.executable, "-c", program], cwd=mailbox, stdout=subprocess.PIPE)
    sent = json.loads(done.stdout)
    assert sent["questions"] == json.loads((mailbox / "questions.json").read_text())
    lines = tmp_path / "rows.jsonl"
    lines.write_text("\n".join(map(json.dumps, sent["rows"])))
    questions = questions_from_json(sent["questions"])
    one, other = (read_labelled(path, questions) for path in (lines, mailbox / "labels.csv"))
    assert (one.states, one.labels) == (other.states, other.labels)


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("teach") / "parent")


def service_on(parent: Path, teacher: Teacher | None, **settings: Any) -> Service:
    given = {"allowed_hosts": ("*",), "teach": True, "checkpoint": str(parent), **settings}
    service = Service(
        Settings(port=0, **given),
        lambda ref, lam: open_decider(ref, lam=lam, **OPENING),  # type: ignore[arg-type]
        teacher=teacher,
    )
    service.checkpoints.load(str(parent), None)
    return service


@pytest.fixture(scope="module")
def served(parent: Path) -> Iterator[tuple[Service, Teacher, list[dict[str, Any]]]]:
    """A server that was taught once, and the lines it answered with."""
    teacher = Teacher(OPENING)
    service = service_on(parent, teacher)
    answer = post(service, "/admin/teach", {"questions": QUESTIONS, "rows": ROWS}, timeout=200)
    assert answer.status_code == 200, answer.text
    yield service, teacher, [json.loads(line) for line in answer.text.splitlines()]
    teacher.close()


def answers(service: Service, **more: Any) -> list[Any]:
    body = {"states": NEW, "questions": QUESTIONS, **more}
    answer = post(service, "/v1/decide", body)
    assert answer.status_code == 200, answer.text
    return [json.loads(line)["answers"] for line in answer.text.splitlines()]


def test_progress_then_what_was_learned(served: Any) -> None:
    _, _, lines = served
    assert [set(line) for line in lines[:-1]] == [{"progress"}] * (len(lines) - 1)
    shares = [line["progress"]["share"] for line in lines[:-1]]
    assert shares == sorted(shares)
    taught = lines[-1]["taught"]
    assert (taught["model"], taught["checkpoint"], taught["dropped"]) == ("taught-1",) * 2 + (None,)
    assert [each["question"] for each in taught["learned"]] == ["red", "shade"]
    assert all(each["supported"] for each in taught["learned"])
    assert "gain" in " ".join(taught["lines"])


def test_what_was_taught_answers_as_the_library_opens_it(served: Any, parent: Path) -> None:
    service, teacher, _ = served
    asked = questions_from_json(QUESTIONS)
    with open_decider(teacher.folder / "taught-1", **OPENING) as decider:
        library = [each.as_dict()["answers"] for each in decider.decide_many(NEW, asked)]
        conditions = decider.source
    assert answers(service, model="taught-1") == library
    assert library != answers(service)
    found = service.checkpoints.find("taught-1").source
    assert (found.name, found.version, found.weights) == (
        conditions.name,
        conditions.version,
        conditions.weights,
    )


def test_lambda_0_is_the_parent_and_any_other_can_be_chosen(served: Any) -> None:
    service, _, _ = served
    zero = {"model": "taught-1", "lambda": 0}
    assert answers(service, **zero) == answers(service)
    whole, half = answers(service, model="taught-1"), answers(service, **{**zero, "lambda": 0.3})
    assert half not in (whole, answers(service))


def test_another_lambda_opens_no_file_of_the_parent_again(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, _, _ = served
    monkeypatch.setattr("thisthat.serve.http.teach.open_checkpoint", None)
    main = service.checkpoints.find("taught-1")
    other = service.checkpoints.find("taught-1", 0.7)
    assert (other.source.lam, other.source.weights) == (0.7, main.source.weights)
    assert other.builder is service.checkpoints.main().builder


def test_it_is_listed_and_can_be_downloaded(served: Any) -> None:
    service, teacher, _ = served
    names = [each["name"] for each in get(service, "/v1/models").json()["models"]]
    assert names[-1] == "taught-1"
    about = get(service, "/page/about").json()
    assert [each["model"] for each in about["checkpoints"]] == ["default", "taught-1"]
    assert [each["lambdas"] for each in about["checkpoints"]] == [[0.0], None]
    assert about["teach"] == {"admin": False, "rows": 2000, "states": 2000, "seconds": 600.0}
    answer = get(service, "/admin/taught/taught-1")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as file:
        found = {name: file.read(name) for name in file.namelist()}
    folder = teacher.folder / "taught-1"
    assert found == {f"taught-1/{path.name}": path.read_bytes() for path in folder.iterdir()}
    assert get(service, "/admin/taught/default").status_code == 404


def test_labels_that_taught_what_answers_are_refused(served: Any, parent: Path) -> None:
    taught = str(served[1].folder / "taught-1")
    service = service_on(parent, served[1], checkpoint=taught)
    service.checkpoints.load(taught, None)
    body = {"questions": QUESTIONS, "rows": ROWS}
    at, said = first_fault(post(service, "/admin/teach", body, timeout=100))
    assert at == ["rows"]
    assert said == (
        "these labels taught taught-1; teach all labels on its parent, or only new ones on top"
    )


def test_states_to_label_next_are_chosen(served: Any) -> None:
    service, _, _ = served
    body = {"questions": QUESTIONS, "states": STATES[:12], "labelled": STATES[:2], "count": 4}
    answer = post(service, "/admin/label", body, timeout=200)
    found = json.loads(answer.text.splitlines()[-1])["next"]
    numbers = [each["number"] for each in found]
    assert len(set(numbers)) == 4
    assert not {0, 1} & set(numbers)
    assert set(found[0]["answers"]) == {"red", "shade"}
    assert 0.5 <= found[0]["answers"]["shade"]["probability"] <= 1


def test_labels_that_may_be_wrong_are_found(served: Any) -> None:
    service, _, _ = served
    unlabelled = {"state": "no label yet", "answers": {"red": None}}
    wrong = [{**row, "answers": {**row["answers"]}} for row in ROWS]
    wrong[7]["answers"]["red"] = not wrong[7]["answers"]["red"]
    body = {"questions": QUESTIONS, "rows": [unlabelled, *wrong]}
    answer = post(service, "/admin/doubts", body, timeout=200)
    assert answer.status_code == 200, answer.text
    found = json.loads(answer.text.splitlines()[-1])["doubts"]
    assert found["judged"] == ["red", "shade"]
    (doubt,) = [each for each in found["labels"] if each["question"] == "red"]
    assert doubt["row"] == 8
    assert (doubt["label"], doubt["answer"]) == tuple(
        "yes" if each else "no" for each in (wrong[7]["answers"]["red"], "red" in STATES[7])
    )
    assert 0.8 <= doubt["probability"] <= 1


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"rows": ROWS[:19]}, ["rows"], "no question has 20 different labelled states"),
        ({"rows": [{"state": "x", "answers": {"red": 3}}]}, ["rows", 0, "answers", "red"], "3 is"),
        ({"name": "mine"}, ["name"], "is not known; known are questions, rows"),
    ],
)
def test_faults_of_a_search_for_wrong_labels(
    served: Any, change: dict[str, Any], place: list[Any], message: str
) -> None:
    body = {"questions": QUESTIONS, "rows": ROWS, **change}
    at, said = first_fault(post(served[0], "/admin/doubts", body, timeout=100))
    assert at == place
    assert message in said


def test_a_server_started_with_a_relative_path_teaches(parent: Path) -> None:
    command = [sys.executable, "-m", "thisthat", "serve", parent.name, "--teach", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--engine", "onnx"], cwd=parent.parent, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        events = map(json.loads, process.stderr)
        address = next(event["address"] for event in events if event["message"] == "listening")
        label = {"questions": QUESTIONS, "states": STATES, "count": 3}
        for path, body, last in (
            ("/admin/label", label, "next"),
            ("/admin/teach", {"questions": QUESTIONS, "rows": ROWS}, "taught"),
        ):
            answer = httpx.post(f"{address}{path}", json=body, timeout=200)
            assert answer.status_code == 200, answer.text
            assert last in json.loads(answer.text.splitlines()[-1]), answer.text
    finally:
        process.kill()
        process.wait()


def first_fault(answer: httpx.Response) -> tuple[Any, str]:
    assert answer.status_code == 422, answer.text
    fault = answer.json()["detail"][0]
    return fault["loc"][1:], fault["msg"]


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"rows": []}, ["rows"], "0 given"),
        ({"rows": ROWS * 40}, ["rows"], "2400 given"),
        ({"rows": [1]}, ["rows", 0], "must be an object"),
        ({"rows": ROWS[:19]}, ["rows"], "red: has 19 different rows; at least 20"),
        (
            {"rows": [*ROWS[:3], {"state": "x", "answers": {"shade": "blue"}}]},
            ["rows", 3, "answers", "shade"],
            "'blue' is not an option",
        ),
        (
            {"rows": [*ROWS, {"state": STATES[0], "answers": {"red": "red" not in STATES[0]}}]},
            ["rows", 60, "answers", "red"],
            "the same state in row 1",
        ),
        ({"name": "Not this"}, ["name"], "1 to 40"),
        ({"name": "default"}, ["name"], "is taken"),
        ({"minutes": 3}, ["minutes"], "is not known"),
    ],
)
def test_a_fault_is_refused_at_its_place_and_nothing_is_taught(
    served: Any, change: dict[str, Any], place: list[Any], message: str
) -> None:
    service, _, _ = served
    body = {"questions": QUESTIONS, "rows": ROWS, **change}
    at, said = first_fault(post(service, "/admin/teach", body, timeout=100))
    assert at == place
    assert message in said
    assert list(service.checkpoints.beside()) == ["taught-1"]


@pytest.mark.parametrize(
    ("change", "place"),
    [({"count": 0}, ["count"]), ({"count": True}, ["count"]), ({"states": []}, ["states"])],
)
def test_faults_of_a_choice_of_states(
    served: Any, change: dict[str, Any], place: list[Any]
) -> None:
    body = {"questions": QUESTIONS, "states": STATES, **change}
    assert first_fault(post(served[0], "/admin/label", body))[0] == place


@pytest.mark.parametrize(
    ("settings", "key", "status"),
    [
        ({"teach": False}, None, 403),
        ({"teach": False, "admin_keys": ("adm",)}, None, 401),
        ({"teach": False, "admin_keys": ("adm",)}, "other", 401),
        ({"teach": False, "admin_keys": ("adm",)}, "adm", 422),
        ({"teach": True, "admin_keys": ("adm",), "keys": ("dec",)}, "dec", 403),
        ({"teach": True, "keys": ("dec",)}, None, 401),
        ({"teach": True, "keys": ("dec",)}, "dec", 422),
    ],
)
def test_who_may_teach(
    parent: Path, settings: dict[str, Any], key: str | None, status: int
) -> None:
    service = service_on(parent, Teacher(OPENING), **settings)
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    for path in ("/admin/teach", "/admin/label", "/admin/doubts"):
        assert post(service, path, {}, headers=headers).status_code == status
    about = service.keys.guards("decide") or get(service, "/page/about").json()["teach"]
    assert bool(about) == (settings["teach"] or "admin_keys" in settings)


def test_a_server_without_a_teacher_says_so(parent: Path) -> None:
    service = service_on(parent, None)
    assert "does not teach" in post(service, "/admin/teach", {}).json()["detail"]
    assert get(service, "/page/about").json()["teach"] is None


def test_what_goes_wrong_later_is_the_last_line(parent: Path) -> None:
    script = "print('{\"checked\": {}}', flush=True); import os; os._exit(7)"
    teacher = Teacher(OPENING, (sys.executable, "-c", script))
    answer = post(
        service_on(parent, teacher), "/admin/teach", {"questions": QUESTIONS, "rows": ROWS}
    )
    last = json.loads(answer.text.splitlines()[-1])
    assert last["error"] == {
        "status": 500,
        "message": "the teaching process ended: exit code 7",
    }
    teacher.close()


def test_only_so_many_stand_beside_and_a_switch_drops_them(served: Any, parent: Path) -> None:
    service, _, _ = served
    checkpoints = service.checkpoints
    before, loaded = checkpoints.beside(), checkpoints.current()
    dropped = [
        checkpoints.stand_beside(f"other-{number}", loaded, MOST_BESIDE)
        for number in range(MOST_BESIDE)
    ]
    assert dropped == [None] * (MOST_BESIDE - 1) + ["taught-1"]
    checkpoints.switch(loaded)
    assert checkpoints.beside() == {}
    for name, each in before.items():
        checkpoints.stand_beside(name, each, MOST_BESIDE)


def test_what_was_taught_on_another_engine_does_not_stand_beside(served: Any, parent: Path) -> None:
    other = service_on(parent, None)
    with pytest.raises(Problem, match="switched in the meantime") as caught:
        other.checkpoints.stand_beside("late", served[0].checkpoints.current(), MOST_BESIDE)
    assert caught.value.status == 409
    assert other.checkpoints.beside() == {}


def test_a_client_that_leaves_frees_the_place(parent: Path) -> None:
    script = "print('{\"checked\": {}}', flush=True); import time; time.sleep(600)"
    teacher = Teacher(OPENING, (sys.executable, "-c", script))
    body = {"questions": QUESTIONS, "rows": ROWS}

    def begins(address: str) -> bool:
        with httpx.stream("POST", f"{address}/admin/teach", json=body, timeout=60) as answer:
            assert answer.status_code in (200, 409)
            return answer.status_code == 200 and bool(next(answer.iter_lines()))

    with on_loopback(service_on(parent, teacher)) as address:
        assert begins(address)
        until(lambda: begins(address))


def test_others_are_answered_while_it_teaches(parent: Path) -> None:
    script = "print('{\"checked\": {}}', flush=True); import sys, time; time.sleep(600)"
    teacher = Teacher(OPENING, (sys.executable, "-c", script))
    service = service_on(parent, teacher)

    async def work() -> int:
        async with in_process(service) as client:
            lines = teacher.lines(ORDER, 60)
            await anext(lines)
            body = {"state": "red", "questions": QUESTIONS}
            answered = await client.post("/v1/systemone", json=body)
            busy = await client.post("/admin/teach", json={"questions": QUESTIONS, "rows": ROWS})
            await lines.aclose()
            assert busy.status_code == 409
            return answered.status_code

    assert run(work()) == 200
    teacher.close()
