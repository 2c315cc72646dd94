"""Decisions for people to review, as plain rows and as Label Studio's tasks; and back.

Three kinds of decisions are worth a person's time: those the model is unsure about, those that two
checkpoints answer otherwise, and those made since the answers to a question began to drift. They
take turns in the queue, the least sure first.

Label Studio shows the tasks with the interface ``INTERFACE`` and exports them (as JSON) with
annotations, which become outcomes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from typing import Any, Literal, TypeAlias

from thisthat.audit.beside import SHADOWS, WORDINGS
from thisthat.audit.entry import Entry
from thisthat.audit.protocol import Store
from thisthat.calibrate.drift import LEAST_ROWS, LEVEL, sure_cell, sureness
from thisthat.errors import InvalidInputError
from thisthat.loop.joined import JoinedView
from thisthat.loop.outcomes import Outcome, moment

Reason: TypeAlias = Literal["unsure", "disagreeing", "drifting"]

NEWEST = 50_000
"""Decisions that are looked at: a log may have many more than fit into memory."""
SOURCE = "label-studio"
INTERFACE = """<View>
  <Header value="$asks"/>
  <Text name="meanings" value="$meanings"/>
  <Text name="state" value="$state"/>
  <Choices name="answer" toName="state" value="$options" choice="single" required="true"/>
</View>"""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A decision to review: the line of its answer, and why it is in the queue.

    ``asks`` is the wording of its question, and ``options`` what each of them means, where the log
    knows it.
    """

    decision: int
    entry: Entry
    asks: str | None
    options: dict[str, str | None]
    reasons: tuple[Reason, ...]


@dataclass(slots=True)
class Queue:
    """Decisions to review, and how many cannot be, since the log keeps no states."""

    rows: list[Reviewed] = field(default_factory=list)
    without_states: int = 0


@dataclass(slots=True)
class _Seen:
    """What is kept of each decision while the log is read; its texts are read again at the end."""

    open: dict[int, tuple[float, int]] = field(default_factory=dict)
    """By state and question: how sure, and which line."""
    streams: dict[tuple[str, str, str, str, float], list[tuple[int, float]]] = field(
        default_factory=dict
    )
    said: dict[int, str] = field(default_factory=dict)
    otherwise: set[int] = field(default_factory=set)
    without_states: int = 0


def review_queue(store: Store, most: int, until: float, newest: int = NEWEST) -> Queue:
    """At most ``most`` of the ``newest`` decisions, of which nobody knows the right option.

    A state comes once for each question. Raises LogError.
    """
    seen = _read(store, until, newest)
    drifting = set(chain.from_iterable(map(_drifted, seen.streams.values())))
    otherwise = seen.otherwise
    rows = sorted((sure, line, key) for key, (sure, line) in seen.open.items())
    kinds: dict[Reason, list[int]] = {
        "disagreeing": [line for _, line, key in rows if key in otherwise],
        "drifting": [line for _, line, _ in rows if line in drifting],
        "unsure": [line for _, line, _ in rows],
    }
    turns = chain.from_iterable(zip_longest(*kinds.values()))
    chosen = list(islice(dict.fromkeys(line for line in turns if line is not None), most))
    disagreeing = set(kinds["disagreeing"])
    queue, wordings = Queue(without_states=seen.without_states), _Wordings(store)
    for line in chosen:
        reasons: list[Reason] = []
        reasons += ["disagreeing"] if line in disagreeing else []
        reasons += ["drifting"] if line in drifting else []
        for _, entry in store.lines({"id": str(line)}, None, None, None):
            asks, meanings = wordings.of(entry)
            options = {name: meanings.get(name) for name in json.loads(entry.probabilities)}
            queue.rows.append(Reviewed(line, entry, asks, options, tuple(reasons) or ("unsure",)))
    return queue


