"""Senses are read with their words, examples and relations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.suites.lexicon.small import written_to
from thisthat.errors import InvalidInputError
from thisthat_lab.suites.lexicon.wordnet import WordNet


def test_a_sense_has_its_words_definition_examples_and_relations(tmp_path: Path) -> None:
    net = WordNet(written_to(tmp_path))
    (dog,) = net.by_word["dog"]
    assert dog.words == ("dog", "hound")
    assert dog.category == "noun.animal"
    assert dog.definition == "a domestic animal that barks"
    assert dog.examples == ("the dog slept by the fire",)
    assert [sense.word for sense in net.ancestors(dog)] == ["animal", "entity"]
    assert [sense.word for sense in net.to(dog, "%p")] == ["tail"]
    assert {net.senses[key].word for key in net.all_ancestors(dog)} == {"dog", "animal", "entity"}


def test_marks_of_use_are_no_part_of_a_word(tmp_path: Path) -> None:
    assert "chilly" in WordNet(written_to(tmp_path)).by_word


def test_only_counted_words_are_familiar(tmp_path: Path) -> None:
    words = {sense.word for sense in WordNet(written_to(tmp_path)).familiar}
    assert "dog" in words
    assert "entity" not in words


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (written_to(tmp_path) / "data.verb").unlink()
    with pytest.raises(InvalidInputError, match=r"data\.verb"):
        WordNet(tmp_path)
