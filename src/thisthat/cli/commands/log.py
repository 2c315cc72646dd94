"""``thisthat log``: query, export, purge, verify and anchor the decision log; outcomes; drift."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime, timezone
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from thisthat.cli.app import App
from thisthat.cli.moments import moment
from thisthat.cli.outputs import check_output
from thisthat.errors import InvalidInputError
from thisthat.inputs import read_text

app = App(
    no_args_is_help=True,
    help="The decision log: query, export, outcome, purge, verify, anchor, drift.",
)

Place = Annotated[str, typer.Argument(help="The log: a SQLite file or an SQLAlchemy URL.")]
Since = Annotated[str | None, typer.Option(help="An age (90d, 12h, 30m, 45s) or a date.")]

_MOST_FINDINGS = 20
_TOO_FEW = 3


@app.command()
def query(
    log: Place,
    request: Annotated[str | None, typer.Option(help="Only this request id.")] = None,
    client: Annotated[str | None, typer.Option(help="Only this x-request-id of a client.")] = None,
    question: Annotated[str | None, typer.Option(help="Only this question.")] = None,
    action: Annotated[str | None, typer.Option(help="Only act, abstain or escalate.")] = None,
    policy: Annotated[str | None, typer.Option(help="Only the policy with this hash.")] = None,
    schema: Annotated[str | None, typer.Option(help="Only the schema with this hash.")] = None,
    state_hash: Annotated[str | None, typer.Option(help="Only this state.")] = None,
    checkpoint: Annotated[str | None, typer.Option(help="Only this checkpoint.")] = None,
    version: Annotated[str | None, typer.Option(help="Only this checkpoint version.")] = None,
    since: Since = None,
    until: Since = None,
    limit: Annotated[int, typer.Option(min=1, help="Most lines to print.")] = 100,
) -> None:
    """Print matching lines as JSON, newest first."""
    from thisthat.audit.beside import CLIENT_REQUESTS
    from thisthat.audit.store import open_store

    given = {"request": request, "question": question, "action": action, "policy": policy}
    given |= {"schema": schema, "state_hash": state_hash}
    given |= {"checkpoint": checkpoint, "version": version}
    where = {name: value for name, value in given.items() if value is not None}
    store = open_store(log)
    wheres = [where]
    if client is not None:
        known = store.rows(CLIENT_REQUESTS, {"client": client})
        wheres = [{"request": str(own), **where} for own, *_ in known]
    bounds = moment(since, "--since"), moment(until, "--until")
    lines = chain.from_iterable(store.lines(each, *bounds, limit) for each in wheres)
    found = False
    for line, entry in islice(lines, limit):
        found = True
        row = {"id": line, **asdict(entry)}
        row["probabilities"] = json.loads(entry.probabilities)
        row["time"] = datetime.fromtimestamp(entry.time, timezone.utc).isoformat()
        typer.echo(json.dumps(row, ensure_ascii=False))
    if not found:
        sent = request is not None and any(store.rows(CLIENT_REQUESTS, {"client": request}))
        hint = f", but a client sent this request id: --client {request} finds it" if sent else ""
        typer.echo(f"no line matches{hint}", err=True)


@app.command()
def export(
    log: Place,
    output: Annotated[Path, typer.Argument(help="Parquet file to write.")],
    since: Since = None,
    until: Since = None,
) -> None:
    """Write the lines to a Parquet file, newest first."""
    from thisthat.audit.export import export_parquet
    from thisthat.audit.store import open_store
    from thisthat.display import counted

    if output.suffix != ".parquet":
        why = f"must end in .parquet; thisthat log query {log} --limit N prints JSON lines"
        raise InvalidInputError(str(output), why)
    check_output(output, None if "://" in log else Path(log))
    lines = open_store(log).read({}, moment(since, "--since"), moment(until, "--until"), None)
    typer.echo(f"{output}: {counted(export_parquet(lines, output), 'line')}")


@app.command()
def outcome(
    log: Place,
    decision: Annotated[int | None, typer.Option(help="The id of the decision's line.")] = None,
    request: Annotated[str | None, typer.Option(help="Its request id, the client's too.")] = None,
    question: Annotated[str | None, typer.Option(help="Its question.")] = None,
    state_hash: Annotated[str | None, typer.Option(help="Its state, of several.")] = None,
    option: Annotated[str | None, typer.Option(help="The option that was right.")] = None,
    reward: Annotated[float | None, typer.Option(help="How good it was, 0 to 1.")] = None,
    happened: Annotated[
        bool | None, typer.Option("--happened/--did-not", help="Whether it happened.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Who says so.")] = None,
    at: Annotated[str | None, typer.Option(help="When: an age (2h) or a date.")] = None,
    key: Annotated[str | None, typer.Option(help="Counts once per key; else per content.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="Questions: a score's level by its text, too.")
    ] = None,
) -> None:
    """Record what happened after a decision; the same again has no effect."""
    from thisthat.audit.places import check_there
    from thisthat.audit.store import open_store
    from thisthat.cli.labels import read_schema
    from thisthat.loop.outcomes import Outcome, RefusedOutcomeError, record, states_named

    happened_at, questions = moment(at, "--at"), read_schema(schema)
    check_there(log)
    try:
        given = Outcome(
            decision=decision,
            request=request,
            question=question,
            state_hash=state_hash,
            option=option,
            reward=reward,
            happened=happened,
            source=source,
            time=happened_at,
            key=key,
        )
        done = record(log, given, questions)
    except InvalidInputError as error:
        field = error.about if isinstance(error, RefusedOutcomeError) else error.field
        name = "at" if field == "time" else field.replace("_", "-")
        raise InvalidInputError(f"--{name}", error.message) from None
    told = "recorded" if done.recorded else "was recorded before; no effect"
    states = states_named(open_store(log), given)
    if states == 0:
        told += "; the log has no such decision yet: no line of this request asks this question"
    elif states > 1:
        told += f", but not used yet: this request asked {question!r} about {states} states; "
        told += "say which with --state-hash or --decision"
    typer.echo(told)


@app.command()
def purge(
    log: Place,
    older_than: Annotated[str, typer.Option(help="An age (90d, 12h, 30m, 45s) or a date.")],
) -> None:
    """Delete lines older than an age or a date."""
    from thisthat.audit.store import open_store
    from thisthat.display import counted

    before = moment(older_than, "--older-than")
    assert before is not None
    store = open_store(log)
    try:
        gone = store.purge(before)
    except InvalidInputError as error:
        raise InvalidInputError("--older-than", f"{older_than} {error.message}") from None
    typer.echo(f"{counted(gone, 'line')} deleted")


@app.command()
def anchor(log: Place) -> None:
    """Print where the log stands, as a line of JSON to keep where its writers cannot reach it."""
    from thisthat.audit.store import open_store
    from thisthat.audit.verify import anchor_of

    typer.echo(anchor_of(open_store(log)).as_line())


@app.command()
def verify(
    log: Place,
    anchors: Annotated[
        list[Path] | None, typer.Option("--anchor", help="File with anchors, one a line.")
    ] = None,
) -> None:
    """Say which lines were changed, removed or inserted; exit code 1 if any, or without a chain."""
    from thisthat.audit.chain import read_anchors
    from thisthat.audit.store import open_store
    from thisthat.audit.verify import verify as verified
    from thisthat.display import counted

    known = [each for path in anchors or () for each in read_anchors(read_text(path), str(path))]
    report = verified(open_store(log), known)
    for note in report.notes:
        typer.echo(f"note: {note}")
    for finding in report.findings[:_MOST_FINDINGS]:
        typer.echo(finding.what, err=True)
    if len(report.findings) > _MOST_FINDINGS:
        typer.echo(f"and {len(report.findings) - _MOST_FINDINGS} more", err=True)
    if report.unchained:
        are = "line is" if report.unchained == 1 else "lines are"
        typer.echo(f"{report.unchained} {are} from before the log had a chain")
    if report.last is None:
        typer.echo("the log has no chain: an older version wrote it; nothing can be verified")
    elif report.whole:
        compared = f", {report.fitting} of {len(known)} anchors compared" if known else ""
        what = f"{counted(report.lines, 'line')} and {counted(report.outcomes, 'outcome')}"
        typer.echo(f"{what} fit the chain, which ends at {report.last}{compared}")
    if not report.whole:
        raise typer.Exit(1)


@app.command()
def drift(
    log: Place,
    policy: Annotated[Path, typer.Argument(help="The policy the decisions were made under.")],
    since: Since = None,
    level: Annotated[
        float, typer.Option(help="Chance of a false alarm, ever and over all tests.")
    ] = 0.01,
) -> None:
    """Compare decisions with the ones their policy was fitted on.

    Exit code 1 on drift, 3 if there are too few decisions or labels to tell.
    """
    from thisthat.audit.drift import DriftStream
    from thisthat.audit.store import open_store
    from thisthat.calibrate.drift import advice_about
    from thisthat.decide.policy import Policy

    fitted = Policy.load(policy)
    stream = DriftStream(fitted, level)
    stream.follow(open_store(log), moment(since, "--since"))
    tests = stream.tests()
    if not tests:
        typer.echo("no decision in the log was made under this policy", err=True)
    for test in tests:
        typer.echo(str(test), err=test.drifted)
    if any(test.drifted for test in tests):
        raise typer.Exit(1)
    if not any(test.enough for test in tests):
        for line in advice_about(tests):
            typer.echo(line, err=True)
        raise typer.Exit(_TOO_FEW)
