"""The identity of a job covers what influences its results, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.manifest import CodeNotFoundError, config_hash, config_parts, installed_versions, load

Writer = Callable[..., Path]

COUNTS = {
    "the function": ("function: flights", "function: other"),
    "the output mode": ("function: flights", "function: flights\n    outputMode: update"),
    "an option": ("function: flights", "function: flights\n    options: {a: b}"),
    "a topic of a source": ("topics: [weather]", "topics: [weather2]"),
    "one more topic": ("topics: [weather]", "topics: [weather, weather2]"),
    "a source's name": ("name: weather", "name: climate"),
    "a schema": ("dep_delay DOUBLE", "dep_delay FLOAT"),
    "a format": ("topics: [weather]", "topics: [weather]\n      format: json\n      schema: a INT"),
    "where it begins": ("topics: [weather]", "topics: [weather]\n      startingOffsets: latest"),
    "that it is a table": ("topics: [weather]", "topics: [weather]\n      table: {key: [key]}"),
    "when it is idle": ("topics: [weather]", "topics: [weather]\n      idleTimeout: 30s"),
    "what it may read": ("topics: [weather]", "topics: [weather]\n      isolationLevel: read_uncommitted"),
    "the topic of a sink": ("topic: delays", "topic: late"),
    "the folder of a sink": ("path: /data/out", "path: /data/in"),
    "where the rows of a lane go": ("topic: delays", "topic: delays\n      partitionBy: lane"),
    "the kind of a table": ("parquet:", "delta:"),
    "the delivery": ("delivery: exactlyOnce", "delivery: atLeastOnce"),
    "the limit of a record": ("takeOver: {}", "maxRecordBytes: 500"),
    "the commits topic": ("    topics: {}", "    topics: {commits: other}"),
    "the dead-letter topic": ("    topics: {}", "    topics: {deadLetter: other}"),
    "the job's name": ("  name: flights\nspec", "  name: planes\nspec"),
    "the time zone": ("spark: {}", "spark: {conf: {spark.sql.session.timeZone: UTC}}"),
    "the partitions of state": ("spark: {}", "spark: {parallelism: 2}"),
    "the real-time engine": ("takeOver: {}", "engine: realTime"),
    "an engine that is not known before the plan": ("takeOver: {}", "engine: auto"),
}
DOES_NOT_COUNT = {
    "the brokers": ("localhost:9092", "kafka:9093"),
    "ZooKeeper": ("localhost:2181", "zk:2181\n    sessionTimeout: 5s"),
    "properties of clients": ("properties: {}\n    s", 'properties: {batch.size: "9"}\n    s'),
    "credentials": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SSL}\n    secretProperties: {ssl.key.password: {env: A}}",
    ),
    "the replication factor": ("    topics: {}", "    replicationFactor: 3"),
    "the count of replicas": ("replicas: 2", "replicas: 3\n  standbys: 1"),
    "who orders": ("mode: leader", "mode: heartbeat\n    generators: 3\n    heartbeatPeriod: 5ms"),
    "the pace": ("mode: leader", "maxRecordsPerEpoch: 5\n    minEpochInterval: 1s"),
    "the bounds of take-over": ("takeOver: {}", "takeOver: {minBound: 50ms}"),
    "the port of metrics": ("takeOver: {}", "metrics: {port: 9100}"),
    "the checkpoint's folder": ("takeOver: {}", "checkpoint: {directory: /tmp/x}"),
    "memory": ("spark: {}", "spark: {driverMemory: 2g, conf: {spark.ui.enabled: 'false'}}"),
    "the snapshots": ("takeOver: {}", "snapshots: {store: /data, interval: 1s}"),
    "the engine that is the default": ("takeOver: {}", "engine: microBatch"),
    "labels": ("metadata:\n", "metadata:\n  labels: {a: b}\n  annotations: {c: d}\n  namespace: x\n"),
    "a default written out": ("topics: [weather]", "topics: [weather]\n      startingOffsets: earliest"),
    "the order of keys": (
        "  replicas: 2\n  delivery: exactlyOnce\n", "  delivery: exactlyOnce\n  replicas: 2\n",
    ),
    "the order of a source's keys": ("name: weather\n      topics: [weather]", "topics: [weather]\n      name: weather"),
    "a comment": ("# Delays of flights, as a user would write it.\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_what_influences_results_changes_the_identity(name: str, write: Writer) -> None:
    before = config_hash(load(write()))

    assert config_hash(load(write(COUNTS[name]))) != before


@pytest.mark.parametrize("name", DOES_NOT_COUNT)
def test_what_does_not_influence_results_leaves_the_identity(name: str, write: Writer) -> None:
    before = config_hash(load(write()))

    assert config_hash(load(write(DOES_NOT_COUNT[name]))) == before


def test_every_byte_of_the_code_counts(write: Writer) -> None:
    assert config_hash(load(write(code="a = 1\n"))) != config_hash(load(write(code="a = 1 \n")))


def test_where_the_code_lies_does_not_count(write: Writer, tmp_path: Path) -> None:
    in_a_file = config_hash(load(write(code="a = 1\n")))
    (tmp_path / "job2.py").write_text("a = 1\n")

    assert config_hash(load(write(("file: job.py", "module: job2")))) == in_a_file


@pytest.mark.parametrize("part", ["python", "pyspark", "pyarrow", "numpy", "pandas", "stateFormat"])
def test_versions_count(part: str, write: Writer) -> None:
    manifest = load(write())
    versions = installed_versions()

    assert config_hash(manifest, versions=versions) == config_hash(manifest)
    assert config_hash(manifest, versions={**versions, part: "0"}) != config_hash(manifest)


def test_the_identity_is_the_same_in_every_process_and_release(write: Writer) -> None:
    """Changing this value means that running jobs refuse replicas of the new release: raise STATE_FORMAT knowingly."""
    identity = config_hash(load(write()), code=b"code", versions={"stateFormat": "1"})

    assert identity == "e42ee320707a5e9e99dac5434e204607857a6c5358545d1049c7131d139b6e06"


def test_the_order_of_rows_is_a_part_of_jobs_with_several_tasks_only(write: Writer) -> None:
    one, several = (config_parts(load(write(("spark: {}", f"spark: {{parallelism: {n}}}")))) for n in (1, 2))

    assert several.keys() - one.keys() == {"rowOrder"}


def test_how_times_are_decoded_is_a_part_of_jobs_that_read_avro_only(write: Writer) -> None:
    raw = config_parts(load(write()))
    avro = "topics: [weather]\n      format: avro\n  schemaRegistry: {url: http://registry}"

    assert config_parts(load(write(("topics: [weather]", avro)))).keys() - raw.keys() == {"avroTimes", "codecs"}


def test_how_far_barriers_are_apart_does_not_count(write: Writer) -> None:
    often = "engine: realTime\n  takeOver: {}", "mode: leader\n    barrierInterval: 1s"

    identity = config_hash(load(write(("takeOver: {}", often[0]))))

    assert config_hash(load(write(("takeOver: {}", often[0]), ("mode: leader", often[1])))) == identity


def test_code_that_is_not_there_has_no_identity(write: Writer) -> None:
    with pytest.raises(CodeNotFoundError, match=r"job\.py: No such file"):
        config_hash(load(write(code=None)))


def test_a_time_zone_that_was_overruled_once_is_a_part_of_its_own(write: Writer) -> None:
    def parts(zone: str) -> dict[str, str]:
        return config_parts(load(write(("spark: {}", f"spark: {{conf: {{spark.sql.session.timeZone: {zone}}}}}"))))

    assert "timeZone" not in config_parts(load(write()))
    assert "timeZone" not in parts("UTC")
    assert "timeZone" in parts("Europe/Berlin")
