"""docs/first-job.md, command by command: a new job against the servers of `tandem dev`, from nothing to a killed replica."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner, Result

from integration.command import PATIENCE_S, TANDEM, Command
from integration.waiting import gone
from integration.written_job import create_topics, transactional_producer
from tandem.cli.main import app
from tandem.devservers import KafkaBroker
from tandem.devservers.server import free_ports
from tandem.manifest.models import default_checkpoint_directory
from tandem.process.info import ExitCode

pytestmark = pytest.mark.integration

PAGE = (Path(__file__).parents[2] / "docs" / "first-job.md").read_text()
NAME = "shop"


@dataclass
class Terminals:
    """Where a reader of the page types its commands: in the job's folder. The job has another name, and ports of its own."""

    parent: Path
    job: str
    ports: tuple[int, ...] = field(default_factory=lambda: free_ports(2))
    commands: list[Command] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.parent / self.job

    @property
    def env(self) -> dict[str, str]:
        return {"XDG_RUNTIME_DIR": str(self.parent), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}

    def words(self, line: str, *more: str) -> list[str]:
        """The arguments of a command of the page, which must be there just so."""
        assert f"\n    {line}\n" in PAGE, f"the page has no command: {line}"
        return [*line.replace(NAME, self.job).split()[1:], *more]

    def begin(self, line: str, *more: str) -> Command:
        """Type a command that stays in the foreground."""
        self.commands.append(Command(*self.words(line, *more), cwd=self.folder, **self.env))
        return self.commands[-1]

    def dev(self) -> Command:
        """`tandem dev` with the manifest, when it is up."""
        ports = ["--kafka-port", str(self.ports[0]), "--zookeeper-port", str(self.ports[1])]
        command = self.begin("tandem dev job.yaml", *ports)
        assert command.says("Next, in another terminal:"), command.output
        return command

    def type(self, line: str, *more: str, at: Path | None = None) -> str:
        """Type a command, and wait for its end; what it printed."""
        done = subprocess.run(
            [*TANDEM, *self.words(line, *more)],
            cwd=at or self.folder,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def interrupt(self, command: Command) -> None:
        """Ctrl-C: it ends well, and leaves no process behind."""
        children = psutil.Process(command.pid).children(recursive=True)
        os.kill(command.pid, signal.SIGINT)
        assert command.exit_code() == ExitCode.OK, command.output
        assert all(gone(child.pid) for child in children)


@pytest.fixture
def terminals(tmp_path: Path, topic_prefix: str) -> Iterator[Terminals]:
    made = Terminals(tmp_path, f"{NAME}-{topic_prefix[-8:]}")
    yield made
    for command in reversed(made.commands):
        command.close()
    shutil.rmtree(default_checkpoint_directory(made.job), ignore_errors=True)


def shows(consume: Command, orders: dict[str, int], pieces: dict[str, int]) -> bool:
    """Wait until these are the newest totals; whether each came once, and in order."""

    def rows() -> list[dict[str, Any]]:
        return [json.loads(line) for line in consume.output.splitlines(keepends=True) if line[:1] + line[-1:] == "{\n"]

    consume.when(lambda: {row["product"]: row["orders"] for row in rows()} == orders)
    counts = {product: [row["orders"] for row in rows() if row["product"] == product] for product in orders}
    once = all(found == sorted(set(found)) for found in counts.values())
    return once and {row["product"]: row["pieces"] for row in rows()} == pieces


def test_a_new_job_is_fed_and_read_and_outlives_a_kill_and_its_servers_keep_what_they_hold(
    terminals: Terminals,
) -> None:
    terminals.type("tandem new shop", at=terminals.parent)
    manifest = terminals.folder / "job.yaml"
    kafka, zookeeper = terminals.ports
    manifest.write_text(manifest.read_text().replace(":9092", f":{kafka}").replace(":2181", f":{zookeeper}"))
    dev = terminals.dev()
    run = terminals.begin("tandem run job.yaml", "--no-screen")
    consume = terminals.begin("tandem dev consume job.yaml totals --from-beginning")

    fed = terminals.type("tandem dev produce job.yaml orders orders.jsonl")
    assert fed == f"4 records to {terminals.job}-orders\n"
    assert shows(consume, {"tea": 2, "coffee": 1}, {"tea": 7, "coffee": 1}), consume.output

    run.when(lambda: any(f"replica-1 {does}" in run.output for does in ("follows", "publishes")))
    terminals.type("tandem kill shop replica-0")
    terminals.type("tandem dev produce job.yaml orders orders.jsonl")
    assert shows(consume, {"tea": 4, "coffee": 2}, {"tea": 14, "coffee": 2}), consume.output

    for command in (consume, run, dev):
        terminals.interrupt(command)
    again = terminals.dev()
    assert f"{terminals.job}-orders, {terminals.job}-totals (kept)" in again.output
    kept = terminals.type("tandem dev consume job.yaml totals --from-beginning", "--count", "2", "--timeout", "60")
    assert len(kept.splitlines()) == 2
    terminals.interrupt(again)


def test_the_test_of_a_new_job_passes(terminals: Terminals) -> None:
    terminals.type("tandem new shop", at=terminals.parent)
    assert "\n    pytest\n" in PAGE

    command = [sys.executable, "-m", "pytest", "-q"]
    done = subprocess.run(command, cwd=terminals.folder, capture_output=True, text=True, timeout=PATIENCE_S)

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


SECURED = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: secured}
spec:
  job: {file: job.py}
  kafka:
    bootstrapServers: KAFKA
    properties: {security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN, sasl.username: alice}
    secretProperties: {sasl.password: {env: A_PASSWORD_OF_THE_TESTS}}
  ordering: {mode: heartbeat}
  sources: [{name: source, topics: [INPUT]}]
  sinks: [{name: sink, topic: OUTPUT}]
