"""Queries that look at one record at a time: 0, 1 and 2. Both engines run them, and publish the same rows."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from .columns import bids, keyed


def q0(events: DataFrame) -> DataFrame:
    """Pass-through: every record as it is, byte for byte, in the order of the epoch's records."""
    return events.select("key", "value")


def q1(events: DataFrame) -> DataFrame:
    """Currency: every bid with its price in euros, price * 0.908, exact to the thousandth; in the order of the records.

    Keyed by the auction: `id` of the bid, auction, bidder, price, dateTime.
    """
    euros = F.expr("price * 0.908BD").alias("price")
    return keyed(bids(events).select("id", "auction", "bidder", euros, "dateTime"), "auction")


def q2(events: DataFrame) -> DataFrame:
    """Selection: of each bid for an auction whose id is a multiple of 123: auction, price; in the order of the records."""
    return keyed(bids(events).where("auction % 123 = 0").select("auction", "price"), "auction")
