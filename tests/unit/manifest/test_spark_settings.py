"""A setting of Spark is obeyed, or refused with the reason and the remedy; none is overruled in silence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from tandem.engine.environment import local_zone
from tandem.engine.executors import CONF, Executors
from tandem.engine.session import settings_of
from tandem.manifest import ManifestError, ReplicatedStreamJob, SparkSpec, parse
from tandem.manifest.spark_settings import FIXED, known_settings
from tandem_operator.resources.executors import spark_conf
from tandem_operator.resources.settings import Settings

JAR, SCRATCH = Path("/jars/fs.jar"), Path("/scratch")


def job(conf: Mapping[str, str] | None = None, **spec: object) -> ReplicatedStreamJob:
    body = {
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": "localhost:9092"},
        "ordering": {"mode": "heartbeat"},
        "sources": [{"name": "flights", "topics": ["flights"]}],
        "sinks": [{"name": "delays", "topic": "delays"}],
        "spark": {"conf": dict(conf or {})},
        **spec,
    }
    return parse(
        {
            "apiVersion": "tandem.dev/v1alpha1",
            "kind": "ReplicatedStreamJob",
            "metadata": {"name": "flights"},
            "spec": body,
        }
    )


def said(conf: Mapping[str, str], **spec: object) -> str:
    """What is said against a manifest with these settings; nothing if it is accepted."""
    try:
        job(conf, **spec)
    except ManifestError as error:
        return str(error)
    return ""


def alone(conf: Mapping[str, str]) -> dict[str, str]:
    return settings_of("flights", "replica-0", SparkSpec(conf=conf), JAR, SCRATCH)


EXECUTORS = {"executors": {"instances": 2}}


def with_executors(conf: Mapping[str, str]) -> dict[str, str]:
    given = spark_conf(job(**EXECUTORS), Settings(image="example.com/tandem:1"))
    executors = Executors.of({CONF: json.dumps(given)}, "flights.replica-0.0a1b2c3d")
    assert executors is not None
    return settings_of("flights", "replica-0", SparkSpec(conf=conf), JAR, SCRATCH, executors=executors)


@pytest.mark.parametrize(("made", "spec"), [(alone, {}), (with_executors, EXECUTORS)], ids=["alone", "executors"])
def test_no_setting_that_a_session_is_started_with_overrules_the_user_in_silence(
    made: Callable[[Mapping[str, str]], dict[str, str]], spec: dict[str, object]
) -> None:
    overruled = [
        name
        for name in made({})
        if "otherwise" not in made({name: "otherwise"})[name] and not said({name: "otherwise"}, **spec)
    ]
    assert overruled == []


@pytest.mark.parametrize("name", FIXED)
def test_a_setting_that_equals_what_tandem_needs_is_accepted_and_set(name: str) -> None:
    for value in FIXED[name][0]:
        assert said({name: f" {value} "}) == ""
        assert alone({name: value})[name] == value
    assert f"must be {FIXED[name][0][0]}" in said({name: "otherwise"})


def test_a_state_store_that_evicts_in_another_order_when_it_was_restored_is_refused() -> None:
    other = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    refused = said({"spark.sql.streaming.stateStore.providerClass": other})
    assert "RocksDBStateStoreProvider: what others evict comes in another order" in refused


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.driver.memory", "1024m"),
        ("spark.default.parallelism", "1"),
        ("spark.sql.shuffle.partitions", " 1"),
        ("spark.executor.memory", "1g"),
    ],
)
def test_a_setting_that_equals_its_field_is_accepted_and_another_value_names_the_field(name: str, value: str) -> None:
    assert said({name: value}) == ""
    assert "it has a field of its own. Use spec." in said({name: "7g"})


@pytest.mark.parametrize("name", ["spark.python.daemon.module", "spark.python.worker.module"])
def test_how_workers_are_made_is_tandems(name: str) -> None:
    assert f"Tandem sets {name} itself" in said({name: "mine.daemon"})


def test_the_time_zone_of_the_session_is_the_job_s_and_utc_by_default() -> None:
    zone = "spark.sql.session.timeZone"
    assert alone({})[zone] == "UTC"
    for value in ("Europe/Berlin", "+02:00", "UTC-05:30", "GMT", "Etc/UTC", "Etc/GMT+2"):
        assert said({zone: value}) == ""
        assert alone({zone: value})[zone] == value
    assert "'europe/berlin' is no time zone. Did you mean Europe/Berlin?" in said({zone: "europe/berlin"})
    assert "a region or an offset" in said({zone: "+2500"})
    assert "a region or an offset" in said({zone: "+18:30"})


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("PST", "America/Los_Angeles"),
        ("BST", "Asia/Dhaka"),
        ("IST", "Asia/Kolkata"),
        ("Z", "UTC"),
        ("GMT+2", "+02:00"),
        ("UTC+2", "+02:00"),
        ("-5", "-05:00"),
        ("+0530", "+05:30"),
    ],
)
def test_a_time_zone_that_only_java_reads_is_refused_with_the_one_that_python_reads_too(
    value: str, written: str
) -> None:
    zone = "spark.sql.session.timeZone"
    assert said({zone: value}).endswith(f"Write {written}")
    assert said({zone: written}) == ""
    assert pd.Timestamp(0, tz="UTC").tz_convert(written) is not None
    assert (local_zone(written) == "UTC") == (written == "UTC")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("spark.sql.session.timezone", "spark.sql.session.timeZone"),
        ("spark.sql.shuffle.partition", "spark.sql.shuffle.partitions"),
        ("spark.sql.shuffle.sort.initialBufferSize", "spark.shuffle.sort.initialBufferSize"),
        ("spark.driver.maxResultsize", "spark.driver.maxResultSize"),
        ("spark.sql.ansi.enable", "spark.sql.ansi.enabled"),
        ("spark.sql.streaming.stateStore.rocksdb.blockSizeKb", "spark.sql.streaming.stateStore.rocksdb.blockSizeKB"),
    ],
)
def test_a_name_that_spark_would_pass_over_in_silence_is_refused_with_the_right_one(name: str, meant: str) -> None:
    assert f"Did you mean {meant}?" in said({name: "1"})


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.endpoint",
        "spark.executorEnv.MODEL",
        "spark.sql.catalog.lake.type",
        "spark.databricks.delta.schema.autoMerge.enabled",
        "spark.sql.ansi.enabled",
        "spark.sql.files.maxPartitionBytes",
        "spark.shuffle.sort.initialBufferSize",
        "spark.jars.packages",
        "spark.log.level",
        "spark.sql.codegen.wholeStage",
        "spark.ui.showConsoleProgress",
        "spark.ui.retainedJobs",
        "spark.serializer",
        "spark.sql.legacy.timeParserPolicy",
        "spark.sql.caseSensitive",
        "spark.sql.execution.arrow.enabled",
        "spark.cassandra.connection.host",
        "spark.driver.extraJavaOptions",
        "spark.sql.extensions",
        "spark.eventLog.enabled",
    ],
)
def test_what_spark_or_a_library_knows_is_passed_on(name: str) -> None:
    assert said({name: "1"}) == ""
    assert alone({name: "1"})[name].endswith("1")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("spark.sql.adaptive.localShuffleReader.enabled", "Remove it"),
        ("spark.speculation.multiplier", "Remove it"),
        ("spark.dynamicAllocation.maxExecutors", "Use spec.executors.instances"),
        ("spark.yarn.queue", "Remove it"),
        ("spark.driver.memoryOverhead", "Use spec.resources"),
        ("spark.kubernetes.driver.request.cores", "spec.podTemplate"),
        ("spark.executor.memoryOverhead", "Set spec.executors.instances"),
        ("spark.kubernetes.executor.request.cores", "Set spec.executors.instances"),
        ("spark.sql.streaming.fileSource.log.deletion", "Remove it"),
        ("spark.ui.port", 'Set spark.ui.enabled: "true"'),
        ("spark.streaming.backpressure.enabled", "Remove it"),
    ],
)
def test_what_would_have_no_effect_is_refused_with_the_reason(name: str, remedy: str) -> None:
    message = said({name: "1"})
    assert f"{name} would have no effect: " in message
    assert remedy in message


@pytest.mark.parametrize("name", ["spark.broadcast.blockSize", "spark.sql.streaming.stateStore.maintenanceInterval"])
def test_what_spark_would_hang_or_fail_on_without_a_word_is_refused(name: str) -> None:
    for value in ("0", " 0 ", "-1", "0s", "0k"):
        assert f"{name} cannot be {value.strip()}: Spark" in said({name: value}), value
    assert said({name: "1"}) == ""


def test_settings_of_executors_and_of_pages_are_accepted_where_they_have_an_effect() -> None:
    assert (
        said({"spark.executor.memoryOverhead": "640m", "spark.kubernetes.executor.request.cores": "100m"}, **EXECUTORS)
        == ""
    )
    assert said({"spark.ui.enabled": "true", "spark.ui.port": "4040"}) == ""


def test_a_heap_among_the_options_of_the_jvm_is_refused_and_another_collector_replaces_ours() -> None:
    name = "spark.driver.extraJavaOptions"
    assert "Use spec.spark.driverMemory" in said({name: "-Dx=1 -Xmx2g"})
    assert "Use spec.spark.driverMemory" in said({"spark.driver.defaultJavaOptions": "-Xmx2g"})
    assert "+UseSerialGC" in alone({name: "-Dx=1"})[name]
    assert "+UseSerialGC" not in alone({name: "-XX:+UseG1GC"})[name]


@pytest.mark.parametrize(
    ("heap", "limit", "fits"),
    [("4g", "2Gi", False), ("1g", "1Gi", False), ("1g", "1408Mi", True), ("8g", "8.5Gi", False), ("2g", "3G", True)],
)  # fmt: skip
def test_a_heap_must_fit_into_the_container_with_what_is_beside_it(heap: str, limit: str, fits: bool) -> None:
    message = said({}, spark={"driverMemory": heap}, resources={"limits": {"memory": limit}})
    assert (message == "") is fits, message
    assert fits or f"a heap of {heap} (spec.spark.driverMemory) does not fit into {limit}: beside it" in message


def test_spark_s_own_settings_are_known() -> None:
    assert {"spark.sql.session.timeZone", "spark.executor.memory"} <= known_settings()
    assert len(known_settings()) > 1_500


def test_columns_that_differ_only_in_case_are_accepted_where_spark_minds_it() -> None:
    sources = [{"name": "flights", "topics": ["flights"], "format": "json", "schema": "id INT, ID INT"}]

    assert "the columns id and ID differ only in case" in said({}, sources=sources)
    assert said({"spark.sql.caseSensitive": "True"}, sources=sources) == ""
