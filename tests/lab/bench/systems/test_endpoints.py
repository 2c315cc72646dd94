from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.bench.conftest import make_items
from tests.lab.bench.fake_endpoint import Fake, chat_body
from thisthat.errors import InvalidInputError
from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat_lab.bench.systems.endpoints import open_endpoint
from thisthat_lab.bench.systems.endpoints.chat import ChatWire
from thisthat_lab.bench.systems.endpoints.recording import Recording
from thisthat_lab.bench.systems.endpoints.wire import UnusableError, distribution
from thisthat_lab.bench.systems.opening import open_system
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.systems.replies import Reply, count_problems


@pytest.fixture
def fake() -> Iterator[Fake]:
    server = Fake()
    yield server
    server.close()


def ask(system: Any, items: list[Item]) -> list[Reply]:
    replies: dict[int, Reply] = {}
    system.answer(items, lambda number, reply: replies.__setitem__(number, reply))
    return [replies[number] for number in range(len(items))]


def right_answer(wire: str, item: Item) -> str:
    """What a perfect endpoint would answer."""
    count = len(item.options)
    p = [0.1 / (count - 1)] * count
    p[item.answer] = 0.9
    names = [name for name, _ in item.options]
    usage = {"input_tokens": 30, "output_tokens": 0}
    if wire == "chat":
        value: Any = bool(item.answer) if item.kind == "boolean" else names[item.answer]
        return chat_body(json.dumps({"answer": value}))
    if wire == "systemone":
        keys = names if item.kind == "choice" else [str(n) for n in range(count)]
        answer: dict[str, Any] = {"probabilities": dict(zip(keys, p, strict=True))}
        if item.kind == "boolean":
            answer = {"noul": p[1]}
        return json.dumps({"answers": {"q": answer}, "usage": usage})
    values: list[Any] = names if item.kind == "choice" else list(range(count))
    answer = {
        "type": "choice",
        "probabilities": [{"value": v, "probability": q} for v, q in zip(values, p, strict=True)],
    }
    if item.kind == "boolean":
        answer = {"type": "predicate", "probability": p[1]}
    return json.dumps({"answers": [answer], "usage": usage})


def find_item(items: list[Item], body: dict[str, Any]) -> Item:
    text = json.dumps(body)
    return next(item for item in items if f"Question {item.question.split()[1]}" in text)


QUICK = SystemOptions(model="m", concurrency=3, timeout=5, patience=20)


@pytest.mark.parametrize("kind", ["choice", "boolean", "score"])
@pytest.mark.parametrize("wire", ["chat", "systemone", "decisions"])
def test_every_wire_format_is_asked_and_read(fake: Fake, wire: str, kind: str) -> None:
    items = make_items(9, kind)
    fake.answering = lambda path, body, call: (
        (200, {}, right_answer(wire, find_item(items, body)))
        if path == {"chat": "/v1/chat/completions"}.get(wire, f"/v1/{wire}")
        else (404, {}, "")
    )
    replies = ask(open_system(f"{wire}+{fake.url}/v1", QUICK), items)
    chosen = [reply.choice for reply in replies]
    assert metrics.accuracy(chosen, [item.answer for item in items]) == 1
    assert all(reply.seconds is not None and reply.input_tokens > 0 for reply in replies)
    assert fake.most_at_once <= 3
    if wire != "chat":
        assert all(sum(reply.probabilities or ()) == pytest.approx(1) for reply in replies)


