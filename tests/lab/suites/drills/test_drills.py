import json
import re
from collections import Counter
from datetime import datetime
from functools import cache
from itertools import islice

import pytest

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import compact_json
from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import Compares
from thisthat_lab.suites.base.fields import Number, Pick
from thisthat_lab.suites.branch.registry import held_out_families
from thisthat_lab.suites.drills import DrillSettings, training_items
from thisthat_lab.suites.drills.asking import ASKS, clause_with_truth
from thisthat_lab.suites.drills.subjects import HELD_OUT_NOUNS, draw_subject


@cache
def drawn() -> list[Item]:
    return list(islice(training_items(7), 3000))


def number(text: str) -> float:
    found = re.search(r"-?[\d,]*\.?\d+", text)
    assert found, text
    return float(found.group().replace(",", ""))


def test_the_same_seed_gives_the_same_items_and_another_seed_others() -> None:
    assert list(islice(training_items(7), 50)) == drawn()[:50]
    assert list(islice(training_items(8), 50)) != drawn()[:50]


def test_every_kind_of_question_is_asked_and_no_answer_is_favoured() -> None:
    asked = Counter(item.family for item in drawn())
    assert set(asked) == {name for name, _, _ in ASKS}
    for family in ("drill_fact", "drill_rule"):
        answers = Counter(item.answer for item in drawn() if item.family == family)
        assert abs(answers[0] - answers[1]) < 4 * sum(answers.values()) ** 0.5
    places: Counter[tuple[int, int]] = Counter()
    for item in drawn():
        if item.kind == "choice":
            places[len(item.options), item.answer] += 1
    for (count, _), times in places.items():
        total = sum(times for (other, _), times in places.items() if other == count)
        assert abs(times - total / count) < 5 * (total / count) ** 0.5 + 3


def test_options_differ_and_the_answer_is_one_of_them() -> None:
    for item in drawn():
        names = [name.casefold() for name, _ in item.options]
        assert len(set(names)) == len(names), item
        assert 0 <= item.answer < len(names)
        item.as_question()


def test_several_questions_in_a_row_share_a_state() -> None:
    runs = Counter(compact_json(item.state) for item in drawn())
    assert 5 < sum(runs.values()) / len(runs) <= 8


def test_the_value_asked_for_stands_in_the_state() -> None:
    for item in drawn():
        if item.family != "drill_value":
            continue
        state = item.state if isinstance(item.state, str) else json.dumps(item.state)
        told = item.options[item.answer][0]
        assert _stands_in(told, state), (told, state)


def _stands_in(told: str, state: str) -> bool:
    if told in state:
        return True
    for form in ("%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%d %b %Y"):
        try:
            day = datetime.strptime(told, form)
        except ValueError:
            continue
        shown = (f"{day:%Y-%m-%d}", f"{day.day} {day:%B %Y}", f"{day:%B} {day.day}, {day.year}")
        return any(text in state for text in shown)
    wanted = number(told)
    return any(number(text) == wanted for text in re.findall(r"[\d,]*\.?\d+", state))


def test_a_number_lies_in_the_range_that_is_the_answer() -> None:
    checked = 0
    for item in drawn():
        ranges = _ranges(item)
        if item.family != "drill_band" or ranges is None:
            continue
        label = _label(item)
        values = [value for key, value in item.facts["record"].items() if key == label]
        if len(values) != 1:
            continue
        checked += 1
        low, high = ranges[item.answer]
        assert low <= values[0] < high, item
    assert checked > 30


def _label(item: Item) -> str | None:
    from thisthat_lab.suites.base.domains import ALL

    found = {
        field.key
        for domain in ALL
        for field in domain.fields
        if isinstance(field, Number)
        and field.key in item.facts["record"]
        and re.search(rf"\b{re.escape(field.label)}\b", item.question)
    }
    return found.pop() if len(found) == 1 else None


def _ranges(item: Item) -> list[tuple[float, float]] | None:
    lines = [text or "" for _, text in item.options]
    if "\n" in item.question:
        lines = item.question.split("\n")[1:]
    found = []
    for line in lines:
        text = line.split(": ")[-1].rstrip(".")
        numbers = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]
        if text.startswith("under ") and len(numbers) == 1:
            found.append((float("-inf"), numbers[0]))
        elif len(numbers) == 2:
            found.append((numbers[0], numbers[1]))
        elif text.endswith("or more") and len(numbers) == 1:
            found.append((numbers[0], float("inf")))
        else:
            return None
    return found


def test_a_condition_is_true_or_false_as_wanted_and_often_by_a_hair() -> None:
    rng = Rng("test")
    near = total = 0
    for _ in range(2000):
        subject = draw_subject(rng, 0.0)
        field = rng.choice(subject.fields)
        wanted = rng.chance(0.5)
        clause = clause_with_truth(subject, field, wanted, rng)
        if clause is None:
            continue
        value = subject.record[field.key]
        if isinstance(field, Pick):
            said = clause.plain()
            inside = value in said["value"]
            assert inside == (said["op"] == "in") if wanted else inside == (said["op"] != "in")
        if isinstance(clause, Compares) and isinstance(field, Number):
            compare = {">=": "ge", ">": "gt", "<=": "le", "<": "lt"}[clause.sign]
            assert getattr(__import__("operator"), compare)(value, clause.limit) is wanted
            total += 1
            near += abs(value - clause.limit) < 0.1 * (field.high - field.low)
    assert near > 0.3 * total


def test_kinds_of_record_that_only_held_out_families_use_stay_out() -> None:
    names = {family.name for family in held_out_families()}
    assert {"claim", "log_anomaly", "shipping"} <= names
    for item in drawn():
        assert not any(noun in compact_json(item.state) for noun in HELD_OUT_NOUNS)


def test_settings_out_of_range_are_named() -> None:
    with pytest.raises(InvalidInputError, match="questions_per_state: is 0; at least 1"):
        DrillSettings(questions_per_state=0)
    with pytest.raises(InvalidInputError, match="notes: is 2"):
        DrillSettings(notes=2)
