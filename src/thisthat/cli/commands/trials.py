"""``thisthat loop``: evaluate a candidate, try it, promote it or roll it back, and look back."""

from __future__ import annotations

import getpass
import json
import time
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thisthat.cli.commands.loop import Log, Mature, Until
from thisthat.cli.labels import read_labels, read_schema, refuse_taught_labels
from thisthat.cli.moments import duration, moment
from thisthat.cli.options import EngineOption, JsonOption, LambdaOption
from thisthat.cli.outputs import check_output
from thisthat.cli.terminal import progress_bar, say
from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically
from thisthat.inputs import read_json

if TYPE_CHECKING:
    from thisthat.decide.policy import Policy
    from thisthat.loop.experiment import Kind

Folder = Annotated[Path, typer.Option("--registry", help="The registry's folder.")]
Candidate = Annotated[str, typer.Argument(help="A checkpoint, or the name of a version.")]
Share = Annotated[float, typer.Option(help="Share of the units that it answers.")]
Margin = Annotated[float, typer.Option(help="How much worse it may be, in mean reward.")]
Alpha = Annotated[float, typer.Option(help="Chance of each false verdict, ever.")]
OnlyQuestion = Annotated[
    str | None, typer.Option("--question", help="Only outcomes of this question count.")
]


def evaluate(
    candidate: Candidate,
    log: Log,
    schema: Annotated[Path, typer.Option(help="JSON file of the questions that were asked.")],
    champion: Annotated[str, typer.Option(help="What it is compared with.")] = "default",
    lam: LambdaOption = None,
    champion_lam: Annotated[
        float | None, typer.Option("--champion-lambda", help="λ of the champion.")
    ] = None,
    registry: Annotated[
        Path | None, typer.Option(help="Compare with this registry's champion; keep the result.")
    ] = None,
    mature: Mature = "7d",
    since: Annotated[
        str | None, typer.Option(help="Only decisions after the labels it was taught on.")
    ] = None,
    until: Until = None,
    margin: Margin = 0.01,
    costs: Annotated[
        Path | None, typer.Option(help="JSON: by question, right option, option taken.")
    ] = None,
    slice_by: Annotated[
        str | None, typer.Option("--slice", help="A field of states that are JSON objects.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="What the candidate would act by; needs explored decisions.")
    ] = None,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Compare a candidate with the champion on decisions whose outcomes are known.

    Exit code 0: not shown to be worse; 1: shown to be worse; 2: bad input.
    """
    from thisthat.audit.places import check_there
    from thisthat.audit.store import open_store
    from thisthat.decide.opening import open_decider
    from thisthat.decide.policy import Policy
    from thisthat.loop.candidates import registered, version_of
    from thisthat.loop.evaluate import check_costs
    from thisthat.loop.evaluate import evaluate as judge
    from thisthat.loop.registry import Registry
    from thisthat.loop.taught_on import taught_on

    window, at = duration(mature, "--mature"), moment(until, "--until") or time.time()
    check_there(log)
    questions = read_schema(schema) or {}
    prices = None if costs is None else read_json(costs)
    by = None if policy is None else Policy.load(policy)
    check_costs(prices, questions)
    folder = None if registry is None else Registry(registry)
    reference = candidate
    if folder is not None:
        reference, held = version_of(folder, candidate).reference, folder.now()
        if held.champions:
            champion = held.versions[held.champions[-1].version].reference
            champion_lam = held.champions[-1].lam
    with (
        open_decider(champion, lam=champion_lam, engine=engine) as first,  # type: ignore[arg-type]
        open_decider(reference, lam=lam, engine=engine) as second,  # type: ignore[arg-type]
        progress_bar("deciding", 1) as progress,
    ):
        found = judge(
            open_store(log),
            first,
            second,
            questions,
            mature_after=window,
            until=at,
            since=moment(since, "--since") or 0.0,
            margin=margin,
            costs=prices,
            slice_by=slice_by,
            policy=by,
            progress=progress,
        )
    found = replace(found, taught=taught_on(found.labels, reference, lam))
    if found.taught is not None:
        typer.echo(f"warning: {found.taught.told(reference)}", err=True)
    if folder is not None:
        version = registered(folder, candidate, _me())
        folder.evaluated(version.name, found.as_dict(), _me())
    if as_json:
        print(json.dumps(found.as_dict(), ensure_ascii=False, indent=2))
    else:
        for line in found.lines():
            say(line)
    if found.verdict == "worse":
        raise typer.Exit(1)


def shadow(
    candidate: Candidate,
    registry: Folder,
    lam: LambdaOption = None,
    share: Share = 1.0,
    margin: Margin = 0.01,
    alpha: Alpha = 0.05,
    question: OnlyQuestion = None,
) -> None:
    """Let a candidate answer in the shadow: servers record its answers and show nobody."""
    _start(
        "shadow",
        candidate,
        registry,
        {"lam": lam, "share": share, "margin": margin, "alpha": alpha, "question": question},
    )


def canary(
    candidate: Candidate,
    registry: Folder,
    lam: LambdaOption = None,
    share: Share = 0.05,
    ramp: Annotated[
        list[str] | None, typer.Option(help="0.2@500: this share from so many outcomes on.")
    ] = None,
    margin: Margin = 0.01,
    alpha: Alpha = 0.05,
    question: OnlyQuestion = None,
    slow_ms: Annotated[
        float | None,
        typer.Option(help="Roll back if it exceeds this more often than the champion."),
    ] = None,
) -> None:
    """Let a candidate answer a share of the units, until outcomes speak against it."""
    from thisthat.loop.experiment import parse_ramp

    _start(
        "canary",
        candidate,
        registry,
        {
            "lam": lam,
            "share": share,
            "ramp": parse_ramp(ramp or (), "--ramp"),
            "margin": margin,
            "alpha": alpha,
            "question": question,
            "slow_ms": slow_ms,
        },
    )


def _start(kind: Kind, candidate: str, folder: Path, settings: dict[str, Any]) -> None:
    from thisthat.loop.candidates import start
    from thisthat.loop.experiment import Experiment
    from thisthat.loop.registry import Registry

    registry = Registry(folder)
    registry.check_there()
    begun = start(registry, candidate, Experiment("", kind, "", "", **settings), _me())
    at = "its own λ" if begun.lam is None else f"λ = {begun.lam:g}"
    typer.echo(
        f"{begun.name}: {begun.version} at {at} against {begun.champion}, "
        f"{begun.share:.1%} of the units; servers with --loop {folder} follow"
    )


def promote(
    registry: Folder,
    version: Annotated[
        str | None, typer.Argument(help="A version or checkpoint; default: the candidate.")
    ] = None,
    lam: LambdaOption = None,
    reason: Annotated[str, typer.Option(help="Why, for the history.")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Even if nothing shows that it is not worse.")
    ] = False,
    policy: Annotated[
        Path | None, typer.Option(help="Fit this policy again for the new champion.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Labels to fit it on.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Their questions, as JSON.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the fitted policy goes.")
    ] = None,
) -> None:
    """Make a version the champion. The old champion's policies are void: fit them again.

    With a policy that cannot be certified again, nothing changes.
    """
    from thisthat.loop.candidates import no_candidate
    from thisthat.loop.candidates import promote as make_champion
    from thisthat.loop.registry import Registry

    folder = Registry(registry)
    fitted = None
    if policy is not None:
        if labels is None or output is None:
            raise InvalidInputError("--policy", "needs --labels and --output")
        check_output(output, policy, labels)
        chosen = version or folder.now().candidate
        if chosen is None:
            raise no_candidate()
        fitted = _fitted_again(folder, chosen, lam, policy, labels, schema)
    made = make_champion(folder, version, _me(), reason, lam, force)
    if fitted is not None and output is not None:
        fitted.save(output)
        typer.echo(f"{output}: certified again")
    typer.echo(f"{made.told} is the champion; policies fitted for another one are refused")


def _fitted_again(
    registry: Any, named: str, lam: float | None, path: Path, labels: Path, schema: Path | None
) -> Policy:
    """The policy with the same target, fitted for another checkpoint."""
    from thisthat.calibrate.fit_policy import fit_policy
    from thisthat.decide.opening import open_decider
    from thisthat.decide.policy import Policy
    from thisthat.decide.target import parse_target
    from thisthat.loop.candidates import version_of

    old, rows = Policy.load(path), read_labels(labels, schema)
    rows = rows.alone() if schema is None else rows
    version = version_of(registry, named)
    tried = [each for each in registry.now().running.values() if each.version == version.name]
    chosen = lam if lam is not None else next((each.lam for each in tried), None)
    refuse_taught_labels(labels, rows, version.reference, chosen)
    with (
        open_decider(version.reference, lam=chosen) as decider,
        progress_bar("deciding", len(rows.states)) as progress,
    ):
        return fit_policy(
            decider,
            rows,
            parse_target(old.target),
            confidence=old.confidence,
            layout=old.conditions.layout,
            packing=old.conditions.packing,
            order=old.conditions.order,
            progress=progress,
        )


def rollback(
    registry: Folder,
    experiment: Annotated[
        str | None, typer.Argument(help="What to end; default: all that is running.")
    ] = None,
    champion: Annotated[
        bool, typer.Option("--champion", help="Return to the champion before this one.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why, for the history.")] = "by hand",
) -> None:
    """End canaries and shadows, or bring back the champion before this one."""
    from thisthat.loop.registry import Registry

    folder = Registry(registry)
    folder.check_there()
    if champion:
        back = folder.roll_back(_me(), reason)
        typer.echo(f"{folder.now().versions[back].told} is the champion again")
        return
    running = folder.now().running
    if experiment is not None and experiment not in running:
        known = ", ".join(running) or "none"
        raise InvalidInputError("experiment", f"{experiment!r} does not run; there are: {known}")
    ended = [experiment] if experiment else list(running)
    if not ended:
        raise InvalidInputError("experiment", "none runs; --champion returns to the one before")
    for name in ended:
        folder.change("ended", name, _me(), reason, {})
        typer.echo(f"{name} has ended")


def history(registry: Folder, as_json: JsonOption = False) -> None:
    """Print who changed what, when, and on which numbers; oldest first."""
    from thisthat.loop.registry import Registry

    folder = Registry(registry)
    folder.check_there()
    for event in folder.history():
        if as_json:
            typer.echo(json.dumps(asdict(event), ensure_ascii=False))
            continue
        at = datetime.fromtimestamp(event.time, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        told = f"{event.number:4} {at} {event.what:10} {event.version} by {event.by}"
        typer.echo(told + (f": {event.told}" if event.told else ""))


def report(
    registry: Folder,
    log: Log,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")],
    mature: Mature = "7d",
) -> None:
    """Write one HTML page: decisions and outcomes over time, what is tried, and the history."""
    from thisthat.audit.places import check_there
    from thisthat.audit.store import open_store
    from thisthat.loop.page import page
    from thisthat.loop.registry import Registry
    from thisthat.loop.summary import summary

    check_there(log)
    check_output(output, None if "://" in log else Path(log))
    window = duration(mature, "--mature")
    folder = Registry(registry)
    folder.check_there()
    found = summary(folder, open_store(log), window, time.time())
    write_atomically(output, page(found), mode=0o600)
    typer.echo(f"page in {output}")


def _me() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


COMMANDS = (evaluate, shadow, canary, promote, rollback, history, report)
