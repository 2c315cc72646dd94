"""`thisthat eval`: how well a checkpoint answers labelled states, and against another one."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thisthat.cli.answering import answering, tell_uncompared, untaught_told
from thisthat.cli.labels import read_labels, taught_words
from thisthat.cli.options import (
    LABELS_HELP,
    CheckpointOption,
    EngineOption,
    JsonOption,
    KeyOption,
    LambdaOption,
    SchemaOption,
    ServerOption,
    TimeoutOption,
)
from thisthat.cli.outputs import check_output
from thisthat.cli.terminal import progress_bar, say
from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat.teach.evaluate import Evaluation

_OFTEN, _SOME = 0.1, 5
"""The share and number of wrong answers from which describing a question is worth a try."""


def evaluate(
    labelled: Annotated[Path, typer.Argument(help=LABELS_HELP)],
    schema: SchemaOption = None,
    checkpoint: CheckpointOption = "default",
    lam: LambdaOption = None,
    against: Annotated[
        str | None, typer.Option(help="Compare with this checkpoint, as before and after.")
    ] = None,
    against_lam: Annotated[
        float | None,
        typer.Option("--against-lambda", help="λ of what is compared with; alone: another λ."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write one HTML page with plots.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Cut states that are too long: keep head, tail or ends.")
    ] = None,
    engine: EngineOption = "auto",
    server: ServerOption = None,
    key: KeyOption = None,
    timeout: TimeoutOption = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Judge a checkpoint's answers by your labels, question by question.

    Exit code 0: judged, and not shown to be worse; 1: the rows show that a question is answered
    worse than by --against; 2: bad input.
    """
    from thisthat.decide.decider import Decider
    from thisthat.files import write_atomically
    from thisthat.teach.evaluate import evaluate as judge
    from thisthat.teach.page import page

    rows = read_labels(labelled, schema)
    if output is not None:
        check_output(output, labelled, schema)

    if server is None:
        share, words = taught_words(rows, checkpoint, lam)
        if share > 0:
            message = f"warning: {words}; the figures do not tell how it does on others"
            typer.echo(message, err=True)

    def answered(name: str, at: float | None, before: Evaluation | None = None) -> Evaluation:
        with (
            answering(name, at, engine, server, key, timeout) as decider,
            untaught_told(decider, rows.questions),
            progress_bar("deciding", len(rows.states)) as progress,
        ):
            if isinstance(decider, Decider) and decider.heads is not None:
                taught.update(q for q in rows.questions if decider.heads.knows(rows.questions[q]))
            return judge(decider, rows, progress, before, keep=keep)  # type: ignore[arg-type]

    taught: set[str] = set()
    before = None
    if against is not None or against_lam is not None:
        before = answered(checkpoint if against is None else against, against_lam)
    found = answered(checkpoint, lam, before)
    if server is not None:
        tell_uncompared(found.source.version)
    if server is not None and before is not None and before.source == found.source:
        option = "--against-lambda" if against is None else "--against"
        raise InvalidInputError(
            option,
            f"the server answers both with {found.label}, so there is nothing to compare; "
            "'default' is what it serves. Serve with --also-lambda 0 and give --against-lambda 0 "
            "to compare with the parent, name another checkpoint that it serves "
            "(--also-checkpoint; GET /v1/models lists them), or compare without --server",
        )
    if output is not None:
        write_atomically(output, page(found, labelled.name))
    if as_json:
        print(json.dumps(found.as_dict(), ensure_ascii=False, indent=2, allow_nan=False))
    else:
        for line in found.lines():
            say(line)
        if before is None and server is None:  # A server does not say what it was taught.
            _hint_at_criteria(found, taught)
        if output is not None:
            say(f"page in {output}")
    if any(each.verdict == "worse" for each in found.compared.values()):
        raise typer.Exit(1)


def _hint_at_criteria(found: Evaluation, taught: Collection[str]) -> None:
    """Name the booleans that are often wrong, and say nowhere what yes and no mean.

    What is taught belongs to its wording, so questions that were are left alone.
    """
    for name, judged in found.judged.items():
        wrong, count = int((judged.hits == 0).sum()), judged.hits.size
        described = any(option.description for option in judged.question.declared)
        often = wrong >= max(_SOME, _OFTEN * count) and name not in taught
        if judged.question.kind == "boolean" and not described and often:
            message = f"note: {name}: {wrong} of {count} wrong, and no criteria say what yes and no"
            typer.echo(f"{message} mean; write some before you label more or teach", err=True)
