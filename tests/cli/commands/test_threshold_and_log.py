from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.calibrate.test_policy import DECIDER, POLICY, REFUND, SCHEMA
from tests.path_engine import path_decider
from tests.serve.support import on_loopback, service_for
from thisthat.audit.log import DecisionLog
from thisthat.calibrate.fit_policy import UnsupportedTargetError
from thisthat.calibrate.report import lines_about
from thisthat.cli import app
from thisthat.cli.commands import log, threshold
from thisthat.decide.policy import ConditionsPart, Policy
from thisthat.errors import InvalidInputError
from thisthat.questions_json import questions_from_json

RUNNER = CliRunner()


@pytest.fixture
def labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """300 states, labelled with what the decider itself answers, beside their schema."""
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())
    (tmp_path / "triage.json").write_text(
        json.dumps({"refund": {"type": "boolean", "instructions": "Is it within policy?"}}),
        encoding="utf-8",
    )
    states = [f"state {number}" for number in range(300)]
    rows = [{"state": s, "answers": {"refund": DECIDER.ask(s, REFUND).best}} for s in states]
    path = tmp_path / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def fit(path: Path, *more: str) -> str:
    arguments = [str(path), "--schema", str(path.with_name("triage.json")), *more]
    done = RUNNER.invoke(threshold.app, ["fit", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refuse_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("opened")

    monkeypatch.setattr("thisthat.decide.opening.open_decider", opened)


@pytest.mark.parametrize(
    ("given", "saved"),
    [
        ("triage.json", "triage.policy.json"),
        ("triage.v2.json", "triage.v2.policy.json"),
        ("rows.2026.jsonl.zst", "rows.2026.policy.json"),
    ],
)
def test_a_policy_keeps_the_name_of_what_it_was_fitted_for(given: str, saved: str) -> None:
    assert threshold._policy_beside(Path("x") / given) == Path("x") / saved


def test_fit_saves_a_policy_beside_the_schema(labelled: Path) -> None:
    said = fit(labelled, "--target", "error<=0.05")
    path = labelled.with_name("triage.policy.json")
    assert f"saved as {path}" in said
    assert "refund: acts on" in said
    shown = RUNNER.invoke(threshold.app, ["show", str(path)], catch_exceptions=False).output
    assert shown == said.removesuffix(f"saved as {path}\n")
    policy = Policy.load(path)
    assert policy.target == "error<=0.05"
    again = fit(labelled, "--target", "error<=0.05").splitlines()
    assert again[-1] == f"saved as {path}, in place of the file that was there"
    assert DECIDER.ask("state 1", REFUND, policy=policy).outcome is not None
    printed = fit(labelled, "--target", "error<=0.05", "--json", "-o", str(labelled) + ".p")
    assert Policy.from_json(json.loads(printed)) == policy


def test_a_policy_is_fitted_for_what_a_server_answers(
    labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(labelled, "--target", "error<=0.05")
    local = Policy.load(labelled.with_name("triage.policy.json"))

    refuse_to_open(monkeypatch)
    monkeypatch.setenv("THISTHAT_ENDPOINT_KEY", "secret")
    with on_loopback(service_for(keys=("secret",))) as address:
        said = fit(labelled, "--target", "error<=0.05", "--server", address)
        policy = Policy.load(labelled.with_name("triage.policy.json"))
        body = {
            "states": ["state 1"],
            "questions": json.loads(labelled.with_name("triage.json").read_text()),
            "policy": policy.as_json(),
        }
        sent = {"authorization": "Bearer secret"}
        answered = httpx.post(f"{address}/v1/decide", json=body, headers=sent)
    assert "refund: acts on" in said
    assert policy == local
    assert policy.conditions == ConditionsPart(**asdict(DECIDER.conditions()))
    assert answered.status_code == 200, answered.text
    assert answered.json()["answers"]["refund"]["outcome"]["forced"] == []
    with pytest.raises(
        InvalidInputError, match="server: 'localhost' is not an http or https address"
    ):
        fit(labelled, "--target", "error<=0.05", "--server", "localhost")


@pytest.fixture
def two_questions(labelled: Path) -> Path:
    """The same states, with a second question that has a few labels."""
    schema = labelled.with_name("triage.json")
    asked = {**json.loads(schema.read_text()), "late": "Is it late?"}
    schema.write_text(json.dumps(asked), encoding="utf-8")
    rows = [json.loads(line) for line in labelled.read_text().splitlines()]
    for row in rows[:9]:
        row["answers"]["late"] = True
    rows.append({"state": "one more", "answers": {"late": False}})
    labelled.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return labelled


def test_one_question_alone_has_the_whole_risk_and_the_schema_stays(two_questions: Path) -> None:
    path = two_questions.with_name("triage.policy.json")
    fit(two_questions, "--target", "error<=0.05")
    both = Policy.load(path)
    fit(two_questions, "--target", "error<=0.05", "--question", "refund")
    alone = Policy.load(path)
    assert (list(both.questions), list(alone.questions)) == (["refund", "late"], ["refund"])
    least = [each.questions["refund"].cutoffs["yes"].least_labels for each in (both, alone)]
    assert least[1] < least[0]
    assert alone.schema_hash == both.schema_hash
    assert alone.tries == 2
    questions = questions_from_json(json.loads(two_questions.with_name("triage.json").read_text()))
    decision = DECIDER.decide("state 1", questions, policy=alone)
    assert decision["refund"].outcome is not None
    assert decision["late"].outcome is None


def test_tries_of_one_question_and_of_all_are_told_apart(two_questions: Path) -> None:
    schema = str(two_questions.with_name("triage.json"))

    def tried(*more: str) -> str:
        arguments = [str(two_questions), "--schema", schema, "--target", "error<=0.1", *more]
        return RUNNER.invoke(threshold.app, ["fit", *arguments]).stderr

    assert "fitted before" not in tried("--question", "refund")
    assert "fitted before" not in tried("--question", "refund")
    assert "fitted before: error<=0.1 at 0.95 of refund on 300 labels. " in tried()
    assert "fitted before: error<=0.1 at 0.95 on 310 labels. " in tried("--question", "refund")


def test_further_tries_on_the_same_labels_are_warned_about(labelled: Path) -> None:
    def tried(target: str, *more: str) -> str:
        arguments = [str(labelled), "--schema", str(labelled.with_name("triage.json")), *more]
        return RUNNER.invoke(threshold.app, ["fit", *arguments, "--target", target]).stderr

    path = labelled.with_name("triage.policy.json")
    # Each option has about half of the labels.
    assert "fitted before" not in tried("precision>=0.98")
    assert not path.exists()
    assert "fitted before: precision>=0.98 at 0.95 on 300 labels, refused." in tried("error<=0.05")
    assert Policy.load(path).tries == 2
    said = tried("error<=0.1", "--confidence", "0.9")
    assert (
        "precision>=0.98 at 0.95 on 300 labels, refused; error<=0.05 at 0.95 on 300 labels." in said
    )
    assert "with a probability of up to 20.0%, not 10.0%" in said
    assert Policy.load(path).tries == 3
    tried("error<=0.1", "--confidence", "0.9")
    assert Policy.load(path).tries == 3
    with labelled.open("a") as more:
        more.write('\n{"state": "one more", "answers": {"refund": true}}')
    tried("error<=0.2")
    assert Policy.load(path).tries == 4
    fresh = [{"state": f"fresh {n}", "answers": {"refund": n % 2 == 0}} for n in range(300)]
    labelled.write_text("\n".join(map(json.dumps, fresh)), encoding="utf-8")
    assert "fitted before" not in tried("error<=0.05")


def test_the_same_target_with_rows_added_or_changed_is_a_further_try(labelled: Path) -> None:
    def tried() -> str:
        arguments = [str(labelled), "--schema", str(labelled.with_name("triage.json"))]
        return RUNNER.invoke(threshold.app, ["fit", *arguments, "--target", "error<=0.2"]).stderr

    path = labelled.with_name("triage.policy.json")
    rows = [json.loads(line) for line in labelled.read_text(encoding="utf-8").splitlines()]

    def write(count: int) -> None:
        labelled.write_text("\n".join(map(json.dumps, rows[:count])), encoding="utf-8")

    for row in rows[:20:2]:
        row["answers"]["refund"] = not row["answers"]["refund"]
    write(20)
    assert "fitted before" not in tried()
    assert "fitted before" not in tried()
    assert not path.exists()
    write(300)
    said = tried()
    assert "fitted before: error<=0.2 at 0.95 on 20 labels, refused." in said
    assert "with a probability of up to 10.0%, not 5.0%" in said
    assert Policy.load(path).tries == 2
    tried()
    assert Policy.load(path).tries == 2
    rows[0]["answers"]["refund"] = not rows[0]["answers"]["refund"]
    write(300)
    assert "on 20 labels, refused; error<=0.2 at 0.95 on 300 labels." in tried()
    assert Policy.load(path).tries == 3


def test_a_refusal_warns_of_earlier_tries_and_counting_is_no_try(labelled: Path) -> None:
    def refused(target: str) -> str:
        arguments = [str(labelled), "--schema", str(labelled.with_name("triage.json"))]
        done = RUNNER.invoke(threshold.app, ["fit", *arguments, "--target", target])
        assert isinstance(done.exception, UnsupportedTargetError)
        return done.stderr

    assert "fitted before" not in refused("error<=0.0001")
    assert "fitted before" not in refused("precision>=0.98")
    assert "fitted before: precision>=0.98 at 0.95 on 300 labels, refused." in refused(
        "precision>=0.985"
    )
    said = refused("error<=0.0001")
    assert (
        "precision>=0.98 at 0.95 on 300 labels, refused; precision>=0.985 at 0.95 on 300 " in said
    )


def test_a_record_of_tries_that_cannot_be_read_is_named(labelled: Path) -> None:
    labelled.with_name("labelled.jsonl.tries.json").write_text("{}")
    with pytest.raises(InvalidInputError, match=r"tries\.json: cannot be read .* fitted on these"):
        fit(labelled, "--target", "error<=0.05")


def test_ten_labels_are_refused_with_the_number_needed(labelled: Path) -> None:
    labelled.write_text("\n".join(labelled.read_text().split("\n")[:10]), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"'refund' has 10 labels and needs at least \d+"):
        fit(labelled, "--target", "error<=0.001")
    assert not labelled.with_name("triage.policy.json").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--confidence", "2"], "--confidence: is 2; it must lie between 0 and 1"),
        (["--coverage", "1"], "--coverage: is 1; it must lie between 0 and 1"),
        (["--coverage", "0.9"], "--coverage: is for choices, and no choice is labelled"),
        (["--option", "maybe"], "--option: 'maybe' is not an option of any labelled question"),
        (["--question", "mood"], "--question: 'mood' is no labelled question; known are refund"),
        (["--target", "recall>=1"], "target: 'recall>=1' is not known"),
    ],
)
def test_bad_settings_are_refused_before_a_checkpoint_is_opened(
    flags: list[str], message: str, labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_to_open(monkeypatch)
    with pytest.raises(InvalidInputError, match=message):
        fit(labelled, "--target", "error<=0.05", *flags)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("labelled.jsonl", "is an input; write to another file"),
        ("triage.json", "is an input"),
        (".", "is a folder; name a file in it"),
        ("triage.json/p.json", "cannot be written: .*triage.json is not a folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_a_checkpoint_is_opened(
    output: str, message: str, labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_to_open(monkeypatch)
    before = labelled.read_bytes()
    with pytest.raises(InvalidInputError, match=message):
        fit(labelled, "--target", "error<=0.05", "-o", str(labelled.parent / output))
    assert labelled.read_bytes() == before


def test_an_option_of_one_question_is_acted_on_there(tmp_path: Path, labelled: Path) -> None:
    schema = {
        "refund": {"type": "boolean", "instructions": "Is it within policy?"},
        "queue": {"type": "choice", "criteria": ["billing", "shipping"]},
        "anger": {"type": "score", "criteria": ["calm", "annoyed", "furious"]},
    }
    (tmp_path / "triage.json").write_text(json.dumps(schema), encoding="utf-8")
    rows = [json.loads(line) for line in labelled.read_text().split("\n")]
    for row in rows:
        row["answers"] |= {"queue": "billing", "anger": 2}
    labelled.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    said = fit(labelled, "--target", "cost(fp=5,fn=1)", "--option", "yes")
    assert "queue: acts on 0.0%" in said
    policy = Policy.load(tmp_path / "triage.policy.json")
    assert list(policy.questions["refund"].cutoffs) == ["yes"]


def run(*arguments: str, code: int = 0) -> str:
    done = RUNNER.invoke(log.app, list(arguments), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def test_the_log_is_queried_exported_purged_and_checked(tmp_path: Path) -> None:
    path, policy = str(tmp_path / "log.sqlite"), str(tmp_path / "p.json")
    POLICY.save(policy)
    decider = path_decider()
    with DecisionLog(path) as decider.log:
        decider.decide_many([f"s{n}" for n in range(60)], SCHEMA, policy=POLICY, request_id="r")
    rows = [json.loads(line) for line in run("query", path, "--limit", "5").splitlines()]
    assert len(rows) == 5
    assert rows[0]["best"] in rows[0]["probabilities"]
    found = run("query", path, "--question", "queue", "--since", "1h").splitlines()
    assert len(found) == 60
    assert run("query", path, "--until", "2020-01-01") == "no line matches\n"
    assert "180 lines" in run("export", path, str(tmp_path / "log.parquet"))
    with pytest.raises(InvalidInputError, match=r"must end in \.parquet; .* prints JSON lines"):
        run("export", path, str(tmp_path / "log.csv"))
    assert "drift since the policy was fitted" in run("drift", path, policy, code=1)
    assert run("purge", path, "--older-than", "90d") == "0 lines deleted\n"
    with pytest.raises(InvalidInputError, match="--older-than: 2999-01-01 is in the future"):
        run("purge", path, "--older-than", "2999-01-01")
    assert run("purge", path, "--older-than", "0s") == "180 lines deleted\n"
    none = run("drift", path, policy, code=3)
    assert "no decision in the log was made under this policy" in none
    with pytest.raises(InvalidInputError, match="level: is 3; it must lie between 0 and 1"):
        run("drift", path, policy, "--level", "3")
    with pytest.raises(InvalidInputError, match="--since: 'soon' is neither an age"):
        run("query", path, "--since", "soon")
    with pytest.raises(
        InvalidInputError, match="action: 'acted' is not one of act, abstain, escal"
    ):
        run("query", path, "--action", "acted")
    (tmp_path / "schema.json").write_text('{"queue": "Is it?"}', encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"schema\.json: is not a policy file"):
        run("drift", path, str(tmp_path / "schema.json"))


def test_a_policy_of_few_labels_says_that_decisions_cannot_replace_them(tmp_path: Path) -> None:
    found = POLICY.as_json()
    for part in found["questions"].values():
        part["reference"]["sure"] = part["reference"]["sure"][:42]
    few = Policy.from_json(found)
    path, policy = str(tmp_path / "log.sqlite"), str(tmp_path / "p.json")
    few.save(policy)
    assert list(lines_about(few))[-1] == (
        "to watch for drift, a question needs 50 labels: queue has 42, refund has 42, anger has 42"
    )
    assert not any("drift" in line for line in lines_about(POLICY))
    decider = path_decider()
    with DecisionLog(path) as decider.log:
        decider.decide_many([f"s{n}" for n in range(30)], SCHEMA, policy=few)
    told = run("drift", path, policy, code=3)
    assert "too few labels and decisions to tell drift" in told
    assert (
        "fitted on 42 of 'queue', 42 of 'refund', 42 of 'anger'; decisions do not make up" in told
    )
    assert "so far: 30 of 'queue', 30 of 'refund', 30 of 'anger'" in told


def test_ask_says_what_a_policy_makes_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())
    POLICY.save(tmp_path / "p.json")
    question = ["--boolean", "refund=Is it within policy?", "--policy", str(tmp_path / "p.json")]
    done = RUNNER.invoke(app, ["ask", "s", *question], catch_exceptions=False)
    outcome = DECIDER.ask("s", REFUND, policy=POLICY).outcome
    assert outcome is not None
    assert f"refund: {outcome.action}, because {outcome.reason}" in done.output


def test_ask_shows_the_prediction_set_and_the_calibrated_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())
    POLICY.save(tmp_path / "p.json")
    asked = ["ask", "s", "-c", "queue=Which queue?|billing|shipping|other"]
    asked += ["-b", "refund=Is it within policy?", "-s", "anger=How angry?|calm|annoyed|furious"]
    done = RUNNER.invoke(app, [*asked, "--policy", str(tmp_path / "p.json")])
    decision = DECIDER.decide("s", SCHEMA, policy=POLICY)
    queue, anger = decision["queue"].outcome, decision["anger"].outcome
    assert queue is not None
    assert anger is not None
    options = ", ".join(queue.options or ())
    promise = "on average over states, 95% of such sets or more hold the right option"
    assert f"  prediction set: {options} ({promise})\n" in done.output
    assert f"  mean level, calibrated: {anger.level:.2f}\n" in done.output
    assert done.output.count("prediction set") == done.output.count("mean level") == 1


def test_ask_forces_a_policy_only_when_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())
    POLICY.save(tmp_path / "p.json")
    asked = ["ask", "s", "--boolean", "refund=Is it another question?"]
    with_policy = [*asked, "--policy", str(tmp_path / "p.json")]
    with pytest.raises(InvalidInputError, match=r"the schema differs.*--force-policy"):
        RUNNER.invoke(app, with_policy, catch_exceptions=False)
    done = RUNNER.invoke(app, [*with_policy, "--force-policy"], catch_exceptions=False)
    assert "(forced: the schema differs (fitted in other words: refund))" in done.output
    with pytest.raises(InvalidInputError, match="--force-policy: needs --policy"):
        RUNNER.invoke(app, [*asked, "--force-policy"], catch_exceptions=False)


def test_ask_records_every_decision_in_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())
    POLICY.save(tmp_path / "p.json")
    path = tmp_path / "log.sqlite"
    question = ["--boolean", "refund=Is it within policy?", "--decision-log", str(path)]
    policy = ["--policy", str(tmp_path / "p.json")]
    RUNNER.invoke(app, ["ask", "s", *question, *policy], catch_exceptions=False)
    (tmp_path / "states.jsonl").write_text('"s"\n"t"\n', encoding="utf-8")
    states = ["--states", str(tmp_path / "states.jsonl")]
    RUNNER.invoke(app, ["ask", *states, *question], catch_exceptions=False)
    RUNNER.invoke(app, ["ask", "s", *question, "--show-prompt"], catch_exceptions=False)
    rows = [json.loads(line) for line in run("query", str(path)).splitlines()]
    assert [row["policy"] for row in rows] == [None, None, POLICY.hash]
    assert rows[-1]["probabilities"] == dict(DECIDER.ask("s", REFUND).probabilities)
    assert rows[-1]["action"] is not None
    assert rows[-1]["state"] is None


def test_ask_answers_when_its_log_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())
    words = ["ask", "s", "--boolean", "refund=Is it?", "--decision-log", str(tmp_path)]
    done = RUNNER.invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert "refund" in done.stdout
    assert "decision log: 1 of 1 lines not written" in done.stderr
    with pytest.raises(InvalidInputError, match="log: nothing: cannot be used"):
        RUNNER.invoke(app, [*words[:-1], "nothing://x"], catch_exceptions=False)
