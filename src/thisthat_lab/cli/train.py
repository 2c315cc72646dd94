"""Commands around training: train, leakage, fit. Thin; the work is elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def train(
    run_file: Annotated[Path, typer.Argument(metavar="RUN.toml", help="What to train, and how.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print data, shapes and memory; train nothing.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the run's saved state.")
    ] = False,
    stop_after: Annotated[
        float | None,
        typer.Option(metavar="MINUTES", help="Save and stop after this long; resume later."),
    ] = None,
) -> None:
    """Train a checkpoint as a run file says."""
    from thisthat_lab.train.config import read_run
    from thisthat_lab.train.loop import dry_run as show
    from thisthat_lab.train.loop import train as start

    run = read_run(run_file)
    if dry_run:
        show(run, typer.echo)
        return
    if not sys.stdout.isatty():
        start(run, typer.echo, resume=resume, stop_after_minutes=stop_after)
        return
    from thisthat_lab.train.screen import Screen

    with Screen(run.name) as screen:
        start(run, screen.say, resume=resume, stop_after_minutes=stop_after, watch=screen.watch)


def leakage(
    data: Annotated[Path, typer.Argument(help="Held-out choices: .jsonl, .jsonl.zst, .parquet.")],
    model: Annotated[str, typer.Option(help="Checkpoint to measure.")] = "default",
    rows: Annotated[int, typer.Option(help="At most this many rows.")] = 500,
) -> None:
    """Measure whether offering "none of these" tells the model that it is the answer."""
    from thisthat.decide.opening import open_decider
    from thisthat.items.files import read_items
    from thisthat.questions import Question, Text
    from thisthat.rng import Rng
    from thisthat_lab.train.data.abstain import measure_leakage

    items = list(read_items(data))
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
    """Train a random model of a shape for a few steps under a memory cap, and report what fits."""
    import json

    from thisthat_lab.train.config import Memory, MixtureSource, Model, Optimiser, Run, Schedule
    from thisthat_lab.train.data.buckets import choose_lengths, shapes_for
    from thisthat_lab.train.fit import every_means

    run = Run(
        name="fit",
        output=Path("unused"),
        model=Model(dtype="bfloat16", checkpointing=True),
        optimiser=Optimiser(name="adamw-8bit"),
        schedule=Schedule(steps=1),
        memory=Memory(cap_gib=cap),
        sources=(MixtureSource(name="none", suite="branch"),),
    )
    lengths = choose_lengths(range(64, longest + 1, 64), longest, 4)
    for found in every_means(json.loads(config.read_text()), run, shapes_for(lengths, tokens)):
        typer.echo(found.line())
