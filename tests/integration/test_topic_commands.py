"""`tandem topics`, and what replicas report of the job's own topics, on a real broker and a real ZooKeeper."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner, Result

from integration.topic_settings import configure
from integration.waiting import eventually
from tandem.cli.main import app
from tandem.coordination.slots import Slots
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.manifest import load
from tandem.process.info import ExitCode
from tandem.replica.leftovers import alive
from tandem.snapshots import SnapshotHead, SnapshotStore
from tandem.status.report import TopicDrift
from tandem.topics.declared import ensure_topics, own_topics
from tandem.topics.watch import TopicWatch

pytestmark = pytest.mark.integration


class LeftJob:
    """A job whose topics and snapshots are there, and which does not run."""

    def __init__(self, kafka: KafkaBroker, zookeeper: ZooKeeperServer, name: str, folder: Path) -> None:
        self.name, self.zookeeper, self.bootstrap = name, zookeeper, kafka.bootstrap
        self.connection = KafkaConnection({"bootstrap.servers": kafka.bootstrap})
        self.topics = Topics(self.connection)
        self.topics.ensure([NewTopic(f"{name}.in", 2), NewTopic(f"{name}.out", 2)])
        assert eventually(lambda: self.there() == [".in", ".out"])
        self.path = folder / "job.yaml"
        self.path.write_text(
            f"""\
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {{name: {name}}}
spec:
  job: {{file: job.py}}
  standbys: 1
  kafka: {{bootstrapServers: {kafka.bootstrap}}}
  zookeeper: {{connect: {zookeeper.connect}}}
  sources: [{{name: source, topics: [{name}.in]}}]
  sinks: [{{name: rows, topic: {name}.out}}]
  snapshots: {{store: ./snapshots}}
