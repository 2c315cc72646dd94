from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.path_engine import path_decider
from thisthat.calibrate.fit_policy import (
    TooFewLabelsError,
    UnsupportedTargetError,
    fit_policy,
    policy_from_answers,
)
from thisthat.calibrate.report import labels_for, lines_about
from thisthat.decide.conditions import Conditions
from thisthat.decide.policy import Policy
from thisthat.decide.target import parse_target
from thisthat.errors import InvalidInputError
from thisthat.items.labels import LabelledStates, read_labelled
from thisthat.questions import (
    Answer,
    Boolean,
    Choice,
    Decision,
    Question,
    Score,
    Usage,
    answer_for,
)

QUEUE = Choice(["billing", "shipping", "other"], "Which queue?")
REFUND = Boolean("Is it within policy?")
ANGER = Score(["calm", "annoyed", "furious"], "How angry?")
SCHEMA: dict[str, Question] = {"queue": QUEUE, "refund": REFUND, "anger": ANGER}
DECIDER = path_decider()


def answered(question: Question, rows: int, seed: int = 0) -> tuple[list[Answer], list[int]]:
    random = np.random.default_rng(seed)
    count = 2 if isinstance(question, Boolean) else 3
    z = random.normal(scale=5, size=(rows, count))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1).tolist()
    return [answer_for(question, row.tolist()) for row in p], labels


def fitted(
    target: str = "precision>=0.9", rows: int = 1500, **how: Any
) -> tuple[Policy, dict[str, list[Answer]]]:
    pairs = {name: answered(q, rows, seed) for seed, (name, q) in enumerate(SCHEMA.items())}
    answers = {name: a for name, (a, _) in pairs.items()}
    labels = {name: y for name, (_, y) in pairs.items()}
    conditions = DECIDER.conditions()
    policy = policy_from_answers(SCHEMA, answers, labels, parse_target(target), conditions, **how)
    return policy, answers


POLICY, ANSWERS = fitted()


def outcome_of(policy: Policy, name: str, probabilities: list[float], **changes: Any) -> Any:
    decision = DECIDER.decide("s", SCHEMA)
    question = changes.pop("question", SCHEMA[name])
    answers = {**decision.answers, name: answer_for(question, probabilities)}
    decision = replace(decision, answers=answers, **changes)
    questions = {**SCHEMA, name: question}
    return policy.apply(decision, questions, DECIDER.conditions())[name].outcome


def test_sure_answers_are_acted_on_and_others_escalate() -> None:
    cutoff = POLICY.questions["queue"].cutoffs["shipping"].value
    assert cutoff is not None
    sure = outcome_of(POLICY, "queue", [0.0, 1.0, 0.0])
    assert (sure.action, sure.option, sure.policy) == ("act", "shipping", POLICY.hash)
    assert sure.reason == f"'shipping' at 1.0000 reaches its cut-off {cutoff:.4f}"
    assert sure.options == ("shipping",)
    at = outcome_of(POLICY, "queue", [1 - cutoff, cutoff, 0.0])
    assert at.action == "act"
    below = outcome_of(POLICY, "queue", [0.3, 0.4, 0.3])
    assert (below.action, below.option) == ("escalate", None)
    assert "is below its cut-off" in below.reason
    assert below.options is not None
    assert len(below.options) == 3


def test_scores_get_a_calibrated_level_and_choices_a_set() -> None:
    score = outcome_of(POLICY, "anger", [0.0, 0.0, 1.0])
    assert score.options is None
    assert 1.5 < score.level <= 2
    assert outcome_of(POLICY, "refund", [0.5, 0.5]).level is None


def test_a_score_is_told_with_the_texts_of_its_levels() -> None:
    cutoff = POLICY.questions["anger"].cutoffs["2"].value
    assert cutoff is not None
    sure = outcome_of(POLICY, "anger", [0.0, 0.0, 1.0])
    assert sure.reason == f"'2: furious' at 1.0000 reaches its cut-off {cutoff:.4f}"
    assert sure.option == "2"
    assert any(line.startswith("  2: furious: from") for line in lines_about(POLICY))
    assert ">2: furious</td>" in POLICY._repr_html_()


def test_a_file_from_before_legends_were_kept_is_the_policy_it_was() -> None:
    value = POLICY.as_json()
    assert value["questions"]["anger"].pop("legend") == ["calm", "annoyed", "furious"]
    assert "legend" not in value["questions"]["queue"]
    older = Policy.from_json(value)
    assert older.as_json() == value
    assert any(line.startswith("  2: from") for line in lines_about(older))
    value["questions"]["anger"]["legend"] = ["calm", "annoyed", "furious", "mad"]
    with pytest.raises(InvalidInputError, match="legend has 4 for 3 options"):
        Policy.from_json(value)


