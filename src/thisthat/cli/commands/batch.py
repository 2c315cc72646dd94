"""`thisthat batch`: a file of states, or many, into a folder of answers."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from thisthat.cli.answering import untaught_told
from thisthat.cli.labels import COMPARED, refuse_columns
from thisthat.cli.options import (
    SCHEMA_HELP,
    CheckpointOption,
    EngineOption,
    KeepOption,
    KeyOption,
    LambdaOption,
    LayoutOption,
    LogOption,
    OrderOption,
    PackingOption,
    ServerOption,
    TimeoutOption,
)
from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat.scale.batch import Batch, Progress
    from thisthat.scale.manifest import Manifest


def batch(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Files or globs (.jsonl, .csv, .tsv, .parquet; .gz, .zst); - is stdin."
        ),
    ],
    schema: Annotated[Path, typer.Option("--schema", help=SCHEMA_HELP)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the answers.")],
    policy: Annotated[
        Path | None, typer.Option(help="Policy file: adds the action and the prediction set.")
    ] = None,
    force_policy: Annotated[
        bool, typer.Option(help="Apply a policy fitted for something else, without its guarantee.")
    ] = False,
    id: Annotated[
        str | None, typer.Option(help="Column of ids; without it the row's number, from 1.")
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(help="Column of states; several make one JSON object. Default: state."),
    ] = None,
    input_format: Annotated[
        str | None, typer.Option(help="jsonl, csv, tsv or parquet, whatever the suffix.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="parquet, jsonl or csv.")] = "parquet",
    sample: Annotated[int | None, typer.Option(help="Only this many, spread.")] = None,
    dry_run: Annotated[bool, typer.Option(help="Check, estimate the time, write nothing.")] = False,
    strict: Annotated[bool, typer.Option(help="Stop at the first row without an answer.")] = False,
    restart: Annotated[bool, typer.Option(help="Forget what the folder holds.")] = False,
    part_rows: Annotated[int, typer.Option(help="Most rows per part.")] = 10_000,
    checkpoint: CheckpointOption = "default",
    lam: LambdaOption = None,
    engine: EngineOption = "auto",
    layout: LayoutOption = None,
    packing: PackingOption = "apart",
    keep: KeepOption = None,
    order: OrderOption = "as-given",
    decision_log: LogOption = None,
    server: ServerOption = None,
    key: KeyOption = None,
    timeout: TimeoutOption = 60.0,
    on: Annotated[str | None, typer.Option(help="ray: workers of a Ray cluster answer.")] = None,
    address: Annotated[
        str | None, typer.Option(help="Ray: the cluster's; without it one on this machine.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Ray: how many; else all that fit.")] = None,
    cpus_per_worker: Annotated[
        int | None, typer.Option(help="Ray: CPUs of a worker; a whole machine's, or 1 with GPUs.")
    ] = None,
    gpus_per_worker: Annotated[float, typer.Option(help="Ray: GPUs of a worker.")] = 0.0,
) -> None:
    """Answer a schema for every row of the files; run it again to resume where it stopped."""
    from thisthat.scale.answering import TOGETHER
    from thisthat.scale.batch import Batch
    from thisthat.scale.decider import BatchDecider
    from thisthat.scale.parts import Format
    from thisthat.scale.source import Kind, RowSource, find_files

    _check_word("--format", form, get_args(Format))
    if input_format is not None:
        _check_word("--input-format", input_format, get_args(Kind))
    if on is not None:
        _check_word("--on", on, ("ray",))
    elif address or workers or cpus_per_worker or gpus_per_worker:
        raise InvalidInputError("--address, --workers, --…-per-worker", "need --on ray")
    _warn_of_file(output, form)
    columns = state or ["state"]
    how: dict[str, Any] = {"layout": layout, "packing": packing, "keep": keep, "order": order}
    where: dict[str, Any] = {"lam": lam, "engine": engine, "server": server}
    where |= {"key": key, "timeout": timeout, "id": id, "state": columns}
    decider = BatchDecider(schema, checkpoint, policy=_policy(policy, force_policy), **where, **how)
    with ExitStack() as held:
        names, spooled = held.enter_context(_spooled(inputs))
        kind: Any = input_format or ("jsonl" if spooled else None)
        refused = {} if state else _refused(decider.questions, id)
        source = RowSource(find_files(names), id, columns, kind, spooled, refused)
        asked = Batch(source, decider, output, form, sample, strict, part_rows=part_rows)  # type: ignore[arg-type]
        if on is not None:
            from thisthat.scale.ray import RayWorkers, Room

            room = Room(workers, cpus_per_worker, gpus_per_worker)
            pool = held.enter_context(RayWorkers(decider, room, address))
            asked = replace(asked, workers=pool)
        if dry_run:
            _print_estimate(asked.estimate(restart=restart))
            return
        from thisthat.audit.log import DecisionLog

        told = nullcontext() if on else untaught_told(decider.opened, decider.questions)
        most = 2 * TOGETHER * len(decider.questions)
        log = None if decision_log is None else DecisionLog(decision_log, most_waiting=most)
        answered = 0
        with told, log or nullcontext(), _bar() as show:

            def tell(now: Progress) -> None:
                nonlocal answered
                answered = now.answered
                show(now)

            manifest = replace(asked, log=log).run(restart=restart, tell=tell)
    _print_result(asked, manifest, answered)
    if log is not None and log.health.dropped:
        lost = f"{log.health.dropped} lines not written ({log.health.last_failure})"
        typer.echo(f"decision log: {lost}", err=True)


def _refused(questions: Iterable[str], id: str | None) -> dict[str, str]:
    """The columns of labels, which a file of states has only if its column of states is named."""
    from thisthat.items.labels import label_columns

    found = [name for name in label_columns(questions) if name != id]
    return refuse_columns(found, f"{COMPARED}; to answer them all the same, add --state state")


def _check_word(field: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise InvalidInputError(field, f"{word!r} is none of {', '.join(known)}")


def _warn_of_file(output: Path, form: str) -> None:
    """Say that answers go into a folder where its name looks like that of a file."""
    from thisthat.scale.parts import Format

    meant = output.suffix.removeprefix(".")
    if meant in get_args(Format) and not output.is_dir():
        how = "" if meant == form else f"; --format {meant} chooses what is written into it"
        typer.echo(f"warning: {output}: -o names a folder, not a file{how}", err=True)


def _policy(path: Path | None, force: bool) -> Any:
    if path is None:
        if force:
            raise InvalidInputError("--force-policy", "needs --policy")
        return None
    from thisthat.decide.policy import Policy

    loaded = Policy.load(path)
    return loaded.force() if force else loaded


@contextmanager
def _spooled(inputs: list[str]) -> Iterator[tuple[list[str], Path | None]]:
    """The names, with standard input written to a file first: it is read more than once."""
    if "-" not in inputs:
        yield inputs, None
        return
    if len(inputs) > 1:
        raise InvalidInputError("-", "standard input goes alone, without files")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [str(path)], path


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error with rate, time left, tokens saved and errors."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.completed}/{task.total} rows"),
        BarColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(now: Progress) -> None:
            bar.update(task, completed=now.done, total=now.rows, description=_told(now))

        yield tell


def _told(now: Progress) -> str:
    left = "" if now.left is None else f", {_time(now.left)} left"
    return f"{now.rate:.1f} rows/s{left}, {_saved(now)}, {now.errors} errors"


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _saved(now: Progress) -> str:
    share = now.cached_tokens / now.input_tokens if now.input_tokens else 0.0
    return f"{share:.0%} of the tokens saved by the kept schema"


def _print_estimate(found: Progress) -> None:
    from thisthat.display import counted

    typer.echo(f"{counted(found.rows, 'row')}, {found.done} of them done")
    typer.echo(f"{counted(found.answered, 'row')} tried: {_told(found)}")


def _print_result(asked: Batch, manifest: Manifest, answered: int) -> None:
    from thisthat.display import counted

    errors, seconds = manifest.total("errors"), manifest.total("seconds")
    rows, parts = counted(manifest.done, "row"), counted(len(manifest.parts), "part")
    saved, tokens = manifest.total("cached_tokens"), manifest.total("input_tokens")
    told = f"; {saved} of {tokens} tokens saved by the kept schema" if saved else ""
    told += "" if answered else "; nothing was left to do"
    typer.echo(f"{asked.folder}: {rows} in {parts}, {_time(seconds)}{told}")
    if errors:
        told = "1 row has an error" if errors == 1 else f"{errors} rows have errors, the first"
        typer.echo(f"{told}: {manifest.first_errors[0]}", err=True)
