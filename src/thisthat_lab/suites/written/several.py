"""Several states of one task read together: which of them, how many, the same or not.

What a program does when it compares records: every entry has a name, the question needs one of
them looked up, and the answer depends on no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thisthat.items.item import Item, render_state
from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import YES_NO
from thisthat_lab.suites.written.task import State, Task

_LONGEST = 700
_MOST = 6
_NAMES = (
    tuple("ABCDEF"),
    ("1", "2", "3", "4", "5", "6"),
    ("first", "second", "third", "fourth", "fifth", "sixth"),
    ("red", "blue", "green", "amber", "violet", "grey"),
    ("Oak", "Elm", "Birch", "Pine", "Ash", "Maple"),
)
_WORDS = ("entry", "case", "text", "record", "item")


def several_states(task: Task, source: str, rng: Rng) -> Iterator[Item]:
    """A few questions about some of the task's shorter states, shown side by side."""
    short = [state for state in task.states if len(render_state(state.text)) <= _LONGEST]
    if len(short) < 2 or task.context is not None:
        return
    chosen = _chosen(short, rng.integer(2, min(_MOST, len(short))), rng)
    names, word = rng.choice(_NAMES)[: len(chosen)], rng.choice(_WORDS)
    state = _together(chosen, names, word, rng)
    question = rng.choice(task.questions)

    def item(kind: str, text: str, options: Sequence[tuple[str, str | None]], answer: int) -> Item:
        return Item(source, f"{task.full_name}.several", kind, state, text, tuple(options), answer)  # type: ignore[arg-type]

    for number in rng.shuffled(range(len(chosen)))[: rng.integer(1, 3)]:
        text = f"About {word} {names[number]}: {question}"
        yield item(task.kind, text, task.options, chosen[number].answer)
    counts = {
        answer: [n for n, one in enumerate(chosen) if one.answer == answer]
        for answer in {one.answer for one in chosen}
    }
    single = [answer for answer, numbers in counts.items() if len(numbers) == 1]
    if single:
        answer = rng.choice(sorted(single))
        wanted = task.options[answer][0]
        options = [(f"{word} {name}", None) for name in names]
        yield item(
            "choice",
            f'For which {word} is "{wanted}" the answer? {question}',
            options,
            counts[answer][0],
        )
    same = rng.chance(0.5)
    pairs = [
        (left, right)
        for left in range(len(chosen))
        for right in range(len(chosen))
        if left != right and (chosen[left].answer == chosen[right].answer) == same
    ]
    if pairs:
        left, right = rng.choice(pairs)
        first, second = f"{word} {names[left]}", f"{word} {names[right]}"
        yield item(
            "boolean",
            f"Is the answer the same for {first} and {second}? {question}",
            YES_NO,
            int(same),
        )


def _chosen(states: Sequence[State], count: int, rng: Rng) -> list[State]:
    """Some states, no answer much more often than the others; half of the time a minimal pair."""
    mixed = rng.shuffled(states)
    chosen = _pair(mixed) if rng.chance(0.5) else []
    mixed = [state for state in mixed if state not in chosen]
    while len(chosen) < count:
        used = [state.answer for state in chosen]
        mixed.sort(key=lambda state: used.count(state.answer) + (0 if rng.chance(0.7) else 1))
        chosen.append(mixed.pop(0))
    return rng.shuffled(chosen)


def _pair(states: Sequence[State]) -> list[State]:
    """The first two states that are a pair, where there are any."""
    seen: dict[str, State] = {}
    for state in states:
        if state.pair is not None and state.pair in seen:
            return [seen[state.pair], state]
        if state.pair is not None:
            seen[state.pair] = state
    return []


def _together(states: Sequence[State], names: Sequence[str], word: str, rng: Rng) -> Text:
    style = rng.integer(0, 2)
    if style == 0:
        return {f"{word} {name}": state.text for name, state in zip(names, states, strict=True)}
    join = "\n\n" if style == 1 else "\n"
    return join.join(
        f"{word.capitalize()} {name}: {render_state(state.text)}"
        for name, state in zip(names, states, strict=True)
    )