def test_levels_that_are_json_are_told_as_json() -> None:
    levels: list[Any] = [{"days": 1}, {"days": 30}]
    score = Score(levels, "How long?")
    rows = [answer_for(score, [1, 0])] * 60 + [answer_for(score, [0, 1])] * 60
    target, by = parse_target("error<=0.1"), DECIDER.conditions()
    policy = policy_from_answers(
        {"late": score}, {"late": rows}, {"late": [0] * 60 + [1] * 60}, target, by
    )
    assert policy.questions["late"].told("1") == '1: {"days": 30}'


def test_a_cost_target_abstains_and_acts_on_yes_only() -> None:
    policy, _ = fitted("cost(fp=5,fn=1)", options=None)
    assert list(policy.questions["refund"].cutoffs) == ["yes"]
    assert outcome_of(policy, "refund", [0.0, 1.0]).option == "yes"
    no = outcome_of(policy, "refund", [1.0, 0.0])
    cutoff = policy.questions["refund"].cutoffs["yes"]
    told = f"'yes' at 0.0000 is below its cut-off {cutoff.value:.4f}"
    assert (no.action, no.option, no.reason) == ("abstain", None, told)
    assert cutoff.labels == policy.questions["refund"].labels
    assert outcome_of(policy, "queue", [0.3, 0.4, 0.3]).action == "abstain"


def test_where_missing_is_dear_an_option_is_acted_on_though_another_is_likelier() -> None:
    policy, answers = fitted("cost(fp=1,fn=20)")
    part = policy.questions["refund"]
    cutoff = part.cutoffs["yes"].value
    assert cutoff is not None
    assert cutoff < 0.2  # acting pays from 1 / 21 on
    unlikely = outcome_of(policy, "refund", [1 - cutoff, cutoff])
    assert (unlikely.action, unlikely.option) == ("act", "yes")
    assert unlikely.reason == f"'yes' at {cutoff:.4f} reaches its cut-off {cutoff:.4f}"
    assert outcome_of(policy, "refund", [1.0, 0.0]).action == "abstain"
    acted = sum(each.probabilities["yes"] >= cutoff for each in answers["refund"])
    assert part.cutoffs["yes"].acted == acted
    assert part.coverage == acted / 1500
    only, _ = fitted("cost(fp=1,fn=20)", options=["no"])
    assert outcome_of(only, "refund", [0.2, 0.8]).option == "no"
    # Two that are acted on, or more options, leave it to the best one.
    both, _ = fitted("cost(fp=1,fn=20)", options=["yes", "no"])
    assert all(cut.value >= 0.5 for cut in both.questions["refund"].cutoffs.values() if cut.value)
    assert min(cut.value or 1 for cut in policy.questions["queue"].cutoffs.values()) > 1 / 3


def test_where_missing_is_dear_none_of_these_is_still_left_alone() -> None:
    question = Choice(["a"], "Is it a?", abstain=True)
    random = np.random.default_rng(0)
    p = random.random(900)
    policy = policy_from_answers(
        {"q": question},
        {"q": [answer_for(question, [each, 1 - each]) for each in p.tolist()]},
        {"q": (random.random(900) > p).astype(int).tolist()},
        parse_target("cost(fp=1,fn=20)"),
        DECIDER.conditions(),
    )
    part = policy.questions["q"]
    assert part.cutoffs["a"].labels == (p >= 0.5).sum()
    decision = DECIDER.decide("s", {"q": question})
    answers = {"q": answer_for(question, [0.4, 0.6])}
    applied = policy.apply(
        replace(decision, answers=answers), {"q": question}, DECIDER.conditions()
    )
    outcome = applied["q"].outcome
    assert outcome is not None
    assert (outcome.action, outcome.reason) == ("abstain", "the answer is 'none of these'")


def test_a_cost_names_no_tighter_target() -> None:
    policy, _ = fitted("cost(fp=1,fn=20)")
    assert "at these cut-offs" not in "\n".join(lines_about(policy))


def test_an_answer_that_abstains_is_left_alone() -> None:
    question = Choice(["a", "b"], "Which?", abstain=True)
    pairs = answered(question, 900)
    policy = policy_from_answers(
        {"q": question},
        {"q": pairs[0]},
        {"q": pairs[1]},
        parse_target("error<=0.1"),
        DECIDER.conditions(),
    )
    decision = DECIDER.decide("s", {"q": question})
    answer = answer_for(question, [0.1, 0.1, 0.8])
    done = policy.apply(
        replace(decision, answers={"q": answer}), {"q": question}, DECIDER.conditions()
    )
    outcome = done["q"].outcome
    assert outcome is not None
    assert (outcome.action, outcome.reason) == ("abstain", "the answer is 'none of these'")


