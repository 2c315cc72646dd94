"""Questions about what a text describes, several about one state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import YES_NO
from thisthat_lab.suites.catalogue.packages import Package, read_packages
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_SECTIONS = _TABLES.read("sections", dict[str, str])


_UNTOLD = {"rust", "debug", "haskell", "libdevel"}
"""Sections whose descriptions are nearly all one template."""


@dataclass(frozen=True)
class CatalogueSettings:
    """``index`` is a release's ``Packages`` file, ``descriptions`` its ``Translation-en``."""

    index: Path
    descriptions: Path


def training_items(seed: int, settings: CatalogueSettings) -> Iterator[Item]:
    """Endless items; those about one state follow one another."""
    packages = _read(settings.index, settings.descriptions)
    return _Stream(packages, Rng("catalogue", seed)).items()


@lru_cache(maxsize=1)
def _read(index: Path, descriptions: Path) -> list[Package]:
    packages = read_packages(index, descriptions)
    return [package for package in packages if package.section not in _UNTOLD]


class _Stream:
    def __init__(self, packages: Sequence[Package], rng: Rng) -> None:
        self._packages, self._rng = packages, rng
        self._sections: dict[str, list[Package]] = {}
        for package in packages:
            self._sections.setdefault(package.section, []).append(package)
        self._uses = sorted({use for package in packages for use in package.uses})
        self._things = sorted({thing for package in packages for thing in package.works_with})

    def items(self) -> Iterator[Item]:
        while True:
            package = self._rng.choice(self._packages)
            make = self._rng.weighted([self._about, self._continued, self._titled], [5, 2, 2])
            yield from (item for item in make(package) if item is not None)

    def _about(self, package: Package) -> Iterator[Item | None]:
        sentences = package.sentences
        state = " ".join(sentences[: self._rng.integer(1, 3)]) or package.text
        if self._rng.chance(0.3):
            state = f"{package.summary}. {state}"
        else:
            others = [other.summary for other in self._others(package)]
            yield self._choice("summary", state, package.summary, others)
            yes = self._rng.chance(0.5)
            yield self._boolean("fits", state, yes, summary=package.summary if yes else others[0])
        if package.section in _SECTIONS:
            wrong = [text for name, text in _SECTIONS.items() if name != package.section]
            right = _SECTIONS[package.section]
            yield self._choice("section", state, right, self._rng.sample(wrong, 9))
            yes = self._rng.chance(0.5)
            section = right if yes else self._rng.choice(wrong)
            yield self._boolean("in_section", state, yes, section=section)
        for family, tags, known in (
            ("use", package.uses, self._uses),
            ("works_with", package.works_with, self._things),
        ):
            if tags:
                wrong = [name for name in known if name not in tags]
                drawn = self._rng.sample(wrong, min(7, len(wrong)))
                yield self._choice(family, state, self._rng.choice(tags), drawn)
        if package.uses:
            yes = self._rng.chance(0.5)
            wrong = [name for name in self._uses if name not in package.uses]
            yield self._boolean(
                "for_use", state, yes, use=self._rng.choice(package.uses if yes else wrong)
            )

    def _continued(self, package: Package) -> Iterator[Item | None]:
        sentences = package.sentences
        if len(sentences) < 2:
            return
        at = self._rng.integer(1, len(sentences) - 1)
        state = " ".join(sentences[max(0, at - 3) : at])
        others = [s for other in self._others(package) for s in other.sentences[1:2]]
        if not others:
            return
        yield self._choice("next", state, sentences[at], others)
        yes = self._rng.chance(0.5)
        yield self._boolean("goes_on", state, yes, sentence=sentences[at] if yes else others[0])

    def _titled(self, package: Package) -> Iterator[Item | None]:
        texts = [(o.sentences or [o.text])[0] for o in self._others(package)[:4]]
        yield self._choice("text", package.summary, (package.sentences or [package.text])[0], texts)

    def _others(self, package: Package) -> list[Package]:
        """Other packages with other summaries, often of the same section."""
        near = self._sections[package.section]
        peers = near if self._rng.chance(0.6) and len(near) > 20 else self._packages
        drawn = [self._rng.choice(peers) for _ in range(self._rng.integer(2, 8))]
        fit = [other for other in drawn if other.summary != package.summary]
        return fit or [next(o for o in self._packages if o.summary != package.summary)]

    def _choice(self, family: str, state: str, right: str, others: Sequence[str]) -> Item | None:
        wrong = [other for other in dict.fromkeys(others) if other != right]
        if not wrong:
            return None
        wrong = self._rng.sample(wrong, self._rng.integer(1, len(wrong)))
        names = self._rng.shuffled([right, *wrong])
        question = self._rng.choice(_TABLES.words(family))
        options = tuple((" ".join(name.replace("-", " ").split()), None) for name in names)
        return Item(
            "catalogue",
            f"catalogue_{family}",
            "choice",
            state,
            question,
            options,
            names.index(right),
        )

    def _boolean(self, family: str, state: str, yes: bool, **named: str) -> Item:
        question = self._rng.choice(_TABLES.words(family)).format(**named)
        return Item(
            "catalogue", f"catalogue_{family}", "boolean", state, question, YES_NO, int(yes)
        )
