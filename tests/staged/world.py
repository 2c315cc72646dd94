"""The files that `sh` blocks of the docs name, small and made by the package itself."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import thisthat
from tests.path_engine import path_decider
from thisthat.audit.beside import CLIENT_REQUESTS, RequestId
from thisthat.audit.log import DecisionLog
from thisthat.calibrate.fit_policy import policy_from_answers
from thisthat.cli import app
from thisthat.dates import seconds_since_1970
from thisthat.decide.conditions import Conditions
from thisthat.decide.policy import Policy
from thisthat.decide.target import parse_target
from thisthat.loop.outcomes import Outcome, record
from thisthat.loop.registry import Registry
from thisthat.questions import Question, answer_for
from thisthat.questions_json import question_as_json, questions_from_json

ROOT = Path(__file__).parents[2]
MAILBOX = ROOT / "examples" / "mailbox"
REFUND = questions_from_json(
    {
        "refund": {
            "type": "boolean",
            "instructions": "Is the customer asking for money back?",
            "criteria": {
                "true": "the customer asks for a payment to be returned",
                "false": "the customer asks about an order, a parcel, an invoice or an account",
            },
        }
    }
)
DELETES = questions_from_json({"deletes": "Does this command delete something?"})
TODAY = "2026-11-19"
KEY = "0f4b"
CASES = """
at_least: 0.5
cases:
  - name: charged twice
    state: I was charged twice for order 1187 and want one of the payments back.
    expect: {refund: yes}
  - state: I forgot my password.
    expect: {refund: no}
"""


class Clock:
    """A clock that tells any date, so that blocks with dates say the same in every year."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._at = 0.0

    def set(self, date: str) -> None:
        """Go on from the beginning of a day."""
        self._at, self._since = seconds_since_1970(date), time.monotonic()

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self._at + time.monotonic() - self._since


@contextmanager
def on(date: str) -> Iterator[Clock]:
    """Let this process believe that it is a certain day."""
    clock = Clock()
    clock.set(date)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", clock)
        yield clock


def mails(file: str = "labels.csv") -> list[dict[str, str]]:
    """Mails of the example, with the one label that this world asks for."""
    with (MAILBOX / file).open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [{name: row[name] for name in ("id", "state", "refund")} for row in rows]


def write_table(path: Path, rows: Sequence[Mapping[str, str]], delimiter: str = ",") -> None:
    """Rows with the same columns."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        table.writeheader()
        table.writerows(rows)


def write_lines(path: Path, rows: Sequence[object]) -> None:
    """A JSON value on each line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_schema(path: Path, questions: Mapping[str, Question]) -> None:
    """The questions as a schema file."""
    found = {name: question_as_json(question) for name, question in questions.items()}
    path.write_text(json.dumps(found))


def policy_of(questions: Mapping[str, Question], conditions: Conditions) -> Policy:
    """What would be fitted on 120 answers of 0.6 to 0.99, all of them right."""
    labels = [number % 2 for number in range(120)]
    yes = [abs(1 - label - 0.6 - 0.39 * number / 120) for number, label in enumerate(labels)]
    answers = {
        name: [answer_for(question, [1 - p, p]) for p in yes]
        for name, question in questions.items()
    }
    known = dict.fromkeys(questions, labels)
    return policy_from_answers(questions, answers, known, parse_target("error<=0.2"), conditions)


def ran(*words: str) -> None:
    """A command of thisthat that must succeed."""
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output


def write_log(path: Path, policy: Policy, clock: Clock) -> None:
    """A year in the life of a log, which ends on ``TODAY``.

    A decision that a purge deletes; twenty-four old ones, and as many of this month, whose outcomes
    have come; two of requests called order-1187, by us and by a client; four under a policy that
    were rewarded, and sixty of this week.
    """
    decider = path_decider()
    with DecisionLog(path, keep_states=True, wait=True) as log:
        decider.log = log
        clock.set("2026-06-01")
        decider.decide("Where is my parcel?", REFUND, request_id="order-7")
        clock.set("2026-10-10")
        for mail in mails("others.csv")[:24]:
            decider.decide(mail["state"], REFUND, request_id=f"old-{mail['id']}")
            record(path, outcome(f"old-{mail['id']}", mail["refund"]))
        clock.set("2026-11-05")
        for number, mail in enumerate(mails()[:24]):
            state = {"country": "NL" if number % 2 else "BE", "mail": mail["state"]}
            decider.decide(state, REFUND, request_id=mail["id"])
            record(path, outcome(mail["id"], mail["refund"]))
        decider.decide("The lamp arrived broken.", REFUND, request_id="order-1187")
        own = RequestId("f00d", "order-1187")
        decider.decide("The lamp arrived late.", REFUND, request_id=own)
        for number in range(64):
            clock.set("2026-11-05" if number < 4 else "2026-11-17")
            name = f"new-{number}"
            decider.decide(f"Please refund {number}.", REFUND, request_id=name, policy=policy)
            if number < 4:
                record(path, Outcome(request=name, question="refund", reward=1.0))
    assert list(log.store.rows(CLIENT_REQUESTS, {"client": "order-1187"}))
    with closing(sqlite3.connect(path)) as whole:
        whole.execute("pragma wal_checkpoint(truncate)")  # the file alone is copied
    clock.set(TODAY)