def test_a_cut_state_escalates() -> None:
    decision = DECIDER.decide("word " * 2000, SCHEMA, keep="head")
    judged = POLICY.apply(decision, SCHEMA, DECIDER.conditions())
    for answer in judged.answers.values():
        assert answer.outcome is not None
        assert "the state was cut" in answer.outcome.reason
        assert answer.outcome.action == "escalate"


def test_an_option_without_support_is_never_acted_on_and_says_what_it_lacks() -> None:
    answers, labels = answered(QUEUE, 1500)
    rare = [i for i, a in enumerate(answers) if a.best_name == "other"][5:]
    kept = [i for i in range(1500) if i not in set(rare)]
    policy = policy_from_answers(
        {"queue": QUEUE},
        {"queue": [answers[i] for i in kept]},
        {"queue": [labels[i] for i in kept]},
        parse_target("precision>=0.9"),
        DECIDER.conditions(),
    )
    cutoff = policy.questions["queue"].cutoffs["other"]
    assert (cutoff.value, cutoff.labels) == (None, 5)
    decision = DECIDER.decide("s", {"queue": QUEUE})
    sure = replace(decision, answers={"queue": answer_for(QUEUE, [0.0, 0.0, 1.0])})
    outcome = policy.apply(sure, {"queue": QUEUE}, DECIDER.conditions())["queue"].outcome
    assert outcome is not None
    assert outcome.action == "escalate"
    assert "has no cut-off for precision>=0.9: 5 labels, at least" in outcome.reason
    [line] = [line for line in lines_about(policy) if line.startswith("  other: never")]
    needed = max(cutoff.least_labels, cutoff.likely_labels or 0)
    assert line == f"  other: never acted on; 5 labels, at least {needed - 5} more needed"
    assert outcome.reason.endswith(f": 5 labels, at least {needed - 5} more needed")


def test_ten_labels_cannot_support_a_thousandth() -> None:
    answers, labels = answered(REFUND, 10)
    with pytest.raises(
        TooFewLabelsError,
        match=r"error<=0\.001 at confidence 0\.95 .* even if every answer is right: 'r' has 10 ",
    ) as caught:
        policy_from_answers(
            {"r": REFUND},
            {"r": answers},
            {"r": labels},
            parse_target("error<=0.001"),
            DECIDER.conditions(),
        )
    assert 2995 <= caught.value.labels_needed <= 2995 * 1.25 + 1
    assert caught.value.labels_missing == caught.value.labels_needed - 10
    needed = caught.value.labels_needed
    assert str(caught.value).endswith(f"needs at least {needed}, {needed - 10} more")


def test_too_few_labels_are_counted_before_anything_is_asked_and_all_questions_named() -> None:
    class Silent:
        def decide_many(self, *_: object, **__: object) -> None:
            raise AssertionError("asked")

    labels = [{"queue": 0, "refund": 1} | ({"anger": 2} if n < 20 else {}) for n in range(60)]
    labelled = LabelledStates(SCHEMA, [f"state {n}" for n in range(60)], labels)
    with pytest.raises(TooFewLabelsError) as caught:
        fit_policy(Silent(), labelled, parse_target("error<=0.05"))  # type: ignore[arg-type]
    needed = caught.value.labels_needed
    for name, has in (("queue", 60), ("refund", 60), ("anger", 20)):
        told = f"  '{name}' has {has} labels and needs at least {needed}, {needed - has} more"
        assert told in str(caught.value).split("\n")
    assert "\nThe questions share the risk: 'queue' by itself needs" in str(caught.value)
    assert caught.value.labels_missing == needed - 60
    with pytest.raises(TooFewLabelsError, match="for each option"):
        fit_policy(Silent(), labelled, parse_target("precision>=0.95"))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="asked"):
        fit_policy(Silent(), labelled, parse_target("error<=0.1"))  # type: ignore[arg-type]


def test_a_target_for_every_option_is_refused_by_the_name_of_one() -> None:
    answers, labels = answered(REFUND, 500)
    refused = r"\d+ labels of 'r' where the best option is '(yes|no)', and at least"
    with pytest.raises(UnsupportedTargetError, match=refused):
        policy_from_answers(
            {"r": REFUND},
            {"r": answers},
            {"r": labels},
            parse_target("precision>=0.99"),
            DECIDER.conditions(),
        )


