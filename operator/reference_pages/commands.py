"""The page of all commands, made from their Typer apps."""

from __future__ import annotations

import re
from typing import Final

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from tandem.cli.main import app
from tandem_operator.plugin.cli import app as plugin

_HEAD: Final = """\
# CLI

Made from the commands by `PYTHONPATH=operator python -m reference_pages`. Exit codes: [Errors](errors.md#exit-codes).
"""


def commands() -> str:
    """The page, in Markdown."""
    return "\n".join((_HEAD, _section(app, "tandem"), _section(plugin, "kubectl tandem")))


def _section(of: typer.Typer, name: str) -> str:
    command = get_command(of)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name=name, title=name)
    text = re.sub(r"(?m)^(#+) ", r"#\1 ", text)
    text = re.sub(r"(?m)^(#+) `(.*)`$", r"\1 \2", text)
    text = re.sub(r"(?m)^  (?=\S)", "    ", text)
    return re.sub(r"(?m)[ \t]+$", "", text).rstrip() + "\n"
