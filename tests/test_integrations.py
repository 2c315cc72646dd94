"""Every recipe of docs/integrations.md runs; `dev` has the libraries."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from tests.path_engine import path_decider
from tests.serve.support import on_loopback, service_for
from thisthat import Boolean, Choice

PAGE = (Path(__file__).parents[1] / "docs" / "integrations.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^```python (\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
SCHEMA = {"refund": Boolean("Is it?"), "queue": Choice(["billing", "shipping"], "Which?")}
TICKETS = ["one", "two", "three", "four"]


def ran(name: str, **given: Any) -> dict[str, Any]:
    """What all blocks of a library leave behind."""
    space: dict[str, Any] = {
        "__name__": "integrations",
        "decider": path_decider(),
        "schema": SCHEMA,
        "tickets": TICKETS,
        **given,
    }
    for library, text in RECIPES:
        if library == name:
            where = f"{name} in docs/integrations.md"
            exec(compile(text, where, "exec", dont_inherit=True), space)
    return space


def test_there_are_recipes_for_both() -> None:
    assert {library for library, _ in RECIPES} == {"langchain_core", "pydantic_ai"}


def test_chains_branch_on_what_the_library_answers() -> None:
    space, decider = ran("langchain_core"), path_decider()
    decisions = decider.decide_many(TICKETS, SCHEMA)
    expected = [
        f"{'refund desk' if each['refund'] > 0.8 else each['queue'].best_name}: {ticket}"
        for ticket, each in zip(TICKETS, decisions, strict=True)
    ]
    assert space["found"] == expected
    assert asyncio.run(space["desk"].ainvoke(TICKETS[0])) == expected[0]
    called = asyncio.run(space["tool"].ainvoke({"state": TICKETS[0]}))
    assert called["answers"]["refund"]["probabilities"] == decisions[0]["refund"].probabilities
    assert "Which? (billing; shipping)" in space["tool"].description


def test_agents_are_guarded_and_sort_by_what_a_server_answers() -> None:
    from pydantic_ai.models.test import TestModel

    with on_loopback(service_for()) as address:
        space = ran("pydantic_ai", model=TestModel(), address=address)
    said = space["agent"].run_sync("Pay it back.").output
    answer = path_decider().ask("a", SCHEMA["refund"])  # The test model's own argument.
    assert ("refunded" if answer > 0.8 else "refused: the customer") in said
    assert len(space["sorted_tickets"]) == len(TICKETS)
    assert {each.team for each in space["sorted_tickets"]} <= {"billing", "shipping"}
