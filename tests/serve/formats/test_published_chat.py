"""The chat wire for this-that-model: its prompt, token for token, as its own server makes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.path_engine import ListeningEngine
from tests.prompt.format_cases import OURS, PUBLISHED, Pieces, asked
from tests.prompt.test_formats import encode_pieces, qwen
from tests.serve.support import post, service_for
from thisthat.decide.decider import Decider
from thisthat.decide.processor import Reading
from thisthat.prompt.builder import PromptBuilder
from thisthat.prompt_format import PromptFormat
from thisthat.questions import Source
from thisthat.temperature import Temperatures

QUEUES = ["billing", "shipping"]
QUESTION = "Which queue?"
SYSTEM = {"role": "system", "content": "You sort mail."}
EMPTY = {"role": "assistant", "content": ""}
PARTS = [{"type": "text", "text": "It never came."}, {"type": "text", "text": "Order 1187."}]
TOLD = {"role": "user", "content": PARTS}


def read(form: PromptFormat, *before: dict[str, Any]) -> list[list[int]]:
    """The prompts that a request with those earlier messages becomes."""
    engine = ListeningEngine()
    reading = Reading("state-first", ("state-first",), 65_536, 32_768, Temperatures())
    decider = Decider(PromptBuilder(qwen(), form), engine, reading, Source("x", "1", 1.0), str)
    service = service_for(lambda ref, lam: decider)
    engine.read.clear()
    schema = {"type": "object", "properties": {"answer": {"enum": QUEUES}}}
    body = {
        "model": "default",
        "messages": [*before, {"role": "user", "content": QUESTION}],
        "response_format": {"type": "json_schema", "json_schema": {"schema": schema}},
    }
    answered = post(service, "/v1/chat/completions", body)
    assert answered.status_code == 200, answered.text
    return engine.read


@pytest.mark.parametrize(
    ("before", "state"),
    [
        ([], ""),
        ([TOLD], "It never came.\nOrder 1187."),
        ([SYSTEM, EMPTY, TOLD], "You sort mail.\n\nIt never came.\nOrder 1187."),
    ],
)
def test_turns_are_joined_without_their_speakers(before: list[dict[str, Any]], state: str) -> None:
    wanted: Pieces = [f"Context:\n{state}", *asked("", QUESTION, QUEUES)]
    assert read(PUBLISHED, *before) == [encode_pieces(wanted, qwen())]


def test_other_checkpoints_are_told_who_speaks() -> None:
    state = "system: You sort mail.\n\nuser: It never came.\nOrder 1187."
    wanted: Pieces = ["Context:\n", state, *asked("", QUESTION, QUEUES)]
    assert read(OURS, SYSTEM, TOLD) == [encode_pieces(wanted, qwen())]
