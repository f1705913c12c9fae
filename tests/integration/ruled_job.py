"""A job that joins its events with a table of rules from a topic, whose versions come out."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from integration.traffic import PARTITIONS, key_of
from integration.workload import Cluster
from tandem.kafka.topics import NewTopic, Topics

VERSIONS = """
from pyspark.sql import functions as F

def job(events, rules):
    named = events.withColumn("name", F.col("key").cast("string"))
    met = named.join(rules, "name").select("key", F.col("version").cast("string").alias("value"))
    return {"copies": events.select("key", "value"), "counts": met}
"""
OTHERS = 3_000
"""Rules that no event meets: they take several epochs, before which there is no event."""


class Rules:
    """The topic of a table, in versions: a whole one before the job begins."""

    def __init__(self, cluster: Cluster, name: str, policy: str = "compact") -> None:
        self.topic = f"{name}-rules"
        self._topics = Topics(cluster.connection)
        self._topics.ensure([NewTopic(self.topic, 2, config={"cleanup.policy": policy})])
        self._admin = AdminClient({"bootstrap.servers": cluster.kafka.bootstrap})
        self._producer = Producer({"bootstrap.servers": cluster.kafka.bootstrap, "enable.idempotence": True})
        self.version = 0
        for number in range(OTHERS):
            self._put(f"other-{number}")
        self._put(*map(key_of, range(PARTITIONS)))

    def change(self) -> None:
        """Every rule that events meet has a new version; another is deleted."""
        self.version += 1
        self._producer.produce(self.topic, None, f"other-{self.version}")
        self._put(*map(key_of, range(PARTITIONS)))

    def lose(self) -> None:
        """All its records are deleted, as by retention; its cleanup.policy must be delete."""
        ends = self._topics.ends({self.topic: 2})
        for future in self._admin.delete_records([TopicPartition(*tp, end) for tp, end in ends.items()]).values():
            future.result(30)

    def sources(self, events: str) -> list[dict[str, Any]]:
        """Of a manifest: the events, and the table."""
        schema, table = "name STRING, version INT", {"key": ["name"]}
        rules = {"name": "rules", "topics": [self.topic], "format": "json", "schema": schema, "table": table}
        return [{"name": "events", "topics": [events]}, rules]

    def _put(self, *names: str) -> None:
        for name in names:
            self._producer.produce(self.topic, json.dumps({"name": name, "version": self.version}), name)
        assert self._producer.flush(60) == 0
