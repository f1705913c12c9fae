"""`tandem dev` that cannot start says why, in one line, and starts nothing."""

from __future__ import annotations

import fcntl
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tandem.cli.main import app
from tandem.devservers.server import free_ports
from tandem.process.info import ExitCode


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """The command takes them for its process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: shop}
spec:
  job: {file: job.py}
  kafka: {bootstrapServers: "localhost:9092"}
  zookeeper: {connect: "localhost:2181"}
  sources: [{name: orders, topics: [orders]}]
"""


def dev(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["dev", *map(str, arguments)])


OPTIONS = ["--kafka-port", "--zookeeper-port", "--registry-port", "--postgres-port"]


@pytest.mark.parametrize("option", OPTIONS)
def test_a_port_that_is_taken_is_reported_with_its_option(option: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in OPTIONS]
        ports = {name: other.getsockname()[1] for name, other in zip(OPTIONS, others, strict=True)}
        taken = ports[option]
        for name, other in zip(OPTIONS, others, strict=True):
            if name != option:
                other.close()
        words = [word for pair in ports.items() for word in pair]
        result = dev("--registry", "--postgres", "--state", tmp_path, *words)

    assert result.exit_code == ExitCode.REFUSED
    assert result.stderr.startswith(f"not started: port {taken} of 127.0.0.1 is taken")
    assert f"choose another port with {option}" in result.stderr


def test_two_servers_cannot_have_one_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    result = dev("--state", tmp_path, "--kafka-port", port, "--zookeeper-port", port)

    assert result.exit_code == ExitCode.REFUSED
    assert f"--kafka-port and --zookeeper-port are both {port}: choose another port" in result.stderr


SINK = "{name: s, postgres: {host: db, database: d, user: u, table: t}}"


@pytest.mark.parametrize(
    ("spec", "words", "starts"),
    [
        ("", [], False),
        ("", ["--registry"], True),
        ("schemaRegistry: {url: 'http://r:1'}", [], True),
        ("schemaRegistry: {url: 'http://r:1'}", ["--no-registry"], False),
    ],
)
def test_a_registry_is_run_if_the_manifest_names_one_or_it_is_asked_for(
    spec: str, words: list[str], starts: bool, tmp_path: Path
) -> None:
    assert is_started("--registry-port", manifest(tmp_path, spec), words) == starts


@pytest.mark.parametrize(
    ("sink", "words", "starts"),
    [
        ("{name: s, topic: t}", [], False),
        ("{name: s, topic: t}", ["--postgres"], True),
        (SINK, [], True),
        (SINK, ["--no-postgres"], False),
    ],
)
def test_a_postgresql_is_run_if_a_sink_is_in_one_or_it_is_asked_for(
    sink: str, words: list[str], starts: bool, tmp_path: Path
) -> None:
    assert is_started("--postgres-port", manifest(tmp_path, sink=sink), words) == starts


def is_started(option: str, path: Path, words: list[str]) -> bool:
    """Whether the server of that option is wanted: then its port is told to be Kafka's, too. Else ZooKeeper's is taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (port,) = free_ports(1)
        told = dev(path, *words, option, port, "--kafka-port", port, "--zookeeper-port", taken.getsockname()[1]).stderr
    assert (option in told) != ("choose another port with --zookeeper-port" in told)
    return option in told


def manifest(folder: Path, spec: str = "", sink: str = "{name: s, topic: t}") -> Path:
    path = folder / "job.yaml"
    path.write_text(MANIFEST + f"  sinks: [{sink}]\n" + (f"  {spec}\n" if spec else ""))
    return path


def test_a_fresh_start_empties_what_each_server_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, no_cache = tmp_path / "state", tmp_path / "file"
    folders = [state / name for name in ("kafka", "zookeeper", "registry", "postgres")]
    for folder in folders:
        (folder / "data").mkdir(parents=True)
    no_cache.write_text("")
    monkeypatch.setenv("TANDEM_CACHE", str(no_cache))
    ports = [word for option, port in zip(OPTIONS, free_ports(4), strict=True) for word in (option, port)]

    assert dev("--state", state, *ports).exit_code != 0
    assert all(folder.is_dir() for folder in folders)
    assert dev("--fresh", "--state", state, *ports).exit_code != 0
    assert not any(folder.exists() for folder in folders)


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


@pytest.mark.parametrize("start", [[], ["start"]])
def test_a_second_manifest_is_refused_with_what_to_do_about_it(start: list[str], tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.yaml", "two.yaml")]
    for path in paths:
        path.write_text(MANIFEST)
    result = dev(*start, *paths, "--state", tmp_path / "state")

    said = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == ExitCode.USAGE
    assert "tandem dev takes one manifest" in said
    assert "if their topics are made" in said
    assert not (tmp_path / "state").exists()