"""
        )
        self.manifest = load(self.path)
        ensure_topics(self.topics, self.manifest, "replica-0")
        self.store = SnapshotStore(str(folder / "snapshots" / name))
        (folder / "state").mkdir()
        (folder / "state" / "metadata").write_text("m")
        self.store.save(SnapshotHead(name, 1, 2, "c", "", 1, "", f"{name}.replica-0.1a"), folder / "state")

    def there(self) -> list[str]:
        """Its topics, without its name."""
        return sorted(topic.removeprefix(self.name) for topic in self.topics.all() if topic.startswith(self.name))

    def tandem(self, *arguments: str, answer: str = "") -> Result:
        command = ["topics", arguments[0], str(self.path), *arguments[1:]]
        return CliRunner(env={"COLUMNS": "200"}).invoke(app, command, input=answer)


@pytest.fixture
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, topic_prefix: str, tmp_path: Path) -> Iterator[LeftJob]:
    made = LeftJob(kafka, zookeeper, topic_prefix, tmp_path)
    assert eventually(lambda: made.there() == ALL)
    yield made
    made.topics.delete([made.name + topic for topic in made.there()])


ALL = [".checkpoints", ".commits", ".dead-letter", ".in", ".ordering", ".out"]


def test_topics_that_tandem_made_are_as_they_should_be(job: LeftJob) -> None:
    told = job.tandem("check")

    assert told.exit_code == ExitCode.OK, told.output
    assert [line.removeprefix(job.name) for line in told.stdout.splitlines()] == [
        f".{name}: as it should be" for name in ("ordering", "commits", "dead-letter", "checkpoints")
    ]


def test_what_was_altered_or_lost_is_shown_with_its_remedy(job: LeftJob) -> None:
    configure(job.bootstrap, f"{job.name}.ordering", retention_ms="3600000")
    job.topics.delete([f"{job.name}.dead-letter"])
    assert eventually(lambda: ".dead-letter" not in job.there())
    told = job.tandem("check")

    assert told.exit_code == ExitCode.FAILED
    assert f"{job.name}.ordering: retention.ms is 3600000, and should be -1\n  kafka-configs.sh" in told.stdout
    assert f"{job.name}.dead-letter: the topic is missing" in told.stdout
    assert f"{job.name}.commits: as it should be" in told.stdout


def test_a_replica_reports_what_it_finds_and_what_was_mended(job: LeftJob) -> None:
    reports: list[tuple[TopicDrift, ...]] = []
    watch = TopicWatch(job.connection, own_topics(job.manifest, "replica-0"), reports.append, every_s=0.1)
    watch.start()
    try:
        assert eventually(lambda: reports != [])
        assert reports[-1] == ()
        configure(job.bootstrap, f"{job.name}.ordering", retention_ms="3600000")
        assert eventually(lambda: [one.setting for one in reports[-1]] == ["retention.ms"])
        configure(job.bootstrap, f"{job.name}.ordering", retention_ms="-1")
        assert eventually(lambda: reports[-1] == ())
    finally:
        watch.stop()


def test_a_jobs_own_topics_and_snapshots_are_deleted_and_nothing_else(job: LeftJob) -> None:
    told = job.tandem("delete", "--with-snapshots", "--yes")

    assert told.exit_code == ExitCode.OK, told.output
    assert eventually(lambda: job.there() == [".in", ".out"])
    assert job.store.newest() is None
    again = job.tandem("delete", "--with-snapshots", "--yes")
    assert (again.exit_code, again.stdout) == (ExitCode.OK, "deleted: no topic; 0 files\n")


def test_snapshots_stay_unless_they_are_asked_for(job: LeftJob) -> None:
    assert job.tandem("delete", "--yes").exit_code == ExitCode.OK
    assert job.store.newest() is not None


def test_whoever_does_not_confirm_keeps_everything(job: LeftJob) -> None:
    told = job.tandem("delete", answer="n\n")

    assert told.exit_code == ExitCode.FAILED
    assert f"Delete {job.name}.checkpoints, {job.name}.commits" in told.stdout
    assert job.there() == ALL


def test_nothing_is_deleted_while_a_replica_is_up(job: LeftJob) -> None:
    slots = Slots({"hosts": job.zookeeper.connect, "timeout": 10.0}, job.name, 1, f"{job.name}.replica-0.1a")
    slots.start()
    try:
        assert eventually(lambda: slots.slot is not None)
        told = job.tandem("delete", "--with-snapshots", "--yes", "--wait", "1s")
    finally:
        slots.stop()

    assert told.exit_code == ExitCode.FAILED
    assert "replica-0 of it are up, as ZooKeeper knows. Stop them first" in told.stderr
    assert job.there() == ALL
    assert job.store.newest() is not None


def test_a_job_that_needs_no_zookeeper_is_not_deleted_while_its_log_grows(job: LeftJob) -> None:
    text = job.path.read_text().replace(f"  zookeeper: {{connect: {job.zookeeper.connect}}}\n", "")
    job.path.write_text(text.replace("  standbys: 1\n", "  ordering: {mode: heartbeat}\n"))
    producer, stop = Producer({"bootstrap.servers": job.bootstrap}), threading.Event()

    def beat() -> None:
        while not stop.wait(0.2):
            producer.produce(f"{job.name}.ordering", b"{}")
            producer.flush(5)

    beats = threading.Thread(target=beat)
    beats.start()
    try:
        refused = job.tandem("delete", "--with-snapshots", "--yes")
    finally:
        stop.set()
        beats.join()
    assert refused.exit_code == ExitCode.FAILED
    assert "records come into its logs, so it runs on some machine" in refused.stderr
    assert job.there() == ALL

    assert job.tandem("delete", "--yes").exit_code == ExitCode.OK


def test_a_job_is_not_deleted_while_a_replica_holds_its_state_on_this_machine(job: LeftJob) -> None:
    states = job.manifest.checkpoint_directory
    try:
        with alive(states / f"{job.name}.replica-0.1a"):
            refused = job.tandem("delete", "--yes")
    finally:
        shutil.rmtree(states)

    assert refused.exit_code == ExitCode.FAILED
    assert "it runs on this machine, from another run directory" in refused.stderr
    assert job.there() == ALL


def test_without_zookeeper_nothing_is_deleted(job: LeftJob) -> None:
    job.path.write_text(job.path.read_text().replace(job.zookeeper.connect, "127.0.0.1:1"))
    told = job.tandem("delete", "--yes")

    assert told.exit_code == ExitCode.FAILED
    assert "ZooKeeper at 127.0.0.1:1 does not say whether it runs" in told.stderr
    assert job.there() == ALL
