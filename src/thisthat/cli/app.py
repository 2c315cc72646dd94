"""The kind of application that all commands are part of: help pages that name no type for flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def _without_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command; a flag takes no value, so its help shows none."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the help option too."""
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands, likewise."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the help option too."""
        return _without_types(super().get_params(ctx))


class App(typer.Typer):
    """A ``typer.Typer`` of such commands and groups."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=Group, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """As in typer."""
        return super().command(name, **{"cls": Command, **settings})