PROBLEMS: dict[str, tuple[int, str]] = {
    "prose": (200, chat_body("I would go left, because the road is clear.")),
    "empty": (200, chat_body("")),
    "not an option": (200, chat_body('{"answer": "backwards"}')),
    "invalid JSON": (200, '{"choices": [{"mess'),
    "no answer field": (200, chat_body('{"result": "left"}')),
    "unexpected shape": (200, '{"choices": []}'),
    "answer budget spent": (200, chat_body(None, finish_reason="length")),
    "HTTP 400": (400, "bad"),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_an_unusable_reply_is_no_answer_and_never_right(fake: Fake, problem: str) -> None:
    items = make_items(4)
    status, text = PROBLEMS[problem]
    fake.answering = lambda path, body, call: (status, {}, text)
    replies = ask(open_system(f"chat+{fake.url}", QUICK), items)
    assert count_problems(replies) == {problem: 4}
    assert metrics.accuracy([r.choice for r in replies], [i.answer for i in items]) == 0


def test_truncated_json_in_the_content_is_no_answer(fake: Fake) -> None:
    fake.answering = lambda path, body, call: (200, {}, chat_body('{"answer": "le'))
    replies = ask(open_system(f"chat+{fake.url}", QUICK), make_items(1))
    assert replies[0].problem == "invalid JSON"
    assert replies[0].output_tokens == 5


@pytest.mark.parametrize("wire", ["systemone", "decisions"])
@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "",
        "[]",
        '{"answers": {}}',
        '{"answers": {"q": {"probabilities": {"left": 2, "right": -1, "straight on": 0}}}}',
        '{"answers": {"q": {"probabilities": {"left": 0.5, "up": 0.5}}}}',
        '{"answers": [{"type": "refusal"}]}',
        '{"answers": [{"type": "choice", "probabilities": [{"value": "up", "probability": 1}]}]}',
        '{"answers": [{"type": "choice", "probabilities": 3}]}',
    ],
)
def test_unusable_distributions_are_no_answer(fake: Fake, wire: str, text: str) -> None:
    fake.answering = lambda path, body, call: (200, {}, text)
    replies = ask(open_system(f"{wire}+{fake.url}", QUICK), make_items(2))
    assert all(reply.chosen is None and reply.problem for reply in replies)


def test_rate_limits_are_waited_out_as_advised(fake: Fake, tmp_path: Path) -> None:
    items = make_items(3)
    record = tmp_path / "exchanges.jsonl"
    fake.answering = lambda path, body, call: (
        (429, {"retry-after-ms": "20"}, "slow down")
        if call <= 6
        else (200, {}, right_answer("chat", find_item(items, body)))
    )
    options = SystemOptions(model="m", concurrency=3, record=record)
    replies = ask(open_system(f"chat+{fake.url}", options), items)
    assert count_problems(replies) == {}
    assert len(fake.requests) == 9
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert sum(row["tries"] for row in rows) == 9
    assert all(row["waited"] >= 0.02 * (row["tries"] - 1) for row in rows)


def test_a_rate_limit_longer_than_our_patience_is_counted(fake: Fake) -> None:
    fake.answering = lambda path, body, call: (429, {"retry-after": "60"}, "")
    options = SystemOptions(model="m", concurrency=2, patience=1.0)
    replies = ask(open_system(f"chat+{fake.url}", options), make_items(4))
    assert count_problems(replies) == {"rate limited": 4}
    assert len(fake.requests) == 4


def test_an_endpoint_that_never_answers_is_counted(fake: Fake) -> None:
    stop = threading.Event()
    fake.answering = lambda path, body, call: stop.wait(20) and None
    options = SystemOptions(model="m", concurrency=4, timeout=0.2, patience=0.3)
    replies = ask(open_system(f"chat+{fake.url}", options), make_items(4))
    stop.set()
    assert count_problems(replies) == {"timed out": 4}


def test_a_closed_connection_and_a_dead_port_are_counted(fake: Fake) -> None:
    fake.answering = lambda path, body, call: None
    options = SystemOptions(model="m", patience=0.1)
    replies = ask(open_system(f"systemone+{fake.url}", options), make_items(2))
    assert count_problems(replies) == {"connection failed": 2}
    replies = ask(open_system("systemone+http://127.0.0.1:9", options), make_items(2))
    assert count_problems(replies) == {"connection failed": 2}


def test_a_token_budget_stops_the_asking(fake: Fake) -> None:
    items = make_items(10)
    fake.answering = lambda path, body, call: (
        200,
        {},
        right_answer("chat", find_item(items, body)),
    )
    options = SystemOptions(model="m", concurrency=1, token_budget=100)
    replies = ask(open_system(f"chat+{fake.url}", options), items)
    # Each answer costs 45 tokens, so the third passes 100.
    assert len(fake.requests) == 3
    assert count_problems(replies) == {"token budget spent": 7}


