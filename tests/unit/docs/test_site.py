"""The documentation as a whole: each page can be reached, is short, and names only commands and options that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from ruamel.yaml import YAML
from typer.main import get_command

from alerts.rules import ROOT
from reference_pages.__main__ import FOLDER, PAGES
from tandem.cli.main import app
from tandem.process.ending import EndKind
from tandem.process.entry import REFUSALS
from tandem.process.info import ExitCode
from tandem.replica.main import KINDS
from tandem_operator.plugin.cli import app as plugin

DOCS = ROOT / "docs"
ALL = sorted(DOCS.rglob("*.md"))
MOST_LINES = 200
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)]*)\)")
COMMAND = re.compile(r"(?m)^ {4}(?:\$ )?((?:kubectl )?tandem [a-z].*)$")
each_page = pytest.mark.parametrize("page", [ROOT / "README.md", *ALL], ids=lambda page: str(page.relative_to(ROOT)))


def in_nav(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, list):
                yield from in_nav(value)
            else:
                yield value


def test_each_page_is_in_the_nav_once() -> None:
    nav = list(in_nav(YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text())["nav"]))

    assert sorted(nav) == [str(page.relative_to(DOCS)) for page in ALL]


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_is_short_unless_it_is_a_reference(page: Path) -> None:
    is_reference = page.is_relative_to(DOCS / "reference")

    assert is_reference or len(page.read_text().splitlines()) <= MOST_LINES


@each_page
def test_a_pages_pictures_are_there(page: Path) -> None:
    assert [target for target in IMAGE.findall(page.read_text()) if not (page.parent / target).is_file()] == []


@each_page
def test_a_page_names_only_commands_and_options_that_there_are(page: Path) -> None:
    text = page.read_text()
    lines = [*COMMAND.findall(text), *re.findall(r"`((?:kubectl )?tandem [a-z][^`]*)`", text)]

    assert [(line, fault) for line in lines if (fault := wrong_in(line))] == []


def wrong_in(line: str) -> str:
    """The first word of a command line that the command does not know; "": it knows all."""
    is_plugin = line.startswith("kubectl ")
    words = shlex.split(line.partition("  #")[0].partition(" >")[0].partition(" | ")[0])[2 if is_plugin else 1 :]
    command: Any = get_command(plugin if is_plugin else app)
    options = {"--help", *options_of(command)}
    for word in words:
        context = typer.Context(command)
        children = command.list_commands(context) if hasattr(command, "list_commands") else ()
        if word.startswith("--"):
            if word.partition("=")[0] not in options:
                return word
        elif children:
            if word in children:
                command = command.get_command(context, word)
                options |= options_of(command)
                options |= options_of(command.commands["start"]) if word == "dev" else set()
            elif not is_a_placeholder(word, command):
                return word
    return ""


def options_of(command: Any) -> set[str]:
    context = typer.Context(command)
    return {name for parameter in command.get_params(context) for name in (*parameter.opts, *parameter.secondary_opts)}


def is_a_placeholder(word: str, command: Any) -> bool:
    """`tandem dev job.yaml` is short for `tandem dev start job.yaml`."""
    return command.name == "dev" or not re.fullmatch(r"[a-z]+", word)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_made_from_the_code_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "run PYTHONPATH=operator python -m reference_pages"


def test_the_page_of_errors_names_each_exit_code_each_kind_of_end_and_each_error_that_ends_a_process() -> None:
    page = (DOCS / "reference" / "errors.md").read_text()
    rows = {match[1]: match[2] for match in re.finditer(r"(?m)^\| `(\w+Error)` \| `(\w+)` \|", page)}

    assert [code.name for code in ExitCode if f"| {code.value} | `{code.name}` |" not in page] == []
    assert [kind.value for kind in EndKind if f"\n| `{kind.value}` |" not in page] == []
    assert {error.__name__: str(kind) for error, kind in {**REFUSALS, **KINDS}.items()}.items() <= rows.items()
    assert set(rows.values()) <= {kind.value for kind in EndKind}


def test_the_page_of_errors_names_each_reason_of_a_condition() -> None:
    page = (DOCS / "reference" / "errors.md").read_text()
    sources = "".join(path.read_text() for path in (ROOT / "operator" / "tandem_operator" / "plan").glob("*.py"))
    reasons = set(re.findall(r'ConditionUpdate\(\s*"\w+",\s*"(?:True|False|Unknown)",\s*"(\w+)"', sources))

    assert len(reasons) > 20
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in page] == []
