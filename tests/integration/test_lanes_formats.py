"""Lanes by a column that a registry has the schema of: the decoded one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.avro_records import avro
from integration.counting_lanes import Counting, counting_job
from integration.registry_server import RegistryServer
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(400)]

ORDERING = {"mode": "heartbeat", "generators": 1}
COUNT = """
from pyspark.sql import functions as F

def job(events):
    return events.groupBy("id").count().select(F.col("id").alias("key"), F.col("count").cast("string").alias("value"))
"""


@pytest.fixture
def counting(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, registry: RegistryServer, tmp_path: Path
) -> Iterator[Counting]:
    name = f"lanes-avro-{uuid.uuid4().hex[:6]}"
    source = {"name": "events", "topics": [f"{name}-in"], "format": "avro", "partitionedBy": "id"}
    spec = {"sources": [source], "schemaRegistry": {"url": registry.url}, "replicas": 1, "ordering": ORDERING}

    def value(key: str) -> bytes:
        return avro(registry, f"{name}-in", {"id": key, "tags": []})

    with counting_job(tmp_path, Cluster(kafka, zookeeper), name, value, COUNT, **spec) as counting:
        yield counting


def test_each_value_of_a_decoded_column_is_counted_in_one_lane(counting: Counting) -> None:
    counting.feed(3)
    counting.lanes.start()
    counting.wait_counted()
    counting.feed(3)
    counting.wait_counted()
