"""Packages are read as running text; what is asked of them follows from the index."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from thisthat.errors import InvalidInputError
from thisthat_lab.suites.catalogue import CatalogueSettings, training_items
from thisthat_lab.suites.catalogue.packages import read_packages

_SECTIONS = ("games", "sound", "mail", "graphics")


def written_to(folder: Path, count: int = 40) -> CatalogueSettings:
    """An index of ``count`` invented packages and one that is only transitional."""
    index, texts = [], []
    for place in range(count):
        section = _SECTIONS[place % 4]
        use = "playing" if place % 2 else "viewing"
        index.append(
            f"Package: thing{place}\nTag: role::program, use::{use},\n"
            f" works-with::{section}\nSection: {section}\n"
        )
        texts.append(
            f"Package: thing{place}\nDescription-en: program number {place} for {section}\n"
            f" Thing {place} is a small program for people who like {section}.\n .\n"
            f"  * a list that is left out\n It was written in the year {1990 + place} by hand.\n"
        )
    texts.append("Package: old\nDescription-en: transitional package\n " + "word " * 20 + "\n")
    index.append("Package: old\nSection: games\n")
    settings = CatalogueSettings(folder / "Packages", folder / "Translation-en")
    settings.index.write_text("\n".join(index), encoding="utf-8")
    settings.descriptions.write_text("\n".join(texts), encoding="utf-8")
    return settings


def test_descriptions_become_running_text(tmp_path: Path) -> None:
    settings = written_to(tmp_path)
    packages = read_packages(settings.index, settings.descriptions)
    assert len(packages) == 40
    first = packages[0]
    assert first.summary == "program number 0 for games"
    assert first.section == "games"
    assert first.uses == ("viewing",)
    assert first.works_with == ("games",)
    assert len(first.sentences) == 2
    assert "list" not in first.text


def test_the_right_option_is_that_of_the_package(tmp_path: Path) -> None:
    items = list(islice(training_items(2, written_to(tmp_path)), 1200))
    families = {item.family.removeprefix("catalogue_") for item in items}
    assert families >= {
        "summary",
        "fits",
        "section",
        "in_section",
        "use",
        "for_use",
        "next",
        "text",
    }
    for item in items:
        right = item.options[item.answer][0]
        if item.family == "catalogue_summary":
            number = right.split()[2]
            assert f"Thing {number} is" in str(item.state)
        if item.family == "catalogue_use":
            assert right in ("playing", "viewing")
        if item.family == "catalogue_next":
            assert "year" in right
    for family in ("fits", "in_section", "goes_on"):
        yes = [item.answer for item in items if item.family == f"catalogue_{family}"]
        assert 0.35 < sum(yes) / len(yes) < 0.65


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="Packages"):
        next(training_items(1, CatalogueSettings(tmp_path / "Packages", tmp_path / "Packages")))
