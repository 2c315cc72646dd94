"""Who answers a command's questions: a checkpoint opened here, or a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat.decide.decider import Decider
    from thisthat.decide.protocol import Decides
    from thisthat.questions import Question
    from thisthat.remote.decider import RemoteDecider


@contextmanager
def answering(
    checkpoint: str,
    lam: float | None,
    engine: str,
    server: str | None,
    key: str | None,
    timeout: float,
    form: str | None = None,
) -> Iterator[Decider | RemoteDecider]:
    """The server, or the checkpoint, opened and closed again. Raises what opening raises."""
    if server is None:
        from thisthat.decide.opening import open_decider

        how: Any = {"engine": engine, "form": form}
        with open_decider(checkpoint, lam=lam, **how) as decider:
            yield decider
        return
    from thisthat.remote.connecting import connect

    for name, given in (("--engine", engine != "auto"), ("--form", form is not None)):
        if given:
            raise InvalidInputError(name, "is for a checkpoint; a server has its own")
    with connect(server, key=key, model=checkpoint, lam=lam, timeout=timeout) as remote:
        yield remote


def tell_untaught(decider: Decider, questions: Mapping[str, Question]) -> None:
    """Name the questions for which a taught checkpoint keeps no head: a word may be off."""
    if decider.heads is not None:
        _tell_untaught(decider.heads.unknown(questions), decider.source.name)


@contextmanager
def untaught_told(decider: Decides, questions: Mapping[str, Question]) -> Iterator[None]:
    """``tell_untaught`` before a checkpoint answers, or after a server has said so."""
    from thisthat.decide.decider import Decider
    from thisthat.remote.decider import RemoteDecider

    if isinstance(decider, Decider):
        tell_untaught(decider, questions)
    yield
    if isinstance(decider, RemoteDecider):
        _tell_untaught(decider.untaught(questions), "the server's checkpoint")


def _tell_untaught(names: list[str], whose: str) -> None:
    if names:
        told = f"{whose} keeps nothing taught for this wording with these options"
        typer.echo(f"note: {', '.join(names)}: {told}; the checkpoint below it answers", err=True)


def tell_uncompared(version: str) -> None:
    """Say that nobody compared labels with those that taught the checkpoint of a server."""
    if "+" in version:  # Otherwise it was not taught.
        message = "note: a server does not say which labels taught its checkpoint; use others"
        typer.echo(message, err=True)
