"""A job's topics on a real broker, written by hand: what a job would write, or what it must never write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as TopicPartitionOffset
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tandem.kafka.client import KafkaConnection
from tandem.kafka.headers import EPOCH_HEADER, INDEX_HEADER, RowId
from tandem.kafka.tail import LogTail, Record
from tandem.protocol.codec import encode_marker, encode_proposal
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Config, Cut, Marker, Offsets, Proposal, TopicPartition
from tandem.replica.kafka_clients import KafkaClients
from tandem.topics.declared import LogTopics
from tandem.verify.read import JobHistory
from tandem.waiting import Deadline

PATIENCE_S = 30.0
PARTITIONS = 2


@dataclass
class WrittenJob:
    """Topics named after `name`: one input and one output of two partitions, and the job's own."""

    bootstrap: str
    name: str
    delivery: Delivery = Delivery.EXACTLY_ONCE
    producer: Producer = field(init=False)
    log_offset: int = 0

    def __post_init__(self) -> None:
        self.input, self.output, self.dead_letter = f"{self.name}.in", f"{self.name}.out", f"{self.name}.dead-letter"
        self.ordering, self.commits = f"{self.name}.ordering", f"{self.name}.commits"
        create_topics(self.bootstrap, {self.input: 1, self.output: PARTITIONS})
        create_topics(self.bootstrap, dict.fromkeys((self.ordering, self.commits, self.dead_letter), 1))
        self.producer = transactional_producer(self.bootstrap, self.name)
        self.plain = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5})
        self.propose(Config(0, "c0ffee", self.positions(0), "replica-0"))

    @property
    def connection(self) -> KafkaConnection:
        return KafkaConnection({"bootstrap.servers": self.bootstrap})

    @property
    def history(self) -> JobHistory:
        return JobHistory(
            ordering=self.ordering,
            commits=self.commits,
            outputs=frozenset({self.output, self.dead_letter}),
            inputs={self.input: "read_committed"},
            from_start=frozenset({self.input}),
            delivery=self.delivery,
        )

    @property
    def clients(self) -> KafkaClients:
        """What a replica of the job reads."""
        logs = LogTopics(self.ordering, self.commits)
        return KafkaClients(self.connection, logs, {self.input: "read_committed"}, self.delivery)

    def positions(self, end: int) -> Offsets:
        return Offsets({TopicPartition(self.input, 0): end})

    def feed(self, records: int) -> None:
        """Append records to the input."""
        self._send((self.input, 0, f"{number}".encode(), []) for number in range(records))

    def propose(self, *proposals: Proposal) -> int:
        """Append to the ordering topic; the offset of the last one."""
        self._send((self.ordering, 0, encode_proposal(proposal), []) for proposal in proposals)
        self.log_offset += len(proposals)
        return self.log_offset - 1

    def cut(self, epoch: int, end: int) -> int:
        """Append the cut of `epoch`; its offset."""
        return self.propose(Cut(epoch, self.positions(end), 1_000 + epoch, 0, "orderer-0"))

    def publish(self, marker: Marker | None, rows: Iterable[RowId], commit: bool = True) -> None:
        """One transaction with rows, in that order, and a marker; even indices go to partition 0, odd ones to 1."""
        self.producer.begin_transaction()
        for row in rows:
            self.producer.produce(self.output, b"value", partition=row.index % 2, headers=headers_of(row))
        if marker is not None:
            self.producer.produce(self.commits, encode_marker(marker), partition=0)
        if commit:
            self.producer.commit_transaction(PATIENCE_S)
        else:
            assert self.producer.flush(PATIENCE_S) == 0
            self.producer.abort_transaction(PATIENCE_S)

    def run(self, epochs: Sequence[int], rows: int = 4) -> None:
        """Cut and publish epochs of ten input records each, rightly."""
        for epoch in epochs:
            offset = self.cut(epoch, 10 * (epoch + 1))
            self.publish(marker(epoch, rows, offset), [RowId(epoch, index) for index in range(rows)])

    def lose(self, topic: str, before: int) -> None:
        """What retention does: the records of partition 0 before an offset are gone."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.delete_records([TopicPartitionOffset(topic, 0, before)]).values():
            future.result(timeout=PATIENCE_S)

    def write_rows(self, *rows: RowId) -> None:
        """Append rows without a transaction."""
        self._send((self.output, row.index % 2, b"value", headers_of(row)) for row in rows)

    def write_markers(self, *markers: Marker) -> None:
        """Append markers without a transaction."""
        self._send((self.commits, 0, encode_marker(marker), []) for marker in markers)

    def _send(self, records: Iterable[tuple[str, int, bytes, list[tuple[str, bytes]]]]) -> None:
        for topic, partition, value, headers in records:
            self.plain.produce(topic, value, partition=partition, headers=headers)
        assert self.plain.flush(PATIENCE_S) == 0


def marker(epoch: int, rows: int, log_offset: int, skipped: bool = False) -> Marker:
    return Marker(epoch, 0, "replica-0", f"digest-{epoch}", rows, log_offset, skipped)


def everything(tail: LogTail) -> list[Record]:
    """What `tail` finds up to the ends that its topics have now."""
    ends, found, deadline = tail.ends(PATIENCE_S), list[Record](), Deadline(PATIENCE_S)
    while any(tail.next_offsets[topic] < end for topic, end in ends.items()):
        assert not deadline.passed, f"read to {tail.next_offsets} of {ends}"
        found += tail.poll(0.02)
    return found


def headers_of(row: RowId) -> list[tuple[str, bytes]]:
    return [(EPOCH_HEADER, str(row.epoch).encode()), (INDEX_HEADER, str(row.index).encode())]


def create_topics(bootstrap: str, partitions: dict[str, int]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, num_partitions=n) for name, n in partitions.items()]).values():
        future.result(timeout=PATIENCE_S)


def transactional_producer(bootstrap: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 0})
    producer.init_transactions(PATIENCE_S)
    return producer
