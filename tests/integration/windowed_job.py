"""A job that counts windows behind a watermark, and what it must publish: by its records and the ordering log alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from integration.traffic import Row, key_of
from integration.workload import Workload
from tandem.kafka.history import read_range, watermarks
from tandem.protocol.codec import decode_proposal
from tandem.protocol.decisions import Decisions

STEP_MS, WINDOW_MS, DELAY_MS = 100, 10_000, 5_000
"""Of the records' own time: between two of them, a window, and how long it is waited for."""
LATE = 4_000
"""Every seventh comes up to so many records late: more than there are between some barriers."""

WINDOWS = f"""
from pyspark.sql import functions as F

def job(events):
    number = F.col("value").cast("string").cast("long")
    late = F.when(number % 7 == 0, number % {LATE}).otherwise(0)
    timed = events.withColumn("at", F.timestamp_millis({STEP_MS} * F.greatest(number - late, F.lit(0))))
    timed = timed.withWatermark("at", "{DELAY_MS} milliseconds")
    counted = timed.groupBy("key", F.window("at", "{WINDOW_MS} milliseconds")).count()
    key = F.concat_ws(" ", "key", F.unix_millis("window.end").cast("string")).alias("key")
    counts = counted.select(key, F.col("count").cast("string").alias("value"))
    return {{"copies": events.select("key", "value"), "counts": counts}}
"""


def time_of(number: int) -> int:
    """A record's own time, ms: every seventh comes late."""
    return STEP_MS * max(0, number - (number % LATE if number % 7 == 0 else 0))


def barriers_of(workload: Workload) -> set[int]:
    """The epochs that the ordering log says are barriers."""
    connection, topic = workload.cluster.connection, workload.job.manifest.model.topics.ordering
    decisions, found = Decisions(), set()
    low, high = watermarks(connection, topic, 30)
    for offset, value in read_range(connection, topic, low, high, 30):
        before = decisions.last_epoch
        decisions.apply(decode_proposal(value), offset)
        cut = decisions.epoch_range(decisions.last_epoch)
        if decisions.last_epoch > before and cut is not None and cut.barrier:
            found.add(cut.epoch)
    return found


def expected(copies: Sequence[Row], barriers: set[int], last: int) -> tuple[dict[str, list[Row]], int]:
    """The counts of each window up to the epoch `last`, and how many records are late.

    A watermark moves behind a barrier; Spark drops in a batch what was late in the one before.
    """
    records: dict[int, list[int]] = defaultdict(list)
    for epoch, number in copies:
        records[epoch].append(number)
    counted: Counter[str] = Counter()
    rows: dict[str, list[Row]] = defaultdict(list)
    before, now, newest, late = 0, 0, 0, 0
    for epoch in range(last + 1):
        for number in records[epoch]:
            newest = max(newest, time_of(number))
            end = (time_of(number) // WINDOW_MS + 1) * WINDOW_MS
            if end <= before:
                late += 1
                continue
            key = f"{key_of(number)} {end}"
            counted[key] += 1
            rows[key].append((epoch, counted[key]))
        if epoch in barriers:
            before, now = now, max(now, newest - DELAY_MS)
    return rows, late


def check_windows(workload: Workload) -> int:
    """Everything sent until now comes out once, in order, and so do its windows' counts; how many records were late."""
    workload.check_copied_once()
    newest = workload.reader.newest
    workload.wait(lambda: workload.reader.has_passed(newest), 60, f"rows after those of epoch {newest}")
    copies, counts = workload.reader.rows_until(newest)
    rows, late = expected(copies, barriers_of(workload), newest)
    _check_same({key: found for key, found in counts.items() if found}, rows)
    return late


def _check_same(counts: Mapping[str, list[Row]], rows: Mapping[str, list[Row]]) -> None:
    for key in sorted(counts.keys() | rows.keys()):
        found, right = counts.get(key, []), rows.get(key, [])
        assert found == right, f"{key} is counted (epoch, count) {found}, and should be {right}"
