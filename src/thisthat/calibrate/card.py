"""Calibrate a checkpoint folder: answer held-out rows, fit temperatures, write them to its card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thisthat.calibrate.fit import LEAST_ROWS, GroupFit, Labelled, fit_temperatures
from thisthat.checkpoint.card import CARD_FILE, read_card, write_card
from thisthat.errors import CheckpointError
from thisthat.prompt_format import Layout
from thisthat.questions import Question, Text
from thisthat.temperature import Temperatures

if TYPE_CHECKING:
    from thisthat.decide.decider import Decider

_SMALLEST = 1e-300


def labelled_rows(
    decider: Decider, labelled: Sequence[tuple[Text, Question, int]], layout: Layout
) -> list[Labelled]:
    """The decider's logits for every question with more than one option, before temperatures."""
    asked = [each for each in labelled if len(each[1].declared) > 1]
    pairs = [(state, {"q": question}) for state, question, _ in asked]
    decisions = decider.decide_pairs(pairs, layout=layout)
    rows: list[Labelled] = []
    for (_, question, label), decision in zip(asked, decisions, strict=True):
        p = np.array(list(decision["q"].probabilities.values()))
        heat = decider.reading.temperatures.of(question.kind, len(p), layout)
        rows.append(Labelled(question.kind, heat * np.log(np.maximum(p, _SMALLEST)), label))
    return rows


def calibrate(
    decider: Decider,
    labelled: Sequence[tuple[Text, Question, int]],
    least_rows: int = LEAST_ROWS,
) -> tuple[Temperatures, dict[Layout, list[GroupFit]]]:
    """Temperatures for every layout of the checkpoint, and their effect.

    ``labelled`` are states, questions about them and the indices of the right options.

    Raises InvalidInputError for a question type with fewer than ``least_rows`` rows, and
    CheckpointError for a decider with heads.
    """
    if decider.heads is not None:
        # They move answers after temperatures: new ones would move what the heads were fitted on.
        raise CheckpointError(
            f"{decider.source.name}: has taught heads, which are fitted to its temperatures; "
            "calibrate the checkpoint below it and teach again"
        )
    fits: dict[Layout, list[GroupFit]] = {}
    fitted: dict[Layout, Temperatures] = {}
    for layout in decider.reading.layouts:
        rows = labelled_rows(decider, labelled, layout)
        fitted[layout], fits[layout] = fit_temperatures(rows, least_rows)
    if "state-first" not in fitted:
        return fitted["schema-first"], fits
    return replace(fitted["state-first"], schema_first=fitted.get("schema-first")), fits


def write_temperatures(folder: Path, temperatures: Temperatures) -> None:
    """Write the temperatures to the card in ``folder``.

    Raises CheckpointError without a card, or where they would not hold: on a parent, a card's
    temperatures are those of λ = 1.
    """
    path = folder / CARD_FILE
    if not path.is_file():
        raise CheckpointError(f"{folder}: has no {CARD_FILE} to write temperatures to")
    card = read_card(path)
    if card.parent is not None and card.lam != 1:
        raise CheckpointError(
            f"{path}: lambda: is {card.lam:g}; a card on a parent holds the temperatures of λ = 1"
        )
    write_card(replace(card, temperatures=temperatures), path)
