"""What an evaluation says about answers whose quality is known, and its page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, roc_auc_score

from tests.path_engine import path_decider
from thisthat import Boolean, Choice, InvalidInputError, Score
from thisthat.items.labels import LabelledStates
from thisthat.items.metrics import paired_difference
from thisthat.questions import Question, Source
from thisthat.teach.evaluate import Compared, Evaluation, Judged, evaluate
from thisthat.teach.page import page

QUESTIONS: dict[str, Question] = {
    "refund": Boolean("Is it within policy?"),
    "queue": Choice(["billing", "shipping", "other"], "Which queue?"),
    "anger": Score(["calm", "angry"], "How angry?"),
}
STATES = [f"state {number}" for number in range(80)]
LABELS = [{"refund": n % 2, "queue": n % 3} | ({"anger": 1} if n % 4 else {}) for n in range(80)]
LABELLED = LabelledStates(QUESTIONS, STATES, LABELS, [f"a.csv, line {n + 2}" for n in range(80)])


def found(before: Evaluation | None = None) -> Evaluation:
    return evaluate(path_decider(), LABELLED, before=before)


def judged(probabilities: Any, labels: list[int], question: Question | None = None) -> Judged:
    rows = np.asarray(probabilities, dtype=float)
    count = len(labels)
    question = question or QUESTIONS["refund"]
    return Judged(
        "q", question, range(count), [str(n) for n in range(count)], rows, np.array(labels)
    )


def test_only_labelled_questions_are_asked_and_the_answers_are_the_libraries() -> None:
    evaluation = found()
    assert {name: len(each.rows) for name, each in evaluation.judged.items()} == {
        "refund": 80,
        "queue": 80,
        "anger": 60,
    }
    anger = evaluation.judged["anger"]
    assert anger.rows[:4] == [1, 2, 3, 5]
    answer = path_decider().ask("state 5", QUESTIONS["anger"])
    assert anger.probabilities[3].tolist() == list(answer.probabilities.values())
    assert evaluation.label == "paths 1, λ = 0.5"


@pytest.mark.parametrize("name", ["refund", "queue"])
def test_measures_agree_with_scikit_learn(name: str) -> None:
    each = found().judged[name]
    measures = each.measures
    assert measures["accuracy"].value == pytest.approx((each.chosen == each.labels).mean())
    assert measures["balanced accuracy"].value == pytest.approx(
        balanced_accuracy_score(each.labels, each.chosen)
    )
    assert each.confusion.tolist() == confusion_matrix(each.labels, each.chosen).tolist()
    if name == "refund":
        area = roc_auc_score(each.labels, each.probabilities[:, 1])
        assert measures["area under the curve"].value == pytest.approx(area)
    else:
        assert "area under the curve" not in measures
    for interval in measures.values():
        assert interval.low <= interval.value <= interval.high


def test_one_answer_only_has_no_curve() -> None:
    each = judged([[0.2, 0.8], [0.6, 0.4]], [1, 1])
    assert "area under the curve" not in each.measures
    assert each.measures["balanced accuracy"].value == 0.5
    assert "anger" in page(found(), "a.csv")


def test_an_abstaining_boolean_is_a_question_of_yes_or_not() -> None:
    question = Boolean("?", abstain=True)
    rows = [[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]]
    each = judged(rows, [1, 0, 2, 1], question)
    assert each.measures["area under the curve"].value == 1.0
    assert each.measures["accuracy"].value == 1.0


def test_the_surest_wrong_come_first() -> None:
    rows = [[0.4, 0.6], [0.1, 0.9], [0.99, 0.01], [0.3, 0.7]]
    each = judged(rows, [0, 0, 0, 0])
    assert each.surest_wrong() == [1, 3, 0]
    assert each.surest_wrong(1) == [1]
    assert each.said(1) == ("no", "yes")


def test_levels_are_told_with_their_texts() -> None:
    question = Score(["calm", "angry"], "How angry?", abstain="unclear")
    each = judged([[0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], [0, 0], question)
    assert each.told(0) == ("0: calm", "1: angry")
    assert each.told(1) == ("0: calm", "unclear")
    assert each.said(0) == ("0", "1")


def compared(now: Any, before: Any, labels: list[int]) -> Evaluation:
    labelled = LabelledStates(
        {"q": QUESTIONS["refund"]}, [str(n) for n in range(len(labels))], [{"q": y} for y in labels]
    )
    source = Source("new", "2", 1.0)
    old = Evaluation(labelled, Source("old", "1", 1.0), {"q": judged(before, labels)})
    return Evaluation(labelled, source, {"q": judged(now, labels)}, old)


def test_before_and_after_are_paired() -> None:
    labels = [n % 2 for n in range(60)]
    right = [[1 - 0.9 * y - 0.05, 0.9 * y + 0.05] for y in labels]
    wrong = [row[::-1] for row in right]
    mixed = [row if n % 6 else row[::-1] for n, row in enumerate(right)]
    better = compared(right, mixed, labels).compared["q"]
    assert better.verdict == "better"
    assert better.gains["accuracy"].value == pytest.approx(10 / 60)
    assert better.gains["log loss"].high < 0
    assert compared(mixed, right, labels).compared["q"].verdict == "worse"
    assert compared(wrong, right, labels).compared["q"].gains["accuracy"].value == -1
    same = compared(right, right, labels).compared["q"]
    assert same.verdict == "no difference in accuracy shown"
    assert {(each.low, each.high) for each in same.gains.values()} == {(0.0, 0.0)}
    # The same accuracy on other rows is no difference either.
    other = [row if n % 6 != 1 else row[::-1] for n, row in enumerate(right)]
    assert compared(mixed, other, labels).compared["q"].verdict == "no difference in accuracy shown"


def answered(found: list[tuple[int, int]]) -> tuple[Any, list[int]]:
    """Answers and labels of no and yes: so many rows, so many of them found."""
    labels = [place for place, (rows, _) in enumerate(found) for _ in range(rows)]
    hits = [n < right for rows, right in found for n in range(rows)]
    said = [y if hit else 1 - y for y, hit in zip(labels, hits, strict=True)]
    return [[1 - 0.9 * y - 0.05, 0.9 * y + 0.05] for y in said], labels


def test_a_rare_option_that_is_lost_is_told_beside_a_gain() -> None:
    now, labels = answered([(40, 40), (11, 4)])
    before, _ = answered([(40, 20), (11, 10)])
    found = compared(now, before, labels)
    each = found.compared["q"]
    assert each.verdict == "better"
    lost = "'yes' is found less often: 4 of 11, before 10 of 11"
    assert each.told() == f"better, but {lost}"
    lines = found.lines()
    told = "  found: no 40 of 40, before 20 of 40; yes 4 of 11, before 10 of 11"
    assert lines[lines.index(told) - 1].startswith("  balanced accuracy ")
    assert told.strip() in page(found, "a.csv")
    assert found.as_dict()["questions"]["q"]["found_less_often"] == ["yes"]
    assert compared(before, now, labels).compared["q"].told().startswith("worse; 'no' is found")


@pytest.mark.parametrize(("rows", "lost"), [(1, 1), (3, 3), (11, 3), (200, 3)])
def test_few_rows_lost_are_no_warning(rows: int, lost: int) -> None:
    now, labels = answered([(50, 50), (rows, rows - lost)])
    before, _ = answered([(50, 20), (rows, rows)])
    assert compared(now, before, labels).compared["q"].told() == "better"


def simulated(rows: int, worse: float, better: float, seed: int) -> Compared:
    """Two that answer rows, of which shares are right only before or only now."""
    drawn = np.random.default_rng(seed).random(rows)
    right, wrong = [0.9, 0.1], [0.1, 0.9]
    now = judged([wrong if each < worse else right for each in drawn], [0] * rows)
    then = [wrong if worse <= each < worse + better else right for each in drawn]
    before = judged(then, [0] * rows)
    # The verdict goes by accuracy alone; intervals of the other measures take long.
    return Compared(before, {"accuracy": paired_difference(now.hits, before.hits)}, [])


def test_what_the_rows_could_show_is_what_they_show_four_times_in_five() -> None:
    least = float(np.mean([simulated(80, 0.1, 0.1, seed).shown_from for seed in range(20)]))
    # Other shares of rows that differ, with that difference between them.
    worse = (0.2 - least) / 2
    found = [simulated(80, worse, worse + least, seed).verdict for seed in range(60)]
    assert 0.65 <= found.count("better") / 60 <= 0.95


@pytest.mark.parametrize("rows", [15, 30])
def test_few_rows_that_are_all_for_it_show_it_four_times_in_five(rows: int) -> None:
    least = simulated(rows, 0, 1 / rows, 0).shown_from
    found = [simulated(rows, 0, least, seed).verdict for seed in range(100)]
    assert 0.65 <= found.count("better") / 100 <= 0.95


def test_no_difference_says_how_many_rows_would_show_it() -> None:
    labels = [0] * 40
    right, wrong = [0.9, 0.1], [0.1, 0.9]
    now = [wrong] * 6 + [right] * 34
    before = [right] * 6 + [wrong] * 10 + [right] * 24
    each = compared(now, before, labels).compared["q"]
    least = each.shown_from
    assert each.gains["accuracy"].value == pytest.approx(0.1)
    needed = 40 * (least / 0.1) ** 2
    said = re.fullmatch(
        r"no difference in accuracy shown: 40 rows show one of about (0\.\d\d) or more; "
        r"one of 0\.10, as seen here, takes about (\d+)",
        each.told(),
    )
    assert said is not None
    assert float(said[1]) == pytest.approx(least, abs=0.006)
    assert needed <= int(said[2]) <= needed * 1.1
    # Equally often right: no difference that could be asked for is named.
    equal = compared(now, [right] * 6 + [wrong] * 6 + [right] * 28, labels).compared["q"]
    assert re.fullmatch(r".* shown: 40 rows show one of about 0\.\d\d or more", equal.told())
    few = compared([wrong, right], [right, wrong], [0, 0]).compared["q"]
    assert few.told() == "no difference in accuracy shown: 2 rows are too few to show any"
    same = compared(now, now, labels).compared["q"]
    assert same.told() == "no difference in accuracy shown: both are right on the same rows"
    assert compared([right] * 20, [wrong] * 20, [0] * 20).compared["q"].told() == "better"


def test_a_state_that_cannot_be_read_is_named_by_its_line() -> None:
    long = LabelledStates(
        QUESTIONS, ["short", "word " * 2000], [{"refund": 1}] * 2, ["a, line 1", "a, line 2"]
    )
    with pytest.raises(InvalidInputError, match="tokens") as caught:
        evaluate(path_decider(), long)
    assert caught.value.field == "a, line 2, state"
    assert len(evaluate(path_decider(), long, keep="head").judged["refund"].rows) == 2
    alone = LabelledStates(QUESTIONS, long.states[1:], long.labels[1:], ["a, line 2"])
    with pytest.raises(InvalidInputError, match="a, line 2, state: "):
        evaluate(path_decider(), alone)


def test_lines_and_json_say_the_same() -> None:
    evaluation = found(found())
    body = json.loads(json.dumps(evaluation.as_dict(), allow_nan=False))
    lines = "\n".join(evaluation.lines())
    for name, record in body["questions"].items():
        assert f"{name}: {record['labels']} labelled states" in lines
        assert f"accuracy {record['measures']['accuracy']['value']:.3f} [" in lines
        assert sum(map(sum, record["confusion"]["counts"])) == record["labels"]
        assert sum(part["count"] for part in record["reliability"]) == record["labels"]
        assert record["verdict"] == "no difference in accuracy shown"
        first = record["surest_wrong"][0]
        assert first["row"].startswith("line ")
        said = {"0": "0: calm", "1": "1: angry"}.get(first["answer"], first["answer"])
        counts = record["confusion"]["counts"]
        wrong = record["labels"] - sum(row[n] for n, row in enumerate(counts))
        assert wrong > 3
        assert f"  {wrong} wrong, the surest 3:\n    {first['row']}: {said!r} at" in lines
        state = STATES[int(first["row"].removeprefix("line ")) - 2]
        assert f"\n      {state!r}\n" in f"{lines}\n"
    assert body["against"] == body["checkpoint"]


def test_few_wrong_answers_are_all_shown() -> None:
    paid = Boolean("Paid?")
    says = [path_decider().ask(state, paid).yes > 0.5 for state in STATES[:8]]
    labels = [{"paid": int(yes)} for yes in says[:-1]] + [{"paid": int(not says[-1])}]
    lines = evaluate(path_decider(), LabelledStates({"paid": paid}, STATES[:8], labels)).lines()
    assert lines[lines.index("  1 wrong, surest first:") + 1].startswith("    row 8: ")


def test_of_a_long_state_only_the_beginning_is_shown() -> None:
    long = [f"{text} {'and on ' * 20}\x1b[31m" for text in STATES]
    lines = "\n".join(evaluate(path_decider(), LabelledStates(QUESTIONS, long, LABELS)).lines())
    assert "and on and on" in lines
    assert "…'" in lines
    assert max(map(len, lines.splitlines())) < 100
    assert "\x1b" not in lines


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_shows_what_users_wrote_as_text() -> None:
    names = {
        "<script>alert(1)</script>": Boolean("?"),
        "many": Choice(["<b>", *map(str, range(20))]),
    }
    states = [f"<img src=x onerror=alert({n})>" for n in range(40)]
    labels = [dict.fromkeys(names, n % 2) for n in range(40)]
    labelled = LabelledStates(names, states, labels)
    text = page(
        evaluate(path_decider(), labelled, before=evaluate(path_decider(), labelled)), "<i>"
    )
    tags = _Tags()
    tags.feed(text)
    assert not {"script", "img", "b", "link", "iframe"} & set(tags.tags)
    assert "<img src=x onerror" in tags.text
    assert "http" not in text.replace("http-equiv", "")
    assert "default-src 'none'" in text
    assert tags.tags.count("svg") == 3  # two reliability curves, one ROC curve
    for start in text.split("<svg")[1:]:
        plot = ElementTree.fromstring(f"<svg{start.partition('</svg>')[0]}</svg>")
        numbers = " ".join(line.get("points", "") for line in plot.iter("polyline"))
        assert all(0 <= float(each) <= 311 for each in numbers.replace(",", " ").split())
    assert "nan" not in text
