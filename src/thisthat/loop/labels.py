"""Labels from decisions and outcomes: only what was known at a moment, and why the rest is not.

A label is ``{"id": …, "state": …, "answers": {question: option}}``, one for each decision; a
score's level is a number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from thisthat.audit.protocol import Store
from thisthat.files import write_atomically
from thisthat.loop.joined import Joined, JoinedView

REASONS = {
    "immature": "the window is not over (--mature shortens it)",
    "censored": "no outcome came",
    "repeated": "repeats a decision with an outcome",
    "reward only": "the outcome is a reward, not an option",
    "contradictory": "outcomes contradict each other",
    "unknown option": "the outcome is not one of the options",
    "no state": "the log keeps no states",
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
) -> Labels:
    """The labels of decisions that were mature at ``until``, from outcomes recorded before it.

    Decisions before ``since`` are passed over.

    With ``keep_contradictory`` the latest of contradictory outcomes is the label. Raises LogError.
    """
    view, made = JoinedView(store, mature_after, until), Labels()
    kept: dict[tuple[str | None, float, str], list[Joined]] = {}
    for each in view.decisions():
        if each.entry.time < since:
            continue
        reason = _reason(each, keep_contradictory)
        if reason is None:
            # A decision's lines share its request, time and state.
            kept.setdefault(
                (each.entry.request, each.entry.time, each.entry.state_hash), []
            ).append(each)
        else:
            made.excluded[reason] += 1
    decisions = sorted(
        (sorted(lines, key=lambda each: each.line) for lines in kept.values()),
        key=lambda lines: lines[0].line,
    )
    made.labels = list(_labels(decisions))
    made.counts = view.counts
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


def _labels(decisions: list[list[Joined]]) -> Iterator[Label]:
    used = Counter(lines[0].entry.request for lines in decisions)
    for lines in decisions:
        first = lines[0]
        request = first.entry.request
        # A request may have asked about several states, or none may be named.
        alone = request is not None and used[request] == 1
        name = request if alone else f"{request or 'line'}#{first.line}"
        answers = {each.entry.question: _answer(each) for each in lines}
        yield Label(str(name), str(first.entry.state), answers)


def _answer(found: Joined) -> str | int:
    option = str(found.option)
    # As a text, a number could be taken for the wording of another level.
    return int(option) if found.entry.kind == "score" and option.isdecimal() else option
