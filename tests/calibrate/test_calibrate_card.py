from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.train import tiny
from thisthat.calibrate.card import calibrate, labelled_rows, write_temperatures
from thisthat.checkpoint import open_checkpoint, read_card, write_card
from thisthat.checkpoint.card import CARD_FILE
from thisthat.checkpoint.ship import ship_taught, ship_whole
from thisthat.decide.heads import Heads
from thisthat.decide.opening import open_decider
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.questions import Kind, Question, Text
from thisthat.temperature import Temperatures


def rows(kind: Kind, count: int) -> list[tuple[Text, Question, int]]:
    items = [item for item in tiny.colour_items(3 * count) if item.kind == kind]
    return [(item.state, item.as_question(), item.answer) for item in items]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A folder with a card of its own."""
    source = open_checkpoint(tiny.write_checkpoint(tmp_path / "plain"))
    ship_whole(source, source.weights(), tmp_path / "carded", source.card)
    return tmp_path / "carded"


def test_heads_are_fitted_to_temperatures_which_stay(checkpoint: Path) -> None:
    with open_decider(checkpoint, engine="torch", device="cpu") as decider:
        decider.heads = Heads((), decider.decode)
        with pytest.raises(
            CheckpointError, match=r"has taught heads.* calibrate the checkpoint below"
        ):
            calibrate(decider, rows("boolean", 60), least_rows=50)


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


def test_temperatures_of_a_part_of_a_delta_are_not_written(tmp_path: Path) -> None:
    base = open_checkpoint(tiny.write_checkpoint(tmp_path / "base"))
    ship_taught(base, base.weights(), tmp_path / "mine", base.card)
    write_temperatures(tmp_path / "mine", Temperatures(2.0))
    card = read_card(tmp_path / "mine" / CARD_FILE)
    assert card.temperatures == Temperatures(2.0)
    write_card(replace(card, lam=0.5), tmp_path / "mine" / CARD_FILE)
    with pytest.raises(CheckpointError, match=r"lambda: is 0\.5; a card on a parent"):
        write_temperatures(tmp_path / "mine", Temperatures())
