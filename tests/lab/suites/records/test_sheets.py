import json

import pytest

from thisthat.items.item import render_state
from thisthat.rng import Rng
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.checks import draw_names
from thisthat_lab.suites.records.fields import key_of
from thisthat_lab.suites.records.sheets import MANY, SINGLE, compose, write_records


@pytest.mark.parametrize("layout", sorted({*SINGLE, *MANY}))
@pytest.mark.parametrize("rows", [1, 3])
def test_every_piece_stands_in_the_state(layout: str, rows: int) -> None:
    rng = Rng("sheets", layout, rows)
    for kind in record_types():
        phrases = [field.phrase for field in kind.fields]
        records = [(name, kind.draw(rng)) for name in draw_names(rng, kind, rows)]
        sheet = write_records(rng, kind, records, phrases, layout)
        state = render_state(compose(rng, [("data", sheet.content), ("notes", "Nothing else.")]))
        assert set(sheet.pieces) == {(row, phrase) for row in range(rows) for phrase in phrases}
        for piece in sheet.pieces.values():
            assert piece in state, (layout, piece)
        for name, _ in records:
            assert name in state


def test_json_reads_back_to_the_record() -> None:
    rng = Rng("json")
    for kind in record_types():
        record = kind.draw(rng)
        phrases = [field.phrase for field in kind.fields]
        sheet = write_records(rng, kind, [("A-1", record)], phrases, "json")
        read = json.loads(json.dumps(sheet.content))
        shown = {
            field.phrase: read[key_of(field, style)]
            for style in ("snake", "camel", "title")
            for field in kind.fields
            if key_of(field, style) in read
        }
        for phrase, value in record.items():
            if isinstance(value, tuple):
                assert shown[phrase] == list(value)
            elif not isinstance(shown[phrase], str) or isinstance(value, str):
                assert shown[phrase] == value


def test_a_missing_fact_is_said_to_be_missing_or_left_out() -> None:
    rng = Rng("missing")
    kind = record_types()[0]
    phrase = kind.fields[0].phrase
    record = {**kind.draw(rng), phrase: None}
    for layout in SINGLE:
        sheet = write_records(rng, kind, [("A-1", record)], [phrase], layout)
        assert (0, phrase) in sheet.pieces
        gone = {key: value for key, value in record.items() if key != phrase}
        assert not write_records(rng, kind, [("A-1", gone)], [phrase], layout).pieces