def test_a_refusal_names_every_question_and_the_way_out() -> None:
    names = ("some", "few", "never")
    asked = {name: Boolean(f"Is it {name}?") for name in names}
    answers, labels = zip(*(answered(REFUND, rows) for rows in (150, 20, 600)), strict=True)
    guessed = np.random.default_rng(0).integers(0, 2, 600).tolist()
    with pytest.raises(UnsupportedTargetError) as caught:
        policy_from_answers(
            asked,
            dict(zip(names, answers, strict=True)),
            dict(zip(names, (*labels[:2], guessed), strict=True)),
            parse_target("error<=0.04"),
            DECIDER.conditions(),
        )
    told = str(caught.value)
    first, some, few, never, *last = told.split("\n")
    assert first == "target: error<=0.04 at confidence 0.95 cannot be supported:"
    assert re.match(
        r"  150 labels of 'some' are too few: .* at least \d+ more of 'some' are needed, and ", some
    )
    assert re.match(r"  20 labels of 'few', and at least \d+ are needed .*: \d+ more$", few)
    assert never == ("  the surest answers of 'never' are wrong too often for more labels to help")
    assert last == [
        "Fitting again with more labels counts as a further try.",
        "The questions share the risk: --question fits one alone, which is a further try too.",
    ]
    assert 0 < caught.value.labels_missing <= min(map(int, re.findall(r"(\d+) more", told)))


def test_labels_of_a_few_options_are_told_by_their_names() -> None:
    answers, labels = answered(REFUND, 60)
    with pytest.raises(
        UnsupportedTargetError, match=r": \d+ labels of 'r' where the best option is 'yes', and at"
    ):
        policy_from_answers(
            {"r": REFUND},
            {"r": answers},
            {"r": labels},
            parse_target("error<=0.07"),
            DECIDER.conditions(),
            options=["yes"],
        )


def test_a_cutoff_that_options_share_is_told_once() -> None:
    policy, _ = fitted("error<=0.2", rows=150)
    assert sum(line.startswith("  no, yes: from ") for line in lines_about(policy)) == 1
    assert not any(line.startswith("  yes: ") for line in lines_about(policy))


def test_labels_that_nearly_support_a_target_say_how_many_more_would() -> None:
    answers, labels = answered(REFUND, 600)
    with pytest.raises(
        UnsupportedTargetError, match=r"look like these, at least (\d+) more of 'r' are needed"
    ) as caught:
        policy_from_answers(
            {"r": REFUND},
            {"r": answers[:120]},
            {"r": labels[:120]},
            parse_target("error<=0.03"),
            DECIDER.conditions(),
        )
    assert caught.value.labels_missing > 0
    assert caught.value.labels_needed == 120 + caught.value.labels_missing


def test_the_report_says_how_many_more_labels_a_tighter_target_needs() -> None:
    policy, _ = fitted("error<=0.2", rows=150)
    told = "\n".join(lines_about(policy))
    cutoff = policy.questions["queue"].cutoffs["other"]
    needed = labels_for(cutoff, parse_target("error<=0.1"), 0.05 / 3)
    assert needed is not None
    assert needed > cutoff.labels
    assert f"error<=0.1 at these cut-offs needs at least {needed - 150} more labels\n" in told
    assert "error<=0.1 would need higher cut-offs, whatever the number of labels" in told
    by_option, _ = fitted("precision>=0.8", rows=400)
    told = "\n".join(lines_about(by_option))
    assert re.search(
        r"more labels: \d+ where the best option is no, \d+ where the best option is yes\n", told
    )
    one_option, _ = fitted("precision>=0.7", rows=150, options=["yes"])
    told = "\n".join(lines_about(one_option))
    assert re.search(r"more labels: \d+ where the best option is yes(\n|$)", told)
    plenty, _ = fitted("precision>=0.8", rows=800)
    assert "precision>=0.9 at these cut-offs needs no more labels" in "\n".join(lines_about(plenty))


def test_the_report_gives_no_number_of_labels_that_nobody_has() -> None:
    policy, _ = fitted("error<=0.2", rows=150)
    part = policy.questions["queue"]
    barely = {"acted": 1000, "wrong": 98, "labels": 150}
    cutoff = part.cutoffs["other"].model_copy(update=barely)
    needed = labels_for(cutoff, parse_target("error<=0.1"), 0.05)
    assert needed is not None
    assert needed > 21 * 150
    near = part.model_copy(update={"cutoffs": {"other": cutoff}})
    told = "\n".join(lines_about(policy.model_copy(update={"questions": {"queue": near}})))
    assert "error<=0.1 at these cut-offs needs more than 20 times as many labels" in told


def test_answers_that_are_often_wrong_are_not_cured_by_labels() -> None:
    answers, _ = answered(REFUND, 2000)
    labels = np.random.default_rng(0).integers(0, 2, 2000).tolist()
    with pytest.raises(UnsupportedTargetError, match="wrong too often for more labels to help"):
        policy_from_answers(
            {"r": REFUND},
            {"r": answers},
            {"r": labels},
            parse_target("error<=0.01"),
            DECIDER.conditions(),
        )