class _Wordings:
    """What questions ask and their options mean, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str], tuple[str | None, dict[str, str | None]]] = {}

    def of(self, entry: Entry) -> tuple[str | None, dict[str, str | None]]:
        """The question's text and its options' meanings; None and none where not recorded."""
        asked = entry.schema, entry.question
        if asked not in self._known:
            where = dict(zip(("schema", "question"), asked, strict=True))
            found = [json.loads(str(row[3])) for row in self._store.rows(WORDINGS, where)]
            told = found[0] if found else {"asks": None, "options": {}}
            self._known[asked] = told["asks"], told["options"]
        return self._known[asked]


def _read(store: Store, until: float, newest: int) -> _Seen:
    seen, shadows = _Seen(), _shadows(store, until, newest)
    for each in JoinedView(store, 0.0, until, newest).decisions():
        entry, line = each.entry, each.line
        source = (entry.checkpoint, entry.version, entry.lam)
        stream = seen.streams.setdefault((entry.schema, entry.question, *source), [])
        stream.append((line, entry.sure))
        key = hash((entry.schema, entry.question, entry.state_hash))
        shadow = shadows.get(hash((entry.request, entry.question, entry.state_hash)), entry.best)
        if {shadow, seen.said.setdefault(key, entry.best)} != {entry.best}:
            seen.otherwise.add(key)
        if each.option is None and each.status != "repeated":
            if entry.state is None:
                seen.without_states += 1
            else:
                seen.open.setdefault(key, (entry.sure, line))
    return seen


def _shadows(store: Store, until: float, newest: int) -> dict[int, str]:
    """What shadows said about these decisions, by request, question and state."""
    asked = {
        hash((entry.request, entry.question, entry.state_hash))
        for _, entry in store.lines({}, None, until, newest)
    }
    names = ["key", *SHADOWS.content]
    found = {}
    for row in store.rows(SHADOWS):
        told = dict(zip(names, row, strict=False))
        key = hash((told["request"], told["question"], told["state_hash"]))
        if key in asked:
            found[key] = str(told["best"])
    return found


def _drifted(stream: Iterable[tuple[int, float]]) -> Iterator[int]:
    """The lines since the answers of one checkpoint to one question began to drift, if they did.

    They began to where a bet against the first decisions was worth least before it was won.
    """
    lines = sorted(stream)
    first, later = lines[:LEAST_ROWS], lines[LEAST_ROWS:]
    bets = sureness((sure for _, sure in first), "review")
    lowest, begins = 1.0, 0
    for number, (_, sure) in enumerate(later, 1):
        wealth = bets.add(sure_cell(sure))
        if bets.drifted(LEVEL):
            yield from (line for line, _ in later[begins:])
            return
        if wealth <= lowest:
            lowest, begins = wealth, number


def review_tasks(queue: Queue) -> list[dict[str, Any]]:
    """The queue as Label Studio's tasks, with the model's answers as predictions."""
    return [_task(each) for each in queue.rows]


def _task(found: Reviewed) -> dict[str, Any]:
    entry = found.entry
    value = {"choices": [entry.best]}
    said = {"from_name": "answer", "to_name": "state", "type": "choices", "value": value}
    model = f"{entry.checkpoint} {entry.version}, lambda {entry.lam:g}"
    return {
        "data": {
            "decision": found.decision,
            "request": entry.request,
            "question": entry.question,
            "asks": found.asks or entry.question,
            "meanings": "\n".join(
                name if meaning is None else f"{name}: {meaning}"
                for name, meaning in found.options.items()
            ),
            "state": entry.state,
            "options": [{"value": name} for name in found.options],
            "reasons": list(found.reasons),
        },
        "predictions": [{"model_version": model, "score": entry.sure, "result": [said]}],
    }


def outcomes_of_review(tasks: object) -> Iterator[tuple[str, Outcome]]:
    """The outcomes in Label Studio's JSON export, each with its task's place; skipped have none.

    Raises InvalidInputError for anything else.
    """
    if not isinstance(tasks, list):
        raise InvalidInputError("", "must be Label Studio's JSON export: a list of tasks")
    for number, task in enumerate(tasks):
        place = f"[{number}]"
        try:
            decision, annotations = task["data"]["decision"], task.get("annotations") or []
            for each in annotations:
                if not each.get("was_cancelled") and (chosen := _chosen(each)):
                    at = each.get("updated_at") or each.get("created_at")
                    time = None if at is None else moment(at)
                    found = Outcome(decision=decision, option=chosen, source=SOURCE, time=time)
                    yield place, found
        except InvalidInputError as error:
            raise error.under(place) from None
        except (KeyError, TypeError, AttributeError, ValueError):
            why = "is not a task of a review queue with Label Studio's annotations"
            raise InvalidInputError(place, why) from None


def _chosen(annotation: dict[str, Any]) -> str | None:
    for each in annotation["result"]:
        if each["type"] == "choices":
            [choice] = each["value"]["choices"]
            return str(choice)
    return None
