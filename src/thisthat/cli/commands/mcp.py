"""`thisthat mcp`: schemas as tools for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thisthat.cli.answering import answering
from thisthat.cli.options import (
    SCHEMA_HELP,
    CheckpointOption,
    EngineOption,
    KeepOption,
    KeyOption,
    LambdaOption,
    OrderOption,
    ServerOption,
    TimeoutOption,
)
from thisthat.errors import MissingExtraError


def mcp(
    schemas: Annotated[list[Path], typer.Argument(help=f"{SCHEMA_HELP} One tool each.")],
    checkpoint: CheckpointOption = "default",
    lam: LambdaOption = None,
    engine: EngineOption = "auto",
    keep: KeepOption = None,
    order: OrderOption = "as-given",
    policy: Annotated[
        Path | None, typer.Option(help="Policy file of the one schema: adds what to do, and why.")
    ] = None,
    server: ServerOption = None,
    key: KeyOption = None,
    timeout: TimeoutOption = 60.0,
) -> None:
    """Offer schemas as tools over MCP, on standard input and output.

    An agent starts this command; every tool takes a state and gives typed answers with
    probabilities.
    """
    from thisthat.tools.schema_tool import read_tools

    fitted = None
    if policy is not None:
        from thisthat.decide.policy import Policy

        fitted = Policy.load(policy)
    tools = read_tools(schemas, fitted)
    try:
        from thisthat.tools.mcp import run_tools
    except ModuleNotFoundError as error:
        raise MissingExtraError("thisthat mcp", "mcp") from error
    with answering(checkpoint, lam, engine, server, key, timeout) as decider:
        for tool in tools.values():
            tool.check(decider, keep=keep, order=order)
        run_tools(tools, decider, keep=keep, order=order)
