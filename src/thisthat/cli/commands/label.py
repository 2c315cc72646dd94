"""`thisthat label`: which states to label next, and which labels may be wrong."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thisthat.cli.labels import has_ids, named_states, read_labels, read_schema
from thisthat.cli.options import (
    LABELS_HELP,
    STATES_HELP,
    CheckpointOption,
    EngineOption,
    JsonOption,
    LambdaOption,
)
from thisthat.cli.outputs import check_output
from thisthat.cli.terminal import progress_bar, say
from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat.items.labels import LabelledStates
    from thisthat.questions import Text
    from thisthat.teach.choose import Doubt, Next

_SHOWN = 10
_BEGINNING = 70


def label(
    schema: Annotated[Path, typer.Option(help="JSON file of the named questions to label.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to fill in: .csv, or .jsonl.")
    ],
    states: Annotated[
        Path | None, typer.Argument(help=f"{STATES_HELP}; choose the next ones to label.")
    ] = None,
    labelled: Annotated[
        Path | None, typer.Option(help=f"What is labelled already. {LABELS_HELP}")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many states to choose.")] = 50,
    checkpoint: CheckpointOption = "default",
    lam: LambdaOption = None,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Choose states to label next, or, without states, find labels that may be wrong.

    The states chosen are those the checkpoint is unsure of and that are unlike each other and what
    is labelled already. The file has the labels' columns, empty: fill them in and teach.
    """
    from thisthat.decide.opening import open_decider
    from thisthat.display import counted
    from thisthat.files import write_atomically
    from thisthat.teach.choose import doubtful_labels, next_states

    if states is None and labelled is None:
        raise InvalidInputError("states", "or --labelled is needed")
    if output.suffix not in (".csv", ".jsonl"):
        raise InvalidInputError("--output", f"{output} must end in .csv or .jsonl")
    questions = read_schema(schema) or {}
    known = None if labelled is None else read_labels(labelled, schema)
    named = [] if states is None else named_states(states, questions)
    given = [state for _, state in named]
    read = given if known is None or states is not None else known.states
    if output.suffix == ".csv" and any(not isinstance(state, str) for state in read):
        raise InvalidInputError("--output", f"{output}: states that are JSON need a .jsonl file")
    check_output(output, states, schema, labelled)
    with open_decider(checkpoint, lam=lam, engine=engine) as decider:  # type: ignore[arg-type]
        if states is None:
            assert known is not None
            with progress_bar("judging", sum(known.counts.values())) as bar:
                doubts = doubtful_labels(decider, known, lambda done: bar(done, 0))
            rows = list(dict.fromkeys(each.row for each in doubts))
            chosen: list[tuple[str | None, Text]] = [
                (known.called(row), known.states[row]) for row in rows
            ]
            record: Any = [_doubt(each, known) for each in doubts]
            lines = _told(doubts, known)
        else:
            seen = () if known is None else known.states
            with progress_bar("reading", len(given) * len(questions)) as bar:
                found = next_states(
                    decider, questions, given, count, seen, lambda done: bar(done, 0)
                )
            # A line's number is no id: those of two files would collide once they are joined.
            called = has_ids(states)
            chosen = [
                (name if called else None, state)
                for name, state in (named[each.number] for each in found)
            ]
            record = [_next(each, named[each.number][0]) for each in found]
            lines = [f"{len(found)} of {len(given)} states chosen, the most useful first"]
    write_atomically(output, _form(output, list(questions), chosen))
    if as_json:
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return
    for line in [*lines, f"{counted(len(chosen), 'row')} to fill in: {output}"]:
        say(line)


def _told(doubts: Sequence[Doubt], known: LabelledStates) -> list[str]:
    from thisthat.display import beginning, counted, option_told
    from thisthat.teach.choose import judgeable
    from thisthat.teach.rows import LEAST_ROWS

    if not judgeable(known):
        return [f"nothing to judge by: no question has {LEAST_ROWS} states and two answers"]
    if not doubts:
        return ["no label seems wrong"]
    which = f". The surest {_SHOWN}" if len(doubts) > _SHOWN else ""
    lines = [f"{counted(len(doubts), 'label')} may be wrong; look again{which}:"]
    for each in doubts[:_SHOWN]:
        state = beginning(" ".join(str(known.states[each.row]).split()), _BEGINNING)
        question = known.questions[each.question]
        label, answer = (option_told(question, name) for name in (each.label, each.answer))
        lines.append(
            f"  {known.called(each.row)}, {each.question}: labelled {label!r}, rather "
            f"{answer!r} ({each.probability:.2f}): {state}"
        )
    return lines


def _doubt(each: Doubt, known: LabelledStates) -> dict[str, Any]:
    return {**vars(each), "row": known.called(each.row)}


def _next(each: Next, name: str) -> dict[str, Any]:
    answers = {
        name: {"answer": answer, "probability": sure}
        for name, (answer, sure) in each.answers.items()
    }
    return {"row": name, "answers": answers}


def _form(path: Path, names: Sequence[str], rows: Sequence[tuple[str | None, Text]]) -> str:
    """The rows in the label format, every label empty."""
    if path.suffix == ".jsonl":
        empty = dict.fromkeys(names)
        ids: list[dict[str, Any]] = [{} if name is None else {"id": name} for name, _ in rows]
        return "".join(
            json.dumps({**own, "state": state, "answers": empty}, ensure_ascii=False) + "\n"
            for own, (_, state) in zip(ids, rows, strict=True)
        )
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["id", "state", *names])
    table.writerows([name, state, *[""] * len(names)] for name, state in rows)
    return text.getvalue()
