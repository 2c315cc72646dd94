import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any

import pytest

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import compact_json
from thisthat_lab.suites.drills import DrillSettings, training_items
from thisthat_lab.suites.drills.several import ASKS_OF_SEVERAL
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.fields import DateField, NumberField, say

RISING = ("higher", "larger", "greater", "later")
FALLING = ("lower", "smaller", "earlier")
EVERY = r"all of them|every one|all entries"


@cache
def drawn() -> list[Item]:
    return list(islice(training_items(7, DrillSettings(several=1.0)), 6000))


def records(item: Item) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = item.facts["records"]
    return found


def named(item: Item) -> list[str]:
    """The records that the question names, in its order."""
    names = sorted(records(item), key=len, reverse=True)
    return re.findall(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?!\w)", item.question)


def field_of(item: Item) -> Any:
    """The field that the question names; the longest where one name holds another."""
    phrases = set(next(iter(records(item).values())))
    (kind,) = [
        kind for kind in record_types() if {field.phrase for field in kind.fields} == phrases
    ]
    asked = item.question.replace(kind.noun, "")
    told = [f for f in kind.fields if re.search(rf"\b{re.escape(f.phrase)}\b", asked)]
    return max(told, key=lambda field: len(field.phrase))


def asked_about(family: str) -> list[tuple[Item, Any]]:
    return [(item, field_of(item)) for item in drawn() if item.family == family]


def test_every_kind_of_question_is_asked() -> None:
    assert {item.family for item in drawn()} == {name for name, _, _ in ASKS_OF_SEVERAL}


def test_no_wording_and_no_kind_of_field_gives_a_boolean_away() -> None:
    answers: dict[tuple[object, ...], Counter[int]] = defaultdict(Counter)
    for item in drawn():
        if item.kind == "boolean":
            every = re.search(EVERY, item.question) is not None
            form = (item.family, every, " than " in item.question, type(field_of(item)))
            answers[form][item.answer] += 1
    assert len(answers) > 10
    for form, counts in answers.items():
        assert abs(counts[0] - counts[1]) <= 3.5 * sum(counts.values()) ** 0.5, (form, counts)


def test_no_count_is_right_more_often_than_others_by_far() -> None:
    answers: dict[tuple[int, bool], Counter[int]] = defaultdict(Counter)
    for item in drawn():
        if item.family == "drill_how_many":
            answers[len(item.options), " than " in item.question][item.answer] += 1
    for (levels, _), counts in answers.items():
        if sum(counts.values()) > 100:
            assert max(counts.values()) < 1.75 * sum(counts.values()) / levels, counts


def test_what_most_records_have_is_right_no_more_often() -> None:
    common = Counter(_is_common(item, field) for item, field in asked_about("drill_value_of"))
    assert common[True] < 0.6 * common.total()


def _is_common(item: Item, field: Any) -> bool:
    held = Counter(say(field, record[field.phrase]) for record in records(item).values())
    return held[item.options[item.answer][0]] == max(held.values()) > min(held.values())


def test_no_question_is_asked_twice_about_a_state() -> None:
    asked = Counter((compact_json(item.state), item.question) for item in drawn())
    assert max(asked.values()) == 1


def test_without_several_the_stream_is_what_it_was() -> None:
    said = "\n".join(item.fingerprint for item in islice(training_items(7), 400))
    assert hashlib.sha256(said.encode()).hexdigest().startswith("a13b6a9056ba339b")
    mixed = Counter(
        "records" in item.facts
        for item in islice(training_items(7, DrillSettings(several=0.5)), 2000)
    )
    assert 700 < mixed[True] < 1300


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_outside_zero_to_one_is_named(share: float) -> None:
    with pytest.raises(InvalidInputError, match="several"):
        DrillSettings(several=share)


def test_names_stand_in_the_state_and_are_no_values() -> None:
    for item in drawn():
        shown = item.state if isinstance(item.state, str) else json.dumps(item.state)
        for name, record in records(item).items():
            assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w])", shown), item
            assert name not in record.values()
        assert len({name for name, _ in item.options}) == len(item.options)
    assert len({compact_json(item.state) for item in drawn()}) > 400


