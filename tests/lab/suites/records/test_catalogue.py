import pytest

from thisthat.rng import Rng
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.fields import (
    DateField,
    FlagField,
    NumberField,
    PickField,
    TagsField,
    key_of,
    read_type,
    say_number,
)


def test_types_have_their_own_prefixes_and_keys() -> None:
    types = record_types()
    assert len(types) >= 60
    assert len({kind.prefix for kind in types}) == len(types)
    for kind in types:
        assert len(kind.fields) >= 6
        for style in ("snake", "camel", "title"):
            keys = [key_of(field, style) for field in kind.fields]
            assert len(set(keys)) == len(keys), kind.noun


def test_drawn_values_stay_in_their_ranges() -> None:
    for number, kind in enumerate(record_types()):
        record = kind.draw(Rng("range", number))
        for field in kind.fields:
            value = record[field.phrase]
            if isinstance(field, NumberField):
                assert isinstance(value, int)
                assert field.low <= value <= field.high
                assert (value - field.low) % field.step == 0
            elif isinstance(field, PickField):
                assert value in field.values
            elif isinstance(field, TagsField):
                assert isinstance(value, tuple)
                assert 1 <= len(set(value)) == len(value) < len(field.values)


def test_an_entry_is_read_field_by_field() -> None:
    kind = read_type(
        "sea chest SC: weight # kg 5-50/5 | lid ~ locked ? | painted ? | wood = oak, ash, elm "
        "| contents * maps, rope, salt | days at sea # days 0-9 | found on @"
    )
    assert (kind.noun, kind.prefix) == ("sea chest", "SC")
    assert kind.fields == (
        NumberField("weight", "kg", 5, 50, 5),
        FlagField("lid", "locked"),
        FlagField("", "painted"),
        PickField("wood", ("oak", "ash", "elm")),
        TagsField("contents", ("maps", "rope", "salt")),
        NumberField("days at sea", "", 0, 9),
        DateField("found on"),
    )


@pytest.mark.parametrize("entry", ["thing TH: size", "thing TH: colour = red, blue", ": a ? | b ?"])
def test_a_broken_entry_is_refused(entry: str) -> None:
    with pytest.raises(ValueError):
        read_type(entry)


def test_numbers_are_written_with_their_units() -> None:
    assert say_number(1200, "$") == "$1,200"
    assert say_number(-5, "$") == "-$5"
    assert say_number(7, "%") == "7%"
    assert say_number(1, "hours") == "1 hour"
    assert say_number(3, "kg") == "3 kg"
    assert say_number(3, "") == "3"
