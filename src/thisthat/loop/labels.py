"""Labels from decisions and outcomes: only what was known at a moment, and why the rest is not.

A label is ``{"id": …, "state": …, "answers": {question: option}}``, one for each state, called as
the request of its first decision, by its client if it said; a score's level is a number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from thisthat.audit.beside import CLIENT_REQUESTS
from thisthat.audit.protocol import Store
from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically
from thisthat.identity import schema_hash
from thisthat.loop.joined import Joined, JoinedView
from thisthat.questions import Question

REASONS = {
    "immature": "the window is not over (--mature shortens it)",
    "censored": "no outcome came",
    "repeated": "repeats a decision with an outcome",
    "unassigned": "the outcome does not say which of the request's states it is about",
    "reward only": "the outcome is a reward, not an option",
    "contradictory": "outcomes contradict each other",
    "contrary": "another decision about the same state has another outcome",
    "same": "another decision about the same state says the same",
    "unknown option": "the outcome is not one of the options",
    "no state": "the log keeps no states",
    "another wording": "asked in another wording than the schema's, or beside questions it lacks",
}


@dataclass(frozen=True, slots=True)
class Label:
    """A state with the right option for each of its questions."""

    id: str
    state: str
    answers: dict[str, str | int]


@dataclass(slots=True)
class Labels:
    """Labels, oldest first; answers ``excluded`` by reason; the counts of the joined view."""

    labels: list[Label] = field(default_factory=list)
    excluded: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def save(self, path: Path) -> None:
        """Write JSON lines, for their owner's eyes only."""
        lines = (json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in self.labels)
        write_atomically(path, lambda file: file.writelines(map(str.encode, lines)), mode=0o600)


def make_labels(
    store: Store,
    mature_after: float,
    until: float,
    *,
    since: float = 0.0,
    keep_contradictory: bool = False,
    questions: Mapping[str, Question] | None = None,
) -> Labels:
    """The labels of decisions that were mature at ``until``, from outcomes recorded before it.

    Decisions before ``since`` are passed over. ``questions`` leaves out what was asked in another
    wording than theirs. The log keeps only a hash of all questions asked together: without
    ``questions``, InvalidInputError is raised for a name that stands in several of those.

    With ``keep_contradictory`` the latest of contradictory outcomes is the label, and of a state
    whose decisions have several, the latest decision's. Raises LogError.
    """
    view, made = JoinedView(store, mature_after, until), Labels()
    known: list[Joined] = []
    asked: dict[str, set[str]] = {}
    for each in view.decisions():
        asked.setdefault(each.entry.schema, set()).add(each.entry.question)
        if each.entry.time < since:
            continue
        reason = _reason(each, keep_contradictory)
        if reason is None:
            known.append(each)
        else:
            made.excluded[reason] += 1
    if questions is None:
        _check_one_schema(known)
    else:
        same = {each for each, names in asked.items() if _are(questions, names, each)}
        made.excluded["another wording"] = sum(each.entry.schema not in same for each in known)
        known = [each for each in known if each.entry.schema in same]
    kept: dict[str, list[Joined]] = {}
    for each in known:
        kept.setdefault(each.entry.state_hash, []).append(each)
    agreed = (
        _agreed(sorted(lines, key=_line), made.excluded, keep_contradictory)
        for lines in kept.values()
    )
    states = sorted(filter(None, agreed), key=lambda lines: lines[0].line)
    made.labels = list(_labels(states, _clients(store, states)))
    made.excluded, made.counts = +made.excluded, view.counts
    return made


def _reason(found: Joined, keep_contradictory: bool) -> str | None:
    """Why there is no label; None where there is one."""
    if not found.mature:
        return "immature"
    if found.status != "known":
        return found.status
    if found.option is None:
        return "reward only"
    if found.contradictory and not keep_contradictory:
        return "contradictory"
    if found.option not in found.options:
        return "unknown option"
    return "no state" if found.entry.state is None else None


def _check_one_schema(known: Iterable[Joined]) -> None:
    schemas: dict[str, set[str]] = {}
    for each in known:
        schemas.setdefault(each.entry.question, set()).add(each.entry.schema)
    for name, several in schemas.items():
        if len(several) > 1:
            why = f"{name!r} stands in {len(several)} schemas of this log and may be worded in "
            why += "several ways; give the questions that are meant, or take only later decisions"
            raise InvalidInputError("questions", why)


def _are(questions: Mapping[str, Question], names: Iterable[str], schema: str) -> bool:
    """Whether the questions of these names have this hash together."""
    named = {name: questions[name] for name in names if name in questions}
    return schema_hash(named) == schema


def _agreed(lines: Iterable[Joined], excluded: Counter[str], keep_contrary: bool) -> list[Joined]:
    """Of one state's lines, oldest first, one for each question; counts the others."""
    asked: dict[str, list[Joined]] = {}
    for each in lines:
        asked.setdefault(each.entry.question, []).append(each)
    agreed = []
    for same in asked.values():
        contrary = sum(each.option != same[-1].option for each in same)
        if contrary and not keep_contrary:
            excluded["contrary"] += len(same)
            continue
        agreed.append(same[-1] if contrary else same[0])
        excluded["contrary"] += contrary
        excluded["same"] += len(same) - 1 - contrary
    return sorted(agreed, key=_line)


def _line(found: Joined) -> int:
    return found.line


def _clients(store: Store, states: list[list[Joined]]) -> dict[str, str]:
    """What clients call the requests of these lines, where they said."""
    requests = {lines[0].entry.request for lines in states}
    rows = store.rows(CLIENT_REQUESTS)
    return {str(own): str(client) for own, client, _ in rows if own in requests}


def _labels(states: list[list[Joined]], clients: Mapping[str, str]) -> Iterator[Label]:
    firsts = [lines[0].entry.request for lines in states]
    names = [None if request is None else clients.get(request, request) for request in firsts]
    used = Counter(names)
    for name, lines in zip(names, states, strict=True):
        # A name may stand for several states, or there may be none.
        alone = name is not None and used[name] == 1
        called = name if alone else f"{name or 'line'}#{lines[0].line}"
        answers = {each.entry.question: _answer(each) for each in lines}
        yield Label(str(called), str(lines[0].entry.state), answers)


def _answer(found: Joined) -> str | int:
    option = str(found.option)
    # As a text, a number could be taken for the wording of another level.
    return int(option) if found.entry.kind == "score" and option.isdecimal() else option
