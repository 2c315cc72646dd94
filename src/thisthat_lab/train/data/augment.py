"""Making training rows vary where a caller's questions will: order, layout, packing, wording.

Items in, drafts out, all by a given random stream, so that the same stream makes the same rows.
The order of booleans and of score levels is their meaning and is never touched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from thisthat.items.item import Item
from thisthat.prompt_format import Layout
from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.forms import is_bare
from thisthat_lab.train.config import Augment
from thisthat_lab.train.data.abstain import insert_abstention, insert_withheld
from thisthat_lab.train.data.draft import Draft, OptionPair


@dataclass(frozen=True, slots=True)
class Sheet:
    """One training row before rendering: questions about one state, in one layout."""

    state: Text
    drafts: tuple[Draft, ...]
    layout: Layout


def make_sheet(
    items: Sequence[Item],
    settings: Augment,
    rng: Rng,
    others: Mapping[str, Sequence[OptionPair]],
    outcomes: Sequence[bool],
) -> Sheet:
    """A varied sheet from items that share one state.

    ``others`` gives, by question key, options of other items to mix in as distractors.
    ``outcomes`` says of each item whether its answer is an outcome: the options are then the
    things that could happen, and are shuffled but neither added to nor taken away.
    """
    drafts = []
    for item, outcome in zip(items, outcomes, strict=True):
        draft = Draft.of(item)
        if draft.kind == "choice":
            if not outcome:
                if rng.chance(settings.drop_descriptions):
                    draft = without_descriptions(draft)
                elif settings.drop_names and rng.chance(settings.drop_names):
                    draft = without_names(draft)
                if rng.chance(settings.distractors):
                    pool = others.get(question_key(item), ())
                    if draft.options[0][0] != item.options[0][0]:
                        pool = _nameless(pool, item)
                    draft = with_distractors(draft, pool, settings.most_options, rng)
            if rng.chance(settings.shuffle):
                draft = shuffled(draft, rng)
        if not outcome:
            draft = insert_abstention(draft, settings.abstain_offer, settings.abstain_rate, rng)
        drafts.append(draft)
    state = items[0].state
    if len(drafts) == 1 and not outcomes[0]:
        offer, rate = settings.abstain_offer, settings.abstain_rate
        state, drafts[0] = insert_withheld(drafts[0], state, offer, rate, rng)
    if rng.chance(settings.swap_state):
        state = swapped_state(state)
    layout: Layout = "schema-first" if rng.chance(settings.schema_first) else "state-first"
    return Sheet(state, tuple(drafts), layout)


def plain_sheet(items: Sequence[Item], layout: Layout = "state-first") -> Sheet:
    """The items as they stand, for evaluation."""
    return Sheet(items[0].state, tuple(Draft.of(item) for item in items), layout)


def shuffled(draft: Draft, rng: Rng) -> Draft:
    """The draft with its options in random order; the abstain option, if any, stays last."""
    order = list(range(len(draft.options)))
    rng.shuffle(order)
    moved = draft.arranged(order)
    return replace(moved, target=moved.target + draft.target[len(order) :])


def without_descriptions(draft: Draft) -> Draft:
    """The draft with bare option names, unless the names alone say nothing (``R1``, ``7``)."""
    if any(is_bare(name) for name, _ in draft.options):
        return draft
    return replace(draft, options=tuple((name, None) for name, _ in draft.options))


def without_names(draft: Draft) -> Draft:
    """The draft with descriptions in place of names, where all have one and no two are the same."""
    texts = [text for _, text in draft.options if text]
    if len({text.casefold() for text in texts}) < len(draft.options):
        return draft
    return replace(draft, options=tuple((text, None) for text in texts))


def _nameless(pool: Sequence[OptionPair], item: Item) -> list[OptionPair]:
    """The descriptions of the pool's options, less the item's own under whatever description."""
    own = {name.casefold() for name, _ in item.options}
    return [(text, None) for name, text in pool if text and name.casefold() not in own]


def with_distractors(draft: Draft, pool: Sequence[OptionPair], most: int, rng: Rng) -> Draft:
    """The draft with some wrong options from ``pool`` appended, up to ``most`` in all.

    How many is drawn evenly in the logarithm: a few mostly, a long list now and then.
    """
    taken = {name.casefold() for name, _ in draft.options}
    fresh = {name.casefold(): (name, text) for name, text in pool if name.casefold() not in taken}
    room = min(len(fresh), most - len(draft.options))
    if room < 1 or not draft.certain or draft.abstain is not None:
        return draft
    count = min(room, int((room + 1) ** rng.uniform()))
    described = any(text for _, text in draft.options)
    added = [
        (name, text if described else None)
        for name, text in rng.sample(list(fresh.values()), max(count, 1))
    ]
    return replace(
        draft, options=(*draft.options, *added), target=(*draft.target, *(0.0 for _ in added))
    )


def question_key(item: Item) -> str:
    """Items with this key ask the same question; an option of one is wrong for another."""
    return f"{item.source}\t{item.family}\t{item.kind}\t{item.question}"


def swapped_state(state: Text) -> Text:
    """A flat JSON object as lines of text, a short text as JSON; anything else as it is.

    Grids and other texts of several lines keep their form: their layout carries meaning.
    """
    if isinstance(state, str):
        return state if "\n" in state else {"text": state}
    if isinstance(state, Mapping):
        return "\n".join(
            f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            for key, value in state.items()
        )
    return state
