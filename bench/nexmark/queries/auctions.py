"""Queries over auctions and what becomes of them: 3, 4, 6 and 9. Joins of streams: micro-batches only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from .columns import LATENESS, auctions, bids, keyed, persons, timed

LAST_CLOSED = 10
"""Of how many auctions of a seller query 6 takes the average."""


def q3(events: DataFrame) -> DataFrame:
    """Local items: auctions in category 10 whose seller is in Oregon, Idaho or California.

    A row for each such auction whose seller is known, whichever of both came first and however long ago: the state is the
    whole history. It is published in the epoch in which the later one comes. Ids are unique, so no auction comes twice.
    Keyed by the auction: name, city and state of the seller, `id` of the auction.
    """
    sellers = persons(events).where(F.col("state").isin("OR", "ID", "CA")).alias("person")
    sold = auctions(events).where("category = 10").alias("auction")
    pairs = sold.join(sellers, F.expr("auction.seller = person.id"))
    return keyed(pairs.select("person.name", "person.city", "person.state", "auction.id"), "id")


def q4(events: DataFrame, ctx: Any) -> DataFrame:
    """Average price for a category: with each auction that closes, the average of the prices reached so far in its category.

    A row for each auction with a winning bid (see `winning_bids`), in the order in which they close: by `expires`, then by
    id. The average is that of the prices of all auctions of the category up to this one, as a double. Keyed by the
    category: category, auction, average.
    """
    averages = (
        _closed(events, ctx).groupBy("category").transformWithState(Averages(0), Averages.OUTPUT, "append", "None")
    )
    return keyed(averages.select(F.col("group").alias("category"), "auction", "average"), "category")


def q6(events: DataFrame, ctx: Any) -> DataFrame:
    """Average selling price by seller: with each auction that closes, the average of its seller's last ten.

    As query 4, but by seller, and over the prices of at most ten auctions, of which this is the last. Keyed by the seller:
    seller, auction, average.
    """
    averages = (
        _closed(events, ctx)
        .groupBy("seller")
        .transformWithState(Averages(LAST_CLOSED), Averages.OUTPUT, "append", "None")
    )
    return keyed(averages.select(F.col("group").alias("seller"), "auction", "average"), "seller")


def q9(events: DataFrame, ctx: Any) -> DataFrame:
    """Winning bids: a row for each auction that has closed and has a winning bid (see `winning_bids`).

    Keyed by the auction: its columns but the texts, then `bid` (the bid's id), bidder, price and bidDateTime.
    """
    return keyed(winning_bids(events, ctx), "id")


def winning_bids(events: DataFrame, ctx: Any) -> DataFrame:
    """Of each auction the highest bid of those made from its dateTime to its expires, both included.

    Of several equal bids the earliest wins, of those the one with the least id. The reserve does not matter. An auction
    without such a bid has no row. It closes, and has its row, when the watermark passes its `expires` by the option
    `longestAuction`: no auction may be open for longer, and a bid that comes before its auction is kept for as long.
    """
    longest = ctx.options["longestAuction"]
    open_ = auctions(events).withColumn("closes", F.timestamp_millis("expires")).drop("at")
    while_open = F.expr(
        "bid.auction = auction.id AND bid.dateTime >= auction.dateTime AND bid.at <= auction.closes"
        f" AND bid.at >= auction.closes - INTERVAL '{longest}'"
    )
    pairs = open_.withWatermark("closes", LATENESS).alias("auction").join(timed(bids(events)).alias("bid"), while_open)
    best = F.expr("struct(bid.price, -bid.dateTime AS earliest, -bid.id AS first, bid.bidder)")
    columns = ("id", "initialBid", "reserve", "dateTime", "expires", "seller", "category")
    won = pairs.groupBy("auction.closes", *(f"auction.{name}" for name in columns)).agg(F.max(best).alias("best"))
    return won.select(
        *columns,
        F.expr("-best.first AS bid"),
        "best.bidder",
        "best.price",
        F.expr("-best.earliest AS bidDateTime"),
    )


def _closed(events: DataFrame, ctx: Any) -> DataFrame:
    return winning_bids(events, ctx).select("seller", "category", F.col("id").alias("auction"), "expires", "price")


class Averages(StatefulProcessor):
    """Of the auctions of a group, as they close, the average price so far, or of the last `most` (0: of all)."""

    OUTPUT = "group BIGINT, auction BIGINT, average DOUBLE"

    def __init__(self, most: int) -> None:
        self._most = most

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark before the first row. Of all auctions the sum is kept, of the last ones each price."""
        self._state = handle.getValueState("prices", "prices ARRAY<BIGINT>, sum BIGINT, count BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        """A group's auctions that close with one epoch: all that close later come with a later one."""
        prices, total, count = self._state.get() or ([], 0, 0)
        prices = list(prices)
        for row in sorted(rows, key=lambda row: (row.expires, row.auction)):
            total, count = total + row.price, count + 1
            if self._most:
                prices.append(row.price)
            if self._most and count > self._most:
                total, count = total - prices.pop(0), count - 1
            yield Row(group=key[0], auction=row.auction, average=total / count)
        self._state.update((prices, total, count))

    def close(self) -> None:
        """Nothing to release."""
