from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.train import tiny
from thisthat.calibrate.card import calibrate, labelled_rows, write_temperatures
from thisthat.checkpoint import open_checkpoint
from thisthat.checkpoint.ship import ship_whole
from thisthat.decide.opening import open_decider
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import Kind
from thisthat.temperature import Temperatures


def rows(kind: Kind, count: int) -> list[Item]:
    return [item for item in tiny.colour_items(3 * count) if item.kind == kind]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A folder with a card of its own."""
    source = open_checkpoint(tiny.write_checkpoint(tmp_path / "plain"))
    ship_whole(source, source.weights(), tmp_path / "carded", source.card)
    return tmp_path / "carded"


def test_temperatures_go_on_the_card_and_are_used(checkpoint: Path) -> None:
    with open_decider(checkpoint, engine="torch", device="cpu") as decider:
        temperatures, fits = calibrate(decider, rows("boolean", 60), least_rows=50)
        before = labelled_rows(decider, rows("boolean", 5), "state-first")
    assert set(fits) == {"state-first", "schema-first"}
    assert temperatures.schema_first is not None
    for groups in fits.values():
        assert [group.name for group in groups] == ["boolean"]
        assert groups[0].nll_after <= groups[0].nll_before
    write_temperatures(checkpoint, temperatures)
    with open_decider(checkpoint, engine="torch", device="cpu") as decider:
        assert decider.reading.temperatures == temperatures
        after = labelled_rows(decider, rows("boolean", 5), "state-first")
    for one, other in zip(before, after, strict=True):
        # Logits are known up to a constant; temperatures are taken out of them.
        assert one.logits[1] - one.logits[0] == pytest.approx(
            other.logits[1] - other.logits[0], abs=1e-4
        )


def test_too_few_rows_and_no_card_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    with (
        open_decider(checkpoint, engine="torch", device="cpu") as decider,
        pytest.raises(InvalidInputError, match=r"rows.score: 20 given"),
    ):
        calibrate(decider, rows("score", 20))
    with pytest.raises(CheckpointError, match=r"has no decision\.json"):
        write_temperatures(tmp_path / "plain", Temperatures())