"""


def test_records_go_to_and_come_from_whichever_kafka_the_manifest_names(tmp_path: Path) -> None:
    secret = {"A_PASSWORD_OF_THE_TESTS": "right-password"}
    job, next_job = tmp_path / "job.yaml", tmp_path / "next.yaml"

    def dev(command: str, manifest: Path, *words: str, given: str = "", env: dict[str, str] = secret) -> Result:
        return CliRunner(env=env).invoke(app, ["dev", command, str(manifest), *words], input=given)

    with KafkaBroker(tmp_path / "kafka", sasl_users={"alice": "right-password"}) as kafka:
        create_topics(kafka.bootstrap, {"orders": 1, "rows": 1})
        for path, reads, writes in ((job, "orders", "rows"), (next_job, "other", "orders")):
            text = SECURED.replace("KAFKA", kafka.sasl_bootstrap)
            path.write_text(text.replace("INPUT", reads).replace("OUTPUT", writes))

        fed = dev("produce", job, "source", "--key", "k", "--rate", "100", given='{"a": 1}\n\ntwo\n')
        assert (fed.exit_code, fed.stdout) == (0, "2 records to orders\n"), fed.output
        echo = dev("consume", next_job, "sink", "--from-beginning", "--count", "2", "--timeout", "30")
        assert (echo.exit_code, echo.stdout) == (0, '{"a": 1}\ntwo\n'), echo.output

        publish(kafka, b"aborted", epoch=6, commit=False)
        publish(kafka, b"committed", epoch=7, commit=True)
        rows = dev("consume", job, "sink", "--from-beginning", "--epochs", "--count", "1", "--timeout", "30")
        assert (rows.exit_code, rows.stdout) == (0, "7\tcommitted\n"), rows.output
        fewer = dev("consume", job, "sink", "--count", "1", "--timeout", "1")
        assert (fewer.exit_code, fewer.stdout) == (1, "")
        assert "0 of 1 rows came" in fewer.stderr

        letters = dev("consume", job, "dead-letter")
        assert (letters.exit_code, letters.stdout) == (ExitCode.REFUSED, "")
        assert "secured.dead-letter is not there yet: the job makes it when it first runs" in letters.stderr
        refused = dev("produce", job, "source", given="one\n", env={"A_PASSWORD_OF_THE_TESTS": "wrong"})
        assert refused.exit_code == ExitCode.REFUSED
        assert "refused the connection" in refused.stderr


def publish(kafka: KafkaBroker, value: bytes, epoch: int, commit: bool) -> None:
    producer = transactional_producer(kafka.bootstrap, "secured")
    producer.begin_transaction()
    producer.produce("rows", value, headers={"tandem.epoch": str(epoch), "tandem.index": "0"})
    producer.flush(30)
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
