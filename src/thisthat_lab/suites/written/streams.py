"""Items of written tasks: an endless stream for training, others for measuring and calibrating.

Every task comes as often as any other, however many states it has. A state is followed by several
questions about it: its task in one of the wordings, the other tasks that share it, and what
programs make of them. Tasks of other splits and every state they show stay out of training.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from thisthat.items.item import Item, render_state
from thisthat.rng import Rng
from thisthat_lab.suites import forms
from thisthat_lab.suites.base.family import check_ranges
from thisthat_lab.suites.written.several import several_states
from thisthat_lab.suites.written.surfaces import with_remark
from thisthat_lab.suites.written.task import State, Task

SOURCE = "written"


@dataclass(frozen=True)
class WrittenSettings:
    """How much is made of a state. The shares are probabilities for each chance to add something.

    ``wordings`` is how many wordings of a task are asked about one state at most, ``extra`` how
    many questions programs add at most. ``several`` is the share of states that are several ones.
    ``twins`` is the share of paired states that are followed by their twin, asked the same: what
    both are about then cancels out of a step, and what is left is the fact that turns the answer.
    """

    wordings: int = 2
    extra: int = 3
    bare: float = 0.5
    coded: float = 0.1
    remark: float = 0.15
    several: float = 0.12
    twins: float = 0.0

    def __post_init__(self) -> None:
        shares = dict.fromkeys(("bare", "coded", "remark", "several", "twins"), (0, 1))
        check_ranges(self, wordings=(1, 9), extra=(0, 9), **shares)


def held_out_items(tasks: Sequence[Task], split: str = "heldout") -> list[Item]:
    """Every state of a split's tasks once, the wordings in turn, options as they are written."""
    items: list[Item] = []
    for task in tasks:
        if task.split != split:
            continue
        asked = [(text, False) for text in task.questions]
        asked += [(text, True) for text in task.negated]
        for number, state in enumerate(task.states):
            text, flipped = asked[number % len(asked)]
            items.append(_item(task, state, text, flipped))
    return items


def training_items(
    seed: int, tasks: Sequence[Task], settings: WrittenSettings | None = None
) -> Iterator[Item]:
    """Endless items of the trained tasks; items about one state follow one another."""
    settings = settings or WrittenSettings()
    rng = Rng("written training", seed)
    allowed = trainable(tasks)
    sharing = _by_state(allowed)
    while True:
        for task in rng.shuffled(allowed):
            if rng.chance(settings.several):
                yield from several_states(task, SOURCE, rng)
                continue
            state = rng.choice(task.states)
            twin = _twin(task, state)
            twins = [twin] if twin is not None and rng.chance(settings.twins) else []
            others = [one.full_name for one, _ in sharing[render_state(state.text)]]
            others = [name for name in others if name != task.full_name]
            names = [task.full_name, *rng.sample(others, min(2, len(others)))]
            look = rng.raw()
            for shown in [state, *twins]:
                yield from _about(shown, names, sharing, settings, Rng("look", look))


def _twin(task: Task, state: State) -> State | None:
    """A state of the task that differs from this one in what turns the answer."""
    if state.pair is None:
        return None
    return next((s for s in task.states if s.pair == state.pair and s.answer != state.answer), None)


def _about(
    state: State,
    names: Sequence[str],
    sharing: Mapping[str, list[tuple[Task, State]]],
    settings: WrittenSettings,
    rng: Rng,
) -> Iterator[Item]:
    """What the tasks of these names ask about one state."""
    found = {task.full_name: (task, own) for task, own in sharing[render_state(state.text)]}
    text = with_remark(state.text, rng) if rng.chance(settings.remark) else state.text
    for name in names:
        if name in found:
            task, own = found[name]
            yield from _questions(task, replace(own, text=text), settings, rng.fork(name))


def trainable(tasks: Sequence[Task]) -> list[Task]:
    """The tasks that may be trained on, without the states that a task of another split shows."""
    hidden = {
        render_state(state.text) for task in tasks if task.split != "train" for state in task.states
    }
    allowed = []
    for task in tasks:
        if task.split == "train":
            states = tuple(s for s in task.states if render_state(s.text) not in hidden)
            if states:
                allowed.append(replace(task, states=states))
    return allowed


def _by_state(tasks: Sequence[Task]) -> Mapping[str, list[tuple[Task, State]]]:
    found: dict[str, list[tuple[Task, State]]] = defaultdict(list)
    for task in tasks:
        for state in task.states:
            found[render_state(state.text)].append((task, state))
    return found


def _questions(task: Task, state: State, settings: WrittenSettings, rng: Rng) -> Iterator[Item]:
    asked = [(text, False) for text in task.questions] + [(text, True) for text in task.negated]
    items = [
        _varied(_item(task, state, text, flipped), settings, rng)
        for text, flipped in rng.sample(asked, rng.integer(1, settings.wordings))
    ]
    made: list[Item] = []
    for _ in range(rng.integer(0, settings.extra)):
        plain = _item(task, state, rng.choice(task.questions), False)
        form = rng.choice(_FORMS[task.kind])
        extra = form(plain, rng)
        if extra is not None:
            made.append(extra)
    yield from rng.shuffled(items + made)


def _varied(item: Item, settings: WrittenSettings, rng: Rng) -> Item:
    if rng.chance(settings.bare):
        if item.kind == "boolean" or not any(forms.is_bare(name) for name, _ in item.options):
            return replace(item, options=tuple((name, None) for name, _ in item.options))
    elif item.kind == "choice" and rng.chance(settings.coded):
        return coded(item, rng)
    return item


def coded(item: Item, rng: Rng) -> Item:
    """The choice with option names that mean nothing; what they stand for is the description."""
    style = rng.choice(("option {}", "{}", "R{}", "case {}", "route-{}"))
    numbers = rng.sample(range(1, 10 * len(item.options)), len(item.options))
    options = tuple(
        (style.format(number), f"{name}: {text}" if text else name)
        for number, (name, text) in zip(numbers, item.options, strict=True)
    )
    return replace(item, options=options)


def as_choice(item: Item, rng: Rng) -> Item | None:
    """A boolean as a choice between the two things its answers stand for."""
    (_, false), (_, true) = item.options
    if item.kind != "boolean" or not false or not true or false.casefold() == true.casefold():
        return None
    question = rng.choice((item.question, "Which is right?", "Which of the two holds here?"))
    return replace(item, kind="choice", question=question, options=((false, None), (true, None)))


_FORMS = {
    "boolean": (forms.negated, as_choice),
    "choice": (forms.verified, forms.verified, forms.with_fewer_options),
    "score": (forms.verified, forms.at_least),
}


def _item(task: Task, state: State, question: str, flipped: bool) -> Item:
    options = task.options
    if flipped:
        (_, false), (_, true) = options
        options = (("no", true), ("yes", false))
    return Item(
        source=SOURCE,
        family=task.full_name,
        kind=task.kind,
        state=state.text,
        question=question,
        options=options,
        answer=1 - state.answer if flipped else state.answer,
        split=task.split,
        facts={"domain": task.domain} | ({"pair": state.pair} if state.pair else {}),
    )
