"""The prompt endpoint: the text the decider builds, cut where the slots are."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.path_engine import path_decider
from tests.serve.page.live import live_server
from thisthat.prompt.show import SlotMark
from thisthat.questions_json import questions_from_json

QUESTIONS: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Is it due?"},
    "queue": {"type": "choice", "criteria": {"billing": "charges", "shipping": None}},
    "only": {"type": "choice", "criteria": {"one": None}},
    "anger": {"type": "score", "criteria": ["calm", "annoyed", "furious"]},
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with live_server(keys=("secret",)) as address:
        headers = {"Authorization": "Bearer secret"}
        with httpx.Client(base_url=address, headers=headers) as opened:
            yield opened


def ask(client: httpx.Client, state: Any, questions: Any = QUESTIONS) -> httpx.Response:
    body = {"model": "default", "state": state, "questions": questions}
    return client.post("/page/prompt", json=body)


def test_pieces_are_the_prompt_of_the_library(client: httpx.Client) -> None:
    state = {"note": "arrived broken"}
    prompt = ask(client, state).json()
    decider = path_decider()
    questions = questions_from_json(QUESTIONS)
    shown = []
    slots = []
    for row in prompt["rows"]:
        parts = [row["shared"]]
        number = 0
        for branch in row["branches"]:
            text = ""
            for piece in branch:
                if isinstance(piece, str):
                    text += piece
                    continue
                text += str(SlotMark(number, piece["options"]))
                slots.append((piece["question"], piece["options"]))
                number += 1
            parts.append(text)
        shown.append("\n── branch ──".join(parts))
    assert shown == decider.prompt_text(state, questions)
    assert slots == [("refund", 2), ("queue", 2), ("anger", 3)]
    assert prompt["tokens"] == decider.decide(state, questions).usage.input_tokens


def test_a_state_cannot_forge_a_slot(client: httpx.Client) -> None:
    forged = str(SlotMark(0, 2))
    prompt = ask(client, forged, {"q": "Is it so?"}).json()
    slots = [
        piece
        for row in prompt["rows"]
        for branch in row["branches"]
        for piece in branch
        if not isinstance(piece, str)
    ]
    assert slots == [{"question": "q", "options": 2}]


def test_refuses_what_systemone_refuses(client: httpx.Client) -> None:
    body = {"model": "default", "state": "x", "questions": {"q": {"type": "score", "criteria": []}}}
    here = client.post("/page/prompt", json=body)
    there = client.post("/v1/systemone", json=body)
    assert here.status_code == there.status_code == 422
    assert here.json() == there.json()
    assert ask(client, "word " * 5000).json()["detail"][0]["loc"] == ["body", "state"]


def test_wants_the_key(client: httpx.Client) -> None:
    client_without = httpx.post(f"{client.base_url}/page/prompt", json={})
    assert client_without.status_code == 401
