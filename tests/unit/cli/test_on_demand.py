"""The commands are imported when they are run: the list of them, and those that need no Spark, are quick."""

from __future__ import annotations

import subprocess
import sys

import typer
from typer.main import get_command

from tandem.cli.main import app

HEAVY = ("pyspark", "pyarrow", "numpy", "pandas")
WITH_SPARK = ("savepoint", "state")


def imported(code: str) -> set[str]:
    """The packages that a process imports for `code`."""
    report = "print(*(name.partition('.')[0] for name in sys.modules))"
    argv = [sys.executable, "-c", f"import sys\n{code}\n{report}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines()[-1].split())


def test_the_list_of_commands_imports_none() -> None:
    code = "from tandem.cli.main import app; app(['--help'], standalone_mode=False)"
    assert not imported(code) & {*HEAVY, "pydantic", "structlog", "confluent_kafka"}


def test_commands_that_need_no_spark_do_not_wait_for_it() -> None:
    group = get_command(app)
    modules = {place.module for name, place in group.places.items() if name not in WITH_SPARK}  # type: ignore[attr-defined]
    assert not imported("\n".join(f"import {module}" for module in modules)) & set(HEAVY)


def test_what_the_list_says_of_a_command_is_what_it_says_of_itself() -> None:
    group = get_command(app)
    context = typer.Context(group)
    listed = {name: place.help for name, place in group.places.items()}  # type: ignore[attr-defined]
    assert listed == {name: group.get_command(context, name).get_short_help_str(300) for name in listed}  # type: ignore[attr-defined]


def test_a_command_that_is_not_there_is_named_with_those_that_are_like_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tandem", "statsu"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "No such command 'statsu'. Did you mean 'status'" in done.stderr
