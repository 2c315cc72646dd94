import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, get_type_hints

import numpy as np
import pytest

from tests.path_engine import PathEngine, path_decider
from tests.prompt.byte_tokenizer import encode
from thisthat import Boolean, Choice, InvalidInputError, Scale, Score, StateTooLongError
from thisthat.decide.options import CHOICES, FLAGS, DecideKeywords, DecideOptions
from thisthat.decide.procedures import AtOnce
from thisthat.decide.run import run_jobs
from thisthat.engine.protocol import Capabilities
from thisthat.engine.rows import Row, RowResult
from thisthat.errors import AlreadyClosedError
from thisthat.prompt.builder import PromptBuilder
from thisthat.prompt_format import PromptFormat
from thisthat.temperature import OptionsRule, Temperatures, softmax

QUESTIONS = {
    "refund": Boolean("Is it within policy?"),
    "queue": Choice(["billing", "shipping", "other"], "Which queue?"),
    "anger": Score(["calm", "annoyed", "furious"], "How angry?"),
    "only": Choice(["this one"]),
}


class Triage:
    refund: Annotated[bool, "Is it within policy?"]
    queue: Literal["billing", "shipping"]
    anger: Annotated[int, Scale("calm", "furious")]


def test_a_decision_has_a_distribution_over_exactly_the_declared_options() -> None:
    decision = path_decider().decide("a state", QUESTIONS)
    assert list(decision.answers) == list(QUESTIONS)
    assert list(decision["queue"].probabilities) == ["billing", "shipping", "other"]
    assert decision["only"].probabilities == {"this one": 1.0}
    for answer in decision.answers.values():
        assert math.fsum(answer.probabilities.values()) == pytest.approx(1, abs=1e-12)
    assert decision.source.lam == 0.5
    assert decision.usage.output_tokens == 0
    assert decision.usage.input_tokens > 0
    assert decision.cut is None


@pytest.mark.parametrize("layout", ["state-first", "schema-first"])
def test_apart_answers_do_not_depend_on_other_questions(layout: str) -> None:
    decider = path_decider()
    together = decider.decide("a state", QUESTIONS, layout=layout)  # type: ignore[call-overload]
    reversed_ = decider.decide(  # type: ignore[call-overload]
        "a state", dict(reversed(QUESTIONS.items())), layout=layout
    )
    for name, question in QUESTIONS.items():
        alone = decider.ask("a state", question, layout=layout)
        assert together[name] == alone == reversed_[name]


class AheadEngine(PathEngine):
    """An engine whose caller may read further states while it runs."""

    capabilities = Capabilities(runs_ahead=True)

    def begin(self, rows: Sequence[Row]) -> Callable[[], list[RowResult]]:
        self.begun.append(len(rows))
        return lambda: self.run(rows)

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[int] = []


def test_many_states_are_read_while_others_are_answered() -> None:
    states = [f"state {number}" for number in range(130)]
    told: list[tuple[int, int]] = []
    decider = path_decider()
    decider.engine = engine = AheadEngine()
    overlapping = decider.decide_many(
        states, QUESTIONS, progress=lambda done, of: told.append((done, of))
    )
    plain = path_decider().decide_many(states, QUESTIONS)
    assert [each.answers for each in overlapping] == [each.answers for each in plain]
    assert [each.usage for each in overlapping] == [each.usage for each in plain]
    assert told == [(number + 1, 130) for number in range(130)]
    assert engine.begun == [32, 64, 34]
    told.clear()
    with pytest.raises(InvalidInputError, match=r"states\[129\]"):
        decider.decide_many(
            [*states[:129], "a NUL \0"], QUESTIONS, progress=lambda *done: told.append(done)
        )
    assert told == []


