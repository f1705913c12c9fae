"""Jobs of many kinds, and what is said of each: which engine can run it, and whether both publish the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from integration.engine import raw_source
from tandem.jobapi.context import JobContext
from tandem.manifest import OutputMode, SourceSpec

SCHEMA = "id STRING, n DOUBLE, at TIMESTAMP, tags ARRAY<STRING>"
SOURCES = (
    raw_source(),
    SourceSpec(name="orders", topics=("o",), format="json", schema=SCHEMA),
    SourceSpec(name="more", topics=("m",), format="json", schema=SCHEMA),
)
SAME = "both engines publish the same rows of this job"
EVERY_ROW = "the job has groupBy().agg(), and the real-time engine reports every row"


@dataclass(frozen=True)
class Given:
    """What jobs are made of: a raw source, two JSON sources, a table of some rows, and the context."""

    events: DataFrame
    orders: DataFrame
    more: DataFrame
    table: DataFrame
    ctx: JobContext

    @property
    def late(self) -> DataFrame:
        """The orders with a watermark."""
        return self.orders.withWatermark("at", "1 minute")


@dataclass(frozen=True)
class Tried:
    """A job, and what is said of it. `mode`: its `outputMode`; `runs`: whether the real-time engine runs it."""

    job: Callable[[Given], DataFrame]
    says: str = SAME
    runs: bool = True
    mode: OutputMode | None = None


def value(frame: DataFrame) -> DataFrame:
    return frame.select(F.to_json(F.struct("id")).alias("value"))


def never(job: Callable[[Given], DataFrame], what: str, mode: OutputMode | None = None) -> Tried:
    return Tried(job, f"the job has {what}", False, mode)


def counted(frame: DataFrame, *keys: Any) -> DataFrame:
    return frame.groupBy(*keys).agg(F.count("*").alias("n")).select(F.to_json(F.struct("*")).alias("value"))


def sql(text: str) -> Callable[[Given], DataFrame]:
    def job(given: Given) -> DataFrame:
        given.orders.createOrReplaceTempView("orders")
        given.table.createOrReplaceTempView("rates")
        return given.orders.sparkSession.sql(text)

    return job


def normalize(text: str) -> str:
    return text


def doubled(numbers: pd.Series) -> pd.Series:
    return numbers * 2


class Counting(StatefulProcessor):
    def init(self, handle: Any) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        yield Row(value=f"{key} {list(rows)} {timerValues}")

    def close(self) -> None:
        pass


def states(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
    yield pd.DataFrame({"value": [f"{key} {len(list(frames))} {state}"]})


JOBS: dict[str, Tried] = {
    # Both engines publish the same rows.
    "a copy": Tried(lambda g: g.events.select("key", "value")),
    "projections": Tried(lambda g: value(g.orders.withColumn("id", F.upper("id")).drop("n"))),
    "filters": Tried(lambda g: value(g.orders.where("n > 3").where(~F.col("id").isin("a", "b")))),
    "JSON parsed and written": Tried(
        lambda g: g.events.select(F.from_json(F.col("value").cast("string"), "id STRING").alias("r")).select(
            F.to_json("r").alias("value")
        )
    ),
    "rows of lists": Tried(lambda g: g.orders.select(F.explode("tags").alias("id")).transform(value)),
    "a union of two sources": Tried(lambda g: value(g.orders).union(value(g.more))),
    "one source twice": Tried(lambda g: value(g.orders.where("n > 1")).union(value(g.orders.where("n < 1")))),
    "a table that is sent": Tried(lambda g: value(g.orders.join(F.broadcast(g.table), "id"))),
    "a table that is sent, left": Tried(lambda g: value(g.orders.join(F.broadcast(g.table), "id", "left"))),
    "a table that keeps rows": Tried(lambda g: value(g.orders.join(F.broadcast(g.table), "id", "left_semi"))),
    "a table that drops rows": Tried(lambda g: value(g.orders.join(F.broadcast(g.table), "id", "left_anti"))),
    "a small table of values": Tried(
        sql("SELECT o.id AS value FROM orders o JOIN VALUES ('a'), ('b') AS t(id) ON o.id = t.id")
    ),
    "a table that was aggregated": Tried(
        lambda g: value(g.orders.join(F.broadcast(g.table.groupBy("id").agg(F.max("rate").alias("rate"))), "id"))
    ),
    "a subquery with IN": Tried(sql("SELECT id AS value FROM orders WHERE id IN (SELECT string(id) FROM range(5))")),
    "a subquery with NOT EXISTS": Tried(
        sql("SELECT id AS value FROM orders WHERE NOT EXISTS (SELECT 1 FROM VALUES ('a'), (NULL) AS t(k) WHERE k = id)")
    ),
    "a WITH clause": Tried(sql("WITH a AS (SELECT id FROM orders) SELECT id AS value FROM a")),
    "duplicates": Tried(lambda g: value(g.orders.dropDuplicates(["id"]))),
    "duplicates of all columns": Tried(lambda g: value(g.orders.select("id", "n").distinct())),
    "duplicates of a raw source": Tried(lambda g: g.events.dropDuplicates(["key"]).select("value")),
    "a watermark without state": Tried(lambda g: value(g.late)),
    "functions of a higher order": Tried(
        lambda g: value(g.orders.withColumn("id", F.concat_ws(",", F.transform("tags", lambda tag: F.upper(tag)))))
    ),
    "what the log knows": Tried(
        lambda g: g.events.select(
            F.concat_ws(" ", g.ctx.epoch_time("events"), g.ctx.rng(source="events")).alias("value")
        )
    ),
    "a question": Tried(lambda g: g.events.select(g.ctx.ask("who", lambda rows: rows, "events").alias("value"))),
    "metrics": Tried(lambda g: value(g.orders.observe("rows", F.count(F.lit(1)).alias("n")))),
    # The real-time engine reports every row.
    "a count": Tried(lambda g: counted(g.orders, "id"), EVERY_ROW),
    "a count of everything": Tried(lambda g: counted(g.orders), EVERY_ROW),
    "sums with HAVING": Tried(
        lambda g: g.orders.groupBy("id").agg(F.sum("n").alias("n")).where("n > 3").transform(value), EVERY_ROW
    ),
    "windows without a watermark": Tried(lambda g: counted(g.orders, F.window("at", "1 minute"), "id"), EVERY_ROW),
    "sliding windows without a watermark": Tried(
        lambda g: counted(g.orders, F.window("at", "1 minute", "20 seconds")), EVERY_ROW
    ),
    "distinct in SQL": Tried(sql("SELECT DISTINCT id AS value FROM orders"), EVERY_ROW),
    "windows": Tried(lambda g: counted(g.late, F.window("at", "1 minute"), "id"), EVERY_ROW, mode="update"),
    "windows of two sources in one sink": Tried(
        lambda g: counted(g.late, F.window("at", "1 minute")).union(
            counted(g.more.withWatermark("at", "1 minute"), F.window("at", "1 minute"))
        ),
        EVERY_ROW,
        mode="update",
    ),
    # The watermark moves elsewhere.
    "duplicates with a watermark": Tried(
        lambda g: value(g.late.dropDuplicates(["id", "at"])),
        "the job has dropDuplicates() behind withWatermark(), and other rows are late with the real-time engine",
    ),
    # The real-time engine does not run it.
    "windows in mode append": never(
        lambda g: counted(g.late, F.window("at", "1 minute")), "groupBy().agg() in output mode append"
    ),
    "sessions": never(
        lambda g: counted(g.late, F.session_window("at", "1 minute"), "id"), "session_window()", "append"
    ),
    "duplicates within a watermark": never(
        lambda g: value(g.late.dropDuplicatesWithinWatermark(["id"])), "dropDuplicatesWithinWatermark()"
    ),
    "two streams": never(
        lambda g: value(g.orders.alias("o").join(g.more.alias("m"), F.expr("o.id = m.id")).select("o.id")),
        "a join of two streams",
    ),
    "a Python UDF": never(
        lambda g: value(g.orders.withColumn("id", F.udf(normalize)("id"))), "a Python UDF (normalize)"
    ),
    "a Python UDF in a filter": never(
        lambda g: value(g.orders.where(F.udf(normalize)("id") == "a")), "a Python UDF (normalize)"
    ),
    "a Python UDF behind a count": never(
        lambda g: g.orders.groupBy("id").count().select(F.udf(normalize)("id").alias("value")),
        "a Python UDF (normalize)",
    ),
    "a pandas UDF": never(
        lambda g: g.orders.select(F.pandas_udf(doubled, "double")("n").cast("string").alias("value")),  # type: ignore[call-overload]
        "a pandas UDF (doubled)",
    ),
    "mapInPandas": never(
        lambda g: g.events.select("value").mapInPandas(lambda rows: rows, "value BINARY"), "mapInPandas()"
    ),
    "mapInArrow": never(
        lambda g: g.events.select("value").mapInArrow(lambda rows: rows, "value BINARY"), "mapInArrow()"
    ),
    "applyInPandas": never(
        lambda g: g.orders.groupBy("id").applyInPandas(lambda frame: frame[["id"]], "id STRING").transform(value),
        "groupBy().applyInPandas()",
    ),
    "applyInPandasWithState": never(
        lambda g: g.orders.groupBy("id").applyInPandasWithState(
            states, "value STRING", "n LONG", "append", GroupStateTimeout.NoTimeout
        ),
        "applyInPandasWithState()",
    ),
    "transformWithState": never(
        lambda g: g.orders.groupBy("id").transformWithState(Counting(), "value STRING", "append", "None"),
        "transformWithState() in Python",
    ),
    "a limit": never(lambda g: value(g.orders.limit(3)), "limit()"),
    "another partitioning": never(lambda g: value(g.orders.repartition(4, "id")), "repartition()"),
    "one partition": never(lambda g: value(g.orders.coalesce(1)), "repartition() or coalesce()"),
    "a table by another comparison": never(
        lambda g: value(g.orders.join(F.broadcast(g.table.withColumnRenamed("id", "t")), F.expr("n > rate"))),
        "a join with a table that Spark carries out by comparing all rows with all",
    ),
    "a table of unknown size": never(
        lambda g: value(g.orders.join(g.table, "id")),
        "a join with a table that Spark carries out by sorting both sides",
    ),
    "a count of two sources": never(
        lambda g: counted(g.orders.select("id").union(g.more.select("id")), "id"),
        "groupBy().agg() over a union of several streams",
    ),
    "duplicates of two sources": never(
        lambda g: value(g.orders.select("id").union(g.more.select("id")).dropDuplicates()),
        "dropDuplicates() over a union of several streams",
    ),
    "duplicates of duplicates": never(
        lambda g: value(g.orders.dropDuplicates(["id", "n"]).dropDuplicates(["id"])),
        "dropDuplicates() whose rows go into another operator with state",
    ),
    "a subquery with NOT IN": never(
        sql("SELECT id AS value FROM orders WHERE id NOT IN (SELECT id FROM rates)"), "NOT IN over a table"
    ),
    "a value of a table": never(
        sql("SELECT id AS value FROM orders WHERE n > (SELECT max(id) FROM range(3))"), "a subquery in an expression"
    ),
}
