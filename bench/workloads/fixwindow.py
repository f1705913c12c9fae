"""HiBench's fixed window: the first visit of each IP in each ten seconds of event time, and how many there were.

A record is a line of a log of visits; the time of the visit, which is when the record is due, stands before it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bench.workloads.aggregation import updates
from bench.workloads.base import Block, Engine, Epochs, Feed, Record, Row, Workload, chance, due_ns, numbers_of
from bench.workloads.text import constant, digits, rows, table

WINDOW_MS = 10_000
DELAY_MS = 4_000
"""How far records may be out of order, where windows are closed."""
_PAGES = [f"/page-{number:04d}.html".encode() for number in range(500)]
_AGENTS = [agent.encode().ljust(40) for agent in ("Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "Opera/9.80")]
_COUNTRIES = [b"BRA,pt-BR", b"USA,en-US", b"DEU,de-DE", b"JPN,ja-JP"]

Window = tuple[int, bytes]
"""Its start (Unix, ms) and the IP."""
State = tuple[int, int]
"""The time of the first visit (Unix, ms), and how many there were."""


def windows(visits: DataFrame) -> DataFrame:
    """Every change of a window is reported."""
    return _counted(visits.selectExpr(*_COLUMNS))


def closed_windows(visits: DataFrame) -> DataFrame:
    """Each window is reported once, when the watermark has passed its end."""
    return _counted(visits.selectExpr(*_COLUMNS).withWatermark("at", f"{DELAY_MS} milliseconds"))


_COLUMNS = (
    "CAST(key AS STRING) AS ip",
    "TIMESTAMP_MILLIS(CAST(SUBSTRING(CAST(value AS STRING), 1, 13) AS BIGINT)) AS at",
)


def _counted(visits: DataFrame) -> DataFrame:
    counted = visits.groupBy(F.window("at", f"{WINDOW_MS} milliseconds"), "ip").agg(
        F.min("at").alias("first"), F.count("*").alias("number")
    )
    rows: DataFrame = counted.select(
        F.concat_ws(" ", F.unix_millis("window.start"), "ip").alias("key"),
        F.concat_ws(" ", F.unix_millis("first"), "number").alias("value"),
    )
    return rows


def every_change(epochs: Epochs, engine: Engine) -> list[list[Row]]:
    """The rows of `windows`."""
    return updates(epochs, engine, _window, _add, _row)


def each_once(epochs: Epochs, _engine: Engine) -> list[list[Row]]:
    """The rows of `closed_windows`: those of an epoch are the windows that the watermark of the epochs before it has passed.

    A watermark moves behind an epoch, to the latest time minus the delay. A record is dropped if its window was closed in an
    earlier epoch; one whose window is closed in its own epoch still counts.
    """
    open_windows: dict[Window, State] = {}
    closed = watermark = latest = 0
    expected: list[list[Row]] = []
    for epoch in epochs:
        for record in epoch:
            window = _window(record)
            latest = max(latest, _at(record))
            if window[0] + WINDOW_MS > closed:
                open_windows[window] = _add(open_windows.get(window), record)
        passed = [window for window in open_windows if window[0] + WINDOW_MS <= watermark]
        expected.append([_row(window, open_windows.pop(window)) for window in passed])
        closed, watermark = watermark, max(watermark, latest - DELAY_MS)
    return expected


def _at(record: Record) -> int:
    return int(record.value[:13])


def _window(record: Record) -> Window:
    at = _at(record)
    return at - at % WINDOW_MS, record.key or b""


def _add(state: State | None, record: Record) -> State:
    at = _at(record)
    return (at, 1) if state is None else (min(state[0], at), state[1] + 1)


def _row(window: Window, state: State) -> Row:
    return Row(b"%d %s" % window, b"%d %d" % state)


def _block(feed: Feed, seed: int, number: int) -> Block:
    """`<ms> <ip>,<page>,<revenue>,<agent>,<country>,<language>,<seconds>`; all visits of an IP are in one partition."""
    numbers, draw = numbers_of(number), chance(feed, seed, number)
    count = len(numbers)
    ips = draw.integers(0, feed.keys, count)
    names = [b"10.%d.%d.%d" % (ip >> 16, ip >> 8 & 255, ip & 255) for ip in range(feed.keys)]
    comma = constant(b",", count)
    parts = (
        *(digits(due_ns(feed, numbers) // 1_000_000, 13), constant(b" 10.", count), digits(ips, 9), comma),
        *(
            table(_PAGES)[draw.integers(0, len(_PAGES), count)],
            comma,
            digits(draw.integers(0, 10_000, count), 4),
            comma,
        ),
        *(table(_AGENTS)[draw.integers(0, len(_AGENTS), count)], comma),
        *(table(_COUNTRIES)[draw.integers(0, len(_COUNTRIES), count)], comma),
        *(digits(draw.integers(0, 1_000, count), 4), comma),
    )
    values = rows(parts, feed.record_bytes)
    return Block([names[ip] for ip in ips.tolist()], values, (ips % feed.partitions).tolist())


_FEEDS = (Feed("visits", _block, rate=2_000, keys=1_000, record_bytes=200),)
_PAPER = {"visits": 200_000}

FIXWINDOW = Workload(
    "fixwindow",
    "HiBench's fixed window, every change reported; published: 200,000 to 500,000 records/s",
    windows,
    _FEEDS,
    every_change,
    spec={"job": {"outputMode": "update"}},
    paper=_PAPER,
)
CLOSED_WINDOWS = Workload(
    "closed-windows",
    "HiBench's fixed window, each window reported once, when it is over",
    closed_windows,
    _FEEDS,
    each_once,
    engines=("microBatch",),
    paper=_PAPER,
)
