"""Many options: one wide softmax against a tournament in small groups, on a file's wide choices.

Files often list a few options per row out of many that their question has. Pooled, every row
offers all of them: those that more than one row with its question lists, and its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from thisthat.decide.tournament import GROUP, WIDE
from thisthat.errors import InvalidInputError, StateTooLongError
from thisthat.items import metrics
from thisthat.items.files import read_items
from thisthat.items.item import Item
from thisthat.questions import MOST_OPTIONS, Choice
from thisthat.rng import Rng
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings, Measurement, registered
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.systems.replies import Reply, from_probabilities, unanswered

CAVEATS = (
    f"Choices with more than {WIDE} options only; groups of at most {GROUP} in a round.",
    "A tournament's tokens are those of all its rounds; its state is read once per round.",
)


POOLED = (
    "Every row offers all options that more than one row of the file lists for its question, in an "
    f"order of its own; rows that would offer more than {MOST_OPTIONS} are left out."
)


def run(context: Context, path: Path, pool: bool = False) -> Findings:
    """Ask every wide choice both ways. Raises InvalidInputError when the file has none."""
    choices = [item for item in read_items(path) if item.kind == "choice"]
    wide = [item for item in (pooled(choices) if pool else choices) if len(item.options) > WIDE]
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
    groups += scoring.grouped(items, rounds, "source, tournament", lambda item: item.source)
    groups += scoring.grouped(items, softmax, "source, softmax", lambda item: item.source)
    caveats = (*CAVEATS, POOLED) if pool else CAVEATS
    return Findings(lines, items, rounds, groups, caveats=caveats)


def pooled(choices: Iterable[Item]) -> list[Item]:
    """The choices with all options of their question; those with too many are left out."""
    rows = list(choices)
    listed: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    described: dict[tuple[str, str], dict[str, str | None]] = defaultdict(dict)
    for row in rows:
        asked = row.source, row.question
        listed[asked].update(name for name, _ in row.options)
        described[asked].update(row.options)
    wider = []
    for row in rows:
        asked = row.source, row.question
        shared = {name for name, rows_with_it in listed[asked].items() if rows_with_it > 1}
        names = sorted(shared | {name for name, _ in row.options})
        options = [(name, described[asked][name]) for name in names]
        if len(options) > MOST_OPTIONS:
            continue
        right, _ = row.options[row.answer]
        dealt = tuple(Rng("pooled options", row.fingerprint).shuffled(options))
        answer = [name for name, _ in dealt].index(right)
        wider.append(replace(row, options=dealt, answer=answer, target=None))
    return wider


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


def measurement_of(path: Path, pool: bool = False) -> Measurement:
    """The measurement of one file, its options as they are or pooled by question."""
    pooled = ", options pooled" if pool else ""
    return registered("wide", partial(run, path=path, pool=pool), file=path.name, pooled=pooled)
