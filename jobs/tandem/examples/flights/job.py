"""Flights of New York's airports in 2013: delays per airline with the weather, and aircraft whose delays chain.

Ordinary PySpark. `flights` and `weather` are the sources of `flights.yaml`, the keys of the result are its sinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

LATENESS = "2 hours"
"""How far records may be out of order, in event time."""


def job(flights: DataFrame, weather: DataFrame, ctx: Any) -> dict[str, DataFrame]:
    """What becomes of each sink."""
    late_minutes, chain_length = int(ctx.options["lateMinutes"]), int(ctx.options["chainLength"])
    return {
        "delays": delays_per_hour(with_weather(flights, weather), F.col("delay") >= late_minutes),
        "alerts": chained_delays(flights, late_minutes, chain_length),
    }


def with_weather(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Each flight with the observation of its airport that was the latest when it left."""
    flight = flights.withWatermark("departed", LATENESS).alias("flight")
    observation = weather.withWatermark("observed", LATENESS).alias("observation")
    at_the_time = F.expr("departed >= observed AND departed < observed + INTERVAL 1 HOUR")
    is_rough = F.expr("visibility < 3 OR precipitation > 0 OR coalesce(gust, wind) >= 30")
    return flight.join(observation, (F.col("flight.origin") == F.col("observation.origin")) & at_the_time).select(
        "flight.*", F.coalesce(is_rough, F.lit(False)).alias("rough")
    )


def delays_per_hour(flights: DataFrame, is_late: Column) -> DataFrame:
    """Per airline, airport and hour: flights, late and cancelled ones, how many in rough weather, the mean delay."""
    hour = F.window("departed", "1 hour")
    counts = flights.groupBy(hour, "carrier", "origin").agg(
        F.count("*").alias("flights"),
        F.count_if(is_late).alias("late"),
        F.count_if(F.col("delay").isNull()).alias("cancelled"),
        F.count_if("rough").alias("in_rough_weather"),
        F.round(F.sum("delay") / F.count("delay"), 1).alias("mean_delay"),
    )
    rows = counts.withColumn("hour", F.col("window.start")).drop("window")
    return rows.select(F.concat_ws("/", "carrier", "origin").alias("key"), F.to_json(F.struct("*")).alias("value"))


def chained_delays(flights: DataFrame, late_minutes: int, chain_length: int) -> DataFrame:
    """An alert for each departure with which an aircraft is late `chain_length` times or more in a row on one day."""
    departures = flights.filter("tailnum IS NOT NULL AND delay IS NOT NULL").select(
        "tailnum", "day", "flight", "origin", "dest", "delay", "metadata.seq"
    )
    alerts = departures.groupBy("tailnum").transformWithState(
        DelayChain(late_minutes, chain_length), DelayChain.OUTPUT, "append", "None"
    )
    return alerts.select(F.col("tailnum").alias("key"), F.to_json(F.struct(*alerts.columns)).alias("value"))


class DelayChain(StatefulProcessor):
    """Follows one aircraft: how many of its departures in a row were late today, and by how much in all."""

    OUTPUT = "tailnum STRING, day STRING, flight STRING, origin STRING, dest STRING, delay INT, chain INT, minutes INT"
    STATE = "day STRING, chain INT, minutes INT"

    def __init__(self, late_minutes: int, chain_length: int) -> None:
        self._late_minutes = late_minutes
        self._chain_length = chain_length

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark before the first row."""
        self._state = handle.getValueState("chain", self.STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        """One aircraft's departures of one epoch; `seq` is their order."""
        today, chain, minutes = self._state.get() or ("", 0, 0)
        for row in sorted(rows, key=lambda row: row.seq):
            if row.day != today or row.delay < self._late_minutes:
                today, chain, minutes = row.day, 0, 0
            if row.delay >= self._late_minutes:
                chain, minutes = chain + 1, minutes + row.delay
            if chain >= self._chain_length:
                yield Row(**row.asDict(), chain=chain, minutes=minutes)
        self._state.update((today, chain, minutes))

    def close(self) -> None:
        """Nothing to release."""
