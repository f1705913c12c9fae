"""Real replicas of a job with a table: each event meets what the log says, whoever computes, restores or takes over."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Producer

from integration.apart import STAFFED_S, metric, running_apart
from integration.traffic import PARTITIONS, key_of
from integration.workload import Cluster, Workload
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.topics import NewTopic, Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

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

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.topic = f"{name}-rules"
        Topics(cluster.connection).ensure([NewTopic(self.topic, 2, config={"cleanup.policy": "compact"})])
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

    def _put(self, *names: str) -> None:
        for name in names:
            self._producer.produce(self.topic, json.dumps({"name": name, "version": self.version}), name)
        assert self._producer.flush(60) == 0


@pytest.fixture(params=["microBatch", pytest.param("realTime", marks=pytest.mark.thorough)])
def job(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Workload, Rules]]:
    """An active and a standby that share no folder."""
    cluster, name = Cluster(kafka, zookeeper), f"table-{uuid.uuid4().hex[:6]}"
    rules = Rules(cluster, name)
    table = {"key": ["name"]}
    sources = [
        {"name": "events", "topics": [f"{name}-in"]},
        {
            "name": "rules",
            "topics": [rules.topic],
            "format": "json",
            "schema": "name STRING, version INT",
            "table": table,
        },
    ]
    ordering = {"mode": "leader", "minEpochInterval": "200ms", "maxRecordsPerEpoch": 500}
    spec = {}
    if request.param == "realTime":
        ordering["barrierInterval"], spec = "2s", {"engine": "realTime"}
    with running_apart(tmp_path, cluster, name, code=VERSIONS, sources=sources, ordering=ordering, **spec) as workload:
        yield workload, rules


def test_every_event_meets_the_table_that_the_log_has_whoever_dies(job: tuple[Workload, Rules]) -> None:
    workload, rules = job
    for round_ in range(2):
        (active,), (standby,) = workload.roles()
        workload.wait(
            lambda standby=standby: metric(workload, standby, "tandem_standby_verified_epoch") > 0,  # type: ignore[misc]
            90,
            f"{standby} proves its state",
        )
        rules.change()
        workload.flows_on(200)
        workload.job.kill(active)
        rules.change()
        workload.flows_on(200, 90)
        assert workload.roles()[0] == [standby]
        assert not workload.logged(standby, "followed_state_wrong")
        if round_ == 0:
            workload.when_staffed(1, 1, STAFFED_S)
    check_versions(workload, rules)


def check_versions(workload: Workload, rules: Rules) -> None:
    """Each event has met a rule, no event an older version than an earlier one of its key, and the last ones the newest."""
    workload.check_copied_once()
    newest = workload.reader.newest
    workload.wait(lambda: workload.reader.has_passed(newest), 30, f"rows after those of epoch {newest}")
    copies, met = workload.reader.rows_until(newest)
    assert sum(map(len, met.values())) == len(copies), "an event met no rule: the table was not whole"
    for key, rows in met.items():
        assert all(before <= after for (_, before), (_, after) in pairwise(rows)), key
    assert {rows[-1][1] for rows in met.values()} == {rules.version}