def test_a_recording_replays_without_the_network(fake: Fake, tmp_path: Path) -> None:
    items = make_items(6)
    fake.answering = lambda path, body, call: (
        (200, {}, right_answer("systemone", find_item(items, body)))
        if "Question 3" not in json.dumps(body)
        else (200, {}, "prose")
    )
    record = tmp_path / "exchanges.jsonl"
    options = SystemOptions(model="m", key="very secret", record=record)
    first = ask(open_system(f"systemone+{fake.url}", options), items)
    assert fake.headers[0]["Authorization"] == "Bearer very secret"
    assert "very secret" not in record.read_text()
    replay = SystemOptions(model="m", replay=record)
    again = ask(open_system("systemone+nowhere", replay), items)
    assert again == first
    assert count_problems(again) == {"invalid JSON": 1}

    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    assert Recording(record).damaged == 1
    system = open_endpoint("systemone", "nowhere", replay)
    cut = ask(system, items)
    assert system.damaged_lines == 1
    assert count_problems(cut)["not in the recording"] == 1


def test_recording_goes_on_after_a_cut_line(fake: Fake, tmp_path: Path) -> None:
    items = make_items(2)
    fake.answering = lambda path, body, call: (200, {}, "{}")
    record = tmp_path / "exchanges.jsonl"
    record.write_bytes(b'{"key": "cut off he')
    ask(open_system(f"chat+{fake.url}", SystemOptions(model="m", record=record)), items)
    found = Recording(record)
    assert (len(found), found.damaged) == (2, 1)


def test_an_address_must_be_http() -> None:
    with pytest.raises(InvalidInputError, match="http"):
        open_system("chat+ftp://x", SystemOptions())
    with pytest.raises(InvalidInputError, match="concurrency"):
        open_system("chat+http://x", SystemOptions(concurrency=0))


def position(token: str, tops: dict[str, float]) -> dict[str, Any]:
    import math

    listed = [{"token": t, "logprob": math.log(p)} for t, p in tops.items()]
    return {"token": token, "logprob": -0.1, "top_logprobs": listed}


def read_chat(item: Item, positions: list[dict[str, Any]], content: str) -> Any:
    choice = {"message": {"content": content}, "logprobs": {"content": positions}}
    return ChatWire(10).read(item, {"choices": [choice]})


def test_chat_probabilities_stand_where_the_value_starts() -> None:
    item = make_items(1)[0]
    tokens = [
        position('{"', {'{"': 1.0}),
        position("answer", {"answer": 1.0}),
        position('": "', {'": "': 1.0}),
        position("le", {"le": 0.6, "right": 0.2, "st": 0.1, "other": 0.1}),
        position("ft", {"ft": 1.0}),
    ]
    reading = read_chat(item, tokens, '{"answer": "left"}')
    assert reading.probabilities == pytest.approx([6 / 9, 2 / 9, 1 / 9])


def test_chat_probabilities_of_one_position_per_property() -> None:
    item = make_items(1)[0]
    tops = {"left": 0.5, "right": 0.3, "straight on": 0.2}
    reading = read_chat(item, [position("left", tops)], '{"answer": "left"}')
    assert reading.probabilities == pytest.approx([0.5, 0.3, 0.2])
    boolean = make_items(1, "boolean")[0]
    reading = read_chat(
        boolean, [position("true", {"true": 0.7, "false": 0.3})], '{"answer": true}'
    )
    assert reading.probabilities == pytest.approx([0.3, 0.7])


def test_chat_options_that_are_not_listed_share_what_is_left() -> None:
    item = make_items(1)[0]
    reading = read_chat(item, [position("left", {"left": 0.9})], "left")
    assert reading.probabilities == pytest.approx([0.9, 0.05, 0.05])


def test_chat_probabilities_that_contradict_the_answer_are_not_used() -> None:
    item = make_items(1)[0]
    tops = {"left": 0.1, "right": 0.8}
    assert read_chat(item, [position("right", tops)], '{"answer": "left"}').probabilities is None


@pytest.mark.parametrize("content", ['```json\n{"answer": "left"}\n```', "LEFT", ' "left" '])
def test_chat_accepts_an_unambiguous_answer(content: str) -> None:
    item = make_items(1)[0]
    payload = {"choices": [{"message": {"content": content}}]}
    assert ChatWire(10).read(item, payload).chosen == 0


@pytest.mark.parametrize("values", [[0.5, 0.6], [float("nan"), 1.0], [True, False], ["1", 0]])
def test_what_is_no_distribution(values: list[Any]) -> None:
    with pytest.raises(UnusableError):
        distribution(values)
