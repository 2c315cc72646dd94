"""Builders for spatial families: a boolean, a choice or a score about one scene.

A family gives a ``fill`` (what to ask, as blanks of the wording), a truth function and its
words, which stand in the ``wordings.json`` of its folder. The first wording and the first option
names are the fixed ones of the benchmark; on a scene that does not ask for those, the wording is
drawn at random, booleans are asked the other way round as well, and options may be described or
reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from thisthat.rng import Rng
from thisthat_lab.suites.base.family import Asked, Family
from thisthat_lab.suites.spatial.scene import MapScene, SceneKind, SnakeScene, WindowScene
from thisthat_lab.tables import Tables

SceneT = TypeVar("SceneT", WindowScene, MapScene, SnakeScene)
Blanks: TypeAlias = "Mapping[str, Any]"

NEGATED_SHARE = 0.35
DESCRIBED_SHARE = 0.35
SHUFFLED_SHARE = 0.5


@dataclass(frozen=True)
class Case(Generic[SceneT]):
    """One question about one scene: what fills the wording, and whether it is asked negated."""

    scene: SceneT
    blanks: Blanks
    negated: bool = False


@dataclass(frozen=True)
class Words:
    """How a family asks; every text may hold blanks.

    A boolean has ``negated`` wordings and ``described`` pairs (what false means, what true means);
    a choice has ``names``, the recorded ones and then other ways to say them, and
    ``descriptions``; a score has several ways to write its ``levels``.
    """

    wordings: tuple[str, ...]
    negated: tuple[str, ...] = ()
    described: tuple[tuple[str, str], ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    descriptions: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()


def words_of(module: str, name: str) -> Words:
    """The words of a family, from the ``wordings.json`` beside its module."""
    return _wordings(Path(module).with_name("wordings")).read(name, Words)


@cache
def _wordings(file: Path) -> Tables:
    return Tables(str(file))


@dataclass(frozen=True)
class SpatialFamily(Family[Case[SceneT], SceneT]):
    """A family about one kind of scene.

    ``balanced`` is False where the answer is an outcome, whose frequency is the lesson.
    """

    scene_kind: SceneKind = "window"
    balanced: bool = True


def boolean(
    name: str,
    scene_kind: SceneKind,
    fill: Callable[[Rng, SceneT], Blanks | None],
    truth: Callable[[SceneT, Blanks], bool],
    words: Words,
    facts: Callable[[Case[SceneT]], Blanks] | None = None,
    balanced: bool = True,
    held_out: bool = False,
) -> SpatialFamily[SceneT]:
    """A yes-or-no family."""
    negated, described = words.negated, words.described

    def draw(rng: Rng, scene: SceneT) -> Case[SceneT] | None:
        blanks = fill(rng, scene)
        if blanks is None:
            return None
        flip = not scene.fixed and bool(negated) and rng.chance(NEGATED_SHARE)
        return Case(scene, blanks, flip)

    def solve(case: Case[SceneT]) -> int:
        return int(truth(case.scene, case.blanks) != case.negated)

    def render(case: Case[SceneT], rng: Rng) -> Asked:
        scene, blanks = case.scene, case.blanks
        wording = _pick(negated if case.negated else words.wordings, scene.fixed, rng)
        no: str | None = None
        yes: str | None = None
        if described and not scene.fixed and rng.chance(DESCRIBED_SHARE):
            no, yes = (text.format(**blanks) for text in rng.choice(described))
            if case.negated:
                no, yes = yes, no
        more = facts(case) if facts else {}
        return Asked(
            scene.state,
            wording.format(**blanks),
            (("no", no), ("yes", yes)),
            {**scene.facts, **more},
        )

    return SpatialFamily(
        name, "spatial", "boolean", 2, held_out, draw, solve, render, None, scene_kind, balanced
    )


def choice(
    name: str,
    scene_kind: SceneKind,
    fill: Callable[[Rng, SceneT], Blanks | None],
    truth: Callable[[SceneT, Blanks], int],
    words: Words,
    shuffle: bool = True,
    held_out: bool = False,
) -> SpatialFamily[SceneT]:
    """A family with named options; ``shuffle`` is False where their order means something."""
    names, descriptions = words.names, words.descriptions
    count = len(names[0])
    if any(len(way) != count for way in names) or len(descriptions or names[0]) != count:
        raise ValueError(f"{name}: every way to name the options must name {count}")

    def solve(case: Case[SceneT]) -> int:
        return truth(case.scene, case.blanks)

    def render(case: Case[SceneT], rng: Rng) -> Asked:
        scene, blanks = case.scene, case.blanks
        wording = _pick(words.wordings, scene.fixed, rng)
        chosen = _pick(names, scene.fixed, rng)
        tell = bool(descriptions) and not scene.fixed and rng.chance(DESCRIBED_SHARE)
        texts = descriptions if tell and descriptions else (None,) * count
        options = tuple(
            (option.format(**blanks), text.format(**blanks) if text else None)
            for option, text in zip(chosen, texts, strict=True)
        )
        reorder = shuffle and not scene.fixed and rng.chance(SHUFFLED_SHARE)
        return Asked(scene.state, wording.format(**blanks), options, scene.facts, shuffle=reorder)

    return SpatialFamily(
        name, "spatial", "choice", count, held_out, _drawing(fill), solve, render, None, scene_kind
    )


def score(
    name: str,
    scene_kind: SceneKind,
    fill: Callable[[Rng, SceneT], Blanks | None],
    truth: Callable[[SceneT, Blanks], int],
    words: Words,
) -> SpatialFamily[SceneT]:
    """A family with ordered levels."""
    levels = words.levels
    count = len(levels[0])

    def solve(case: Case[SceneT]) -> int:
        return min(truth(case.scene, case.blanks), count - 1)

    def render(case: Case[SceneT], rng: Rng) -> Asked:
        scene = case.scene
        wording = _pick(words.wordings, scene.fixed, rng).format(**case.blanks)
        texts = _pick(levels, scene.fixed, rng)
        options = tuple((str(level), text) for level, text in enumerate(texts))
        return Asked(scene.state, wording, options, scene.facts)

    return SpatialFamily(
        name, "spatial", "score", count, False, _drawing(fill), solve, render, None, scene_kind
    )


def _drawing(
    fill: Callable[[Rng, SceneT], Blanks | None],
) -> Callable[[Rng, SceneT], Case[SceneT] | None]:
    def draw(rng: Rng, scene: SceneT) -> Case[SceneT] | None:
        blanks = fill(rng, scene)
        return None if blanks is None else Case(scene, blanks)

    return draw


Picked = TypeVar("Picked")


def _pick(ways: tuple[Picked, ...], fixed: bool, rng: Rng) -> Picked:
    return ways[0] if fixed else rng.choice(ways)