def outcome(request: str, label: str) -> Outcome:
    """The label of a mail as what happened after its decision."""
    return Outcome(request=request, question="refund", option="yes" if label == "true" else "no")


def first_champion(folder: Path) -> None:
    """Begin the registry of a folder with the default checkpoint."""
    ran("loop", "promote", "default", "--registry", str(folder / "loop"))


def shown_not_worse(folder: Path) -> None:
    """What a server notes once enough outcomes have come: the canary is not worse."""
    registry = Registry(folder / "loop")
    for name in registry.now().running:
        registry.change("ready", name, "a server", "not worse", {"outcomes": 900})


def tried(folder: Path) -> None:
    """A registry whose candidate has shown that it is not worse."""
    shutil.rmtree(folder / "loop", ignore_errors=True)
    first_champion(folder)
    ran("loop", "canary", str(folder / "taught"), "--registry", str(folder / "loop"))
    shown_not_worse(folder)


def promoted(folder: Path) -> None:
    """A registry with a champion before the one it has."""
    tried(folder)
    ran("loop", "promote", "--registry", str(folder / "loop"))


def reviewed(folder: Path) -> None:
    """What Label Studio exports once the first task of the queue has an answer."""
    tasks: list[dict[str, Any]] = json.loads((folder / "queue.json").read_text())
    said = {"from_name": "answer", "to_name": "state", "type": "choices"}
    annotation = {"result": [{**said, "value": {"choices": ["no"]}}]}
    (folder / "export.json").write_text(json.dumps([{**tasks[0], "annotations": [annotation]}]))


def write_world(folder: Path, clock: Clock) -> None:
    """Every file that a block needs; a block gets those that it names."""
    schemas = ("questions.json", "triage.json")
    for name in schemas:
        write_schema(folder / name, REFUND)
    write_schema(folder / "command.json", DELETES)
    taught, labels, kept = mails()[:24], mails()[40:64], mails("others.csv")[:6]
    write_table(folder / "taught.csv", taught)
    write_table(folder / "labels.csv", labels)
    write_table(folder / "sheet.csv", labels, ";")
    write_table(folder / "labelled.csv", kept)
    write_table(folder / "done.csv", kept[:3])
    write_table(folder / "next.csv", [{"state": row["state"], "refund": ""} for row in kept[3:]])
    write_lines(folder / "states.jsonl", [row["state"] for row in kept[:2]])
    rows = [{"state": row["state"], "answers": {"refund": row["refund"]}} for row in labels]
    write_lines(folder / "labels.jsonl", rows)
    cases = f"questions: {(folder / 'questions.json').read_text()}{CASES}"
    (folder / "cases.yaml").write_text(cases)
    (folder / "mail.decisions.yaml").write_text(cases)
    (folder / "costs.json").write_text('{"refund": {"no": {"yes": 50}, "yes": {"no": 1}}}')
    (folder / "outcomes.csv").write_text("request,question,option\norder-1187,refund,yes\n")
    (folder / "keys.txt").write_text(f"{KEY}\n")
    (folder / "admin.txt").write_text(f"{KEY}-admin\n")
    asked = {"states": ["Where is my parcel?"], "questions": {"refund": "Is it about money?"}}
    (folder / "asked.json").write_text(json.dumps(asked))

    schema = str(folder / "questions.json")
    mine = folder / "mine"
    ran("teach", str(folder / "taught.csv"), "--schema", schema, "-o", str(mine))
    (folder / "backup").mkdir()
    for name in ("taught", "my-checkpoint", "new", "backup/mine"):
        (folder / name).symlink_to(mine)
    (folder / "old").symlink_to(Path(thisthat.__file__).parent / "checkpoint" / "default")

    with thisthat.open() as decider:
        default = decider.conditions()
    with thisthat.open(mine) as decider:
        ours = decider.conditions()
    paths = policy_of(REFUND, path_decider().conditions())
    paths.save(folder / "triage.policy.json")
    policy_of(REFUND, default).save(folder / "refund.policy.json")
    policy_of(REFUND, ours).save(folder / "taught.policy.json")
    policy_of(DELETES, default).save(folder / "command.policy.json")
    write_log(folder / "decisions.sqlite", paths, clock)
    shutil.copy(folder / "decisions.sqlite", folder / "log.sqlite")


def copied_results(folder: Path) -> None:
    """The results of all measurements."""
    shutil.copytree(ROOT / "docs" / "results", folder / "docs" / "results")


def labelled_by_paths(folder: Path) -> None:
    """Labels that the engine of paths answers right."""
    decider = path_decider()
    states = [f"mail {number}" for number in range(600)]
    decisions = decider.decide_many(states, REFUND)
    rows = [
        {"state": state, "answers": {"refund": found["refund"].best_name}}
        for state, found in zip(states, decisions, strict=True)
    ]
    write_lines(folder / "labelled.jsonl", rows)
