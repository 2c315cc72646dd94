"""OpenAI chat completions with a JSON schema whose enum is the option set."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from thisthat.items.item import Item, render_state
from thisthat_lab.bench.systems.endpoints import wire
from thisthat_lab.bench.systems.endpoints.wire import Reading, UnusableError

_FENCE = re.compile(r"^```[a-z]*\s*(.*?)\s*```$", re.DOTALL)
_BEFORE_VALUE = re.compile(r'"answer"\s*:\s*"?$')
_TOP = 20


class ChatWire:
    """``POST /v1/chat/completions``; probabilities come from token log probabilities if given."""

    path = "/v1/chat/completions"

    def __init__(self, answer_tokens: int) -> None:
        self._answer_tokens = answer_tokens

    def request(self, item: Item, model: str) -> dict[str, Any]:
        """See Wire. The state is one message, the question with its options the last one."""
        if item.kind == "boolean":
            answer: dict[str, Any] = {"type": "boolean"}
        else:
            answer = {"type": "string", "enum": [name for name, _ in item.options]}
        schema = {
            "type": "object",
            "properties": {"answer": answer},
            "required": ["answer"],
            "additionalProperties": False,
        }
        return {
            "model": model,
            "messages": [
                {"role": "user", "content": render_state(item.state)},
                {"role": "user", "content": wire.described(item)},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "decision", "strict": True, "schema": schema},
            },
            "max_completion_tokens": self._answer_tokens,
            "logprobs": True,
            "top_logprobs": _TOP,
        }

    def read(self, item: Item, payload: Any) -> Reading:
        """See Wire."""
        choice = wire.field(payload, "choices", 0)
        content = wire.field(choice, "message", "content")
        if not isinstance(content, str) or not content.strip():
            cut = isinstance(choice, Mapping) and choice.get("finish_reason") == "length"
            raise UnusableError("answer budget spent" if cut else "empty")
        chosen = _option_in(item, content)
        return Reading(
            chosen,
            _probabilities(item, choice, chosen),
            wire.tokens(payload, "prompt_tokens", "input_tokens"),
            wire.tokens(payload, "completion_tokens", "output_tokens"),
        )


def _option_in(item: Item, content: str) -> int:
    text = content.strip()
    fenced = _FENCE.match(text)
    text = fenced.group(1) if fenced else text
    if text.startswith("{"):
        try:
            value = json.loads(text)["answer"]
        except json.JSONDecodeError:
            raise UnusableError("invalid JSON") from None
        except KeyError:
            raise UnusableError("no answer field") from None
    else:
        value = text
    number = _index_of(item, value)
    if number is None:
        raise UnusableError("not an option" if text.startswith("{") else "prose")
    return number


def _index_of(item: Item, value: Any) -> int | None:
    if isinstance(value, bool):
        return int(value) if item.kind == "boolean" else None
    if not isinstance(value, str):
        return None
    wanted = value.strip().strip('"').casefold()
    if item.kind == "boolean" and wanted in ("true", "false"):
        return int(wanted == "true")
    names = [name.casefold() for name, _ in item.options]
    return names.index(wanted) if names.count(wanted) == 1 else None


def _probabilities(item: Item, choice: Any, chosen: int) -> tuple[float, ...] | None:
    """The distribution at the token where the answer's value starts, or None if none can be read.

    Options missing from the listed alternatives share the unlisted mass, at most the smallest
    listed probability each.
    """
    logprobs = choice.get("logprobs") if isinstance(choice, Mapping) else None
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list):
        return None
    written = ""
    for place, position in enumerate(content):
        if not isinstance(position, Mapping) or not isinstance(position.get("token"), str):
            return None
        starts = place == 0 and _index_of(item, position["token"]) is not None
        if starts or _BEFORE_VALUE.search(written):
            return _mass(item, position.get("top_logprobs"), chosen)
        written += position["token"]
    return None


def _mass(item: Item, alternatives: Any, chosen: int) -> tuple[float, ...] | None:
    if not isinstance(alternatives, list):
        return None
    mass: dict[int, float] = {}
    for entry in alternatives:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("logprob"), (int, float)):
            return None
        token = str(entry.get("token", "")).strip().strip('"').casefold()
        number = _meant_by(item, token)
        if number is not None:
            mass[number] = mass.get(number, 0.0) + math.exp(min(0.0, float(entry["logprob"])))
    listed = math.fsum(mass.values())
    if not mass or listed <= 0 or max(mass, key=mass.__getitem__) != chosen:
        return None
    missing = [n for n in range(len(item.options)) if n not in mass]
    floor = min(max(0.0, 1 - listed) / len(missing), min(mass.values())) if missing else 0.0
    total = listed + floor * len(missing)
    return tuple(mass.get(n, floor) / total for n in range(len(item.options)))


def _meant_by(item: Item, token: str) -> int | None:
    """The one option that a first token can begin; None when several could, or none."""
    exact = _index_of(item, token)
    if exact is not None or not token:
        return exact
    fitting = [n for n, (name, _) in enumerate(item.options) if name.casefold().startswith(token)]
    return fitting[0] if len(fitting) == 1 else None
