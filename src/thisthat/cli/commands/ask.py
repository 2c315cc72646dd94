"""`thisthat ask`: questions about a state, answered in the terminal or as JSON."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thisthat.cli.answering import answering, untaught_told
from thisthat.cli.labels import read_schema, read_states
from thisthat.cli.options import (
    STATES_HELP,
    CheckpointOption,
    EngineOption,
    FormOption,
    JsonOption,
    KeepOption,
    KeyOption,
    LambdaOption,
    LayoutOption,
    LogOption,
    OrderOption,
    PackingOption,
    SchemaOption,
    ServerOption,
    TimeoutOption,
)
from thisthat.cli.terminal import plain_table, progress_bar, say
from thisthat.display import label, set_promise
from thisthat.errors import InvalidInputError
from thisthat.inputs import load_json, read_text

if TYPE_CHECKING:
    from thisthat.audit.log import DecisionLog
    from thisthat.decide.decider import Decider
    from thisthat.questions import Decision, Option, Question, Text
    from thisthat.remote.decider import RemoteDecider

_SHOWN_PARTS = 5
_NAME = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def ask(
    state: Annotated[
        str | None, typer.Argument(help="The state; - or nothing reads standard input.")
    ] = None,
    # The backslashes keep help pages from reading [name=] as markup.
    boolean: Annotated[
        list[str] | None,
        typer.Option("--boolean", "-b", help=r'"\[name=]Is it so?[|yes: meaning|no: meaning]"'),
    ] = None,
    choice: Annotated[
        list[str] | None,
        typer.Option("--choice", "-c", help=r'"\[name=]Which one?|first: meaning|second|…"'),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option("--score", "-s", help=r'"\[name=]How much?|lowest level|…|highest level"'),
    ] = None,
    schema: SchemaOption = None,
    file: Annotated[Path | None, typer.Option(help="Read the state from this file.")] = None,
    states: Annotated[
        Path | None,
        typer.Option(help=f"Ask about every state. {STATES_HELP}."),
    ] = None,
    json_state: Annotated[bool, typer.Option(help="The state is JSON, not text.")] = False,
    checkpoint: CheckpointOption = "default",
    server: ServerOption = None,
    lam: LambdaOption = None,
    engine: EngineOption = "auto",
    form: FormOption = None,
    layout: LayoutOption = None,
    packing: PackingOption = "apart",
    keep: KeepOption = None,
    order: OrderOption = "as-given",
    wide: Annotated[
        str, typer.Option(help="at-once, or in-rounds: over 32 options in small groups first.")
    ] = "at-once",
    explain: Annotated[
        bool, typer.Option(help="Add the parts of the state that each answer rests on.")
    ] = False,
    policy: Annotated[
        Path | None, typer.Option(help="Policy file: say act, abstain or escalate, and why.")
    ] = None,
    force_policy: Annotated[
        bool, typer.Option(help="Apply a policy fitted for something else, without its guarantee.")
    ] = False,
    decision_log: LogOption = None,
    key: KeyOption = None,
    timeout: TimeoutOption = 60.0,
    as_json: JsonOption = False,
    show_prompt: Annotated[
        bool, typer.Option(help="Print what the model reads, slots marked, and stop.")
    ] = False,
) -> None:
    """Ask questions about a state and print a probability for every option."""
    questions = _questions(boolean or [], choice or [], score or [], schema)
    how: dict[str, Any] = {"layout": layout, "packing": packing, "keep": keep}
    how |= {"order": order, "wide": wide}
    if states is not None and (state is not None or file is not None):
        raise InvalidInputError("--states", "replaces a state and --file; give only one")
    if force_policy and policy is None:
        raise InvalidInputError("--force-policy", "needs --policy")
    for name, wanted in (("--explain", explain), ("--show-prompt", show_prompt)):
        if states is not None and wanted:
            raise InvalidInputError(name, "works on one state, not with --states")
    for name, wanted in (
        ("--decision-log", decision_log is not None),
        ("--show-prompt", show_prompt),
    ):
        if server is not None and wanted:
            raise InvalidInputError(name, "is for a checkpoint that is opened here, not a server")
    many = [] if states is None else read_states(states, questions)
    given: Text = "" if states is not None else _state(state, file, json_state)

    from thisthat.audit.log import DecisionLog
    from thisthat.decide.decider import Decider

    record = None if decision_log is None or show_prompt else DecisionLog(decision_log)
    if policy is not None and not show_prompt:
        from thisthat.decide.policy import Policy

        loaded = Policy.load(policy)
        how["policy"] = loaded.force() if force_policy else loaded
    with answering(checkpoint, lam, engine, server, key, timeout, form) as decider:
        if isinstance(decider, Decider):
            decider.log = record
            if show_prompt:
                print(*decider.prompt_text(given, questions, **how), sep="\n")
                return
        with untaught_told(decider, questions):
            if states is not None:
                _ask_many(decider, many, questions, how)
            else:
                _show(decider.decide(given, questions, explain=explain, **how), as_json)
    if record is not None:
        _close_log(record)


def _show(decision: Decision, as_json: bool) -> None:
    if as_json:
        print(json.dumps(decision.as_dict(), ensure_ascii=False, indent=2))
        return
    _print_table(decision)
    _print_outcomes(decision)
    _print_evidence(decision)


def _close_log(log: DecisionLog) -> None:
    """Flush the log; the answers are already out, so a failure is only reported."""
    log.close()
    health = log.health
    if health.dropped:
        lost = f"{health.dropped} of {health.dropped + health.written} lines not written"
        typer.echo(f"decision log: {lost} ({health.last_failure})", err=True)


def _questions(
    booleans: list[str], choices: list[str], scores: list[str], schema: Path | None
) -> dict[str, Question]:
    questions = dict(read_schema(schema) or {})
    for flag, specs in (("boolean", booleans), ("choice", choices), ("score", scores)):
        for number, spec in enumerate(specs, 1):
            name, text, parts = _parse(spec)
            name = name or f"{flag}{number}"
            if name in questions:
                raise InvalidInputError(f"--{flag}", f"the name {name!r} is used twice")
            try:
                questions[name] = _question(flag, text, parts)
            except InvalidInputError as error:
                raise InvalidInputError(f"--{flag}", f"{spec!r}: {error}") from None
    if not questions:
        raise InvalidInputError(
            "questions", "none given; use --boolean, --choice, --score or --schema"
        )
    return questions


_ADDED = {"choice": ("options", "first|second"), "score": ("levels", "lowest|highest")}
"""What these questions cannot do without, and how it is written."""


def _question(flag: str, text: str, parts: list[str]) -> Question:
    from thisthat.questions import Boolean, Choice, Score

    if not parts and flag in _ADDED:
        what, how = _ADDED[flag]
        raise InvalidInputError(what, f"0 given; add them, as in '{text}|{how}'")
    if flag == "choice":
        return Choice([_option(part) for part in parts], text)
    if flag == "score":
        return Score(parts, text)
    meanings = {option.name: option.description for option in map(_option, parts)}
    if set(meanings) - {"yes", "no"}:
        raise InvalidInputError("options", "only yes and no can be described")
    return Boolean(text, meanings.get("yes"), meanings.get("no"))


def _parse(spec: str) -> tuple[str | None, str, list[str]]:
    named = _NAME.fullmatch(spec)
    name, rest = (named[1], named[2]) if named else (None, spec)
    text, *parts = (part.strip() for part in rest.split("|"))
    return name, text, parts


def _option(part: str) -> Option:
    from thisthat.questions import Option

    name, _, description = part.partition(": ")
    return Option(name.strip(), description.strip() or None)


def _state(state: str | None, file: Path | None, json_state: bool) -> Text:
    if state is not None and state != "-" and file is not None:
        raise InvalidInputError("--file", "a state was given as an argument too; use one of them")
    if file is not None:
        text = read_text(file)
    elif state is None or state == "-":
        if sys.stdin.isatty():
            raise InvalidInputError("state", "none given; pass it, pipe it in, or use --file")
        text = sys.stdin.read()
    else:
        text = state
    if not json_state:
        return text
    value: Text = load_json(text, "state")
    return value


def _ask_many(
    decider: Decider | RemoteDecider,
    states: list[Text],
    questions: dict[str, Question],
    how: dict[str, Any],
) -> None:
    with progress_bar("deciding", len(states)) as progress:
        decisions = decider.decide_many(states, questions, progress=progress, **how)
    for decision in decisions:
        print(json.dumps(decision.as_dict(), ensure_ascii=False))


def _print_table(decision: Decision) -> None:
    from rich.console import Console
    from rich.text import Text as Styled

    table = plain_table("question", "option", "probability", "", right=["probability"])
    for name, answer in decision.answers.items():
        first = True
        for option, probability in answer.probabilities.items():
            best = option == answer.best_name
            table.add_row(
                name if first else "",
                Styled(label(answer, option), style="bold" if best else ""),
                Styled(f"{probability:.3f}", style="bold" if best else ""),
                Styled("█" * round(24 * probability), style="green" if best else "dim"),
            )
            first = False
    Console().print(table)
    usage, source, cut = decision.usage, decision.source, decision.cut
    say(
        f"{source.name} {source.version}, λ = {source.lam:g} · {usage.input_tokens} tokens in, "
        f"0 out · {decision.seconds * 1000:.0f} ms",
        "dim",
    )
    if cut is not None:
        kept = f"{cut.kept_tokens} of {cut.state_tokens} tokens ({cut.keep})"
        say(f"the state was cut: kept {kept}", "yellow")


def _print_outcomes(decision: Decision) -> None:
    for name, answer in decision.answers.items():
        outcome = answer.outcome
        if outcome is not None:
            forced = f" (forced: {'; '.join(outcome.forced)})" if outcome.forced else ""
            print(f"{name}: {outcome.action}, because {outcome.reason}{forced}")
            if outcome.options is not None and outcome.coverage is not None:
                options = ", ".join(outcome.options)
                print(f"  prediction set: {options} ({set_promise(outcome.coverage)})")
            if outcome.level is not None:
                print(f"  mean level, calibrated: {outcome.level:.2f}")


def _print_evidence(decision: Decision) -> None:
    from rich.console import Console
    from rich.text import Text as Styled

    if decision.evidence is None:
        return
    table = plain_table("question", "moves by", "without", right=["moves by"])
    for name, parts in decision.evidence.items():
        for number, part in enumerate(parts[:_SHOWN_PARTS]):
            table.add_row(
                Styled(name if number == 0 else ""), f"{part.moved:.3f}", Styled(part.text)
            )
    print()
    Console().print(table)
    say(f"{decision.usage.extra_tokens} tokens more", "dim")
