"""The stream `events` taken apart: persons, auctions, bids, each with the columns of its records; and rows put together."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

LATENESS = "4 seconds"
"""How far events may be out of order, in event time. What comes later is dropped."""


def persons(events: DataFrame) -> DataFrame:
    """Persons: id, name, emailAddress, creditCard, city, state, dateTime (Unix, ms), extra; `at`: dateTime as TIMESTAMP."""
    return _of(events, "person")


def auctions(events: DataFrame) -> DataFrame:
    """Auctions: id, itemName, description, initialBid, reserve, dateTime, expires, seller, category, extra; `at`."""
    return _of(events, "auction")


def bids(events: DataFrame, *beside: str) -> DataFrame:
    """Bids: id, auction, bidder, price, dateTime, extra; `at`; and columns of `events` beside."""
    return _of(events, "bid", *beside)


def timed(rows: DataFrame) -> DataFrame:
    """Rows with a watermark on `at`."""
    return rows.withWatermark("at", LATENESS)


def keyed(rows: DataFrame, key: str) -> DataFrame:
    """Rows for a sink: the column `key` as the key, all columns as JSON."""
    return rows.select(F.col(key).cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))


def start_and_end(window: str) -> tuple[Column, Column]:
    """Of a column of windows: `start` and `end`, Unix, ms; the end is not in it."""
    return F.unix_millis(f"{window}.start").alias("start"), F.unix_millis(f"{window}.end").alias("end")


def _of(events: DataFrame, kind: str, *beside: str) -> DataFrame:
    rows = events.where(F.col(kind).isNotNull()).select(f"{kind}.*", *beside)
    return rows.withColumn("at", F.timestamp_millis("dateTime"))
