"""`thisthat test`: cases with an expected option, against a checkpoint or a server."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thisthat.cli.answering import tell_untaught
from thisthat.cli.labels import read_schema
from thisthat.cli.options import JsonOption, KeyOption, LambdaOption, SchemaOption, TimeoutOption
from thisthat.cli.outputs import check_output
from thisthat.cli.terminal import say

if TYPE_CHECKING:
    from thisthat.testing.compare import Comparison
    from thisthat.testing.run import Run


def run_tests(
    cases: Annotated[
        Path, typer.Argument(help="Cases (.yaml, .json, .toml), or labels with --schema.")
    ],
    schema: SchemaOption = None,
    checkpoint: Annotated[
        str, typer.Option(help="default, large, a folder, a GGUF file, a Hub id, or systemone+URL.")
    ] = "default",
    lam: LambdaOption = None,
    against: Annotated[
        str | None,
        typer.Option(help="Show what changed since: a saved run, a checkpoint or systemone+URL."),
    ] = None,
    against_lam: Annotated[
        float | None, typer.Option("--against-lambda", help="λ of the checkpoint compared with.")
    ] = None,
    moved: Annotated[
        float, typer.Option(help="How far a probability must move to count as changed.")
    ] = 0.05,
    save: Annotated[Path | None, typer.Option(help="Save this run for --against.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    key: KeyOption = None,
    timeout: TimeoutOption = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Run cases and list those whose answer is not the expected one.

    Exit code 0: all expectations held; 1: at least one did not; 2: bad input.
    """
    from thisthat.files import write_atomically
    from thisthat.testing.answering import DeciderAnswerer, open_answerer
    from thisthat.testing.cases import read_cases
    from thisthat.testing.compare import compare
    from thisthat.testing.junit import junit_xml
    from thisthat.testing.run import read_run, run_as_dict, run_cases, write_run

    read = read_cases(cases, read_schema(schema))
    for output in (save, junit):
        if output is not None:
            check_output(output, cases, schema)
    started = time.perf_counter()
    answerer = open_answerer(checkpoint, lam=lam, key=key, timeout=timeout)
    if isinstance(answerer, DeciderAnswerer):
        tell_untaught(answerer.decider, {n: q for case in read for n, q in case.questions.items()})
    run = run_cases(read, answerer)
    seconds = time.perf_counter() - started
    comparison = None
    if against is not None:
        # A checkpoint is a folder or a .gguf file; a JSON file can only be a saved run.
        if against.endswith(".json"):
            earlier = read_run(Path(against))
        else:
            other = open_answerer(against, lam=against_lam, key=key, timeout=timeout)
            earlier = run_cases(read, other)
        comparison = compare(earlier, run, moved)
    if save is not None:
        write_run(save, run)
    if junit is not None:
        write_atomically(junit, junit_xml(run, cases.name, seconds))
    if as_json:
        record = run_as_dict(run)
        if comparison is not None:
            record["comparison"] = _comparison_dict(comparison)
        print(json.dumps(record, ensure_ascii=False, indent=2))
    else:
        _print(run, comparison)
    raise typer.Exit(1 if run.failed else 0)


def _comparison_dict(comparison: Comparison) -> dict[str, Any]:
    return {
        "summary": comparison.summary,
        "compared": comparison.compared,
        "cases": comparison.cases,
        "changes": [
            {
                "case": change.after.case,
                "question": change.after.question,
                "crossed": change.crossed,
                "before": {"best": change.before.best, "probability": change.before.probability},
                "after": {"best": change.after.best, "probability": change.after.probability},
            }
            for change in comparison.changes
        ],
        "only_before": list(comparison.only_before),
        "only_after": list(comparison.only_after),
    }


def _print(run: Run, comparison: Comparison | None) -> None:
    for outcome in run.failed:
        say(f"FAILED {outcome.case} [{outcome.question}]: {outcome.reason}")
    passed = len(run.outcomes) - len(run.failed)
    say(f"{passed} of {len(run.outcomes)} expectations hold, answered by {run.label}")
    if comparison is None:
        return
    say(comparison.summary)
    for change in comparison.crossed:
        before, after = change.before, change.after
        say(
            f"  {'now passes' if after.passed else 'NOW FAILS'} {after.case} [{after.question}]: "
            f"{after.told(after.option)!r} {before.probability:.3f} -> {after.probability:.3f}, "
            f"best {after.told(before.best)!r} -> {after.told(after.best)!r}"
        )
    for label, names in (("before", comparison.only_before), ("now", comparison.only_after)):
        if names:
            say(f"  only {label}: {', '.join(names)}")
