"""Commands that are imported when they are run: what one of them needs, PySpark above all, the others do not wait for."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command is: the function, or the `typer.Typer` of a group, `name` of `module`.

    `help` : its line in the list of commands, which is shown without importing it, and begins the command's own help.
    """

    module: str
    name: str
    help: str

    def load(self, command: str) -> Any:
        """The click command, imported."""
        found = getattr(import_module(self.module), self.name)
        if not isinstance(found, typer.Typer):
            app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            app.command(command)(found)
            return get_command(app)
        return get_command(found)


class OnDemand(TyperGroup):
    """A group of the commands in `places`, in their order. The list of `--help` imports none of them."""

    places: ClassVar[Mapping[str, Place]]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands.update({name: TyperCommand(name, help=place.help) for name, place in self.places.items()})
        self._loaded: dict[str, Any] = {}
        self._only_lists = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.places)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.places or self._only_lists:
            return super().get_command(ctx, cmd_name)
        if cmd_name not in self._loaded:
            self._loaded[cmd_name] = self.places[cmd_name].load(cmd_name)
        return self._loaded[cmd_name]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._only_lists = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._only_lists = False
