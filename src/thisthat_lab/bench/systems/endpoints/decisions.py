"""``POST /v1/decisions``: an input and a list of questions, answers in the same order."""

from __future__ import annotations

from typing import Any

from thisthat.items.item import Item, render_state
from thisthat_lab.bench.systems.endpoints import wire
from thisthat_lab.bench.systems.endpoints.wire import Reading, UnusableError


class DecisionsWire:
    """One question per request."""

    path = "/v1/decisions"

    def request(self, item: Item, model: str) -> dict[str, Any]:
        """See Wire. A predicate has no place for descriptions: they go into its instructions."""
        if item.kind == "boolean":
            explained = any(text for _, text in item.options)
            text = wire.described(item) if explained else item.question
            question: dict[str, Any] = {"type": "predicate", "instructions": text}
        elif item.kind == "choice":
            choices = [_named("value", name, text) for name, text in item.options]
            question = {"type": "choice", "instructions": item.question, "choices": choices}
        else:
            levels = [_named("label", name, text) for name, text in item.options]
            question = {"type": "score", "instructions": item.question, "levels": levels}
        return {"model": model, "input": render_state(item.state), "questions": [question]}

    def read(self, item: Item, payload: Any) -> Reading:
        """See Wire. A refusal is no answer."""
        answer = wire.field(payload, "answers", 0)
        if wire.field(answer, "type") == "refusal":
            raise UnusableError("refused")
        if item.kind == "boolean":
            given = wire.yes_or_no(wire.field(answer, "probability"))
        else:
            given = _in_order(item, wire.field(answer, "probabilities"))
        return wire.reading_of(given, payload)


def _named(key: str, name: str, text: str | None) -> dict[str, str]:
    return {key: name, "description": text} if text else {key: name}


def _in_order(item: Item, entries: Any) -> tuple[float, ...]:
    if not isinstance(entries, list):
        raise UnusableError("unexpected shape")
    table = {wire.field(entry, "value"): wire.field(entry, "probability") for entry in entries}
    keys: list[Any] = (
        [name for name, _ in item.options]
        if item.kind == "choice"
        else list(range(len(item.options)))
    )
    if set(table) != set(keys):
        raise UnusableError("not an option")
    return wire.distribution([table[key] for key in keys])
