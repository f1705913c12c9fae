"""`tandem validate` prints problems for people and for grep."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.cli.main import app

Writer = Callable[..., Path]


def validate(*arguments: object) -> tuple[int, list[str], str]:
    """Exit code, lines of output, and what went to the error stream."""
    result = CliRunner(env={"FORCE_COLOR": None, "TTY_COMPATIBLE": None}).invoke(
        app, ["validate", *map(str, arguments)]
    )
    return result.exit_code, result.stdout.splitlines(), result.stderr


def test_a_valid_manifest_is_summed_up_in_a_line(write: Writer) -> None:
    path = write()

    assert validate(path) == (
        0,
        [f"{path}: valid (flights, 2 replicas, leader, exactlyOnce, 2 sources, 2 sinks)"],
        "",
    )


def test_every_problem_is_one_plain_line(write: Writer) -> None:
    path = write(("replicas: 2", "replicas: 0"), ("topics: [weather]", "topics: ['[red]']"))

    code, lines, _ = validate(path)

    assert code == 1
    assert lines[0] == f"{path}:10: spec.replicas: 0 is too small. The least is 1"
    assert lines[1].startswith(
        f"{path}:25: spec.sources[1].topics[0]: '[red]' is no name of a Kafka topic. Use letters"
    )
    assert len(lines) == 2


def test_the_code_is_looked_at_unless_declined(write: Writer) -> None:
    path = write(code="def flights(flights): ...")

    code, lines, _ = validate(path)
    assert (code, len(lines)) == (1, 1)
    assert "job.py:1: flights has no parameter for the source weather" in lines[0]
    assert validate(path, "--no-job")[0] == 0


def test_yaml_that_cannot_be_read_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("a: 1\na: 2\n")

    assert validate(path) == (1, [f"{path}:2: the key a is written twice. Keep one of them"], "")


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_a_file_that_is_not_there_is_a_wrong_use(name: str, tmp_path: Path) -> None:
    code, lines, error = validate(tmp_path / name)

    assert (code, lines) == (2, [])
    assert "manifest" in error


def test_the_command_is_there_as_a_module_too(write: Writer) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tandem", "validate", str(write())],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "valid (flights" in done.stdout


def test_a_setting_that_spark_does_not_know_is_noted_and_the_manifest_is_valid(write: Writer) -> None:
    path = write(("spark: {}", 'spark: {conf: {spark.acme.region: "eu"}}'))

    code, lines, _ = validate(path)

    assert code == 0
    assert lines[0] == (
        f"{path}:35: spec.spark.conf[spark.acme.region]: Spark itself has no setting spark.acme.region; it is passed on, "
        "for a library or the job to read."
    )
    assert len(lines) == 2
