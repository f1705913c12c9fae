"""A job that the real-time engine counts with: each record reports the new count of its key."""

from __future__ import annotations

from collections import Counter

from integration.traffic import key_of
from integration.workload import Workload

COUNTS = """
def job(events):
    counted = events.groupBy("key").count()
    return {"copies": events.select("key", "value"), "counts": counted.selectExpr("key", "string(count) AS value")}
"""


def check_each_record_counted_once(workload: Workload) -> None:
    """Everything sent until now comes out once, in order, and each record counts its key up by one."""
    workload.check_copied_once()
    newest = workload.reader.newest
    workload.wait(lambda: workload.reader.has_passed(newest), 30, f"rows after those of epoch {newest}")
    copies, counts = workload.reader.rows_until(newest)
    published = Counter(key_of(number) for _, number in copies)
    assert {key: len(rows) for key, rows in counts.items()} == published, "each record reports its key once"
    for key, rows in counts.items():
        assert [count for _, count in rows] == list(range(1, len(rows) + 1)), key
