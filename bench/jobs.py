"""The workloads, as ordinary PySpark: the same functions run in Tandem and, but for the causal ones, in plain Spark."""

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

STATEFUL = ("count", "latest", "fixwindow")
"""Those that tell of every change of their state: Spark's output mode is update."""


def identity(events: DataFrame) -> DataFrame:
    """Every record as it is."""
    return events.select("key", "value")


def filter(events: DataFrame) -> DataFrame:
    """The records whose body, a JSON document, is about a view: one in three."""
    item = _field(34, 37)
    return events.where(F.get_json_object(item, "$.event") == "view").select("key", "value")


def count(events: DataFrame) -> DataFrame:
    """Records per key so far, with the newest time of creation that contributed: one row per changed key and epoch."""
    grouped = events.select("key", _created()).groupBy("key")
    counts: DataFrame = grouped.agg(F.count("*").alias("number"), F.max("created").alias("created"))
    return counts.select("key", F.concat_ws(" ", "number", "created").cast("binary").alias("value"))


def timed(events: DataFrame, ctx: Any) -> DataFrame:
    """Every record as it is, if its epoch has a time and its row a random number: both come with the cut."""
    return events.select("key", _if((ctx.rng() >= 0) & ctx.epoch_time().isNotNull()))


def asked(events: DataFrame, ctx: Any) -> DataFrame:
    """Every record as it is, if somebody answered for it: at once, so that recording the answers is all that it costs."""
    answer = ctx.ask("outside", lambda records: ["1"] * len(records), batch=1_000)
    return events.select("key", _if(answer == "1"))


def _if(condition: Column) -> Column:
    return F.when(condition, F.col("value")).alias("value")


def latest(events: DataFrame) -> DataFrame:
    """The largest value of each key: a state as large as all keys with one value each."""
    kept = events.groupBy("key").agg(F.count("*").alias("number"), F.max("value").alias("value"))
    rows: DataFrame = kept.select("key", F.concat_ws(" ", "number", F.length("value")).cast("binary").alias("value"))
    return rows


def fixwindow(events: DataFrame) -> DataFrame:
    """HiBench's fixed window: of each IP (key) in each ten seconds of event time, how many visits so far, and the first.

    Without a watermark, so that every change is reported, and a gap can be seen.
    """
    ip = F.substring(F.col("key").cast("string"), 5, 10).cast("long")
    visits = events.select(ip.alias("ip"), _number(), _created(), _event_time())
    visited = visits.groupBy(F.window("at", "10 seconds"), "ip").agg(
        F.count("*").alias("number"), F.max("created").alias("created"), F.min("event").alias("first")
    )
    key = F.unix_millis("window.start") + F.col("ip")  # ten thousand IPs, and as many ms in a window
    rows: DataFrame = visited.select(
        F.concat(F.lit("key-"), key).cast("binary").alias("key"),
        F.concat_ws(" ", "number", "created", "first").cast("binary").alias("value"),
    )
    return rows


def q3(events: DataFrame) -> DataFrame:
    """Nexmark's query 3: auctions of one category, with their seller if from one of three states; over the full history."""
    persons = _of_kind(events, "P").where(F.col("attribute").isin("OR", "ID", "CA"))
    auctions = _of_kind(events, "A").where("attribute = '10'")
    return _sold(auctions.alias("a").join(persons.alias("p"), F.expr("a.person = p.person")))


def q8(events: DataFrame) -> DataFrame:
    """Nexmark's query 8: auctions whose seller is new in the same ten seconds of event time."""
    persons, auctions = (
        _of_kind(events, kind).withWatermark("at", "4 seconds").withColumn("window", F.window("at", "10 seconds"))
        for kind in "PA"
    )
    same = F.expr("a.person = p.person AND a.window = p.window")
    return _sold(auctions.alias("a").join(persons.alias("p"), same))


def _of_kind(events: DataFrame, kind: str) -> DataFrame:
    fields = _number(), _created(), _event_time(), _field(36, 10).alias("person"), _field(47, 2).alias("attribute")
    return events.where(_field(34, 1) == kind).select(*fields)


def _sold(pairs: DataFrame) -> DataFrame:
    """One row per auction: its number, and when the later one of it and its seller was created."""
    rows: DataFrame = pairs.select(
        F.concat(F.lit("key-"), "a.event").cast("binary").alias("key"),
        F.concat_ws(" ", "a.event", F.greatest("a.created", "p.created")).cast("binary").alias("value"),
    )
    return rows


def _field(place: int, length: int) -> Column:
    return F.substring(F.col("value").cast("string"), place, length)


def _number() -> Column:
    return _field(1, 12).cast("long").alias("event")


def _created() -> Column:
    return _field(14, 19).cast("long").alias("created")


def _event_time() -> Column:
    """Events are a millisecond apart in event time."""
    return F.timestamp_millis(_field(1, 12).cast("long")).alias("at")
