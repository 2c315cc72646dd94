"""Many options: one wide softmax against a tournament in small groups, on a file's wide choices."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from thisthat.bench import metrics, scoring
from thisthat.bench.measure import Context, Findings, Measurement
from thisthat.bench.replies import Reply, from_probabilities, unanswered
from thisthat.bench.result import Line
from thisthat.calibrate.tournament import GROUP, WIDE
from thisthat.errors import InvalidInputError, StateTooLongError
from thisthat.questions import Choice
from thisthat.suites.files import read_items
from thisthat.suites.item import Item

CAVEATS = (
    f"Choices with more than {WIDE} options only; groups of at most {GROUP} in a round.",
    "A tournament's tokens are those of all its rounds; its state is read once per round.",
)


def run(context: Context, path: Path) -> Findings:
    """Ask every wide choice both ways. Raises InvalidInputError when the file has none."""
    wide = [item for item in read_items(path) if item.kind == "choice" and len(item.options) > WIDE]
    if not wide:
        raise InvalidInputError(str(path), f"has no choice with more than {WIDE} options")
    items = context.quick(wide)
    softmax = context.ask("one wide softmax", items)
    rounds = []
    with context.progress("tournament", len(items)) as advance:
        for item in items:
            rounds.append(_in_rounds(context, item))
            advance(1)
    won, wide_won = scoring.hits_of(items, rounds), scoring.hits_of(items, softmax)
    states = [item.state_hash for item in items]
    lines = [
        scoring.accuracy_line(items, softmax, None, "accuracy, one wide softmax"),
        scoring.accuracy_line(items, rounds, None, "accuracy, tournament"),
        Line.of("tournament less softmax", metrics.paired_difference(won, wide_won, states)),
        Line("chance", metrics.chance([len(item.options) for item in items])),
        Line("tokens per question, one wide softmax", _tokens(softmax), unit="number"),
        Line("tokens per question, tournament", _tokens(rounds), unit="number"),
    ]
    groups = scoring.grouped(
        items, rounds, "options, tournament", lambda item: len(item.options), order=int
    )
    groups += scoring.grouped(
        items, softmax, "options, softmax", lambda item: len(item.options), order=int
    )
    return Findings(lines, items, rounds, groups, caveats=CAVEATS)


def _in_rounds(context: Context, item: Item) -> Reply:
    question = item.as_question()
    assert isinstance(question, Choice)
    try:
        decision = context.engine.decider.decide(
            item.state, {"question": question}, wide="in-rounds"
        )
    except StateTooLongError:
        return unanswered("too long")
    given = tuple(decision["question"].probabilities.values())
    return from_probabilities(given, input_tokens=decision.usage.input_tokens)


def _tokens(replies: list[Reply]) -> float:
    return sum(reply.input_tokens for reply in replies) / len(replies)


def measurement_of(path: Path) -> Measurement:
    """The measurement of one file."""
    name = f"wide-{path.name.partition('.')[0]}"
    return Measurement(
        name, f"Wide choices of {path.name}", partial(run, path=path), engines_only=True
    )