def test_the_report_says_coverage_and_labels_for_a_tighter_target() -> None:
    text = "\n".join(lines_about(POLICY))
    assert "precision>=0.9 with confidence 0.95, for paths 1, λ = 0.5" in text
    assert f"queue: acts on {POLICY.questions['queue'].coverage:.1%} of 1500 labelled" in text
    assert "precision>=0.95" in text
    acted = sum(
        a.probabilities[a.best_name] >= (POLICY.questions["queue"].cutoffs[a.best_name].value or 2)
        for a in ANSWERS["queue"]
    )
    assert POLICY.questions["queue"].coverage == acted / 1500


def test_a_policy_file_comes_back_as_it_was(tmp_path: Path) -> None:
    POLICY.save(tmp_path / "a.policy.json")
    again = Policy.load(tmp_path / "a.policy.json")
    assert again == POLICY
    assert again.hash == POLICY.hash


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "policy.extra: Extra inputs"),
        ({"forced": True}, "policy.forced: is not known; a file cannot force itself"),
        ({"confidence": 2}, "policy.confidence: Input should be less than 1"),
        ({"confidence": "0.9"}, "policy.confidence: Input should be a valid number"),
        ({"target": "fast"}, "policy.target: 'fast' is not known"),
        ({"format": "thisthat policy 9"}, "policy.format: Input should be"),
    ],
)
def test_policy_files_are_read_strictly(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Policy.from_json({**POLICY.as_json(), **change})


def test_damaged_parts_of_a_policy_are_named(tmp_path: Path) -> None:
    value = POLICY.as_json()
    value["questions"]["queue"]["cutoffs"]["billing"]["value"] = 1.5
    with pytest.raises(InvalidInputError, match=r"questions\.queue\.cutoffs\.billing\.value: .*1"):
        Policy.from_json(value)
    value = json.loads(json.dumps(POLICY.as_json()))
    value["questions"]["queue"]["cutoffs"]["gone"] = value["questions"]["queue"]["cutoffs"]["other"]
    with pytest.raises(InvalidInputError, match="'gone', which is not among the options"):
        Policy.from_json(value)
    for other in ([], {}, {"questions": {"queue": "Which queue?"}}):
        with pytest.raises(InvalidInputError, match="policy: is not a policy file"):
            Policy.from_json(other)
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"bad\.json: is not JSON"):
        Policy.load(tmp_path / "bad.json")
    with pytest.raises(InvalidInputError, match=r"missing\.json: cannot be read: No such file"):
        Policy.load(tmp_path / "missing.json")


def with_weights(weights: str | None) -> Policy:
    value = POLICY.as_json()
    return Policy.from_json({**value, "conditions": {**value["conditions"], "weights": weights}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": "2"}, "version is 2, not 1"),
        ({"lam": 1.0}, "λ is 1, not 0.5"),
        ({"checkpoint": "another"}, "checkpoint is another, not paths"),
        ({"layout": "schema-first"}, "layout is schema-first, not state-first"),
        ({"order": "average"}, "order is average, not as-given"),
        ({"temperatures": "f" * 64}, "temperatures is ffff"),
        ({"weights": "f" * 64}, "the hash of the weights is ffffffffffffffff, not eeee"),
    ],
)
def test_other_conditions_are_refused_unless_forced(change: dict[str, Any], message: str) -> None:
    other: Conditions = replace(DECIDER.conditions(), **change)
    decision = DECIDER.decide("s", SCHEMA)
    policy = with_weights("e" * 64)
    with pytest.raises(
        InvalidInputError, match=f"policy: was fitted for something else: {message}"
    ):
        policy.apply(decision, SCHEMA, other)
    forced = policy.force().apply(decision, SCHEMA, other)["queue"].outcome
    assert forced is not None
    assert message in forced.forced[0]


def test_weights_are_compared_where_both_sides_know_them() -> None:
    known = replace(DECIDER.conditions(), weights="e" * 64)
    policy = with_weights("e" * 64)
    assert policy.mismatches(SCHEMA, known) == []
    assert policy.mismatches(SCHEMA, DECIDER.conditions()) == []
    assert POLICY.mismatches(SCHEMA, known) == []


def test_a_file_from_before_weights_were_kept_is_the_policy_it_was() -> None:
    assert "weights" not in POLICY.as_json()["conditions"]
    assert with_weights(None).hash == POLICY.hash
    assert with_weights("e" * 64).hash != POLICY.hash
    assert Policy.from_json(with_weights("e" * 64).as_json()).conditions.weights == "e" * 64


