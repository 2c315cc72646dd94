"""``thisthat threshold``: cut-offs with a guarantee, fitted on labelled states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thisthat.cli.answering import answering, tell_uncompared, untaught_told
from thisthat.cli.app import App
from thisthat.cli.labels import read_labels, refuse_taught_labels
from thisthat.cli.options import (
    LABELS_HELP,
    CheckpointOption,
    KeyOption,
    LambdaOption,
    LayoutOption,
    PackingOption,
    SchemaOption,
    ServerOption,
    TimeoutOption,
)
from thisthat.cli.outputs import check_output
from thisthat.cli.terminal import progress_bar
from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat.calibrate.tries import Tries, Try
    from thisthat.decide.options import DecideKeywords
    from thisthat.decide.policy import Policy
    from thisthat.decide.target import Target
    from thisthat.items.labels import LabelledStates

app = App(no_args_is_help=True, help="Cut-offs with a guarantee, from your own labelled states.")


_ENDINGS = (".json", ".jsonl", ".csv", ".parquet", ".zst")
"""Suffixes of files that hold questions or labels; not part of a policy's name."""


@app.command()
def fit(
    labelled: Annotated[Path, typer.Argument(help=LABELS_HELP)],
    target: Annotated[
        str, typer.Option(help='"precision>=0.98", "error<=0.01" or "cost(fp=50,fn=1)".')
    ],
    schema: SchemaOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Policy file; beside the schema if not given."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="How sure the guarantee is.")] = 0.95,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="How often a choice's prediction set holds the right option; 0.95 if not given."
        ),
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(help="Fit this question only; the others get no outcome; may be repeated."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Act on this option only, where a question has it; may be repeated."),
    ] = None,
    checkpoint: CheckpointOption = "default",
    server: ServerOption = None,
    lam: LambdaOption = None,
    layout: LayoutOption = None,
    packing: PackingOption = "apart",
    order: Annotated[str, typer.Option(help="as-given or average.")] = "as-given",
    key: KeyOption = None,
    timeout: TimeoutOption = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the policy as JSON.")] = False,
) -> None:
    """Fit cut-offs that keep a target, report what they cost, and save them as a policy file.

    A question whose labels support no cut-off is never acted on; the others are. What was tried on
    these labels is remembered beside them, since every further try weakens the guarantee.
    """
    from thisthat.calibrate.fit_policy import (
        TooFewLabelsError,
        UnsupportedTargetError,
        check_counts,
        fit_policy,
    )
    from thisthat.calibrate.tries import Try, read_tries, rows_hash, tries_beside
    from thisthat.decide.target import parse_target
    from thisthat.identity import schema_hash

    wanted = parse_target(target)
    every = read_labels(labelled, schema)
    every = every.alone() if schema is None else every
    rows = _only(every, question)
    _check(rows, wanted, confidence, coverage, option)
    path = output or _policy_beside(schema or labelled)
    check_output(path, labelled, schema)
    if server is None:
        refuse_taught_labels(labelled, every, checkpoint, lam)

    remembered = tries_beside(labelled)
    before = read_tries(remembered, every)

    def tried(by: str, supported: bool) -> Try:
        options, questions = tuple(option or ()), tuple(sorted(question or ()))
        fitted = rows_hash(rows), sum(rows.counts.values()), schema_hash(rows.questions)
        return Try(str(wanted), confidence, options, by, supported, questions, *fitted)

    try:
        check_counts(rows.questions, rows.counts, wanted, confidence, option)
    except TooFewLabelsError:
        # Who counts labels has not looked at them, so it is no try.
        _warn(list(before.tries), tried("", False))
        raise
    how: DecideKeywords = {"layout": layout, "packing": packing, "order": order}  # type: ignore[typeddict-item]
    with (
        answering(checkpoint, lam, "auto", server, key, timeout) as decider,
        untaught_told(decider, rows.questions),
        progress_bar("deciding", len(rows.states)) as progress,
    ):
        try:
            policy = fit_policy(
                decider,
                rows,
                wanted,
                confidence=confidence,
                coverage=coverage,
                options=option,
                layout=layout,  # type: ignore[arg-type]
                packing=packing,  # type: ignore[arg-type]
                order=order,  # type: ignore[arg-type]
                progress=progress,
            )
        except UnsupportedTargetError:
            now = tried(decider.conditions(**how).named, False)
            _warn(before.others(now), now)
            _remember(remembered, before.having(now))
            raise
        now = tried(decider.conditions(**how).named, True)
    others = before.others(now)
    _warn(others, now)
    if others:
        policy = policy.model_copy(update={"tries": len(others) + 1})
    _remember(remembered, before.having(now))
    replaced = path.exists()
    policy.save(path)
    if server is not None:
        tell_uncompared(policy.conditions.version)
    for name in policy.never_acted_on:
        typer.echo(f"warning: no answer to {name!r} is acted on with this target", err=True)
    if as_json:
        typer.echo(json.dumps(policy.as_json(), ensure_ascii=False))
        return
    _print(policy)
    typer.echo(f"saved as {path}" + (", in place of the file that was there" if replaced else ""))


def _warn(others: list[Try], now: Try) -> None:
    """Say what was tried on the same labels, if anything was."""
    from thisthat.calibrate.tries import warning_about

    if others:
        typer.echo(f"warning: {warning_about(others, now)}", err=True)


def _remember(path: Path, tries: Tries) -> None:
    """Note what was tried; labels in a folder that cannot be written are only warned about."""
    from thisthat.calibrate.tries import write_tries

    try:
        write_tries(path, tries)
    except OSError as error:
        typer.echo(f"warning: {path}: cannot remember this try: {error.strerror}", err=True)


def _policy_beside(path: Path) -> Path:
    """Where a policy for this file of labels or questions is saved by default."""
    name = path.name
    while name.endswith(_ENDINGS):
        name = name[: name.rindex(".")]
    return path.with_name(f"{name}.policy.json")


@app.command()
def show(policy: Annotated[Path, typer.Argument(help="Policy file.")]) -> None:
    """Describe what a policy file does."""
    from thisthat.decide.policy import Policy

    _print(Policy.load(policy))


def _only(rows: LabelledStates, names: list[str] | None) -> LabelledStates:
    """The labels of the named questions, all without names. Raises InvalidInputError."""
    try:
        return rows.only(names) if names else rows
    except InvalidInputError as error:
        raise InvalidInputError("--question", error.message) from None


def _check(
    rows: LabelledStates,
    target: Target,
    confidence: float,
    coverage: float | None,
    options: list[str] | None,
) -> None:
    """``check_settings`` with the command line's names, before opening a checkpoint."""
    from thisthat.calibrate.fit_policy import check_settings

    try:
        check_settings(rows.questions, rows.counts, target, confidence, coverage, options)
    except InvalidInputError as error:
        flag = {"options": "--option"}.get(error.field, f"--{error.field}")
        raise InvalidInputError(flag, error.message) from None


def _print(policy: Policy) -> None:
    from thisthat.calibrate.report import lines_about

    for line in lines_about(policy):
        typer.echo(line)