class MadeOnAccess(Sequence[tuple[str, dict[str, Choice]]]):
    """Pairs whose questions are made anew whenever they are looked at."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < len(self):
            raise IndexError
        return f"state {number}", {"queue": Choice([f"left {number}", f"right {number}"])}


def test_every_pair_gets_its_own_questions() -> None:
    for engine in (PathEngine(), AheadEngine()):
        decider = path_decider()
        decider.engine = engine
        for number, decision in enumerate(decider.decide_pairs(MadeOnAccess())):
            assert list(decision["queue"].probabilities) == [f"left {number}", f"right {number}"]


def test_many_prepared_states_are_those_prepared_alone() -> None:
    decider = path_decider()
    states = ["one", "a NUL \0", "two"]
    first, wrong, second = decider.begin_many(states, QUESTIONS, DecideOptions("schema-first"))
    assert isinstance(wrong, InvalidInputError)
    for found, state in ((first, "one"), (second, "two")):
        alone = decider.prepare(state, QUESTIONS, layout="schema-first")
        assert isinstance(found, AtOnce)
        job = found.next_job()
        assert job is not None
        assert job.rendered == alone.rendered
    with pytest.raises(InvalidInputError, match="questions"):
        decider.begin_many(states, {}, DecideOptions())


def test_together_lets_questions_see_each_other() -> None:
    decider = path_decider()
    together = decider.decide("a state", QUESTIONS, packing="together")
    assert together["queue"] != decider.ask("a state", QUESTIONS["queue"])


def test_the_shortest_use_is_one_line() -> None:
    decider = path_decider()
    p = decider.ask("a state", "Is this refund within policy?")
    assert (p > 0.5) == (p.yes > 0.5)


def test_many_states_come_back_in_order_and_in_batches() -> None:
    decider = path_decider()
    states = [f"state {'x' * (n * 37 % 500)} {n}" for n in range(120)]
    seen: list[tuple[int, int]] = []
    many = decider.decide_many(
        states, QUESTIONS, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (120, 120)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(decider.engine.calls) > 1  # type: ignore[attr-defined]
    for state, decision in zip(states, many, strict=True):
        assert decision.answers == decider.decide(state, QUESTIONS).answers


def test_engines_that_read_rows_apart_say_how_many_tokens_they_read_together() -> None:
    states, question = [f"the state {n}" for n in range(6)], {"q": "Is it?"}
    plain = path_decider()
    wanted = [decision.answers for decision in plain.decide_many(states, question)]
    tokens = plain.prepare(states[0], question).fresh_tokens
    for at_once, calls in ((0, [1] * 6), (tokens - 1, [1] * 6), (4 * tokens + 3, [3, 3])):
        decider = path_decider()
        engine: Any = decider.engine
        engine.capabilities = Capabilities(rows_apart=True, tokens_together=at_once)
        found = decider.decide_many(states, question)
        assert [decision.answers for decision in found] == wanted
        assert engine.calls == calls
    jobs = [decider.prepare(state, question) for state in states]
    engine.calls.clear()
    assert [number for number, _ in run_jobs(engine, jobs)] == list(range(6))
    assert engine.calls == [1] * 6, "who waits for one gets it first"


def test_many_states_are_tokenised_together() -> None:
    asked: list[int] = []

    def encode_many(texts: Sequence[str]) -> list[list[int]]:
        asked.append(len(texts))
        return [encode(text) for text in texts]

    plain, decider = path_decider(), path_decider()
    decider.builder = PromptBuilder(encode, PromptFormat(), encode_many=encode_many)
    states, question = ["a state", "another", ""], {"q": "Is it?"}
    for one, other in zip(
        decider.decide_many(states, question), plain.decide_many(states, question), strict=True
    ):
        assert one.answers == other.answers
        assert one.seconds > 0
    decider.decide("alone", question)
    assert asked == [3]


def test_schema_first_reuses_the_prefix() -> None:
    decider = path_decider()
    first, second = decider.decide_many(["one", "two"], QUESTIONS, layout="schema-first")
    prefix = decider.builder.render("", list(QUESTIONS.values()), layout="schema-first", limit=9999)
    assert {first.usage.cached_tokens, second.usage.cached_tokens} == {
        0,
        sum(len(row.prefix) for row in prefix.rows),
    }


def test_pairs_have_questions_of_their_own() -> None:
    decider = path_decider()
    one, two = decider.decide_pairs([("s", {"a": "Is it?"}), ("t", {"b": QUESTIONS["queue"]})])
    assert list(one.answers) == ["a"]
    assert list(two.answers) == ["b"]


def test_a_class_comes_back_as_an_instance() -> None:
    decider = path_decider()
    typed = decider.decide("a state", Triage)
    assert isinstance(typed.value, Triage)
    assert typed.value.queue == typed["queue"].best_name
    assert [t.value.queue for t in decider.decide_many(["a state"], Triage)] == [typed.value.queue]


def test_temperatures_divide_the_logits() -> None:
    hot = Temperatures(by_kind={"boolean": 2.0}, by_options=OptionsRule(a=1.0, b=1.0, least=0.1))
    plain, warm = path_decider(), path_decider(temperatures=hot)
    cold = plain.ask("s", "Is it?").yes
    logit = math.log(cold / (1 - cold))
    assert warm.ask("s", "Is it?").yes == pytest.approx(1 / (1 + math.exp(-logit / 2)))
    p = np.array(list(plain.ask("s", QUESTIONS["queue"]).probabilities.values()))
    expected = softmax(np.log(p), 1 + math.log(3))
    assert list(warm.ask("s", QUESTIONS["queue"]).probabilities.values()) == pytest.approx(expected)


def test_a_schema_first_temperature_replaces_the_other() -> None:
    both = Temperatures(default=1.0, schema_first=Temperatures(default=3.0))
    assert both.of("boolean", 2, "state-first") == 1.0
    assert both.of("boolean", 2, "schema-first") == 3.0


@pytest.mark.parametrize("temperature", [0, -1, float("nan"), float("inf")])
def test_a_temperature_must_be_positive(temperature: float) -> None:
    with pytest.raises(InvalidInputError, match=r"temperature\.default: is .*positive number"):
        Temperatures(default=temperature)


def test_isolated_levels_are_normalised_fits() -> None:
    decider = path_decider(PromptFormat("decider", isolated_levels=True))
    answer = decider.ask("s", Score(["low", "middle", "high"], "How much?"))
    fits = [
        decider.ask("s", f"How much?\nProposed answer: {level}\nDoes the proposed answer fit?").yes
        for level in ("low", "middle", "high")
    ]
    assert list(answer.levels) == pytest.approx([fit / sum(fits) for fit in fits])


def test_async_answers_are_the_same() -> None:
    decider = path_decider()

    async def both() -> tuple[object, object, object]:
        return (
            await decider.ask_async("s", "Is it?"),
            (await decider.decide_async("s", QUESTIONS)).answers,
            [d.answers for d in await decider.decide_many_async(["s", "t"], QUESTIONS)],
        )

    asked, decided, many = asyncio.run(both())
    assert asked == decider.ask("s", "Is it?")
    assert decided == decider.decide("s", QUESTIONS).answers
    assert many == [d.answers for d in decider.decide_many(["s", "t"], QUESTIONS)]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ({}, "questions: none given"),
        ({"": "Is it?"}, "questions: has the name ''"),
        ({"q": 3}, r"questions\.q: is a int, not a question"),
        ({"q": " "}, r"questions\.q\.instructions: is empty"),
        (
            {"q": {"type": "noul"}},
            r"is a dict, not a question; thisthat\.questions_from_json reads",
        ),
        (["Is it?"], "questions: must be an object of named questions, not list"),
    ],
)
def test_bad_questions_are_named(questions: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        path_decider().decide("s", questions)  # type: ignore[call-overload]


def test_the_state_that_is_wrong_is_named() -> None:
    with pytest.raises(StateTooLongError, match=r"states\[1\]\.state: 1001 tokens") as caught:
        path_decider().decide_many(["fine", "x" * 1001], {"q": "Is it?"})
    assert caught.value.tokens == 1001
    with pytest.raises(InvalidInputError, match="layout: 'upside-down' is not one"):
        path_decider().ask("s", "Is it?", layout="upside-down")


@pytest.mark.parametrize("engine", [PathEngine, AheadEngine])
def test_each_state_is_answered_or_says_what_is_wrong(engine: type[PathEngine]) -> None:
    decider = path_decider()
    decider.engine = engine()
    states: list[Any] = ["fine", "x" * 1001, 7, None, *["a NUL \0"] * 60, "last"]
    found = decider.decide_each(states, QUESTIONS)
    faults = [each for each in found if isinstance(each, InvalidInputError)]
    assert isinstance(faults[0], StateTooLongError)
    assert len(faults) == 63
    (first, last) = [each for each in found if not isinstance(each, InvalidInputError)]
    alone = path_decider().decide_many(["fine", "last"], QUESTIONS)
    assert [first.answers, last.answers] == [each.answers for each in alone]
    with pytest.raises(InvalidInputError, match="layout: 'upside-down' is not one"):
        decider.decide_each(states, QUESTIONS, layout="upside-down")  # type: ignore[arg-type]


def test_a_cut_state_says_so() -> None:
    decision = path_decider().decide("x" * 1001, {"q": "Is it?"}, keep="tail")
    assert decision.cut is not None
    assert decision.as_dict()["cut"] == {
        "keep": "tail",
        "state_tokens": 1001,
        "kept_tokens": 1000,
    }


def test_an_empty_state_is_answered() -> None:
    assert 0 < path_decider().ask("", "Is it?").yes < 1


def test_closing_closes_the_engine() -> None:
    with path_decider() as decider:
        engine = decider.engine
    assert isinstance(engine, PathEngine)
    assert engine.closed
    for call in (
        lambda: decider.ask("s", "Is it?"),
        lambda: decider.decide_each(["s"], {"q": "Is it?"}),
        lambda: asyncio.run(decider.ask_async("s", "Is it?")),
    ):
        with pytest.raises(
            AlreadyClosedError, match=r"this decider was closed; thisthat.open\(\) opens"
        ):
            call()


def test_the_prompt_can_be_shown() -> None:
    (text,) = path_decider().prompt_text("a state", {"q": "Is it?"})
    assert text == (
        "Context:\na state\n\nQuestion: Is it?\nOptions:\n(A) no\n(B) yes\nAnswer: ("
        "⟦slot 0: 2 options⟧"
    )


def test_options_are_declared_once_and_said_again_for_type_checkers() -> None:
    local = {"Policy": object}
    keywords = get_type_hints(DecideKeywords, localns=local)
    assert list(keywords.items()) == list(get_type_hints(DecideOptions, localns=local).items())
    assert [*CHOICES, *FLAGS, "policy", "request_id"] == list(keywords)
    assert CHOICES["keep"] == ("head", "tail", "ends")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("treshold", "; known are layout, packing, keep"),
        ("kep", "; did you mean 'keep'"),
        ("lam", ", but of the decider: thisthat.open"),
        ("unit", r", but of a client: decider\.for_unit"),
    ],
)
def test_a_setting_that_is_not_known_is_named(name: str, hint: str) -> None:
    options: Any = {name: 3}
    with pytest.raises(TypeError, match=f"'{name}' is not a setting of a decision{hint}"):
        path_decider().ask("s", "Is it?", **options)


def test_many_states_can_be_explained_in_one_call() -> None:
    decider = path_decider()
    states = ["one. two.", "three; four"]
    many = decider.decide_many(states, {"q": "Is it?"}, explain=True)
    for state, decision in zip(states, many, strict=True):
        alone = decider.decide(state, {"q": "Is it?"}, explain=True)
        assert (decision.answers, decision.evidence) == (alone.answers, alone.evidence)
