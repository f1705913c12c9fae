"""A replica that is to begin from a savepoint looks at it: whether it fits what the job, or its lane, reads."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import Topics
from tandem.manifest import load
from tandem.process.info import RefusedError
from tandem.protocol.values import Config, Cut, Offsets, TopicPartition
from tandem.replica.identity import Changes
from tandem.replica.identity_parts import identity_of
from tandem.replica.kafka_clients import KafkaClients
from tandem.replica.prepared import _Preparation
from tandem.replica.setting import Setting
from tandem.snapshots import Inputs, Savepoints, SnapshotStore
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter
from unit.snapshots.savepoint_builders import saved

MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: orders}
spec:
  job: {file: job.py}
  replicas: 2
  LANES
  kafka: {bootstrapServers: "localhost:1"}
  zookeeper: {connect: "localhost:2"}
  sources: [{name: events, topics: [orders-in]}]
  sinks: [{name: out, topic: orders-out}]
  spark: {parallelism: 2}
  snapshots: {store: STORE}
"""
MINE = identity_of({"code": "new"})
NOWHERE = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})


class Clients(KafkaClients):
    """Of a job whose newest generation is known."""

    newest: Config | None = None
    asked = 0

    def newest_config(self) -> Config | None:
        type(self).asked += 1
        return self.newest


class InTopics(Topics):
    """`orders-in`, with so many partitions."""

    def __init__(self, partitions: int) -> None:
        super().__init__(NOWHERE)
        self._count = partitions

    def partitions(self, names: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(names, self._count)


class Start:
    """A replica that is started with `savepoint`; the store has the savepoint `before`, of epoch 7."""

    def __init__(self, folder: Path, read: Iterable[int], savepoint: str, lane: int | None = None) -> None:
        lanes = "lanes: 2" if lane is not None else "standbys: 0"
        (folder / "job.yaml").write_text(MANIFEST.replace("LANES", lanes).replace("STORE", str(folder / "store")))
        manifest = load(folder / "job.yaml", lane)
        assert manifest.spec.snapshots is not None
        store = SnapshotStore(manifest.spec.snapshots.url(manifest.name, manifest.base))
        ends = Offsets({TopicPartition("orders-in", number): 5 for number in read})
        inputs = Inputs.of([("events", ("orders-in",))], Cut(7, ends, time_ms=99, seed=1, proposer="o"))
        Savepoints(store).create("before", saved(store, folder / "from"), inputs)
        metrics = ReplicaMetrics(CollectorRegistry(), "orders", "replica-0")
        setting = Setting.of(manifest, "replica-0", metrics, Reporter("replica-0", "orders.replica-0.aaaa"))
        self.kind: type[Clients] = type("Clients", (Clients,), {})
        clients = self.kind.of(manifest, "replica-0", {})
        self._preparation = _Preparation(replace(setting, clients=clients), savepoint, Changes(), ExitStack())

    def origin(self, partitions: int, newest: Config | None = None) -> tuple[int, str]:
        self.kind.newest = newest
        return self._preparation._origin(InTopics(partitions), MINE)


def test_one_without_a_savepoint_begins_with_nothing_and_asks_nobody(tmp_path: Path) -> None:
    start = Start(tmp_path, (0, 1), "")
    assert start.origin(2) == (-1, "")
    assert start.kind.asked == 0


def test_a_generation_begins_where_its_savepoint_stands(tmp_path: Path) -> None:
    assert Start(tmp_path, (0, 1), "before").origin(2) == (7, "before")


def test_one_that_has_begun_is_joined_without_a_look_at_the_savepoint(tmp_path: Path) -> None:
    begun = Config(1, MINE, Offsets(), "replica-1", base=40, savepoint="before")
    assert Start(tmp_path, (0, 1), "before").origin(8, begun) == (40, "before")


def test_a_savepoint_of_other_inputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="topic orders-in of source events has 4 partitions, it had 2"):
        Start(tmp_path, (0, 1), "before").origin(4)


def test_one_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="there is no savepoint another"):
        Start(tmp_path, (0, 1), "another").origin(2)


def test_a_lane_counts_the_partitions_that_it_reads(tmp_path: Path) -> None:
    first = Start(tmp_path, (0, 2), "before", lane=0)
    assert first.origin(4) == (7, "before")
    with pytest.raises(RefusedError, match="has 5 partitions, it had 3"):
        first.origin(6)
