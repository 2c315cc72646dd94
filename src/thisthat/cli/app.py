"""The kind of application that all commands are part of: help pages without ballast."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command_name

from thisthat.errors import InvalidInputError

_ELSEWHERE: dict[tuple[str | None, str], str] = {
    ("serve", "--policy"): (
        "each request brings its own, as `policy`: thisthat ask --server URL --policy FILE"
    ),
}
"""Options that are looked for at a command and have their place elsewhere."""


def _plain(params: list[Any]) -> list[Any]:
    """A flag takes no value, and one that is off unless it is given needs no way to say so."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
            if not param.default:
                param.secondary_opts = []
                param.show_default = False
    return params


def _paragraphs(text: str) -> str:
    """A docstring whose paragraphs fill whatever width the terminal has."""
    return "\n\n".join(part.replace("\n", " ") for part in inspect.cleandoc(text).split("\n\n"))


class Command(TyperCommand):
    """A command with plain flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the help option too."""
        return _plain(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises InvalidInputError for an argument as an option, and an option of another place."""
        options = {name for param in self.params for name in param.opts}
        arguments = {f"--{param.name}" for param in self.params if isinstance(param, TyperArgument)}
        for word in args[: args.index("--") if "--" in args else None]:
            name = word.partition("=")[0]
            elsewhere = _ELSEWHERE.get((self.name, name))
            if elsewhere is not None and name not in options:
                raise InvalidInputError(name, f"is no option of {ctx.command_path}; {elsewhere}")
            if name in arguments - options:
                value = name.removeprefix("--").upper()
                how = f"{ctx.command_path} {value}"
                raise InvalidInputError(name, f"is no option; give its value alone: {how}")
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """A group of commands, likewise."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the help option too."""
        return _plain(super().get_params(ctx))


class App(typer.Typer):
    """A ``typer.Typer`` of such commands and groups."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=Group, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """As in typer."""
        make = super().command

        def register(function: Callable[..., Any]) -> Any:
            told = {"help": _paragraphs(function.__doc__)} if function.__doc__ else {}
            called = name or get_command_name(function.__name__)
            return make(called, **{"cls": Command, **told, **settings})(function)

        return register

    def __call__(self, *args: Any, **settings: Any) -> Any:
        """Run the command line, of which only what it names is built."""
        words = args[0] if args else settings.get("args")
        found = self._only(sys.argv[1:] if words is None else words)
        return super(App, found).__call__(*args, **settings)

    def _only(self, words: Sequence[str]) -> App:
        """The app with nothing but the command that ``words`` begin with; all, if they name none.

        To read the parameters of every command takes longer than many a command runs.
        """
        name = words[0] if words else None
        commands = [each for each in self.registered_commands if name == each.name]
        groups = [each for each in self.registered_groups if name == each.name]
        if not commands and not groups:
            return self
        found = copy.copy(self)
        found.registered_commands = commands
        found.registered_groups = [copy.copy(group) for group in groups]
        for group in found.registered_groups:
            if isinstance(group.typer_instance, App):
                group.typer_instance = group.typer_instance._only(words[1:])
        return found
