"""States for timing: as long as asked for, and about a thing a customer can write about."""

from hypothesis import given
from hypothesis import strategies as st

from tests.path_engine import path_decider
from thisthat.questions import Choice
from thisthat.rng import Rng
from thisthat_lab.bench.timing.comparison import INTENTS
from thisthat_lab.bench.timing.texts import MATTERS, THINGS, state_of, ticket


@given(st.integers(1, 400), st.integers(0, 99))
def test_a_ticket_has_the_words_asked_for(words: int, seed: int) -> None:
    made = ticket(Rng("texts", seed), words)
    assert len(made.split(" ")) == words
    assert made == ticket(Rng("texts", seed), words)


def test_a_ticket_opens_with_what_one_of_the_options_names() -> None:
    intent = INTENTS["intent"]
    assert isinstance(intent, Choice)
    named = {option.name for option in intent.options}
    assert named == {f"{thing} {matter}" for thing in THINGS for matter in MATTERS}
    openings = [said.format(thing=thing) for thing in THINGS for said in MATTERS.values()]
    for seed in range(20):
        assert ticket(Rng("texts", seed), 60).startswith(tuple(openings))


def test_a_state_is_no_longer_than_asked_and_hardly_shorter() -> None:
    decider = path_decider()
    for tokens in (30, 200):
        state = state_of(decider, Rng("texts", tokens), tokens)
        length = len(decider.builder.encode_state(state))
        assert tokens - 12 <= length <= tokens
