"""Heads: found by their question, added by lambda, and the same through every procedure."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from tests.path_engine import PathEngine, path_decider
from tests.prompt.byte_tokenizer import decode
from thisthat import Boolean, Choice, Score
from thisthat.decide.decider import Decider
from thisthat.decide.heads import Head, Heads, heads_as_bytes, question_key, read_heads
from thisthat.decide.spans import spans_of
from thisthat.engine.protocol import Capabilities
from thisthat.engine.rows import Row, RowResult
from thisthat.errors import CheckpointError
from thisthat.prompt_format import PromptFormat
from thisthat.questions import Question

WIDTH, BUCKETS = 4, 64
QUEUE = Choice({"billing": "money", "shipping": None, "other": None}, "Which queue?")
OTHER = Boolean("Is it raining?")
STATE = "The parcel never came. I want my money back. It is for my aunt."


class FeatureEngine(PathEngine):
    """Gives features too: of each layer the mean, the last and the number of the state's tokens."""

    capabilities = Capabilities(layers=8)

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        return [
            replace(result, features=self._features(row) if row.layers else None)
            for row, result in zip(rows, super().run(rows), strict=True)
        ]

    def _features(self, row: Row) -> np.ndarray:
        state = np.array(row.trunk[slice(*row.state)])
        own = [
            [[state.mean() * layer, layer, 1, 0], [state[-1], 0, layer, 1], [len(state), 1, 1, 1]]
            for layer in row.layers
        ]
        return np.array([own] * row.slots, np.float32)


def head_of(question: Question, seed: int = 0, layers: tuple[int, ...] = (2, 5)) -> Head:
    random = np.random.default_rng(seed)
    options, inputs = len(question.declared), len(layers) * 2 * WIDTH
    return Head(
        names=tuple(option.name for option in question.declared),
        layers=layers,
        readouts=(0, 1),
        scale=0.7,
        bias=random.standard_normal(options).astype(np.float32),
        centre=random.standard_normal(inputs).astype(np.float32),
        spread=np.ones(inputs, np.float32),
        weights=random.standard_normal((options, inputs)).astype(np.float16),
        rarity=np.ones(BUCKETS, np.float16),
        word_weights=random.standard_normal((options, BUCKETS)).astype(np.float16),
    )


def taught(*layers: tuple[float, dict[str, Head]]) -> Decider:
    decider = path_decider()
    decider.engine = FeatureEngine()
    decider.heads = Heads(layers, decode) if layers else None
    return decider


QUEUE_HEAD = {question_key(QUEUE): head_of(QUEUE)}


def test_a_question_is_known_by_wording_and_options_but_not_by_their_order() -> None:
    key = question_key(QUEUE)
    assert key == question_key(Choice(reversed(QUEUE.options), QUEUE.instructions))  # type: ignore[arg-type]
    others = [
        Choice(QUEUE.options, "Which one?"),
        Choice(QUEUE.options[:2], QUEUE.instructions),
        Choice({"billing": "bills", "shipping": None, "other": None}, QUEUE.instructions),
        Choice(QUEUE.options, QUEUE.instructions, abstain=True),
    ]
    assert key not in {question_key(other) for other in others}
    assert question_key(Score(["a", "b"])) != question_key(Score(["b", "a"]))


def test_another_wording_keeps_the_heads() -> None:
    moved = taught((1.0, QUEUE_HEAD))
    other = path_decider(PromptFormat(family="flock", legend=True)).builder
    assert moved.worded(other).heads is moved.heads


def test_a_head_moves_its_own_question_and_no_other() -> None:
    plain, moved = taught(), taught((1.0, QUEUE_HEAD))
    questions = {"queue": QUEUE, "other": OTHER}
    before, after = plain.decide(STATE, questions), moved.decide(STATE, questions)
    assert before["other"] == after["other"]
    assert before["queue"] != after["queue"]
    assert sum(after["queue"].probabilities.values()) == 1
    assert moved.ask(STATE, QUEUE) == after["queue"]
    assert moved.decide_many([STATE, "x", STATE], questions)[2]["queue"] == after["queue"]
    alone = moved.ask(STATE, OTHER)
    assert alone == before["other"]


@settings(deadline=None, max_examples=30)
@given(lam=st.floats(0.01, 1), seed=st.integers(0, 99))
def test_log_odds_are_linear_in_lambda(lam: float, seed: int) -> None:
    heads = {question_key(QUEUE): head_of(QUEUE, seed)}

    def log_odds(decider: Decider) -> np.ndarray:
        logs = np.log(list(decider.ask(STATE, QUEUE).probabilities.values()))
        return logs - logs[0]

    none, some, whole = (
        log_odds(each) for each in (taught(), taught((lam, heads)), taught((1.0, heads)))
    )
    np.testing.assert_allclose(some, none + lam * (whole - none), atol=1e-6)