def test_some_of_the_questions_apart_are_the_same_schema() -> None:
    some: dict[str, Question] = {"queue": QUEUE, "refund": REFUND}
    assert POLICY.mismatches(some, DECIDER.conditions()) == []
    told, whole = (DECIDER.decide("s", q, policy=POLICY) for q in (some, SCHEMA))
    assert all(told[name].outcome == whole[name].outcome for name in some)
    swapped: dict[str, Question] = {"queue": REFUND, "refund": QUEUE}
    assert POLICY.mismatches(swapped, DECIDER.conditions()) == [
        "the schema differs (fitted in other words: queue, refund)"
    ]
    together = POLICY.conditions.model_copy(update={"packing": "together"})
    policy = POLICY.model_copy(update={"conditions": together})
    [fewer, *_] = policy.mismatches(some, DECIDER.conditions())
    assert fewer.startswith("the schema differs (not asked: ")


def test_another_schema_is_refused_unless_forced() -> None:
    changed = Choice(["billing", "shipping", "new"], "Which queue?")
    questions = {**SCHEMA, "queue": changed}
    with pytest.raises(
        InvalidInputError, match=r"the schema differs \(fitted in other words: queue\)"
    ):
        DECIDER.decide("s", questions, policy=POLICY)
    with pytest.raises(InvalidInputError, match="not fitted in these words: question"):
        DECIDER.ask("s", changed, policy=POLICY)
    outcome = DECIDER.decide("s", questions, policy=POLICY.force())["queue"].outcome
    assert outcome is not None
    assert outcome.forced == ("the schema differs (fitted in other words: queue)",)
    assert outcome.probabilities is None
    new = outcome_of(POLICY.force(), "queue", [0.0, 0.0, 1.0], question=changed)
    assert new.action == "escalate"


def test_the_words_of_questions_that_were_left_out_do_not_matter() -> None:
    answers, labels = answered(QUEUE, 1500)
    target, conditions = parse_target("precision>=0.9"), DECIDER.conditions()
    some = policy_from_answers(SCHEMA, {"queue": answers}, {"queue": labels}, target, conditions)
    others: dict[str, Question] = {**SCHEMA, "refund": Boolean("Money back?"), "new": REFUND}
    decision = DECIDER.decide("s", others, policy=some)
    assert decision["queue"].outcome == DECIDER.ask("s", QUEUE, policy=some).outcome is not None
    assert [name for name in others if decision[name].outcome] == ["queue"]
    whole = POLICY.mismatches({**SCHEMA, "new": Boolean("New?")}, conditions)
    assert whole == ["the schema differs (not fitted in these words: new)"]
    with pytest.raises(InvalidInputError, match=r"other words: queue\)\. Ask as it was fitted"):
        DECIDER.decide("s", {**SCHEMA, "queue": Choice(["a", "b"], "Which queue?")}, policy=some)
    with pytest.raises(InvalidInputError, match="not fitted in these words: refund, anger"):
        DECIDER.decide("s", {"refund": REFUND, "anger": ANGER}, policy=some)


def test_the_decider_applies_a_policy() -> None:
    decision = DECIDER.decide("s", SCHEMA, policy=POLICY)
    assert set(decision.as_dict()["answers"]["queue"]["outcome"]) == {
        "action",
        "option",
        "reason",
        "policy",
        "options",
        "coverage",
        "probabilities",
        "level",
        "forced",
    }
    assert "outcome" not in DECIDER.decide("s", SCHEMA).as_dict()["answers"]["queue"]
    alone = DECIDER.ask("s", QUEUE, policy=POLICY)
    assert alone.outcome == decision["queue"].outcome
    many = DECIDER.decide_many(["s", "t"], SCHEMA, policy=POLICY)
    assert many[0]["queue"] == decision["queue"]
    explained = DECIDER.decide("one. two.", SCHEMA, policy=POLICY, explain=True)
    assert (
        explained["queue"].outcome
        == DECIDER.decide("one. two.", SCHEMA, policy=POLICY)["queue"].outcome
    )


@pytest.mark.parametrize("given", ["triage.policy.json", Path("p.json"), POLICY.as_json()])
def test_what_is_no_policy_is_named(given: Any) -> None:
    kind = type(given).__name__
    message = rf"policy: must be a Policy, not {kind}; thisthat\.Policy\.load"
    with pytest.raises(InvalidInputError, match=message):
        DECIDER.ask("s", REFUND, policy=given)


def test_fitting_asks_the_decider_about_the_labelled_states() -> None:
    states = [f"state {n}" for n in range(400)]
    labels = [{"refund": int(DECIDER.ask(s, REFUND).best or 0)} for s in states]
    labelled = LabelledStates({"refund": REFUND}, states, labels)
    policy = fit_policy(DECIDER, labelled, parse_target("error<=0.05"))
    part = policy.questions["refund"]
    assert part.labels == 400
    assert part.coverage > 0.5
    assert DECIDER.ask("state 3", REFUND, policy=policy).outcome is not None


