"""Records that no parser, no clock and no client expects, through a real job: none stops it, and none disappears."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from integration.odd_headers import produce
from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.observe import Observer
from tandem.verify.read import JobHistory, verify
from tandem.verify.report import Report

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CODE = """
from pyspark.sql import functions as F

def job(events):
    rows = F.to_json(F.struct("id", "key"), {"ignoreNullFields": "false"})
    return events.select(F.col("metadata.key").alias("key"), rows.alias("value"), "headers")
"""
LATEST = 2**63 - 1
LARGE = json.dumps({"id": "x" * 30_000}).encode()
FRAMED = b'\0\0\0\0\x07{"id": 1}'
ODD: dict[bytes | None, str] = {
    b'{"id": 2}{"id": 3}': "there is text behind the JSON object, from byte 9 on",
    None: "the record has no value",
    LARGE: 'id is "xxx',
    b"caf\xe9": "the value is no JSON",
    b'{"id": 4}': f"its timestamp {LATEST} (Unix, ms) is outside of what a TIMESTAMP can hold",
}


@pytest.fixture(scope="module")
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallJob]:
    """It makes one row of each record, and does not say so; letters have at most 20,000 bytes."""
    name = f"any-{uuid.uuid4().hex[:6]}"
    schema = "id INT, `key` STRING, _corrupt_record STRING"
    source = {"name": "events", "topics": [f"{name}-in"], "format": "json", "schema": schema, "includeHeaders": True}
    made = SmallJob(
        tmp_path_factory.mktemp("any"),
        Cluster(kafka, zookeeper),
        name,
        CODE,
        job={"file": "job.py"},
        sources=[source],
        sinks=[{"name": "copies", "topic": f"{name}-copies"}],
        ordering=HEARTBEAT,
        replicas=1,
        maxRecordBytes=20_000,
    )
    made.configure(made.input, message_timestamp_after_max_ms=str(LATEST))
    made.local.start()
    yield made
    made.local.stop()


def feed(job: SmallJob, *values: bytes | None, **more: Any) -> None:
    producer = Producer({"bootstrap.servers": job.cluster.kafka.bootstrap})
    for value in values:
        producer.produce(job.input, value, b"k", partition=1, **more)
    assert producer.flush(60) == 0


def letters(job: SmallJob) -> list[dict[str, Any]]:
    return [json.loads(value) for value in job.values(job.dead_letter)]


def verified(job: SmallJob) -> Report:
    return verify(job.connection, JobHistory.of(job.local.manifest), 30.0)


def test_every_odd_record_is_a_letter_with_its_place_and_the_others_are_rows(job: SmallJob) -> None:
    feed(job, b'{"id": 1, "key": "theirs"}', headers=[("trace", b"t"), ("trace", None)])
    feed(job, *list(ODD)[:-1])
    feed(job, list(ODD)[-1], timestamp=LATEST)
    feed(job, b' {"id": 9}\n')

    job.wait(lambda: len(job.values()) == 2 and len(letters(job)) == len(ODD), "two rows and the letters")
    assert job.values() == ['{"id":1,"key":"theirs"}', '{"id":9,"key":null}']
    found = {letter["offset"]: letter for letter in letters(job)}
    for offset, (value, reason) in enumerate(ODD.items(), start=1):
        assert (found[offset]["topic"], found[offset]["partition"]) == (job.input, 1)
        assert reason in found[offset]["reason"], value
    assert found[5]["timestamp"] == LATEST
    assert found[3]["valueBytes"] == len(LARGE)
    assert [process.restarts for process in job.local.processes()] == [0, 0]


def test_each_input_record_is_counted(job: SmallJob) -> None:
    report = verified(job)

    assert report.good, report.findings
    assert (report.input_offsets, report.rows, report.dead_letters) == (7, 7, 5)
    assert (
        "7 input records were counted: each is to be one row or one dead letter (as the job's plan shows)"
        in report.notes
    )


def test_a_header_that_no_client_for_python_can_read_stops_neither_replica_nor_orderer_nor_verify(
    job: SmallJob,
) -> None:
    produce(job.cluster.kafka.bootstrap, job.input, b"caf\xe9")
    produce(job.cluster.kafka.bootstrap, f"{job.name}-copies", b"caf\xe9")

    job.wait(lambda: len(letters(job)) == len(ODD) + 1, "its letter")
    assert letters(job)[-1]["reason"] == "the name of one of its headers is no UTF-8"
    report = verified(job)
    assert report.good
    assert f"1 records of {job.name}-copies are not this job's: not looked at" in report.notes
    assert [process.restarts for process in job.local.processes()] == [0, 0]


def test_a_source_whose_records_are_all_poison_is_named_where_an_operator_looks(job: SmallJob) -> None:
    feed(job, *[FRAMED] * 30)

    job.wait(lambda: len(letters(job)) == len(ODD) + 31, "thirty letters more")
    assert (
        "it begins like a record of a schema registry (a zero byte, then the schema's id 7)"
        in letters(job)[-1]["reason"]
    )
    observer = Observer.of(job.local)
    job.wait(lambda: any(source.unread for source in observer.look().sources), "the status names the source")
    (source,) = observer.look().sources
    assert (source.name, source.records, source.dead_letters) == ("events", 38, 36)
    log = job.local.log_file("replica-0").read_text()
    assert "most_records_are_dead_letters" in log
    assert "records of source events are not processed" in log
