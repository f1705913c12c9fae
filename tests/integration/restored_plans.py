"""Plans with state, drawn by Hypothesis: operators over two inputs with watermarks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from integration.restored_values import RUNNING, VALUES
from integration.stateful_functions import of_pandas, ticks, time_outs, timers, waits
from integration.timed_inputs import COLUMNS, Timed, keyed, timed
from tandem.manifest import Duration, SourceSpec


def _join(how: str) -> Callable[[Timed], DataFrame]:
    near = "id = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES"
    return lambda streams: keyed(streams.left.join(streams.right, F.expr(near), how), "id")


def _windows(streams: Timed) -> DataFrame:
    return keyed(streams.left.groupBy("id", F.window("at", "1 minute")).agg(F.sum("n").alias("n")), "id")


def _other_windows(streams: Timed) -> DataFrame:
    return keyed(streams.right.groupBy("rid", F.window("rat", "2 minutes", "1 minute")).count(), "rid")


def _windows_of_both(streams: Timed) -> DataFrame:
    """One sink, so both watermarks wait for each other."""
    columns = ["key", "value"]
    left = keyed(streams.left.groupBy("id", F.window("at", "1 minute")).count(), "id")
    right = keyed(streams.right.groupBy("rid", F.window("rat", "1 minute")).count(), "rid")
    return left.select(columns).union(right.select(columns))


def _chained(streams: Timed) -> DataFrame:
    per_minute = streams.left.groupBy("id", F.window("at", "1 minute")).count()
    return keyed(per_minute.groupBy("id", F.window(F.window_time("window"), "3 minutes")).count(), "id")


def _union(streams: Timed) -> DataFrame:
    both = streams.left.select("id", "at").union(streams.right.select("rid", "rat"))
    return keyed(both.groupBy("id", F.window("at", "1 minute")).count(), "id")


def _joined_windows(streams: Timed) -> DataFrame:
    near = F.expr("id = rid AND rat BETWEEN at AND at + INTERVAL 1 MINUTE")
    return keyed(streams.left.join(streams.right, near).groupBy("id", F.window("at", "1 minute")).count(), "id")


def _sessions(streams: Timed) -> DataFrame:
    return keyed(streams.left.groupBy("id", F.session_window("at", "90 seconds")).count(), "id")


def _first_of_each(streams: Timed) -> DataFrame:
    return keyed(streams.right.dropDuplicates(["rid", "rat"]), "rid")


def _first_within(streams: Timed) -> DataFrame:
    return keyed(streams.left.dropDuplicatesWithinWatermark(["id"]), "id")


def _sessions_by_column(streams: Timed) -> DataFrame:
    gap = F.when(F.col("n") % 2 == 0, "30 seconds").otherwise("150 seconds")
    return keyed(streams.left.groupBy("id", F.session_window("at", gap)).agg(F.sum("n"), F.max("at")), "id")


def _three_inputs(streams: Timed) -> DataFrame:
    """The third one is the second again, with a watermark of its own."""
    near = F.expr("id = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES")
    third = streams.plain_right.select(F.col("rid").alias("tid"), F.col("rat").alias("tat")).withWatermark(
        "tat", "1 minute"
    )
    again = F.expr("id = tid AND tat BETWEEN at AND at + INTERVAL 3 MINUTES")
    both = streams.left.join(streams.right, near).select("id", "n", "at", "m")
    return keyed(both.join(third, again, "left_outer"), "id")


def _right_outer(streams: Timed) -> DataFrame:
    near = F.expr("id = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES")
    return keyed(streams.left.join(streams.right, near, "right_outer"), "rid")


def _joined_without_time(streams: Timed) -> DataFrame:
    return keyed(streams.left.join(streams.right, F.expr("id = rid AND n < m")), "id")


def _outer_join_by_windows(streams: Timed) -> DataFrame:
    left = streams.left.groupBy("id", F.window("at", "1 minute")).count()
    right = streams.right.groupBy("rid", F.window("rat", "1 minute").alias("w")).count()
    return keyed(left.join(right, F.expr("id = rid AND window = w"), "left_outer").select("id", "window"), "id")


def _watermark_of_a_later_column(streams: Timed) -> DataFrame:
    later = streams.plain_left.withColumn("day", F.col("at") + F.expr("INTERVAL 1 DAY")).where("n % 5 > 0")
    return keyed(later.withWatermark("day", "30 seconds").groupBy("id", F.window("day", "1 minute")).count(), "id")


def _watermark_of_a_union(streams: Timed) -> DataFrame:
    both = streams.plain_left.select("id", "at").union(streams.plain_right.select("rid", "rat"))
    return keyed(both.withWatermark("at", "20 seconds").dropDuplicatesWithinWatermark(["id"]), "id")


def _distinct(streams: Timed) -> DataFrame:
    return keyed(streams.left.select("id", (F.col("n") % 4).alias("k")).distinct(), "id")


def _known(streams: Timed) -> DataFrame:
    known = streams.left.sparkSession.createDataFrame([("a", 1), ("c", 2)], "k STRING, v INT")
    kept = streams.left.join(F.broadcast(known), F.expr("id = k"), "left_outer")
    return keyed(kept.groupBy("id", F.window("at", "1 minute")).agg(F.sum("v"), F.count("*").alias("c")), "id")


def _sorted_windows(streams: Timed) -> DataFrame:
    kept = streams.left.groupBy(F.window("at", "2 minutes")).agg(
        F.collect_list("n").alias("all"),
        F.first("n").alias("first"),
        F.approx_count_distinct("id").alias("ids"),
        F.avg("n"),
    )
    return keyed(kept.select("*", F.lit("x").alias("id")), "id")


_BASIC: Final[Mapping[str, Callable[[Timed], DataFrame]]] = {
    "inner join": _join("inner"),
    "left outer join": _join("left_outer"),
    "full outer join": _join("full_outer"),
    "left semi join": _join("left_semi"),
    "windows": _windows,
    "windows of the other input": _other_windows,
    "windows of both inputs": _windows_of_both,
    "windows of windows": _chained,
    "windows of a union": _union,
    "windows of a join": _joined_windows,
    "sessions": _sessions,
    "dropDuplicates": _first_of_each,
    "dropDuplicatesWithinWatermark": _first_within,
    "timers": timers,
    "timers of the epochs' time, and state that expires": ticks,
    "time-outs": time_outs,
    "time-outs of the epochs' time": waits,
    "timers, lists and maps of pandas": of_pandas,
    "sessions by column": _sessions_by_column,
    "three inputs joined": _three_inputs,
    "right outer join": _right_outer,
    "join without time": _joined_without_time,
    "windows joined": _outer_join_by_windows,
    "watermark of a later column": _watermark_of_a_later_column,
    "watermark of a union": _watermark_of_a_union,
    "distinct": _distinct,
    "windows of a table joined": _known,
    "lists": _sorted_windows,
}
OPERATORS: Final = {**_BASIC, **VALUES, **RUNNING}


@dataclass(frozen=True)
class Plan:
    """Operators, a sink each, how late records may be, and after how many epochs (seconds) without a row `right` is idle."""

    operators: tuple[str, ...]
    left_delay_s: int = 10
    right_delay_s: int = 10
    right_idle_s: int | None = None

    @property
    def sources(self) -> tuple[SourceSpec, SourceSpec]:
        """The two inputs."""
        idle = None if self.right_idle_s is None else Duration(self.right_idle_s * 1_000)
        return (
            SourceSpec(name="left", topics=("l",), format="json", schema=COLUMNS),
            SourceSpec(name="right", topics=("r",), format="json", schema=COLUMNS, idle_timeout=idle),
        )

    def result(self, streams: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """What a job function returns: a sink for each operator, named by its place."""
        inputs = timed(streams, self.left_delay_s, self.right_delay_s)
        return {f"out_{place}": OPERATORS[name](inputs) for place, name in enumerate(self.operators)}


def _some(names: Iterable[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=3, unique=True).map(tuple)


_drawn = _some(_BASIC)
if "TANDEM_EXAMPLES" in os.environ:  # CI has no time for all of them
    _drawn = _drawn | _some([*_BASIC, *VALUES]) | _some(RUNNING)

plans: Final = st.builds(
    Plan,
    _drawn,
    st.sampled_from([0, 10, 120]),
    st.sampled_from([0, 10, 120]),
    st.sampled_from([None, None, 2]),
)