def test_given_options_are_acted_on_in_the_questions_that_have_them() -> None:
    policy, _ = fitted("cost(fp=5,fn=1)", options=["yes"])
    assert {name: list(part.cutoffs) for name, part in policy.questions.items()} == {
        "queue": [],
        "refund": ["yes"],
        "anger": [],
    }
    assert outcome_of(policy, "refund", [0.0, 1.0]).option == "yes"
    queue = outcome_of(policy, "queue", [1.0, 0.0, 0.0])
    assert (queue.action, queue.option) == ("abstain", None)
    assert "queue: acts on 0.0% of 1500 labelled states" in list(lines_about(policy))
    both, _ = fitted("error<=0.1", options=["other", "yes", "billing", "yes"])
    assert list(both.questions["queue"].cutoffs) == ["billing", "other"]
    levels, _ = fitted("error<=0.1", options=["furious", "0"])
    assert {name: list(part.cutoffs) for name, part in levels.questions.items()} == {
        "queue": [],
        "refund": [],
        "anger": ["0", "2"],
    }


def test_an_unknown_option_is_told_which_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"'mad' is not an .* yes, 0: calm, 1: annoyed"):
        fitted(options=["mad"])


def test_the_coverage_of_sets_is_chosen_and_stated() -> None:
    usual = POLICY.questions["queue"].set
    assert usual is not None
    assert usual.coverage == 0.95
    wide, _ = fitted(coverage=0.99)
    narrow, _ = fitted(coverage=0.5)
    sets = [outcome_of(policy, "queue", [0.3, 0.65, 0.05]) for policy in (narrow, POLICY, wide)]
    assert [each.coverage for each in sets] == [0.5, 0.95, 0.99]
    sizes = [len(each.options) for each in sets]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    assert any("99% of such sets or more hold" in line for line in lines_about(wide))
    assert Policy.from_json(wide.as_json()) == wide
    assert outcome_of(wide, "refund", [0.5, 0.5]).coverage is None


def test_a_coverage_that_the_labels_cannot_support_is_refused() -> None:
    message = "coverage: is 0.999, which needs at least 999 labels .*; 'queue' has the most, 900"
    with pytest.raises(InvalidInputError, match=message):
        fitted(rows=900, coverage=0.999)


@pytest.mark.parametrize("target", ["precision>=0.9", "error<=0.1", "cost(fp=5,fn=1)"])
def test_questions_that_are_never_acted_on_take_no_share_of_delta(target: str) -> None:
    beside, answers = fitted(target, rows=300, options=["yes"])
    _, labels = answered(REFUND, 300, list(SCHEMA).index("refund"))
    alone = policy_from_answers(
        {"refund": REFUND},
        {"refund": answers["refund"]},
        {"refund": labels},
        parse_target(target),
        DECIDER.conditions(),
        options=["yes"],
    )
    assert beside.questions["refund"] == alone.questions["refund"]
    told = [line for line in lines_about(beside) if "at these cut-offs" in line]
    assert told == [line for line in lines_about(alone) if "at these cut-offs" in line]
    shared, _ = fitted(target, rows=300, options=["yes", "other"])
    least = shared.questions["refund"].cutoffs["yes"].least_labels
    assert least > alone.questions["refund"].cutoffs["yes"].least_labels


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"options": ["yes", "billing"]},
            "options: 'billing' is not an option of any labelled question; known are no, yes",
        ),
        ({"options": []}, "options: none given"),
        ({"confidence": 1.0}, "confidence: is 1; it must lie between 0 and 1"),
        ({"coverage": 0.0}, "coverage: is 0; it must lie between 0 and 1"),
        ({"coverage": float("nan")}, "coverage: is nan; it must lie between 0 and 1"),
        ({"coverage": 0.9}, "coverage: is for choices, and no choice is labelled"),
        ({"target": "error<=0.05"}, "target: must be a Target, not 'error<=0.05'; parse_target"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_asked(
    how: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: Any, **__: Any) -> Any:
        raise AssertionError("asked")

    decider = path_decider()
    monkeypatch.setattr(decider, "decide_many", asked)
    labelled = LabelledStates(SCHEMA, ["s"], [{"refund": 1}])
    settings = {"target": parse_target("error<=0.05"), **how}
    with pytest.raises(InvalidInputError, match=message):
        fit_policy(decider, labelled, **settings)


def lines(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_labels_are_read_by_name(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"state": "s", "answers": {"queue": "other", "refund": True, "anger": 2}},
        {"state": {"k": 1}, "answers": {"refund": "no"}},
    )
    read = read_labelled(path, SCHEMA)
    assert read.states == ["s", {"k": 1}]
    assert read.labels == [{"queue": 2, "refund": 1, "anger": 2}, {"refund": 0}]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"state": "s", "answers": {"queue": "sales"}},
            r"line 1, answers.queue: 'sales' is not an option; known are billing, shipping, other",
        ),
        ({"state": "s", "answers": {"anger": 3}}, r"answers.anger: 3 is not an option"),
        ({"state": "s", "answers": {"refund": 1}}, r"answers.refund: 1 is not an option"),
        (
            {"state": "s", "answers": {"mood": 1}},
            r"answers.mood: is not a question; known are queue",
        ),
        ({"state": "s", "answers": {}}, "must be an object of labels"),
        ({"state": "s"}, 'must be an object with "state" and "answers"'),
        ({"state": 3, "answers": {"anger": 1}}, "line 1, state: must be text"),
        ([1], 'must be an object with "state" and "answers"'),
    ],
)
def test_bad_labels_are_refused_with_file_and_line(
    row: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_labelled(lines(tmp_path / "a.jsonl", row), SCHEMA)


def test_answers_without_a_schema_ask_for_it(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"state": "s", "answers": {"refund": True}})
    with pytest.raises(InvalidInputError, match=r"a\.jsonl: needs the schema .*\(--schema\)"):
        read_labelled(path)


