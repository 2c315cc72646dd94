"""Many options in rounds: small groups first, then their winners, until one group is left.

A wide choice asks a model to hold a long list of labels apart; a tournament only ever shows it a
short one. The probability of an option is the product of what it gets in its groups, so the
result is a distribution over all options. Whether rounds answer better than one wide softmax
depends on the checkpoint: `thisthat bench wide` measures it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from thisthat.errors import InvalidInputError
from thisthat.questions import Choice, Decision, Option, Usage, answer_for
from thisthat.whole_parts import in_whole_parts

if TYPE_CHECKING:
    from thisthat.calibrate.order import Order
    from thisthat.decider import Decider
    from thisthat.prompt.format import Keep, Layout
    from thisthat.questions import Text

WIDE = 32
"""A choice with more options than this is worth asking in rounds."""

GROUP = 16
LARGEST_GROUP = 32


def decide_in_rounds(
    decider: Decider,
    state: Text,
    question: Choice,
    *,
    group: int = GROUP,
    layout: Layout | None = None,
    keep: Keep | None = None,
    order: Order = "as-given",
) -> Decision:
    """The answer to one choice, as ``answers["question"]``, with the usage of all rounds.

    All groups of a round are branches of one pass. Options are dealt out in turn, so that
    neighbours meet as late as possible. An abstain option stands in the last round alone. Raises
    InvalidInputError for a question that is no choice or a group size outside 2 to 32.
    """
    if not isinstance(question, Choice):
        raise InvalidInputError(
            "question", f"is a {type(question).__name__}; a tournament is for a choice"
        )
    if not 2 <= group <= LARGEST_GROUP:
        raise InvalidInputError("group", f"is {group}; it must be 2 to {LARGEST_GROUP}")
    shares = np.ones(len(question.options))
    contenders: list[list[int]] = [[place] for place in range(len(question.options))]
    heads = list(range(len(question.options)))
    rounds: list[Decision] = []
    while len(contenders) > group:
        count = -(-len(contenders) // group)
        dealt = [list(range(start, len(contenders), count)) for start in range(count)]
        asked = {
            str(number): Choice(_options(question, heads, members), question.instructions)
            for number, members in enumerate(dealt)
        }
        rounds.append(decider.decide(state, asked, layout=layout, keep=keep, order=order))
        winners: list[int] = []
        for number, members in enumerate(dealt):
            given = list(rounds[-1][str(number)].probabilities.values())
            for member, probability in zip(members, given, strict=True):
                shares[contenders[member]] *= probability
            winners.append(heads[members[int(np.argmax(given))]])
        contenders = [[p for member in members for p in contenders[member]] for members in dealt]
        heads = winners
    last = Choice(
        [question.options[head] for head in heads], question.instructions, question.abstain
    )
    rounds.append(decider.decide(state, {"question": last}, layout=layout, keep=keep, order=order))
    given = list(rounds[-1]["question"].probabilities.values())
    for places, probability in zip(contenders, given, strict=False):
        shares[places] *= probability
    everything = [*shares, *given[len(contenders) :]]
    answer = answer_for(question, in_whole_parts(np.array(everything)).tolist())
    return replace(
        rounds[-1],
        answers={"question": answer},
        usage=Usage(
            input_tokens=sum(each.usage.input_tokens for each in rounds),
            cached_tokens=sum(each.usage.cached_tokens for each in rounds),
            extra_tokens=sum(each.usage.extra_tokens for each in rounds),
        ),
        seconds=sum(each.seconds for each in rounds),
    )


def _options(question: Choice, heads: list[int], members: list[int]) -> list[Option]:
    return [question.options[heads[member]] for member in members]
