"""A good manifest is read as it is written, with the documented defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tandem.manifest import (
    Duration,
    JobSpec,
    JobTopics,
    KafkaSpec,
    Manifest,
    OrderingSpec,
    ReplicatedStreamJob,
    SinkSpec,
    SourceSpec,
    Spec,
    load,
    parse,
)
from tandem.manifest.models import default_checkpoint_directory

Writer = Callable[..., Path]

EVERYTHING = """\
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata:
  name: flights
  namespace: streaming
  labels: {team: data}
  annotations: {note: "${anything}"}
spec:
  job: {module: tandem.examples.flights.job, function: flights, options: {limit: "5", template: "${x}"}}
  replicas: 3
  standbys: 1
  delivery: atLeastOnce
  kafka:
    bootstrapServers: "kafka-0:9092, kafka-1:9092,[::1]:9092"
    properties: {security.protocol: sasl_ssl, sasl.mechanism: SCRAM-SHA-512, sasl.username: tandem, batch.size: "1000"}
    secretProperties: {sasl.password: {env: KAFKA_PASSWORD}, ssl.key.password: {file: secrets/key}}
    topics: {ordering: o, commits: c, deadLetter: d, checkpoints: s}
    replicationFactor: 3
  zookeeper:
    connect: zk-0:2181,zk-1:2181/tandem
    sessionTimeout: 2.5s
    useTls: true
    caFile: ca.pem
    certFile: cert.pem
    keyFile: key.pem
    keyPassword: {env: ZK_KEY}
    auth: {credentials: {env: ZK_AUTH}}
  sources:
    - {name: a, topics: [a1, a2], format: raw, startingOffsets: latest, isolationLevel: read_uncommitted}
    - {name: b, topics: [b], format: json, schema: "x STRUCT<y: ARRAY<INT>> NOT NULL"}
  sinks:
    - {name: k, topic: k}
    - {name: p, parquet: {path: /data/p}}
    - {name: d, delta: {path: s3a://bucket/d}}
  ordering: {mode: heartbeat, heartbeatPeriod: 5ms, generators: 3, maxRecordsPerEpoch: 500, minEpochInterval: 1m}
  takeOver: {minBound: 70ms, maxBound: 2s}
  maxRecordBytes: 2000
  checkpoint: {directory: state}
  snapshots:
    store: s3://bucket/snapshots
    interval: 2s
    retainCount: 3
    retainAge: 1h
    properties: {endpoint_url: "http://s3:9000"}
    secretProperties: {secret: {env: S3_SECRET}}
  spark: {conf: {spark.sql.session.timeZone: UTC, spark.speculation: "false"}, parallelism: 2, driverMemory: 2g}
  metrics: {enabled: false, port: 9100}
"""


@pytest.fixture
def everything(tmp_path: Path) -> Manifest:
    """A manifest in which every field is set."""
    path = tmp_path / "m.yaml"
    path.write_text(EVERYTHING)
    return load(path)


def test_a_short_manifest_gets_the_documented_defaults(write: Writer) -> None:
    spec = load(write(("  replicas: 2\n  delivery: exactlyOnce\n", ""), ("    mode: leader", "    {}"))).spec

    assert (spec.replicas, spec.standbys, spec.delivery, spec.max_record_bytes) == (2, 0, "exactlyOnce", 1_000_000)
    assert (spec.ordering.mode, spec.ordering.heartbeat_period.ms, spec.ordering.generators) == ("leader", 10, 2)
    assert (spec.ordering.max_records_per_epoch, spec.ordering.min_epoch_interval.ms) == (10_000, 0)
    assert (spec.take_over.min_bound.ms, spec.take_over.max_bound.ms) == (50, 500)
    assert spec.zookeeper is not None
    assert spec.zookeeper.session_timeout.seconds == 2.0
    assert (spec.spark.parallelism, spec.spark.driver_memory, spec.kafka.replication_factor) == (1, "1g", 1)
    assert (spec.metrics.enabled, spec.metrics.port, spec.checkpoint.directory) == (True, 0, None)
    weather = spec.sources[1]
    assert (weather.format, weather.starting_offsets, weather.isolation_level) == ("raw", "earliest", "read_committed")


def test_the_function_is_called_job_unless_named(write: Writer) -> None:
    assert load(write(("    function: flights\n", ""))).spec.job.function == "job"


def test_every_field_is_read(everything: Manifest) -> None:
    spec = everything.spec

    assert (everything.name, everything.model.metadata.namespace) == ("flights", "streaming")
    assert (spec.job.module, spec.job.options["template"]) == ("tandem.examples.flights.job", "${x}")
    assert spec.sources[0].topics == ("a1", "a2")
    assert [sink.kind for sink in spec.sinks] == ["topic", "parquet", "delta"]
    assert [sink.files.path for sink in spec.sinks if sink.files] == ["/data/p", "s3a://bucket/d"]
    assert (spec.ordering.min_epoch_interval.ms, spec.take_over.max_bound.ms) == (60_000, 2_000)


def test_what_is_written_out_is_read_back_as_the_same(everything: Manifest) -> None:
    tree: dict[str, Any] = everything.model.model_dump(mode="json")

    assert tree["spec"]["sources"][1]["schema"] == "x STRUCT<y: ARRAY<INT>> NOT NULL"
    assert tree["spec"]["ordering"]["minEpochInterval"] == "1m"
    assert parse(tree) == everything.model


def test_what_the_server_adds_is_no_mistake(everything: Manifest) -> None:
    tree: dict[str, Any] = everything.model.model_dump(mode="json")
    tree["metadata"] |= {"uid": "1", "resourceVersion": "2", "creationTimestamp": "now", "managedFields": []}
    tree["status"] = {"phase": "Running"}

    assert parse(tree) == everything.model


def test_tandems_topics_are_named_after_the_job_unless_given(write: Writer, everything: Manifest) -> None:
    assert load(write()).model.topics == JobTopics(
        "flights.ordering", "flights.commits", "flights.dead-letter", "flights.checkpoints"
    )
    assert everything.model.topics == JobTopics("o", "c", "d", "s")


def test_models_are_built_in_python_by_their_python_names() -> None:
    spec = Spec(
        job=JobSpec(file="job.py"),
        kafka=KafkaSpec(bootstrap_servers="localhost:9092"),
        sources=(SourceSpec(name="a", topics=("a",)),),
        sinks=(SinkSpec(name="b", topic="b"),),
        ordering=OrderingSpec(mode="heartbeat", heartbeat_period=Duration(5)),
    )

    assert spec.ordering.heartbeat_period == Duration(5)


def test_a_model_cannot_be_changed(everything: Manifest) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        everything.spec.replicas = 5


def test_relative_paths_start_from_the_manifest_wherever_the_process_runs(
    everything: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert everything.checkpoint_directory == tmp_path / "state"
    assert everything.resolve("/abs") == Path("/abs")

    monkeypatch.chdir(tmp_path)
    assert load("m.yaml").resolve("job.py") == tmp_path / "job.py"


def test_the_checkpoint_is_in_memory_where_that_is_possible(tmp_path: Path) -> None:
    assert default_checkpoint_directory("flights", memory=tmp_path) == tmp_path / "tandem" / "flights"

    elsewhere = default_checkpoint_directory("flights", memory=tmp_path / "absent")
    assert elsewhere.parts[-2:] == ("tandem", "flights")
    assert not elsewhere.is_relative_to(tmp_path / "absent")


def test_the_json_schema_knows_every_field_in_camel_case() -> None:
    schema = ReplicatedStreamJob.model_json_schema()
    sections = schema["$defs"]

    assert set(sections["SourceSpec"]["required"]) == {"name", "topics"}
    assert "schema" in sections["SourceSpec"]["properties"]
    assert sections["OrderingSpec"]["properties"]["heartbeatPeriod"]["pattern"].endswith("(ms|s|m|h)$")
    assert sections["OrderingSpec"]["properties"]["heartbeatPeriod"]["default"] == "10ms"
    assert all(section["additionalProperties"] is False for section in sections.values())


@pytest.mark.parametrize(
    ("text", "ms", "written"),
    [("10ms", 10, "10ms"), ("5s", 5_000, "5s"), ("1m", 60_000, "1m"), ("1.5s", 1_500, "1500ms"), ("90m", 5_400_000, "90m"),
     ("2h", 7_200_000, "2h"), ("0ms", 0, "0ms"), ("0.001s", 1, "1ms"), ("60s", 60_000, "1m")],
)  # fmt: skip
def test_durations_are_whole_milliseconds(text: str, ms: int, written: str) -> None:
    duration = Duration.parse(text)

    assert (duration.ms, duration.seconds, str(duration)) == (ms, ms / 1_000, written)
