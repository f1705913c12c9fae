"""Replicas of the rules example: rules change while an owner is killed, and all totals are those that the log says."""

from __future__ import annotations

import itertools
import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from ruamel.yaml import YAML

import tandem.examples.rules
from integration.rules_reference import Control, Reference, shared
from integration.workload import START_DEADLINE_S, Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.examples.rules.feed import events
from tandem.kafka.headers import headers_of, row_id
from tandem.kafka.history import read_range, watermarks
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob
from tandem.local.observe import Observer
from tandem.protocol.codec import decode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import EpochRange

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(600)]

LAST = "the-last"
CHANGES: list[list[Control]] = [
    [shared()],
    [shared("domain", when="event.audience == 'domain'"), ("broken", "no JSON")],
    [shared(when="event.audience == 'domain'")],
    [("domain", None), ("PublicDocsShared", None), shared()],
    [("PublicDocsShared", "{")],
    [shared("domain", when="event.audience == 'domain'"), shared("odd", when="event.audiense == ''")],
]
OF_A_ROUND = 150


class RulesJob:
    """The example on this machine, with topics of its own."""

    def __init__(self, folder: Path, cluster: Cluster, name: str) -> None:
        yaml = YAML(typ="safe")
        body = yaml.load(Path(tandem.examples.rules.__file__).with_name("rules.yaml").read_text())
        spec: dict[str, Any] = body["spec"]
        body["metadata"]["name"] = name
        del spec["resources"]
        spec["kafka"]["bootstrapServers"] = cluster.kafka.bootstrap
        spec["zookeeper"]["connect"] = cluster.zookeeper.connect
        spec["ordering"]["minEpochInterval"] = "400ms"
        spec["checkpoint"] = {"directory": str(folder / "checkpoint")}
        for one in spec["sources"]:
            one["topics"] = [f"{name}-{one['name']}"]
        for one in spec["sinks"]:
            one["topic"] = f"{name}-{one['name']}"
        self.name, self.cluster = name, cluster
        partitions = {"events": 2}
        topics = [
            NewTopic(f"{name}-{one}", partitions.get(one, 1)) for one in ("events", "control", "results", "rejected")
        ]
        Topics(cluster.connection).ensure(topics)
        path = folder / "job.yaml"
        yaml.dump(body, path)
        self.job = LocalJob(path, folder / "run")
        self.observer = Observer.of(self.job)
        self._producer = Producer({"bootstrap.servers": cluster.kafka.bootstrap, "enable.idempotence": True})

    def wait(self, condition: Any, what: str, deadline_s: float = START_DEADLINE_S) -> None:
        if not self.job.wait_until(condition, deadline_s):
            lines = [f"{event.process} {event.text}" for event in self.job.events()]
            raise AssertionError("\n".join([f"not within {deadline_s:.0f} s: {what}", *lines]))

    def send(self, source: str, key: str | None, value: Mapping[str, Any] | str | None) -> None:
        text = json.dumps(value) if isinstance(value, Mapping) else value
        self._producer.produce(f"{self.name}-{source}", text, key)

    def flush(self) -> None:
        assert self._producer.flush(60) == 0

    def published(self) -> int:
        return -1 if (epoch := self.observer.look().published_epoch) is None else epoch

    def when_whole(self) -> None:
        """Both replicas are at the head."""

        def whole() -> bool:
            replicas = [one for one in self.observer.look().replicas if not one.standby]
            return len(replicas) == 2 and all(one.alive and one.ready and one.lag_epochs <= 2 for one in replicas)

        self.wait(whole, "both replicas are at the head")

    def goes_on(self) -> None:
        """Another epoch is published."""
        before = self.published()
        self.wait(lambda: self.published() > before, f"epochs behind {before}")

    def epochs(self) -> list[EpochRange]:
        """As the log has them."""
        topic, decisions, found = self.job.manifest.model.topics.ordering, Decisions(), []
        low, high = watermarks(self.cluster.connection, topic, 30)
        for offset, value in read_range(self.cluster.connection, topic, low, high, 30):
            before = decisions.last_epoch
            decisions.apply(decode_proposal(value), offset)
            cut = decisions.epoch_range(decisions.last_epoch)
            if decisions.last_epoch > before and cut is not None:
                found.append(cut)
        return found

    def read(self, name: str, partitions: int = 1) -> Iterator[Any]:
        """All records of a topic that are committed now."""
        topic, settings = f"{self.name}-{name}", {"group.id": "reader", "isolation.level": "read_committed"}
        consumer = Consumer(
            {"bootstrap.servers": self.cluster.kafka.bootstrap, "enable.partition.eof": True, **settings}
        )
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        left = partitions
        try:
            while left:
                message = consumer.poll(30)
                assert message is not None, f"the end of {topic} does not come"
                if message.error() is None:
                    yield message
                else:
                    left -= 1
        finally:
            consumer.close()


