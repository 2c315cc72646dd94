"""Items of the lexicon: what is right follows from the dictionary."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tests.lab.suites.lexicon.small import written_to
from thisthat.items.item import Item, render_state
from thisthat_lab.suites.lexicon import LexiconSettings, training_items
from thisthat_lab.suites.lexicon.wordnet import WordNet


def drawn(folder: Path, count: int = 1500) -> list[Item]:
    return list(islice(training_items(3, LexiconSettings(written_to(folder))), count))


def test_every_family_is_asked_and_answers_are_even(tmp_path: Path) -> None:
    items = drawn(tmp_path)
    families = {item.family.removeprefix("lexicon_") for item in items}
    assert families >= {"meaning", "in_sense", "word_for", "means", "kind", "is_kind", "category"}
    assert families >= {"opposite", "same", "relation", "part", "gap", "odd", "member", "any"}
    for family in ("is_kind", "in_sense", "any"):
        yes = [item.answer for item in items if item.family == f"lexicon_{family}"]
        assert 0.35 < sum(yes) / len(yes) < 0.65
    for item in items:
        assert len({name for name, _ in item.options}) == len(item.options) > 1


def test_meanings_kinds_and_opposites_are_those_of_the_dictionary(tmp_path: Path) -> None:
    net = WordNet(written_to(tmp_path))
    for item in drawn(tmp_path):
        right = item.options[item.answer][0]
        text = render_state(item.state)
        if item.family == "lexicon_meaning" and "beam" in text:
            assert right == "a machine that lifts heavy loads"
        if item.family == "lexicon_opposite" and "hot" in text:
            assert right == "cold"
        if item.family == "lexicon_word_for":
            (sense,) = [each for each in net.by_word[right] if each.definition in text]
            assert sense.word == right
        if item.family == "lexicon_gap":
            assert right not in text
            assert "…" in text


def test_the_same_seed_gives_the_same_items(tmp_path: Path) -> None:
    assert drawn(tmp_path, 80) == drawn(tmp_path, 80)
