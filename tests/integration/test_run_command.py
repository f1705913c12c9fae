"""`tandem run` as a user runs it: a process that starts a real job, shows how it stands, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from integration.command import TANDEM, Command, OnTerminal
from integration.waiting import gone
from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import sessions

pytestmark = pytest.mark.integration

MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: NAME}
spec:
  job: {file: job.py}
  replicas: 1
  kafka: {bootstrapServers: "KAFKA"}
  sources: [{name: events, topics: [NAME-in]}]
  sinks: [{name: out, topic: NAME-out}]
  ordering: {mode: heartbeat, generators: 1}
  checkpoint: {directory: checkpoint}
"""


class Run(Command):
    """A `tandem run`."""

    def __init__(self, manifest: Path, *options: str) -> None:
        self.directory = manifest.parent / "run"
        super().__init__("run", str(manifest), "--run-directory", str(self.directory), *options)

    def status(self) -> dict[str, object]:
        """What `tandem status` says about its first replica."""
        command = [*TANDEM, "status", "--run-directory", str(self.directory), "--json"]
        replica: dict[str, object] = json.loads(subprocess.check_output(command))["replicas"][0]
        return replica


@pytest.fixture
def run(tmp_path: Path, topic_prefix: str) -> Iterator[Callable[..., Run]]:
    """Runs a job whose Kafka is at the given address."""
    made: list[Run] = []

    def start(
        kafka: str, *options: str, code: str = "def job(events):\n    return events.select('key', 'value')\n"
    ) -> Run:
        (tmp_path / "job.py").write_text(code)
        manifest = tmp_path / "job.yaml"
        manifest.write_text(MANIFEST.replace("NAME", topic_prefix).replace("KAFKA", kafka))
        made.append(Run(manifest, *options))
        return made[-1]

    yield start
    for process in made:
        process.close()


def make_topics(kafka: KafkaBroker, name: str) -> None:
    Topics(KafkaConnection({"bootstrap.servers": kafka.bootstrap})).ensure(
        [NewTopic(f"{name}-in"), NewTopic(f"{name}-out")]
    )


def produce(kafka: KafkaBroker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(count):
        producer.produce(topic, str(number), str(number))
    assert producer.flush(30) == 0


def test_a_job_runs_survives_a_kill_and_ends_without_a_trace(
    kafka: KafkaBroker, run: Callable[..., Run], topic_prefix: str
) -> None:
    make_topics(kafka, topic_prefix)
    produce(kafka, f"{topic_prefix}-in", 100)

    job = run(kafka.bootstrap)
    assert job.says("replica-0 publishes 100%"), job.output
    before = job.status()
    assert (before["rows_published"], before["ready"]) == (100, True)

    watching = OnTerminal("status", topic_prefix, "--watch", "--run-directory", str(job.directory))
    assert watching.says("Latency    p50 "), watching.output
    assert f"{topic_prefix}  microBatch · heartbeat · exactlyOnce" in watching.output
    assert "replica-0 running publishes 100%" in " ".join(watching.output.split())
    produce(kafka, f"{topic_prefix}-in", 1)
    watching.when(lambda: "up to epoch 1, last by replica-0" in watching.output)
    os.kill(watching.pid, signal.SIGINT)
    assert watching.exit_code() == 0, watching.output
    assert "up to epoch 1, last by replica-0" in watching.output

    subprocess.check_call([*TANDEM, "kill", topic_prefix, "replica-0", "--run-directory", str(job.directory)])
    assert job.says("replica-0 ended by SIGKILL; restarted at once"), job.output
    after = job.status()
    assert (after["restarts"], after["pid"] != before["pid"]) == (1, True)

    children = psutil.Process(job.pid).children(recursive=True)
    os.kill(job.pid, signal.SIGINT)
    assert job.exit_code() == 0, job.output
    assert job.output.endswith("stopped\n")
    assert all(gone(child.pid) for child in children)
    assert not sessions.members(int(str(before["pid"])))


def test_a_run_for_a_time_ends_by_itself(run: Callable[..., Run]) -> None:
    job = run("localhost:1", "--for", "1s")

    assert job.exit_code() == 0, job.output
    assert "newest epoch not known; replica-0 starts" in job.output  # nobody answers for Kafka


def test_on_a_terminal_a_run_shows_the_screen_and_who_watches_it_sees_its_end(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def job(events):\n    return events.select('key', 'value')\n")
    (tmp_path / "job.yaml").write_text(MANIFEST.replace("NAME", "shown").replace("KAFKA", "localhost:1"))
    folder = str(tmp_path / "run")

    job = OnTerminal("run", str(tmp_path / "job.yaml"), "--run-directory", folder)
    assert job.says("NOT SAFE: no replica is at the head"), job.output
    watching = Command("status", "shown", "--watch", "--run-directory", folder)
    assert watching.says("newest epoch not known; replica-0 starts"), watching.output

    os.kill(job.pid, signal.SIGINT)
    assert job.exit_code() == 0, job.output
    assert "stopped" in job.output
    assert watching.exit_code() == 1
    assert watching.output.endswith("shown has stopped\n")


def test_a_job_that_cannot_run_leaves_with_the_reason(
    kafka: KafkaBroker, run: Callable[..., Run], topic_prefix: str
) -> None:
    job = run(kafka.bootstrap)

    assert job.exit_code() == 78, job.output
    assert f"refused to run: topic {topic_prefix}-in, {topic_prefix}-out does not exist" in job.output


def test_code_that_does_not_fit_the_manifest_is_refused_at_once(run: Callable[..., Run]) -> None:
    job = run("localhost:1", code="def job(flights):\n    return flights\n")

    assert job.exit_code() == 78
    assert "job has no parameter for the source events" in job.output
    assert not job.directory.exists()
