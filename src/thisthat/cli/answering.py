"""Who answers a command with many questions: a checkpoint opened here, or a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from thisthat.errors import InvalidInputError
from thisthat.remote import KEY_VARIABLE

if TYPE_CHECKING:
    from thisthat.decide.protocol import Decides

ServerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="Ask this server (http://…) instead; --checkpoint is then a name it answers to.",
    ),
]
KeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--key", envvar=KEY_VARIABLE, help="Key of a server.", show_envvar=True),
]
TimeoutOption: TypeAlias = Annotated[
    float, typer.Option("--timeout", help="Seconds to wait for a server's next answer.")
]


@contextmanager
def answering(
    checkpoint: str,
    lam: float | None,
    engine: str,
    server: str | None,
    key: str | None,
    timeout: float,
) -> Iterator[Decides]:
    """The server, or the checkpoint, opened and closed again. Raises what opening raises."""
    if server is None:
        from thisthat.decide.opening import open_decider

        with open_decider(checkpoint, lam=lam, engine=engine) as decider:  # type: ignore[arg-type]
            yield decider
        return
    from thisthat.remote.decider import RemoteDecider
    from thisthat.remote.server import Server

    if engine != "auto":
        raise InvalidInputError("--engine", "is for a checkpoint; a server has its own")
    yield RemoteDecider(Server(server, key, timeout), checkpoint, lam)
