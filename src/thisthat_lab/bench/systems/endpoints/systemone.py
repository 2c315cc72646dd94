"""``POST /v1/systemone``: questions by id, distributions back."""

from __future__ import annotations

from typing import Any

from thisthat.items.item import Item
from thisthat_lab.bench.systems.endpoints import wire
from thisthat_lab.bench.systems.endpoints.wire import Reading, UnusableError


class SystemOneWire:
    """One question per request, under the id ``q``."""

    path = "/v1/systemone"

    def request(self, item: Item, model: str) -> dict[str, Any]:
        """See Wire."""
        question: dict[str, Any] = {"instructions": item.question}
        if item.kind == "boolean":
            (_, false), (_, true) = item.options
            question["type"] = "noul"
            criteria = {"true": true, "false": false}
            question["criteria"] = {key: text for key, text in criteria.items() if text} or None
        elif item.kind == "choice":
            question |= {"type": "choice", "criteria": dict(item.options)}
        else:
            question |= {"type": "score", "criteria": [text or name for name, text in item.options]}
        return {"model": model, "state": item.state, "questions": {"q": question}}

    def read(self, item: Item, payload: Any) -> Reading:
        """See Wire."""
        answer = wire.field(payload, "answers", "q")
        if item.kind == "boolean":
            given = wire.yes_or_no(wire.field(answer, "noul"))
        else:
            table = wire.field(answer, "probabilities")
            keys = (
                [name for name, _ in item.options]
                if item.kind == "choice"
                else [str(level) for level in range(len(item.options))]
            )
            if not isinstance(table, dict) or set(table) != set(keys):
                raise UnusableError("not an option")
            given = wire.distribution([table[key] for key in keys])
        return wire.reading_of(given, payload)
