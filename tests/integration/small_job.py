"""A job with a handful of records: fed by hand, read whole, and stopped at chosen moments by its topics' settings."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from integration.topic_settings import configure, withheld
from integration.workload import Cluster, write_manifest
from tandem.consumer import EpochConsumer
from tandem.kafka.headers import RowId, headers_of, row_id
from tandem.kafka.history import markers_back_to, read_range, watermarks
from tandem.local import LocalJob
from tandem.local.observe import Observer
from tandem.local.outcome import Outcome
from tandem.protocol.codec import decode_proposal
from tandem.protocol.values import Marker, Proposal
from tandem.waiting import Deadline

PATIENCE_S = 240.0
COPY = "def job(events):\n    return events.select('key', 'value')\n"
HEARTBEAT = {"mode": "heartbeat", "generators": 1}


@dataclass(frozen=True)
class Row:
    """A record of an output topic."""

    id: RowId | None
    value: str


class SmallJob:
    """A running job on topics `NAME-in` and `NAME-SINK`. Every wait ends after four minutes, with what was waited for."""

    def __init__(self, folder: Path, cluster: Cluster, name: str, code: str, **spec: object) -> None:
        self.name, self.folder, self.cluster = name, folder, cluster
        self.local = LocalJob(write_manifest(folder, cluster, name, code, **spec), folder / "run")
        self.connection = cluster.connection
        self._admin = AdminClient({"bootstrap.servers": cluster.kafka.bootstrap})
        self._producer = Producer({"bootstrap.servers": cluster.kafka.bootstrap, "enable.idempotence": True})
        topics = self.local.manifest.model.topics
        own = ".replica-0" if self.local.manifest.spec.ordering.mode == "none" else ""
        self.ordering, self.commits, self.dead_letter = topics.ordering + own, topics.commits + own, topics.dead_letter

    @property
    def input(self) -> str:
        return f"{self.name}-in"

    def feed(self, *values: str | bytes | None, key: bytes | None = None) -> None:
        """Append records to partition 0 of the input."""
        for value in values:
            self._producer.produce(self.input, value, key, partition=0)
        assert self._producer.flush(60) == 0

    def rows(self, topic: str, isolation_level: str = "read_committed") -> list[Row]:
        """All records of a topic of one partition, those of committed transactions by default."""
        return [Row(row_id(headers_of(m)), (m.value() or b"").decode()) for m in self._read(topic, isolation_level)]

    def contents(self, topic: str) -> list[tuple[bytes | None, bytes | None]]:
        """Keys and values of a topic of one partition, those of committed transactions."""
        return [(m.key(), m.value()) for m in self._read(topic, "read_committed")]

    def values(self, topic: str | None = None) -> list[str]:
        """The values of the topic, of the sink `copies` by default."""
        return [row.value for row in self.rows(topic or f"{self.name}-copies")]

    def distinct(self, until: str) -> list[str]:
        """What a consumer that drops repeats reads of the sink `copies`, up to a value."""
        found: list[str] = []
        config = {"bootstrap.servers": self.cluster.kafka.bootstrap, "group.id": self.name}
        with EpochConsumer(config) as consumer:
            consumer.assign([TopicPartition(f"{self.name}-copies", 0, 0)])
            deadline = Deadline(60)
            while until not in found and not deadline.passed:
                message = consumer.poll(0.5)
                if message is not None and message.error() is None:
                    assert row_id(headers_of(message)) is not None
                    found.append((message.value() or b"").decode())
        return found

    def markers(self) -> list[Marker]:
        """All markers."""
        return [marker for _, marker in markers_back_to(self.connection, self.commits, -1)]

    def proposals(self) -> list[Proposal]:
        """The ordering log."""
        low, high = watermarks(self.connection, self.ordering, 30)
        return [decode_proposal(value) for _, value in read_range(self.connection, self.ordering, low, high, 30)]

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait while the job runs."""
        assert self.local.wait_until(condition, PATIENCE_S), f"{what}: not within {PATIENCE_S:.0f} s\n{self.story()}"

    def wait_for(self, *values: str) -> None:
        """Wait until the sink `copies` has these values."""
        self.wait(lambda: set(values) <= set(self.values()), f"the values {values}")

    def end(self) -> Outcome:
        """Wait until the job has stopped by itself; why it did."""
        outcome = self.local.wait(PATIENCE_S)
        assert outcome is not None, f"the job goes on\n{self.story()}"
        return outcome

    def configure(self, topic: str, **settings: str) -> None:
        """Change settings of a topic (underscores for dots)."""
        configure(self.cluster.kafka.bootstrap, topic, **settings)

    def withheld(self, topic: str) -> AbstractContextManager[None]:
        """While the block runs, the broker refuses records without a key for `topic`, such as epoch markers."""
        return withheld(self.cluster.kafka.bootstrap, topic)

    def delete_input_before(self, offset: int) -> None:
        """What retention does to partition 0."""
        for future in self._admin.delete_records([TopicPartition(self.input, 0, offset)]).values():
            future.result(30)

    def story(self) -> str:
        """What happened, for a failing test."""
        lines = [f"{event.process} {event.text}" for event in self.local.events()]
        for name in self.local.names:
            path = self.local.log_file(name)
            lines += [f"--- {name}", *(path.read_text(errors="replace").splitlines()[-12:] if path.exists() else [])]
        return "\n".join(line[:600] for line in lines)

    def _read(self, topic: str, isolation_level: str) -> list[Message]:
        low, high = watermarks(self.connection, topic, 30, isolation_level)
        consumer = Consumer(self.connection.consumer(isolation_level))
        try:
            consumer.assign([TopicPartition(topic, 0, low)])
            found: list[Message] = []
            deadline = time.monotonic() + 30
            while low < high and time.monotonic() < deadline:
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    found.append(message)
                elif message is not None:  # the end of the partition
                    return found
            return found
        finally:
            consumer.close()


def when_whole(job: SmallJob) -> None:
    """Wait until all replicas of a job run and are ready, e.g. after a kill."""
    observer = Observer.of(job.local)

    def is_whole() -> bool:
        replicas = observer.look().replicas
        return bool(replicas) and all(replica.alive and replica.ready for replica in replicas)

    job.wait(is_whole, "all replicas ready")