def test_files_that_are_no_labels(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="line 1: is not JSON"):
        read_labelled(tmp_path / "a.jsonl", SCHEMA)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_labelled(tmp_path / "b.jsonl", SCHEMA)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_labelled(tmp_path / "b.jsonl")
    with pytest.raises(InvalidInputError, match="has no labelled rows"):
        read_labelled(lines(tmp_path / "c.jsonl"), SCHEMA)


def test_a_decision_file_is_one_question(tmp_path: Path) -> None:
    row = {"kind": "boolean", "state": "s", "question": "Is it?", "options": ["no", "yes"]}
    path = lines(tmp_path / "a.jsonl", {**row, "answer": 1}, {**row, "answer": 0})
    read = read_labelled(path).alone()
    assert read.questions == {"question": Boolean("Is it?")}
    assert read.labels == [{"question": 1}, {"question": 0}]
    path = lines(tmp_path / "a.jsonl", {**row, "answer": 1}, {**row, "question": "?", "answer": 0})
    with pytest.raises(InvalidInputError, match=r"line 2: asks another question than .*line 1"):
        read_labelled(path).alone()


def test_a_weak_question_blocks_only_itself() -> None:
    random = np.random.default_rng(5)
    right, sure = answered(REFUND, 400, 1)
    coins = random.integers(0, 3, 400).tolist()
    guessed, _ = answered(SCHEMA["queue"], 400, 2)
    conditions, target = DECIDER.conditions(), parse_target("error<=0.1")
    schema = {"refund": REFUND, "queue": SCHEMA["queue"]}
    answers, labels = {"refund": right, "queue": guessed}, {"refund": sure, "queue": coins}
    policy = policy_from_answers(schema, answers, labels, target, conditions)
    assert policy.never_acted_on == ["queue"]
    assert policy.questions["refund"].coverage > 0.3
    text = "\n".join(lines_about(policy))
    assert "queue: never acts; every answer escalates; other questions still act" in text
    assert "refund: acts on" in text
    sure_of_both = {
        "refund": answer_for(REFUND, [0.0, 1.0]),
        "queue": answer_for(QUEUE, [0.98, 0.01, 0.01]),
    }
    given = Decision(sure_of_both, DECIDER.source, Usage(1), 0.0)
    applied = policy.apply(given, schema, conditions)
    outcome = applied["queue"].outcome
    assert outcome is not None
    assert (outcome.action, outcome.option) == ("escalate", None)
    assert "has no cut-off" in outcome.reason
    assert applied["refund"].outcome is not None
    assert applied["refund"].outcome.action == "act"


def test_a_choice_with_few_labels_lacks_its_set_and_no_other_does() -> None:
    many, few = Choice(["a", "b", "c"], "Many?"), Choice(["a", "b", "c"], "Few?")
    pairs = {"many": answered(many, 1500, 1), "few": answered(few, 60, 2)}
    policy = policy_from_answers(
        {"many": many, "few": few},
        {name: a for name, (a, _) in pairs.items()},
        {name: y for name, (_, y) in pairs.items()},
        parse_target("error<=0.1"),
        DECIDER.conditions(),
        coverage=0.99,
    )
    assert policy.questions["many"].set is not None
    assert policy.questions["few"].set is None


def test_tries_are_part_of_a_policy_only_where_there_were_several() -> None:
    assert "tries" not in POLICY.as_json()
    again = POLICY.model_copy(update={"tries": 3})
    assert Policy.from_json(again.as_json()).tries == 3
    assert "chosen among 3 tries on the same labels" in "\n".join(lines_about(again))
