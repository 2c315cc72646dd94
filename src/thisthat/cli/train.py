"""Commands that learn: train, teach, calibrate, leakage. Thin; the work is elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def train(
    run_file: Annotated[Path, typer.Argument(metavar="RUN.toml", help="What to train, and how.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say the data, shapes and memory; train nothing.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the run's saved state.")
    ] = False,
    stop_after: Annotated[
        float | None,
        typer.Option(metavar="MINUTES", help="Save and stop after this long; resume later."),
    ] = None,
) -> None:
    """Train a checkpoint as a run file says."""
    from thisthat.train.config import read_run
    from thisthat.train.loop import dry_run as show
    from thisthat.train.loop import train as start

    run = read_run(run_file)
    if dry_run:
        show(run, typer.echo)
        return
    if not sys.stdout.isatty():
        start(run, typer.echo, resume=resume, stop_after_minutes=stop_after)
        return
    from thisthat.train.screen import Screen

    with Screen(run.name) as screen:
        start(run, screen.say, resume=resume, stop_after_minutes=stop_after, watch=screen.watch)


def teach(
    data: Annotated[Path, typer.Argument(help="Rows: .jsonl, .jsonl.zst or .parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the checkpoint.")],
    model: Annotated[str, typer.Option(help="Checkpoint to start from.")] = "default",
    minutes: Annotated[float, typer.Option(help="How long to train.")] = 8.0,
) -> None:
    """Teach a checkpoint your own decisions from a few hundred rows."""
    from thisthat.train.teach import teach as start

    for line in start(data, output, typer.echo, initial=model, minutes=minutes).lines():
        typer.echo(line)


def calibrate(
    checkpoint: Annotated[Path, typer.Argument(help="Checkpoint folder; its card is changed.")],
    data: Annotated[Path, typer.Argument(help="Held-out rows: .jsonl, .jsonl.zst or .parquet.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say the temperatures; change nothing.")
    ] = False,
) -> None:
    """Fit temperatures on held-out rows and put them on the checkpoint's card."""
    from thisthat.calibrate.card import calibrate as fit
    from thisthat.calibrate.card import write_temperatures
    from thisthat.opening import open_decider
    from thisthat.suites.files import read_items

    with open_decider(checkpoint) as decider:
        temperatures, fits = fit(decider, list(read_items(data)))
    for layout, groups in fits.items():
        for group in groups:
            typer.echo(
                f"{layout} {group.name}: temperature {group.temperature:.3f} on {group.rows} rows; "
                f"NLL {group.nll_before:.4f} to {group.nll_after:.4f}, "
                f"ECE {group.ece_before:.4f} to {group.ece_after:.4f}"
            )
    if not dry_run:
        write_temperatures(checkpoint, temperatures)


def leakage(
    data: Annotated[Path, typer.Argument(help="Held-out choices: .jsonl, .jsonl.zst, .parquet.")],
    model: Annotated[str, typer.Option(help="Checkpoint to measure.")] = "default",
    rows: Annotated[int, typer.Option(help="At most this many rows.")] = 500,
) -> None:
    """Measure whether offering "none of these" tells the model that it is the answer."""
    from thisthat.opening import open_decider
    from thisthat.questions import Question, Text
    from thisthat.random import Rng
    from thisthat.suites.files import read_items
    from thisthat.train.abstain import measure_leakage

    items = [item for item in read_items(data) if item.kind == "choice"]
    chosen = items if len(items) <= rows else Rng("leakage rows").sample(items, rows)
    with open_decider(model) as decider:

        def distributions(pairs: list[tuple[Text, Question]]) -> list[list[float]]:
            asked = [(state, {"q": question}) for state, question in pairs]
            decisions = decider.decide_pairs(asked)
            return [list(decision["q"].probabilities.values()) for decision in decisions]

        found = measure_leakage(chosen, distributions)  # type: ignore[arg-type]
    typer.echo(f"{found.cases} cases, abstaining is right in {found.base_rate:.0%} of them")
    typer.echo(f"mean probability of abstaining {found.mean:.3f}, accuracy {found.accuracy:.3f}")
    typer.echo(f"AUC with the state {found.auc:.3f}")
    typer.echo(f"AUC without the state {found.blank_auc:.3f} (0.5: the offer tells nothing)")
    typer.echo(f"shift among the other options {found.shift:.3f}")


def fit(
    config: Annotated[Path, typer.Argument(help="config.json of the model's shape.")],
    cap: Annotated[float | None, typer.Option(help="Device memory in GiB to stay within.")] = None,
    tokens: Annotated[int, typer.Option(help="Tokens per batch.")] = 4096,
    longest: Annotated[int, typer.Option(help="Tokens of the longest row.")] = 1024,
) -> None:
    """Train a random model of a shape for a few steps under a memory cap, and say what carries."""
    import json

    from thisthat.train.buckets import choose_lengths, shapes_for
    from thisthat.train.config import Memory, Model, Optimiser, Run, Schedule, Source
    from thisthat.train.fit import every_means

    run = Run(
        name="fit",
        output=Path("unused"),
        model=Model(dtype="bfloat16", checkpointing=True),
        optimiser=Optimiser(name="adamw-8bit"),
        schedule=Schedule(steps=1),
        memory=Memory(cap_gib=cap),
        sources=(Source(name="none", suite="branch"),),
    )
    lengths = choose_lengths(range(64, longest + 1, 64), longest, 4)
    for found in every_means(json.loads(config.read_text()), run, shapes_for(lengths, tokens)):
        typer.echo(found.line())