def test_tables_and_json_show_the_values_of_the_records() -> None:
    checked = Counter[str]()
    for item, field in asked_about("drill_value_of"):
        (name,) = named(item)
        shown = item.state if isinstance(item.state, str) else json.dumps(item.state)
        told = say(field, records(item)[name][field.phrase])
        line = re.search(rf"^{re.escape(name)}(,| \| )(.*)$", shown, re.MULTILINE)
        if line is not None:
            cells = [cell.replace(",", "") for cell in line.group(2).split(line.group(1))]
            assert told.replace(",", "") in cells, item
            checked["table"] += 1
        entry = re.search(rf'\{{"id": ?"{re.escape(name)}"[^}}]*\}}', shown)
        if entry is not None:
            values = list(json.loads(entry.group()).values())
            raw = records(item)[name][field.phrase]
            assert (told if isinstance(field, DateField) else raw) in values, item
            checked["json"] += 1
    assert min(checked["table"], checked["json"]) > 50


def test_a_value_is_the_one_of_the_record() -> None:
    for item, field in asked_about("drill_value_of"):
        (name,) = named(item)
        assert item.options[item.answer][0] == say(field, records(item)[name][field.phrase])


def test_the_holder_alone_has_the_value() -> None:
    for item, field in asked_about("drill_holder"):
        answer = item.options[item.answer][0]
        asked = item.question.replace(field.phrase, "").replace("Which one", "")
        held = {name: say(field, record[field.phrase]) for name, record in records(item).items()}
        told = [
            text for text in held.values() if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", asked)
        ]
        # "half shade" holds "shade": the longest is meant.
        meant = max(told, key=len, default=None)
        holders = [name for name, text in held.items() if text == meant]
        assert holders == ([answer] if answer in held else []), item


def test_two_records_are_the_same_or_not() -> None:
    for item, field in asked_about("drill_same"):
        left, right = (records(item)[name][field.phrase] for name in named(item))
        asked_other = re.search(r"\bdiffer in\b|\bdifferent for\b|\banother than\b", item.question)
        assert item.answer == int((left == right) != (asked_other is not None)), item


def test_more_is_more() -> None:
    for item, field in asked_about("drill_more"):
        left, right = (records(item)[name][field.phrase] for name in named(item))
        if item.question.startswith("Compared"):
            left, right = right, left
        rising = re.search(rf"\b({'|'.join(RISING)})\b", item.question) is not None
        assert item.answer == int(left > right if rising else left < right), item


def test_the_most_is_the_most() -> None:
    for item, field in asked_about("drill_most"):
        held = {name: record[field.phrase] for name, record in records(item).items()}
        best = max if re.search(r"highest|largest|leads", item.question) else min
        assert item.options[item.answer][0] == best(held, key=held.__getitem__), item
        assert isinstance(field, NumberField)


def test_counts_and_quantifiers_agree_with_the_records() -> None:
    for family in ("drill_how_many", "drill_any"):
        for item, field in asked_about(family):
            holds = [_holds(item, field, record[field.phrase]) for record in records(item).values()]
            every = re.search(EVERY, item.question) is not None
            truth = all(holds) if every else any(holds)
            assert item.answer == (sum(holds) if family == "drill_how_many" else int(truth)), item


def _holds(item: Item, field: Any, value: Any) -> bool:
    found = re.search(rf" ({'|'.join(RISING + FALLING)}) than (.+?)[.?]?$", item.question)
    if found is None or not isinstance(field, NumberField | DateField):
        rest = item.question.replace(field.phrase, "")
        return re.search(rf"(?<![\w,.]){re.escape(say(field, value))}(?!\w)", rest) is not None
    mine, limit = say(field, value), found.group(2)
    if isinstance(field, NumberField):
        mine, limit = value, int(re.sub(r"[$,%]", "", limit.split()[0]))
    return bool(mine > limit if found.group(1) in RISING else mine < limit)
