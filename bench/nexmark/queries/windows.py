"""Queries over windows: 5, 7, 8, 11, 12. But for query 8, a window has its rows when the watermark passes its end."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from .columns import auctions, bids, keyed, persons, start_and_end, timed

WINDOW, SLIDE, GAP = "10 seconds", "2 seconds", "10 seconds"


def q5(events: DataFrame) -> DataFrame:
    """Hot items: of every ten seconds, each two seconds, the auctions with the most bids.

    Windows begin at the even seconds. Of several auctions with as many bids, each has a row, in the order of their ids. A
    window without bids has none. Keyed by the auction: auction, bids, start and end of the window.
    """
    counts = timed(bids(events)).groupBy(F.window("at", WINDOW, SLIDE), "auction").agg(F.count("*").alias("bids"))
    all_of = counts.groupBy("window").agg(F.sort_array(F.collect_list(F.struct("bids", "auction"))).alias("all"))
    most = F.expr("filter(all, one -> one.bids = array_max(all).bids)")
    hot = all_of.select("window", F.explode(most).alias("hot"))
    return keyed(hot.select("hot.auction", "hot.bids", *start_and_end("window")), "auction")


def q7(events: DataFrame) -> DataFrame:
    """Highest bid: of every ten seconds, the bids with the highest price.

    Of several such bids each has a row, in the order of their ids. The state is all bids of the window, by price. Keyed by
    the auction: `id` of the bid, auction, bidder, price, dateTime, start and end of the window.
    """
    bid = F.struct("id", "auction", "bidder", "dateTime")
    by_price = timed(bids(events)).groupBy(F.window("at", WINDOW), "price").agg(F.collect_list(bid).alias("bids"))
    highest = by_price.groupBy("window").agg(
        F.max(F.struct("price", F.sort_array("bids").alias("bids"))).alias("highest")
    )
    rows = highest.select("window", "highest.price", F.explode("highest.bids").alias("bid"))
    columns = ("bid.id", "bid.auction", "bid.bidder", "price", "bid.dateTime")
    return keyed(rows.select(*columns, *start_and_end("window")), "auction")


def q8(events: DataFrame) -> DataFrame:
    """New users: persons who come and put something up for auction in the same ten seconds.

    One row for a person, however many auctions; published as soon as both are there, whichever comes first. Keyed by the
    person: id, name, start and end of the window.
    """
    new, sellers = (
        timed(rows).withColumn("window", F.window("at", WINDOW)).alias(name)
        for rows, name in ((persons(events), "person"), (auctions(events), "auction"))
    )
    pairs = new.join(sellers, F.expr("person.id = auction.seller AND person.window = auction.window"))
    once = pairs.select("person.window", "person.id", "person.name").dropDuplicates(["window", "id"])
    return keyed(once.select("id", "name", *start_and_end("window")), "id")


def q11(events: DataFrame) -> DataFrame:
    """User sessions: how many bids a bidder makes without a pause of ten seconds.

    A session ends ten seconds after its last bid; a bid at that very moment is still in it. Keyed by the bidder: bidder,
    bids, start of the session (its first bid) and end.
    """
    sessions = timed(bids(events)).groupBy(F.session_window("at", GAP), "bidder").agg(F.count("*").alias("bids"))
    return keyed(sessions.select("bidder", "bids", *start_and_end("session_window")), "bidder")


def q12(events: DataFrame, ctx: Any) -> DataFrame:
    """Processing-time windows: how many bids of a bidder are processed in every ten seconds.

    The time of processing is that of the bid's epoch, from its cut in the log: the same in all replicas. It never goes back,
    so no bid is late. With output mode update, the count so far, which the real-time engine reports with every bid. Keyed by
    the bidder: bidder, bids, start and end of the window.
    """
    processed = bids(events.withColumn("processed", ctx.epoch_time()), "processed").withWatermark(
        "processed", "0 seconds"
    )
    counts = processed.groupBy(F.window("processed", WINDOW), "bidder").agg(F.count("*").alias("bids"))
    return keyed(counts.select("bidder", "bids", *start_and_end("window")), "bidder")
