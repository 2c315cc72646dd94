"""``thisthat loop``: outcomes from files, labels from outcomes, a queue to review."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from thisthat.cli.app import App
from thisthat.cli.moments import duration, moment
from thisthat.cli.outputs import check_output
from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically

app = App(
    no_args_is_help=True,
    help="From outcomes to a better checkpoint, with proof.",
)

Log = Annotated[str, typer.Option(help="The log: a SQLite file or an SQLAlchemy URL.")]
Mature = Annotated[str, typer.Option(help="How long outcomes may take (7d, 12h, 30m, 45s).")]
Until = Annotated[str | None, typer.Option(help="As it was known then: an age or a date.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]


@app.command()
def outcomes(
    log: Log,
    file: Annotated[
        Path | None, typer.Argument(help="Outcomes: .jsonl, .csv, or Label Studio's .json.")
    ] = None,
    mature: Mature = "7d",
    schema: Annotated[
        Path | None, typer.Option(help="Questions: the levels of a score by their texts, too.")
    ] = None,
) -> None:
    """Import outcomes, each once, and count what is known about the decisions."""
    from thisthat.audit.places import check_there
    from thisthat.audit.store import open_store
    from thisthat.cli.labels import read_schema
    from thisthat.loop.joined import COUNTS, JoinedView
    from thisthat.loop.outcome_files import import_outcomes

    window = duration(mature, "--mature")
    check_there(log)
    store = open_store(log)
    if file is not None:
        done = import_outcomes(store, file, read_schema(schema))
        typer.echo(f"{file}: {done.recorded} recorded, {done.repeated} were recorded before")
    view = JoinedView(store, window, time.time())
    for _ in view.decisions():
        pass
    for name, meaning in COUNTS.items():
        typer.echo(f"{meaning}: {view.counts[name]}")


@app.command()
def labels(
    log: Log,
    output: Output,
    mature: Mature = "7d",
    since: Annotated[str | None, typer.Option(help="Only decisions from then on.")] = None,
    until: Until = None,
    schema: Annotated[
        Path | None, typer.Option(help="Questions: only what was asked in their wording.")
    ] = None,
    keep_contradictory: Annotated[
        bool, typer.Option(help="Label with the latest of contradictory outcomes.")
    ] = False,
) -> None:
    """Write labels from decisions whose window is over; say what was left out, and why."""
    from thisthat.audit.store import open_store
    from thisthat.cli.labels import read_schema
    from thisthat.display import counted
    from thisthat.loop.labels import REASONS, make_labels

    window, at = duration(mature, "--mature"), moment(until, "--until") or time.time()
    check_output(output, None if "://" in log else Path(log))
    try:
        made = make_labels(
            open_store(log),
            window,
            at,
            since=moment(since, "--since") or 0.0,
            keep_contradictory=keep_contradictory,
            questions=read_schema(schema),
        )
    except InvalidInputError as error:
        if error.field != "questions":
            raise
        raise InvalidInputError("--schema", error.message) from None
    made.save(output)
    answers = sum(len(each.answers) for each in made.labels)
    typer.echo(f"{output}: {counted(len(made.labels), 'state')}, {counted(answers, 'answer')}")
    for name, meaning in REASONS.items():
        if made.excluded[name]:
            typer.echo(f"{made.excluded[name]:8} excluded: {meaning}")


@app.command()
def review(
    log: Log,
    output: Output,
    limit: Annotated[int, typer.Option(min=1, help="Most decisions to review.")] = 200,
    newest: Annotated[int, typer.Option(min=1, help="Decisions that are looked at.")] = 50_000,
    until: Until = None,
) -> None:
    """Write decisions without a known answer as Label Studio's tasks.

    Those that two checkpoints answer otherwise, that drift, and that are unsure take turns.
    """
    from thisthat.audit.store import open_store
    from thisthat.display import counted
    from thisthat.loop.review import INTERFACE, review_queue, review_tasks

    check_output(output, None if "://" in log else Path(log))
    at = moment(until, "--until") or time.time()
    queue = review_queue(open_store(log), limit, at, newest)
    tasks = review_tasks(queue)
    write_atomically(output, json.dumps(tasks, ensure_ascii=False, indent=1), mode=0o600)
    counts = Counter(reason for row in queue.rows for reason in row.reasons)
    told = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
    typer.echo(f"{output}: {counted(len(tasks), 'decision')}{f' ({told})' if told else ''}")
    if queue.without_states:
        typer.echo(f"{queue.without_states} without a state in the log cannot be reviewed")
    typer.echo(f"their labeling interface is\n{INTERFACE}")
