"""The settings of Flink as a peer of the bench, and that nothing unknown is taken for it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Literal

import pytest
from bench.measured import WORKLOADS
from bench.peers.flink.packages import check_digest, unpack_jars
from bench.peers.flink.settings import FlinkSettings
from bench.peers.flink.sql import QUERIES, Route, script
from bench.plan import CONFIGURATIONS, SCALES, can_run, changed, kill_runs, steady_runs
from bench.records import BODY_AT, CREATED_AT, CREATED_LENGTH, ITEM_LENGTH, encode, item, views
from bench.workloads.lines import GREP
from ruamel.yaml import YAML

from tandem.engine.jvm.errors import JarsError

ROUTE = Route("localhost:9092", "in", "out")
KEYS_OF = ("grep", "grouping", "q1")


def route_of(job: str) -> Route:
    source, *more = WORKLOADS[job].job.topics("in")
    return Route("localhost:9092", source, "out", tuple(more))


def config(detection: Literal["default", "tuned"], checkpoint_ms: int = 100) -> dict[str, object]:
    settings = FlinkSettings(detection, checkpoint_ms, 6123, 8081, Path("/checkpoints"), Path("/scratch"))
    tree: dict[str, object] = YAML(typ="safe").load(settings.config())
    return tree


def test_only_tuned_detection_changes_when_a_death_is_noticed() -> None:
    assert not [key for key in config("default") if key.startswith(("heartbeat", "restart-strategy"))]
    assert config("tuned")["heartbeat.timeout"] == "3 s"
    assert config("tuned")["restart-strategy.fixed-delay.delay"] == "0 s"


def test_the_checkpoint_interval_is_an_option() -> None:
    assert config("tuned", 250)["execution.checkpointing.interval"] == "250 ms"


@pytest.mark.parametrize("job", QUERIES)
def test_exactly_once_writes_in_transactions_and_at_least_once_does_not(job: str) -> None:
    once, more = (script(job, route_of(job), "bench-1", exactly_once=exactly) for exactly in (True, False))
    assert "'sink.delivery-guarantee' = 'exactly-once'" in once
    assert "'sink.transactional-id-prefix' = 'bench-1'" in once
    assert "'sink.delivery-guarantee' = 'at-least-once'" in more
    assert "transaction" not in more


def test_counts_are_written_by_key_and_copies_as_they_are() -> None:
    assert "PRIMARY KEY" in script("count", ROUTE, "bench-1", exactly_once=True)
    assert "PRIMARY KEY" not in script("identity", ROUTE, "bench-1", exactly_once=True)


def test_a_table_has_keys_where_its_records_have_them() -> None:
    grep, grouping, q1 = (script(job, ROUTE, "bench-1", exactly_once=True).splitlines() for job in KEYS_OF)
    assert ["key.fields" in table for table in (*grep[:2], *grouping[:2], *q1[:2])] == [False] * 3 + [True, False, True]
    assert ["key.format" in table for table in (*grep[:2], *grouping[:2], *q1[:2])] == [False] * 3 + [True, False, True]
    assert ["'value.format' = 'json'" in table for table in q1[:2]] == [True, True]


def test_the_latency_suite_carries_the_time_of_a_record_as_a_header() -> None:
    for job in ("suite-a", "suite-b"):
        text = script(job, ROUTE, "bench-1", exactly_once=True)
        assert "sent TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL" in text
        assert "headers MAP<STRING, BYTES> METADATA" in text
        assert "MAP[CAST('source-timestamp' AS STRING), CAST(CAST(sent AS STRING) AS BYTES)] FROM" in text


def test_a_count_by_payload_is_written_by_the_payload_s_number() -> None:
    setting, _, table, query = script("suite-b", ROUTE, "bench-1", exactly_once=True).splitlines()
    assert setting == "SET 'table.exec.sink.upsert-materialize' = 'NONE';"
    assert "`key` STRING, `value` STRING, headers MAP<STRING, BYTES> METADATA, PRIMARY KEY (`key`)" in table
    assert "'connector' = 'upsert-kafka'" in table
    assert query.startswith("INSERT INTO results SELECT SUBSTRING(payload, 1, 12), TO_BASE64(CONCAT(")
    assert query.endswith("GROUP BY sent, payload;")


def test_flink_looks_for_the_same_and_reads_the_same_columns_as_spark() -> None:
    assert f"REGEXP(CAST(`value` AS STRING), '{GREP.options['pattern']}')" in QUERIES["grep"].select
    schema = WORKLOADS["q1"].job.reading["schema"]
    flink = QUERIES["q1"].source.replace("ROW<", "STRUCT<").replace("`", "")
    assert flink == re.sub(r"\s+", " ", schema).replace(": ", " ")


def test_a_union_reads_a_topic_for_each_of_its_sources() -> None:
    text = script("mib3", Route("localhost:9092", "in", "out", ("in-second",)), "bench-1", exactly_once=True)
    assert [line.split(" ", 3)[2] for line in text.splitlines()[:2]] == ["events", "others"]
    assert ["'topic' = 'in'" in text, "'topic' = 'in-second'" in text] == [True, True]
    assert "FROM (SELECT * FROM events UNION ALL SELECT * FROM others)" in text


def test_each_map_reverses_twice() -> None:
    names = ("mib1", "mib1-length-2", "mib1-length-3", "mib1-length-4")
    assert [QUERIES[name].select.count("REVERSE") for name in names] == [2, 4, 6, 8]


@pytest.mark.parametrize("job", QUERIES)
def test_no_text_of_a_script_ends_a_statement_too_early(job: str) -> None:
    lines = script(job, route_of(job), "bench-1", exactly_once=True).splitlines()
    assert all(line.endswith(";") and line.count(";") == 1 for line in lines)
    assert all(line.count("(") == line.count(")") and line.count("'") % 2 == 0 for line in lines)


def test_a_job_without_sql_has_no_script() -> None:
    with pytest.raises(KeyError):
        script("q3", ROUTE, "bench-1", exactly_once=True)


def test_the_table_has_the_fields_of_a_value_at_their_places() -> None:
    value = encode(4, 1_700_000_000_123_456_789, item(4)).decode()
    assert value[CREATED_AT - 1 :][:CREATED_LENGTH] == "1700000000123456789"
    assert value[BODY_AT - 1 :][:ITEM_LENGTH] == '{"event": "sold", "item": 1000000004}'
    table = script("filter", ROUTE, "bench-1", exactly_once=True)
    assert f"{CREATED_AT}, {CREATED_LENGTH})" in table
    assert f"{BODY_AT}, {ITEM_LENGTH})" in table


def test_one_record_in_three_is_a_view() -> None:
    assert [number for number in range(10) if '"view"' in item(number)] == views(10).tolist() == [0, 3, 6, 9]


def test_flink_runs_what_there_is_sql_of() -> None:
    flink = CONFIGURATIONS["flink-tuned"]
    assert [job for job in WORKLOADS if can_run(flink, job)] == list(QUERIES)
    assert not {"timed", "q3", "suite-c", "sequences"} & set(QUERIES)


def test_flink_is_measured_and_killed_only_if_named() -> None:
    assert not [run for run in steady_runs(SCALES["laptop"]) if run.configuration.detection]
    named = changed(SCALES["laptop"], only=("flink-tuned",), jobs=("q3", "identity"), checkpoint_interval_ms=20)
    assert {(run.job, run.checkpoint_interval_ms) for run in steady_runs(named)} == {("identity", 20)}
    assert not kill_runs(named)  # of the first job, which Flink has not
    assert [run.kills for run in kill_runs(changed(named, jobs=("identity",)))] == [3]


def test_a_package_that_is_not_the_known_one_is_refused(tmp_path: Path) -> None:
    jar = tmp_path / "flink.jar"
    jar.write_bytes(b"abc")
    assert check_digest(jar, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == jar
    with pytest.raises(JarsError, match=r"flink\.jar has the SHA-256 ba7816bf"):
        check_digest(jar, "0" * 64)


def test_the_jars_of_the_class_path_are_taken_from_a_wheel_and_nothing_else(tmp_path: Path) -> None:
    wheel, folder = tmp_path / "flink.whl", tmp_path / "jars"
    folder.mkdir()
    with zipfile.ZipFile(wheel, "w") as made:
        for name in ("pyflink/lib/flink-dist.jar", "pyflink/opt/flink-python.jar", "pyflink/version.py"):
            made.writestr(name, name)
    assert unpack_jars(wheel, folder) == ["flink-dist.jar"]
    assert [path.name for path in folder.iterdir()] == ["flink-dist.jar"]


def test_a_wheel_without_jars_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "flink.whl", "w") as made:
        made.writestr("pyflink/version.py", "")
    with pytest.raises(JarsError, match="has no jars"):
        unpack_jars(tmp_path / "flink.whl", tmp_path)
