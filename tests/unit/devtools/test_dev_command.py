"""`tandem dev` that cannot start says why, in one line, and starts nothing."""

from __future__ import annotations

import fcntl
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tandem.cli.main import app
from tandem.process.info import ExitCode


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """The command takes them for its process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def dev(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["dev", *map(str, arguments)])


@pytest.mark.parametrize("option", ["--kafka-port", "--zookeeper-port"])
def test_a_port_that_is_taken_is_reported_with_its_option(option: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"--kafka-port": other.getsockname()[1], "--zookeeper-port": other.getsockname()[1]}
        ports[option] = taken.getsockname()[1]
        other.close()
        result = dev("--state", tmp_path, *(str(word) for pair in ports.items() for word in pair))

    assert result.exit_code == ExitCode.REFUSED
    assert result.stderr.startswith(f"not started: port {ports[option]} of 127.0.0.1 is taken")
    assert f"choose another port with {option}" in result.stderr


def test_a_folder_that_another_one_uses_is_left_to_it_even_by_a_fresh_one(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = dev("start", "--fresh", "--state", tmp_path)

    assert result.exit_code == ExitCode.REFUSED
    assert result.stderr.startswith(f"not started: another `tandem dev` keeps its state in {tmp_path}: end it, or")
    assert (tmp_path / "kafka").is_dir()


def test_without_java_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = dev("--state", tmp_path / "state")

    assert result.exit_code == ExitCode.REFUSED
    assert "install Java 17 or newer, or set JAVA_HOME to one" in result.stderr
    assert not (tmp_path / "state").exists()


def test_mistakes_of_the_manifest_come_first(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("apiVersion: tandem.dev/v1alpha1\nkind: ReplicatedStreamJob\n")
    result = dev(tmp_path / "job.yaml")

    assert result.exit_code == ExitCode.REFUSED
    assert "job.yaml:" in result.stdout
    assert not (tmp_path / ".tandem").exists()


def test_help_is_that_of_the_whole_group() -> None:
    result = dev("--help")

    assert result.exit_code == 0
    assert all(command in result.stdout for command in ("start", "produce", "consume"))
