"""What a job sets in `spec.spark.conf`, in a session as a replica has it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import PandasUDFType, pandas_udf
from pyspark.sql.types import StringType

from integration.engine import Job, Record, kafka_sink, values
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import build_session
from tandem.manifest import FileSink, SinkSpec, SourceSpec, SparkSpec
from tandem.manifest.spark_settings import known_settings
from tandem.topics.declared import TABLE_PREFIX

pytestmark = [pytest.mark.integration]

ZONE = "spark.sql.session.timeZone"
SALES = (b'{"at": "2024-06-01T21:30:00Z", "amount": 10}', b'{"at": "2024-06-01T22:30:00Z", "amount": 20}')
"""In Berlin the second one is of the next day."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session in Berlin, which logs warnings."""
    conf = {ZONE: "Europe/Berlin", "spark.log.level": "WARN"}
    folder = tmp_path_factory.mktemp("spark")
    session = build_session("tests", "replica-0", SparkSpec(conf=conf), Jars.resolve().spark_classpath(), folder)
    yield session
    session.stop()


@pytest.fixture
def sales(spark: SparkSession, tmp_path: Path) -> Iterator[Job]:
    source = SourceSpec.model_validate(
        {"name": "sales", "topics": ["in"], "format": "json", "schema": "at TIMESTAMP, amount INT"}
    )
    made = Job(spark, tmp_path / "job", [source], [kafka_sink(), SinkSpec(name="archive", parquet=FileSink(path="/x"))])
    yield made
    made.stop()


def test_days_are_those_of_the_job_s_time_zone_and_instants_stay_what_they_are(sales: Job) -> None:
    def formatted(at: Any) -> Any:
        return at.dt.strftime("%H:%M")

    hour: Any = pandas_udf(formatted, StringType(), PandasUDFType.SCALAR)
    frame = sales.sources["sales"]
    day = F.date_format("at", "yyyy-MM-dd")
    sales.start(
        {
            "out": frame.select(F.concat_ws(" ", day, F.col("at").cast("string"), hour("at"), "amount").alias("value")),
            "archive": frame.select("at"),
        }
    )
    rows = sales.run(0, [Record(sale) for sale in SALES])

    assert values(rows.filter(rows["value"].is_valid())) == [
        "2024-06-01 2024-06-01 23:30:00 23:30 10",
        "2024-06-02 2024-06-02 00:30:00 00:30 20",
    ]
    archived = rows.filter(rows[TABLE_PREFIX + "archive"].is_valid())[TABLE_PREFIX + "archive"].to_pylist()
    assert [row["at"] for row in archived] == [
        datetime(2024, 6, 1, 21, 30, tzinfo=UTC),
        datetime(2024, 6, 1, 22, 30, tzinfo=UTC),
    ]


def test_the_level_of_spark_s_log_is_the_job_s(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    assert str(jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel()) == "WARN"


def test_the_list_of_spark_s_settings_has_all_that_this_spark_registers(spark: SparkSession) -> None:
    registered = {name for name in _registered(spark) if not name.startswith(("spark.testing", "spark.test."))}
    assert len(registered) > 1_000
    assert registered - known_settings() == set()


def _registered(spark: SparkSession) -> list[str]:
    """Every setting that the JVM's classes have registered so far."""
    jvm: Any = spark._jvm
    kind = jvm.java.lang.Class.forName("org.apache.spark.internal.config.ConfigEntry$")
    known = kind.getDeclaredField("knownConfigs")
    known.setAccessible(True)
    return str(known.get(kind.getField("MODULE$").get(None)).keySet().toString()).strip("[]").split(", ")
