"""The answers of the queries in DuckDB's SQL, written from their definitions, over whole tables. See `reference`.

Tables: `persons`, `auctions` and `bids` with the columns of their records (times: Unix, ms), and `processed`: bid id and the
time of its epoch. `$until` (Unix, ms): what ends later is not in an answer yet.
"""

from __future__ import annotations

from typing import Final

WINNING: Final = """
    CREATE VIEW winning AS
    SELECT a.*, b.id AS bid, b.bidder, b.price, b.dateTime AS bidDateTime
    FROM auctions a JOIN bids b ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime AND a.expires
    QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime, b.id) = 1
"""
"""Of each auction the bid that wins. Queries 4, 6 and 9 need it."""

_Q1 = "SELECT id, auction, bidder, price * 0.908::DECIMAL(4, 3) AS price, dateTime FROM bids ORDER BY place"
_Q2 = "SELECT auction, price FROM bids WHERE auction % 123 = 0 ORDER BY place"
_Q3 = """
    SELECT p.name, p.city, p.state, a.id FROM auctions a JOIN persons p ON a.seller = p.id
    WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
"""
_Q4 = """
    SELECT category, id AS auction, avg(price) OVER (PARTITION BY category ORDER BY expires, id) AS average
    FROM winning WHERE expires <= $until ORDER BY expires, id
"""
_Q5 = """
    WITH counts AS (
        SELECT auction, count(*) AS bids, b.dateTime // 2_000 * 2_000 - slide.back AS start
        FROM bids b, (SELECT unnest(range(0, 10_000, 2_000)) AS back) slide GROUP BY auction, start
    )
    SELECT auction, bids, start, start + 10_000 AS "end" FROM counts c
    WHERE bids = (SELECT max(bids) FROM counts o WHERE o.start = c.start) AND start + 10_000 <= $until
    ORDER BY start, auction
"""
_Q6 = """
    SELECT seller, id AS auction,
        avg(price) OVER (PARTITION BY seller ORDER BY expires, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS average
    FROM winning WHERE expires <= $until ORDER BY expires, id
"""
_Q7 = """
    WITH placed AS (SELECT *, dateTime // 10_000 * 10_000 AS start FROM bids)
    SELECT id, auction, bidder, price, dateTime, start, start + 10_000 AS "end" FROM placed b
    WHERE price = (SELECT max(price) FROM placed o WHERE o.start = b.start) AND start + 10_000 <= $until
    ORDER BY start, id
"""
_Q8 = """
    SELECT DISTINCT p.id, p.name, p.dateTime // 10_000 * 10_000 AS start, start + 10_000 AS "end"
    FROM persons p JOIN auctions a ON a.seller = p.id AND a.dateTime // 10_000 = p.dateTime // 10_000
"""
_Q9 = """
    SELECT id, initialBid, reserve, dateTime, expires, seller, category, bid, bidder, price, bidDateTime
    FROM winning WHERE expires <= $until ORDER BY expires, id
"""
_Q11 = """
    WITH paused AS (
        SELECT bidder, dateTime,
            dateTime - lag(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime) > 10_000 AS is_first FROM bids
    ),
    numbered AS (
        SELECT bidder, dateTime,
            count(*) FILTER (is_first) OVER (PARTITION BY bidder ORDER BY dateTime) AS session FROM paused
    )
    SELECT bidder, count(*) AS bids, min(dateTime) AS start, max(dateTime) + 10_000 AS "end"
    FROM numbered GROUP BY bidder, session HAVING "end" <= $until
"""
_Q12 = """
    SELECT bidder, count(*) AS bids, p.at // 10_000 * 10_000 AS start, start + 10_000 AS "end"
    FROM bids b JOIN processed p ON p.bid = b.id GROUP BY bidder, start HAVING "end" <= $until
"""

ANSWERS: Final = {
    "q1": _Q1,
    "q2": _Q2,
    "q3": _Q3,
    "q4": _Q4,
    "q5": _Q5,
    "q6": _Q6,
    "q7": _Q7,
    "q8": _Q8,
    "q9": _Q9,
    "q11": _Q11,
    "q12": _Q12,
}
"""Query → SQL. Query 0 answers with its input."""
