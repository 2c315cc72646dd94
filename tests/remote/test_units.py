"""Clients that take part in a canary: who answers them, and what is on record."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import thisthat
from tests.serve.support import on_loopback
from tests.serve.test_trials import CANARY, begin, registry_in, service_of, store_of
from thisthat.errors import InvalidInputError, ServerError
from thisthat.loop.assignment_log import assignments
from thisthat.loop.registry import Registry
from thisthat.serve.service import Service

LOST = {"lost": "Is it lost?"}
UNITS = [f"customer {number}" for number in range(30)]


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return registry_in(tmp_path)


@pytest.fixture
def served(registry: Registry) -> Iterator[tuple[Service, str]]:
    service = service_of(registry)
    with on_loopback(service) as address:
        yield service, address


def test_a_unit_keeps_its_arm_and_the_decision_says_who_answered(
    registry: Registry, served: tuple[Service, str]
) -> None:
    service, address = served
    decider = thisthat.connect(address)
    assert decider.for_unit("customer 1").decide("s", LOST).source.name == "first"
    name = begin(registry, service).name
    arms = {unit: decider.for_unit(unit).decide("s", LOST).source for unit in UNITS}
    assert {each.name for each in arms.values()} == {"first", "second"}
    assert {each.lam for each in arms.values() if each.name == "second"} == {0.5}
    for unit in UNITS[:5]:
        own = decider.for_unit(unit)
        found = [*own.decide_many(["a", "b"], LOST), own.decide("c", LOST)]
        assert {each.source for each in found} == {arms[unit]}
        assert own.conditions().checkpoint == arms[unit].name

    async def both() -> list[str]:
        asked = [decider.for_unit(unit).decide_async("s", LOST) for unit in UNITS]
        return [each.source.name for each in await asyncio.gather(*asked)]

    assert asyncio.run(both()) == [each.name for each in arms.values()]
    rows = list(assignments(store_of(registry), name))
    assert len(rows) == len(UNITS) * 2 + 10
    assert len({each.unit for each in rows}) == len(UNITS)
    decider.close()


def test_without_a_unit_answers_are_never_mixed(
    registry: Registry, served: tuple[Service, str]
) -> None:
    service, address = served
    plain, champions = thisthat.connect(address), thisthat.connect(address, lam=1)
    plain.decide("s", LOST)
    begin(registry, service, replace(CANARY, share=0.99))
    with pytest.raises(ServerError, match=r"or name a unit \(unit=\) to take part"):
        plain.decide_pairs([(f"s{n}", {f"q{n}": "Is it lost?"}) for n in range(20)])
    assert {champions.decide("s", LOST).source.name for _ in range(5)} == {"first"}


def test_a_unit_is_answered_by_whoever_follows_and_has_no_conditions_then(
    registry: Registry, served: tuple[Service, str]
) -> None:
    service, address = served
    deciders = [thisthat.connect(address, unit=unit) for unit in UNITS]
    for each in deciders:
        assert each.decide("s", LOST).source.name == each.conditions().checkpoint == "first"
    begin(registry, service)
    moved = [each for each in deciders if each.decide("s", LOST).source.name == "second"]
    for each in deciders:
        if each not in moved:
            assert each.conditions().checkpoint == "first"
            continue
        with pytest.raises(ServerError, match="several checkpoints answered: checkpoint is second"):
            each.conditions()
    assert moved
    assert "unit 'customer 1'" in repr(deciders[1])


def test_the_champion_answers_for_a_candidate_that_fails(
    registry: Registry, served: tuple[Service, str]
) -> None:
    service, address = served
    begin(registry, service, replace(CANARY, version="three", share=0.99))
    failing: Any = service.trials.running[0].decider  # type: ignore[union-attr]
    failing.engine.broken = True
    failing.source = replace(failing.source, weights="of the candidate")
    found = thisthat.connect(address, unit="customer 1").decide("s", LOST)
    assert (found.source.name, found.source.weights) == ("first", None)


def test_a_unit_of_a_client_leaves_the_client_open(served: tuple[Service, str]) -> None:
    decider = thisthat.connect(served[1])
    with decider.for_unit("customer 1") as own:
        own.ask("s", "Is it?")
    assert asyncio.run(decider.ask_async("s", "Is it?")) >= 0
    decider.close()


@pytest.mark.parametrize("unit", ["", "x" * 201, "Zoë", " a", "a\nb", 7])
def test_a_unit_that_cannot_be_sent_is_refused(unit: str) -> None:
    for call in (
        lambda: thisthat.connect("http://127.0.0.1:9", unit=unit),
        lambda: thisthat.connect("http://127.0.0.1:9").for_unit(unit),
    ):
        with pytest.raises(InvalidInputError, match=r"^unit: "):
            call()


def test_a_unit_beside_a_lambda_is_refused() -> None:
    champions = thisthat.connect("http://127.0.0.1:9", lam=1)
    with pytest.raises(InvalidInputError, match="unit: takes part in canaries, a chosen λ does"):
        champions.for_unit("customer 1")
    with pytest.raises(InvalidInputError, match="leave out one of them"):
        thisthat.connect("http://127.0.0.1:9", lam=1, unit="customer 1")