def test_the_order_of_options_changes_their_places_alone() -> None:
    moved = taught((1.0, QUEUE_HEAD))
    turned = Choice([QUEUE.options[i] for i in (2, 0, 1)], QUEUE.instructions)
    for order in ("as-given", "average"):
        one = taught().ask(STATE, turned, order=order)  # type: ignore[arg-type]
        two = moved.ask(STATE, turned, order=order)  # type: ignore[arg-type]
        head = QUEUE_HEAD[question_key(QUEUE)]
        logs = np.log([one.probabilities[name] for name in head.names])
        row = moved.prepare(STATE, {"q": turned}).rendered.rows[0]
        assert row.layers == head.layers
        features = FeatureEngine()._features(row)[0]
        wanted = np.exp(logs + head.shift(logs, features, STATE))
        found = np.array([two.probabilities[name] for name in head.names])
        np.testing.assert_allclose(found, wanted / wanted.sum(), atol=1e-9)
    same = moved.ask(STATE, QUEUE, order="average").probabilities
    assert two.probabilities == pytest.approx(same, abs=1e-12)


def test_a_second_layer_starts_from_what_the_first_says() -> None:
    second = {question_key(QUEUE): head_of(QUEUE, 1, layers=(5, 7))}
    both = taught((0.5, QUEUE_HEAD), (1.0, second))
    below = taught((0.5, QUEUE_HEAD)).ask(STATE, QUEUE).probabilities
    logs = np.log(list(below.values()))
    row = both.prepare(STATE, {"q": QUEUE}).rendered.rows[0]
    assert row.layers == (2, 5, 7)
    features = FeatureEngine()._features(row)[0][1:]
    wanted = np.exp(logs + second[question_key(QUEUE)].shift(logs, features, STATE))
    found = list(both.ask(STATE, QUEUE).probabilities.values())
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=1e-9)


@pytest.mark.parametrize("layout", ["state-first", "schema-first"])
def test_explaining_asks_the_taught_answer(layout: str) -> None:
    moved = taught((1.0, QUEUE_HEAD))
    plain = moved.decide(STATE, {"queue": QUEUE}, layout=layout)  # type: ignore[call-overload]
    explained = moved.decide(STATE, {"queue": QUEUE}, layout=layout, explain=True)  # type: ignore[call-overload]
    assert plain["queue"] == explained["queue"]
    best = plain["queue"].best_name
    falls = {part.text: part.fall for part in explained.evidence["queue"]}
    spans = spans_of(STATE)
    assert len(spans) == len(falls) == 3
    for span in spans:
        left = moved.ask(span.without, QUEUE, layout=layout)  # type: ignore[arg-type]
        fall = plain["queue"].probabilities[best] - left.probabilities[best]
        assert falls[span.text] == pytest.approx(fall, abs=1e-12)


def test_a_taught_wide_choice_is_asked_at_once() -> None:
    wide = Choice([f"option {n}" for n in range(40)], "Which?")
    heads = {question_key(wide): head_of(wide)}
    moved = taught((1.0, heads))
    assert moved.ask(STATE, wide, wide="in-rounds") == moved.ask(STATE, wide)
    assert taught().ask(STATE, wide, wide="in-rounds") != taught().ask(STATE, wide)


def test_words_alone_need_no_hidden_states() -> None:
    empty = np.empty(0, np.float32)
    head = replace(
        head_of(QUEUE),
        layers=(),
        centre=empty,
        spread=empty,
        weights=np.empty((3, 0), np.float16),
    )
    moved = taught((1.0, {question_key(QUEUE): head}))
    assert moved.prepare(STATE, {"q": QUEUE}).rendered.rows[0].layers == ()
    assert moved.ask(STATE, QUEUE) != taught().ask(STATE, QUEUE)
    assert moved.ask("", QUEUE) != taught().ask("", QUEUE)


def test_heads_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "heads.safetensors"
    path.write_bytes(heads_as_bytes({**QUEUE_HEAD, question_key(OTHER): head_of(OTHER, 3, (1,))}))
    again = taught((1.0, read_heads(path)))
    assert again.ask(STATE, QUEUE) == taught((1.0, QUEUE_HEAD)).ask(STATE, QUEUE)
    assert again.decide(STATE, {"a": QUEUE, "b": OTHER})["b"] != taught().ask(STATE, OTHER)


def test_a_file_that_holds_no_heads_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "heads.safetensors"
    head = head_of(QUEUE)
    broken = [
        b"",
        b"not a file of tensors",
        save({"a": np.zeros(2)}),
        heads_as_bytes({"k": replace(head, bias=np.zeros(2, np.float32))}),
        heads_as_bytes({"k": replace(head, bias=np.full(3, np.nan, np.float32))}),
        heads_as_bytes(QUEUE_HEAD)[:-8],
        heads_as_bytes(QUEUE_HEAD).replace(b"pairs and pieces", b"words, and pairs"),
    ]
    for content in broken:
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"heads\.safetensors: is no file of heads"):
            read_heads(path)