@contextmanager
def running(folder: Path, cluster: Cluster) -> Iterator[RulesJob]:
    found = RulesJob(folder, cluster, f"rules-{uuid.uuid4().hex[:6]}")
    found.job.start()
    try:
        found.when_whole()
        yield found
    finally:
        found.job.stop()


def test_totals_are_those_of_the_log_though_owners_die_while_rules_change(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    with running(tmp_path, Cluster(kafka, zookeeper)) as rules:
        records = iter(events(per_second=300, rules_per_second=20, seed=5))
        for number, changes in enumerate(CHANGES):
            for record in itertools.islice(records, OF_A_ROUND):
                rules.send(
                    "control" if b'"scope"' in record.value else "events", record.key.decode(), record.value.decode()
                )
            for key, value in changes:
                rules.send("control", key, value)
            rules.flush()
            if number in (2, 4):
                publisher = rules.observer.look().publisher
                assert publisher is not None
                rules.job.kill(publisher)
                for key, value in CHANGES[number - 1]:
                    rules.send("control", key, value)
                rules.flush()
            rules.goes_on()
            if number == 3:
                rules.when_whole()
        rules.send("control", LAST, {"id": LAST, "scope": {"customer": LAST}, "when": "true", "aggregation": "count"})
        rules.flush()
        last = {"customer": LAST, "time": "2026-01-01T00:00:00Z", "audience": "nobody", "size": 2}
        rules.send("events", LAST, last)
        rules.flush()
        rules.wait(
            lambda: any(one.key() == f"{LAST}/{LAST}".encode() for one in rules.read("results")), "the last event"
        )
        check(rules)


def check(rules: RulesJob) -> None:
    """Each epoch has the rows that plain Python computes of what the log put into it."""
    inputs = {
        (name, one.partition(), one.offset()): (one.key().decode(), one.value())
        for name, partitions in (("events", 2), ("control", 1))
        for one in rules.read(name, partitions)
    }
    found: dict[int, list[str]] = defaultdict(list)
    for one in rules.read("results"):
        row = row_id(headers_of(one))
        assert row is not None
        value = None if one.value() is None else json.loads(one.value())
        said = "gone" if value is None else f"{value['count']} since {value['since']}"
        found[row.epoch].append(f"{one.key().decode()}: {said}")
    reference, taken, last = Reference(), 0, max(found)
    for cut in (cut for cut in rules.epochs() if cut.epoch <= last):
        of_epoch: dict[str, list[tuple[str, bytes | None]]] = {"events": [], "control": []}
        for tp, end in cut.ends.items():
            name = tp.topic.removeprefix(f"{rules.name}-")
            of_epoch[name] += [inputs[name, tp.partition, n] for n in range(cut.starts.get(tp, 0), end)]
        controls = [(key, _body(value)) for key, value in of_epoch["control"]]
        given = [json.loads(value or b"") for _, value in of_epoch["events"]]
        taken += len(given) + len(controls)
        expected = reference.epoch(cut.epoch, controls, given)
        assert sorted(found[cut.epoch]) == sorted(expected), f"epoch {cut.epoch}"
    assert taken == len(inputs)
    bad = [json.loads(one.value()) for one in rules.read("rejected")]
    places = [(one["topic"], one["partition"], one["offset"]) for one in bad]
    assert len(places) == len(set(places)), "a record is rejected twice"
    broken = [n for n, (key, value) in enumerate(v for k, v in inputs.items() if k[0] == "control") if _is_bad(value)]
    assert sorted(one["offset"] for one in bad) == broken


def _body(value: bytes | None) -> Mapping[str, Any] | str | None:
    if value is None:
        return None
    try:
        found: Mapping[str, Any] = json.loads(value)
    except ValueError:
        return "no JSON"
    return found


def _is_bad(value: bytes | None) -> bool:
    body = _body(value)
    return isinstance(body, str) or (body is not None and "audiense" in body["when"])
