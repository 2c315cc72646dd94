"""Labels that taught a checkpoint are known again, whatever file they come in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thisthat import Boolean, Choice
from thisthat.checkpoint import read_card, write_card
from thisthat.checkpoint.card import CARD_FILE, DeltaReference, Parent
from thisthat.checkpoint.opening import DEFAULT, SHIPPED
from thisthat.items.labels import LabelledStates
from thisthat.questions import Question
from thisthat.teach.known import SAMPLE, Label, hashes, last_taught, taught_share

RED = Boolean("Is it red?")
SHADE = Choice(["dark", "light"], "Which shade?")


def labels(first: int, last: int, question: Question = RED) -> list[Label]:
    return [(f"state {n}", question, n % 2) for n in range(first, last)]


def file(*given: Label) -> LabelledStates:
    questions = {str(question.instructions): question for _, question, _ in given}
    right = [{str(question.instructions): label} for _, question, label in given]
    return LabelledStates(questions, [state for state, _, _ in given], right)


def taught(folder: Path, given: list[Label], parent: str = "default", lam: float = 1.0) -> str:
    """A folder with the card of a checkpoint that these labels taught."""
    folder.mkdir()
    base = Parent(parent, "below", "1", lam, "0" * 64)
    delta = DeltaReference("heads.safetensors", "0" * 64, "heads")
    default = read_card(SHIPPED[DEFAULT] / CARD_FILE)
    card = replace(default, base=base, delta=delta, lam=1.0, provenance=hashes(given))
    write_card(card, folder / CARD_FILE)
    return str(folder)


def test_order_repetition_and_the_order_of_options_do_not_count(tmp_path: Path) -> None:
    ref = taught(tmp_path / "mine", labels(0, 40) + labels(0, 40, SHADE))
    other = Choice(["light", "dark"], "Which shade?")
    turned = [(state, other, 1 - label) for state, _, label in labels(0, 40, SHADE)]
    assert taught_share(ref, None, file(*labels(0, 40)[::-1], *labels(0, 5))) == 1
    assert taught_share(ref, None, file(*turned)) == 1


def test_other_states_labels_and_questions_are_others(tmp_path: Path) -> None:
    ref = taught(tmp_path / "mine", labels(0, 40))
    assert taught_share(ref, None, file(*labels(40, 80))) == 0
    assert taught_share(ref, None, file(*labels(0, 40, SHADE))) == 0
    assert taught_share(ref, None, file(*((s, q, 1 - y) for s, q, y in labels(0, 40)))) == 0


@pytest.mark.parametrize("count", [100, 8 * SAMPLE])
def test_a_file_that_was_added_to_or_cut_is_known(count: int, tmp_path: Path) -> None:
    ref = taught(tmp_path / "mine", labels(0, count))
    assert taught_share(ref, None, file(*labels(0, count // 2))) == 1
    grown = taught_share(ref, None, file(*labels(0, 2 * count)))
    assert grown == pytest.approx(0.5, abs=0.05)
    assert taught_share(ref, None, file(*labels(count, 2 * count))) == 0


def test_a_card_from_before_knows_the_whole_file(tmp_path: Path) -> None:
    ref = taught(tmp_path / "mine", labels(0, 40))
    path = Path(ref) / CARD_FILE
    card = read_card(path)
    write_card(replace(card, provenance={"labels_sha256": card.provenance["labels_sha256"]}), path)
    assert taught_share(ref, None, file(*labels(0, 40)[::-1])) == 1
    assert taught_share(ref, None, file(*labels(0, 39))) == 0


def test_the_stack_counts_as_far_as_it_is_in_use(tmp_path: Path) -> None:
    taught(tmp_path / "middle", labels(0, 40))
    ref = taught(tmp_path / "top", labels(40, 80), "../middle")
    assert taught_share(ref, None, file(*labels(0, 40))) == 1
    assert taught_share(ref, 0.0, file(*labels(0, 40))) == 1
    assert taught_share(ref, 0.0, file(*labels(40, 80))) == 0
    off = taught(tmp_path / "off", labels(40, 80), "../middle", lam=0.0)
    assert taught_share(off, None, file(*labels(0, 40))) == 0


def test_what_is_no_folder_with_a_card_taught_nothing(tmp_path: Path) -> None:
    assert taught_share("default", None, file(*labels(0, 40))) == 0
    assert taught_share(str(tmp_path), None, file(*labels(0, 40))) == 0


def test_the_last_label_that_taught_is_found(tmp_path: Path) -> None:
    ref = taught(tmp_path / "mine", labels(0, 40))
    assert last_taught(ref, None, labels(40, 50) + labels(30, 40) + labels(50, 60)) == 19
    assert last_taught(ref, None, labels(0, 40)) == 39
    assert last_taught(ref, None, labels(40, 80)) is None
    assert last_taught(ref, 0.0, labels(0, 40)) is None
