"""`thisthat check`: probe a schema on your own states before it goes to production."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thisthat.cli.answering import answering, untaught_told
from thisthat.cli.labels import read_schema, read_states
from thisthat.cli.options import (
    STATES_HELP,
    CheckpointOption,
    EngineOption,
    JsonOption,
    KeyOption,
    LambdaOption,
    SchemaAlone,
    SchemaOption,
    ServerOption,
    TimeoutOption,
    alone_or_named,
)
from thisthat.cli.terminal import plain_table, progress_bar, say
from thisthat.display import counted
from thisthat.errors import InvalidInputError
from thisthat.inputs import read_json

if TYPE_CHECKING:
    from thisthat.calibrate.coherence import CoherenceReport
    from thisthat.decide.decider import Decider
    from thisthat.questions import Question


OTHER_WORDS = ("negation", "thresholds", "paraphrases")
"""Checks that ask in other words, which a taught question's head does not know."""

_VERDICTS = {
    "passed": ("passed", "green"),
    "unsure": ("unsure", "yellow"),
    "failed": ("FAILED", "bold red"),
}


def check(
    states: Annotated[Path, typer.Option(help=f"{STATES_HELP}.")],
    alone: SchemaAlone = None,
    schema: SchemaOption = None,
    wordings: Annotated[
        Path | None,
        typer.Option(
            help='JSON {"question": {"negation", "paraphrases", "thresholds"}} with your own words.'
        ),
    ] = None,
    sample: Annotated[int, typer.Option(help="Most states to sample.")] = 50,
    injections: Annotated[
        int, typer.Option(help="Instructions planted per state and question; 0 for none.")
    ] = 3,
    shift: Annotated[
        float, typer.Option(help="How far probabilities that should agree may be apart.")
    ] = 0.15,
    margin: Annotated[
        float, typer.Option(help="How far the best option must stand above the next.")
    ] = 0.1,
    share: Annotated[float, typer.Option(help="Share of states that may fail a check.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of the probes.")] = 2026,
    checkpoint: CheckpointOption = "default",
    server: ServerOption = None,
    lam: LambdaOption = None,
    engine: EngineOption = "auto",
    key: KeyOption = None,
    timeout: TimeoutOption = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Ask a schema's questions in ways that must not matter, and list where the answers change.

    Exit code 0: every check passed; 1: at least one failed; 2: bad input.
    """
    from thisthat.calibrate.coherence import Tolerance, check_schema
    from thisthat.calibrate.wordings import wordings_from_json
    from thisthat.decide.decider import Decider

    schema = alone_or_named("--schema", alone, schema, None)
    if schema is None:
        raise InvalidInputError("--schema", "is missing")
    questions = read_schema(schema) or {}
    for doubt in _doubts(questions):
        typer.echo(f"warning: {doubt}", err=True)
    given = wordings_from_json(read_json(wordings)) if wordings is not None else None
    tolerance = Tolerance(shift, margin, share)
    given_states = read_states(states, questions)
    places = _sample(len(given_states), sample, seed)

    taught: set[str] = set()
    with (
        answering(checkpoint, lam, engine, server, key, timeout) as decider,
        untaught_told(decider, questions),
        progress_bar("checking", len(places)) as progress,
    ):
        if isinstance(decider, Decider):
            taught.update(_told_taught(decider, questions))
        report = check_schema(
            decider,
            questions,
            [given_states[place] for place in places],
            wordings=given,
            tolerance=tolerance,
            injections=injections,
            seed=seed,
            progress=progress,
        )
    report = report.renumbered(places)
    if as_json:
        print(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        _print(report, taught)
    raise typer.Exit(0 if report.passed else 1)


def _doubts(questions: Mapping[str, Question]) -> Iterator[str]:
    """What is odd about the questions themselves and may be meant."""
    from thisthat.questions import plain

    for name, question in questions.items():
        if len(question.declared) < 2:
            yield f"{name}: has one option, so nothing is decided"
        first: dict[str, str] = {}
        for option in question.declared:
            same = first.setdefault(plain(option.name), option.name)
            if same != option.name:
                yield (
                    f"{name}: the options {same!r} and {option.name!r} differ only in case or "
                    "blanks, so answers may be split between them; rename or remove one"
                )


def _told_taught(decider: Decider, questions: Mapping[str, Question]) -> list[str]:
    """The questions that are compared with wordings of which nothing was taught; names them."""
    heads = decider.heads
    taught = [] if heads is None else [n for n, q in questions.items() if heads.knows(q)]
    if taught:
        told = f"{', '.join(taught)}: taught in this wording alone; negations, thresholds and"
        typer.echo(f"note: {told} paraphrases are answered by the checkpoint below it", err=True)
    return taught


def _sample(states: int, most: int, seed: int) -> Sequence[int]:
    """The numbers of the sampled states, in order."""
    from thisthat.rng import Rng

    if most < 1:
        raise InvalidInputError("--sample", f"is {most}; it must be at least 1")
    if states <= most:
        return range(states)
    return sorted(Rng(seed, "check sample").shuffled(range(states))[:most])


def _print(report: CoherenceReport, taught: Collection[str]) -> None:
    from rich.console import Console
    from rich.text import Text as Styled

    numbers = ("failing", "states")
    table = plain_table("question", "check", *numbers, "", right=numbers)
    last = None
    for finding in report.findings:
        verdict = _VERDICTS[finding.verdict]
        table.add_row(
            Styled(finding.question if finding.question != last else ""),
            finding.check,
            str(finding.failing),
            str(finding.states),
            Styled(*verdict),
        )
        last = finding.question
    Console().print(table)
    for finding in report.findings:
        if finding.worst is not None:
            say(
                f"\n{finding.question}, {finding.check}, state {finding.worst.state}: "
                f"{finding.worst.what}\n  {finding.worst.text}"
            )
    failed = sum(not finding.passed for finding in report.findings)
    unsure = sum(finding.unsure for finding in report.findings)
    if failed:
        say("\nWhat to do next:")
    for check in dict.fromkeys(each.check for each in report.findings if not each.passed):
        about = [each for each in report.findings if each.check == check and not each.passed]
        known = [each for each in about if each.question in taught and check in OTHER_WORDS]
        if known:
            names = ", ".join(each.question for each in known)
            say(f"- {check} ({names}): was answered without what was taught; keep the wording")
        if rest := [each for each in about if each not in known]:
            say(f"- {check} ({', '.join(each.question for each in rest)}): {rest[0].next}")
    if report.note is not None:
        say(f"\n{report.note}")
    states = counted(report.states, "state")
    others = f", {unsure} unsure" if unsure else ""
    say(
        f"\n{failed} of {len(report.findings)} checks failed{others}, on {states}; "
        f"{report.tokens} tokens read",
        "dim",
    )
