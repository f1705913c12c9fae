"""`tandem validate --deep` says what a replica would refuse, without Kafka and ZooKeeper."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from integration.command import completed
from tandem.process.info import ExitCode

pytestmark = [pytest.mark.integration]

NOWHERE = "nowhere.invalid"
COPY = "def job(events):\n    return events.select('key', 'value')\n"
CLOCK = (
    "from pyspark.sql import functions as F\n\n\ndef job(events):\n"
    "    return events.select(F.current_timestamp().cast('string').alias('value'))\n"
)


def deep(folder: Path, code: str, line: int = -1, **spec: Any) -> tuple[int, str]:
    """Exit code, and the last line that is printed, or another one."""
    (folder / "job.py").write_text(code)
    body = {
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": f"{NOWHERE}:9092"},
        "zookeeper": {"connect": f"{NOWHERE}:2181"},
        "sources": [{"name": "events", "topics": ["events"]}],
        "sinks": [{"name": "out", "topic": "out"}],
        **spec,
    }
    tree = {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": "deep"},
        "spec": body,
    }
    (folder / "job.yaml").write_text(json.dumps(tree))
    command = [str(Path(sys.executable).with_name("tandem")), "validate", "job.yaml", "--deep"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = completed(command, cwd=folder, env=env)
    return done.returncode, done.stdout.strip().splitlines()[line]


def test_a_job_that_can_start_is_valid_where_nothing_else_runs(tmp_path: Path) -> None:
    table = {"name": "table", "parquet": {"path": "lake"}}
    known = "events.where(events.topic.isin(*WORDS)).select('offset')"  # in the order of a set, the same everywhere
    frames = f"{{'out': events.select('value'), 'table': {known}}}"
    both = f"WORDS = {set('abcdefgh')}\n\n\ndef job(events):\n    return {frames}\n"

    code, said = deep(tmp_path, both, sinks=[{"name": "out", "topic": "out"}, table])

    assert (code, said.partition(" (")[0]) == (0, "job.yaml: valid")
    assert not (tmp_path / "lake").exists()


def test_a_plan_that_replicas_would_not_agree_on_is_refused(tmp_path: Path) -> None:
    code, said = deep(tmp_path, CLOCK)

    assert code == ExitCode.REFUSED
    assert "Replace current_timestamp(): use ctx.epoch_time()" in said


@pytest.mark.thorough
def test_a_value_that_spark_does_not_take_names_its_setting(tmp_path: Path) -> None:
    code, said = deep(
        tmp_path, COPY, spark={"conf": {"spark.sql.ansi.enabled": "yes", "spark.sql.files.maxPartitionBytes": "1m"}}
    )

    assert code == ExitCode.REFUSED
    assert said.startswith("job.yaml: Spark refuses spec.spark.conf[spark.sql.ansi.enabled]: ")
    assert "It should be a/an 'boolean' value" in said


@pytest.mark.thorough
def test_what_spark_says_that_does_not_start_is_told(tmp_path: Path) -> None:
    code, said = deep(tmp_path, COPY, spark={"conf": {"spark.jars.packages": "no-coordinates"}})

    assert code == ExitCode.REFUSED
    assert said.startswith(
        "job.yaml: the packages of spec.spark.conf[spark.jars.packages] are not to be had: Provided Maven"
    )


@pytest.mark.thorough
def test_a_setting_that_the_code_must_not_change_is_refused_with_where_it_belongs(tmp_path: Path) -> None:
    sets = COPY.replace(
        "    return", "    ctx.spark.conf.set('spark.sql.shuffle.partitions', '8')\n    return"
    ).replace("(events)", "(events, ctx)")

    code, said = deep(tmp_path, sets)

    assert code == ExitCode.REFUSED
    assert said == (
        "job.yaml: the job's code sets spark.sql.shuffle.partitions to 8, but its plan was begun with 1. Set "
        "spec.spark.parallelism instead"
    )


@pytest.mark.thorough
def test_a_plan_that_another_process_would_make_otherwise_is_refused(tmp_path: Path) -> None:
    clock = (
        "import datetime\nfrom pyspark.sql import functions as F\n\nSTARTED = datetime.datetime.now().isoformat()\n\n\n"
    )

    code, said = deep(tmp_path, f"{clock}def job(events):\n    return events.select(F.lit(STARTED).alias('value'))\n")

    assert code == ExitCode.REFUSED
    assert said.startswith("job.yaml: the job's plan is another one in another process, so its replicas would differ")


UDF = (
    "from pyspark.sql import functions as F\n\n\n@F.udf('string')\ndef normalize(text):\n    return text\n\n\n"
    "def job(events):\n    return events.select(normalize(F.col('value').cast('string')).alias('value'))\n"
)


@pytest.mark.thorough
def test_a_plan_that_the_real_time_engine_cannot_run_is_refused_with_what_to_do(tmp_path: Path) -> None:
    code, said = deep(tmp_path, UDF, engine="realTime")

    assert code == ExitCode.REFUSED
    assert said.startswith("job.yaml: spec.engine: realTime cannot run this job. It has a Python UDF (normalize): ")
    assert said.endswith("Write it with pyspark.sql.functions or SQL; or set spec.engine: microBatch")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("job", "engine"),
    [
        (UDF, "microBatch: the job has a Python UDF (normalize)"),
        (COPY, "realTime: both engines publish the same rows of this job"),
    ],
    ids=["with Python", "without"],
)
def test_the_engine_that_auto_takes_is_named_with_the_reason(tmp_path: Path, job: str, engine: str) -> None:
    code, said = deep(tmp_path, job, line=-2, engine="auto")

    assert (code, said) == (0, f"job.yaml: spec.engine: auto is {engine}")


@pytest.mark.thorough
def test_tables_that_do_not_take_the_rows_are_refused(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path / "lake"), pa.schema([("offset", pa.int32())]))
    options = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    catalog = load_catalog("tandem-lake", **options)
    catalog.create_namespace("shop")
    catalog.create_table("shop.orders", pa.schema([("n", pa.int64())]))
    iceberg = {"table": "shop.orders", "properties": options}
    rows = "def job(events):\n    return events.select('offset')\n"

    code, said = deep(tmp_path, rows, sinks=[{"name": "lake", "delta": {"path": "lake"}}])
    assert code == ExitCode.REFUSED
    assert said.endswith("give the sink another path")
    assert "column offset is long in the job, but integer in the table" in said

    code, said = deep(tmp_path, rows, sinks=[{"name": "lake", "iceberg": iceberg}])
    assert code == ExitCode.REFUSED
    assert "the rows do not fit the iceberg table shop.orders of sink lake: the table has no column offset" in said


def test_a_table_whose_secret_is_not_here_is_passed_over(tmp_path: Path) -> None:
    catalog = {"table": "shop.orders", "secretProperties": {"uri": {"env": "NOT_ON_THIS_MACHINE"}}}

    code, said = deep(tmp_path, COPY, sinks=[{"name": "lake", "iceberg": catalog}])

    assert (code, said.partition(" (")[0]) == (0, "job.yaml: valid")
