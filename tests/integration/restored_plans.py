"""Plans with state, drawn by Hypothesis: operators over two inputs with watermarks, and what comes in each epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from integration.engine import Record, as_json
from tandem.manifest import Duration, SourceSpec

_COLUMNS: Final = "id STRING, n INT, at TIMESTAMP"


@dataclass(frozen=True)
class Timed:
    """The two inputs with a watermark each, and plain; `right` has the columns `rid`, `m`, `rat`."""

    left: DataFrame
    right: DataFrame
    plain_left: DataFrame
    plain_right: DataFrame


def timed(streams: Mapping[str, DataFrame], left_delay_s: int, right_delay_s: int) -> Timed:
    """Both inputs, each with its watermark."""
    left = streams["left"].select("id", "n", "at")
    right = streams["right"].select(F.col("id").alias("rid"), F.col("n").alias("m"), F.col("at").alias("rat"))
    return Timed(
        left.withWatermark("at", f"{left_delay_s} seconds"),
        right.withWatermark("rat", f"{right_delay_s} seconds"),
        left,
        right,
    )


def _rows(frame: DataFrame, key: str) -> DataFrame:
    return frame.select(F.col(key).alias("key"), F.to_json(F.struct("*")).alias("value"))


def _join(how: str) -> Callable[[Timed], DataFrame]:
    near = "id = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES"
    return lambda streams: _rows(streams.left.join(streams.right, F.expr(near), how), "id")


def _windows(streams: Timed) -> DataFrame:
    return _rows(streams.left.groupBy("id", F.window("at", "1 minute")).agg(F.sum("n").alias("n")), "id")


def _other_windows(streams: Timed) -> DataFrame:
    return _rows(streams.right.groupBy("rid", F.window("rat", "2 minutes", "1 minute")).count(), "rid")


def _windows_of_both(streams: Timed) -> DataFrame:
    """One sink, so both watermarks wait for each other."""
    columns = ["key", "value"]
    left = _rows(streams.left.groupBy("id", F.window("at", "1 minute")).count(), "id")
    right = _rows(streams.right.groupBy("rid", F.window("rat", "1 minute")).count(), "rid")
    return left.select(columns).union(right.select(columns))


def _chained(streams: Timed) -> DataFrame:
    per_minute = streams.left.groupBy("id", F.window("at", "1 minute")).count()
    return _rows(per_minute.groupBy("id", F.window(F.window_time("window"), "3 minutes")).count(), "id")


def _union(streams: Timed) -> DataFrame:
    both = streams.left.select("id", "at").union(streams.right.select("rid", "rat"))
    return _rows(both.groupBy("id", F.window("at", "1 minute")).count(), "id")


def _joined_windows(streams: Timed) -> DataFrame:
    near = F.expr("id = rid AND rat BETWEEN at AND at + INTERVAL 1 MINUTE")
    return _rows(streams.left.join(streams.right, near).groupBy("id", F.window("at", "1 minute")).count(), "id")


def _sessions(streams: Timed) -> DataFrame:
    return _rows(streams.left.groupBy("id", F.session_window("at", "90 seconds")).count(), "id")


def _first_of_each(streams: Timed) -> DataFrame:
    return _rows(streams.right.dropDuplicates(["rid", "rat"]), "rid")


def _first_within(streams: Timed) -> DataFrame:
    return _rows(streams.left.dropDuplicatesWithinWatermark(["id"]), "id")


def _timers(streams: Timed) -> DataFrame:
    kept = streams.left.groupBy("id").transformWithState(_processor(), "id STRING, what STRING", "append", "EventTime")
    return _rows(kept, "id")


def _processor() -> StatefulProcessor:
    """Counts, and says so a minute of event time after the newest record. Made here, so that workers get its code."""

    class Counting(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._count = handle.getValueState("count", "n INT")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            (count,) = self._count.get() or (0,)
            newest = timerValues.getCurrentWatermarkInMs()
            for row in rows:
                count += 1
                newest = max(newest, int(row["at"].timestamp() * 1000))
            self._count.update((count,))
            self._handle.registerTimer(newest + 60_000)
            yield Row(id=key[0], what=f"counted {count} at {timerValues.getCurrentWatermarkInMs()}")

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
            (count,) = self._count.get() or (0,)
            at = expiredTimerInfo.getExpiryTimeInMs()
            yield Row(id=key[0], what=f"{count} at {timerValues.getCurrentWatermarkInMs()}, expired {at}")

        def close(self) -> None:
            """Nothing to release."""

    return Counting()


def _ticks(streams: Timed) -> DataFrame:
    kept = streams.left.groupBy("id").transformWithState(
        _ticking(), "id STRING, what STRING", "append", "ProcessingTime"
    )
    return _rows(kept, "id")


def _ticking() -> StatefulProcessor:
    """Forgets after three seconds of the epochs' time what it counted, and says after two what is left."""

    class Ticking(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._count = handle.getValueState("count", "n INT", 3_000)

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            (count,) = self._count.get() or (0,)
            count += len(list(rows))
            self._count.update((count,))
            self._handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + 2_000)
            yield Row(id=key[0], what=f"counted {count}")

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
            at, due = timerValues.getCurrentProcessingTimeInMs(), expiredTimerInfo.getExpiryTimeInMs()
            yield Row(id=key[0], what=f"{self._count.get()} at {at}, expired {due}")

        def close(self) -> None:
            """Nothing to release."""

    return Ticking()


def _time_outs(streams: Timed) -> DataFrame:
    def count(key: tuple[str], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        if state.hasTimedOut:
            (known,) = state.get
            state.remove()
            yield pd.DataFrame({"id": [key[0]], "what": [f"{known} timed out"]})
            return
        known = (state.get[0] if state.exists else 0) + sum(len(frame) for frame in frames)
        state.update((known,))
        state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 120_000)
        yield pd.DataFrame({"id": [key[0]], "what": [f"{known}"]})

    kept = streams.left.groupBy("id").applyInPandasWithState(
        count, "id STRING, what STRING", "n INT", "append", "EventTimeTimeout"
    )
    return _rows(kept, "id")


def _waits(streams: Timed) -> DataFrame:
    def count(key: tuple[str], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        if state.hasTimedOut:
            (known,) = state.get
            state.remove()
            yield pd.DataFrame({"id": [key[0]], "what": [f"{known} timed out at {state.getCurrentProcessingTimeMs()}"]})
            return
        known = (state.get[0] if state.exists else 0) + sum(len(frame) for frame in frames)
        state.update((known,))
        state.setTimeoutDuration(2_000)
        yield pd.DataFrame({"id": [key[0]], "what": [f"{known}"]})

    kept = streams.left.groupBy("id").applyInPandasWithState(
        count, "id STRING, what STRING", "n INT", "append", "ProcessingTimeTimeout"
    )
    return _rows(kept, "id")


def _of_pandas(streams: Timed) -> DataFrame:
    kept = streams.right.groupBy("rid").transformWithStateInPandas(
        _collecting(), "id STRING, what STRING", "append", "ProcessingTime"
    )
    return _rows(kept, "id")


def _collecting() -> StatefulProcessor:
    """Keeps lists and maps, some for two seconds of the epochs' time, and says all of it at each timer."""

    class Collecting(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._list = handle.getListState("list", "m INT", 2_000)
            self._map = handle.getMapState("map", "m INT", "n INT")
            self._brief = handle.getMapState("brief", "m INT", "n INT", 2_000)

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
            for frame in rows:
                for m in frame["m"]:
                    self._list.appendValue((int(m),))
                    for kept in (self._map, self._brief):
                        known = kept.getValue((int(m) % 3,))
                        kept.updateValue((int(m) % 3,), ((known[0] if known else 0) + 1,))
            self._handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + 3_000)
            yield pd.DataFrame({"id": [key[0]], "what": [self._said()]})

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
            at, due = timerValues.getCurrentProcessingTimeInMs(), expiredTimerInfo.getExpiryTimeInMs()
            yield pd.DataFrame({"id": [key[0]], "what": [f"{self._said()} at {at}, expired {due}"]})

        def _said(self) -> str:
            listed = [value[0] for value in self._list.get()]
            maps = [sorted((k[0], v[0]) for k, v in kept.iterator()) for kept in (self._map, self._brief)]
            return f"{listed} {maps} {list(self._handle.listTimers())}"

        def close(self) -> None:
            """Nothing to release."""

    return Collecting()


def _sessions_by_column(streams: Timed) -> DataFrame:
    gap = F.when(F.col("n") % 2 == 0, "30 seconds").otherwise("150 seconds")
    return _rows(streams.left.groupBy("id", F.session_window("at", gap)).agg(F.sum("n"), F.max("at")), "id")


def _three_inputs(streams: Timed) -> DataFrame:
    """The third one is the second again, with a watermark of its own."""
    near = F.expr("id = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES")
    third = streams.plain_right.select(F.col("rid").alias("tid"), F.col("rat").alias("tat")).withWatermark(
        "tat", "1 minute"
    )
    again = F.expr("id = tid AND tat BETWEEN at AND at + INTERVAL 3 MINUTES")
    both = streams.left.join(streams.right, near).select("id", "n", "at", "m")
    return _rows(both.join(third, again, "left_outer"), "id")


def _right_outer(streams: Timed) -> DataFrame:
    near = F.expr("id = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES")
    return _rows(streams.left.join(streams.right, near, "right_outer"), "rid")


def _joined_without_time(streams: Timed) -> DataFrame:
    return _rows(streams.left.join(streams.right, F.expr("id = rid AND n < m")), "id")


def _outer_join_by_windows(streams: Timed) -> DataFrame:
    left = streams.left.groupBy("id", F.window("at", "1 minute")).count()
    right = streams.right.groupBy("rid", F.window("rat", "1 minute").alias("w")).count()
    return _rows(left.join(right, F.expr("id = rid AND window = w"), "left_outer").select("id", "window"), "id")


def _watermark_of_a_later_column(streams: Timed) -> DataFrame:
    later = streams.plain_left.withColumn("day", F.col("at") + F.expr("INTERVAL 1 DAY")).where("n % 5 > 0")
    return _rows(later.withWatermark("day", "30 seconds").groupBy("id", F.window("day", "1 minute")).count(), "id")


def _watermark_of_a_union(streams: Timed) -> DataFrame:
    both = streams.plain_left.select("id", "at").union(streams.plain_right.select("rid", "rat"))
    return _rows(both.withWatermark("at", "20 seconds").dropDuplicatesWithinWatermark(["id"]), "id")


def _distinct(streams: Timed) -> DataFrame:
    return _rows(streams.left.select("id", (F.col("n") % 4).alias("k")).distinct(), "id")


def _known(streams: Timed) -> DataFrame:
    known = streams.left.sparkSession.createDataFrame([("a", 1), ("c", 2)], "k STRING, v INT")
    kept = streams.left.join(F.broadcast(known), F.expr("id = k"), "left_outer")
    return _rows(kept.groupBy("id", F.window("at", "1 minute")).agg(F.sum("v"), F.count("*").alias("c")), "id")


def _sorted_windows(streams: Timed) -> DataFrame:
    kept = streams.left.groupBy(F.window("at", "2 minutes")).agg(
        F.collect_list("n").alias("all"),
        F.first("n").alias("first"),
        F.approx_count_distinct("id").alias("ids"),
        F.avg("n"),
    )
    return _rows(kept.select("*", F.lit("x").alias("id")), "id")


OPERATORS: Final[Mapping[str, Callable[[Timed], DataFrame]]] = {
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
    "timers": _timers,
    "timers of the epochs' time, and state that expires": _ticks,
    "time-outs": _time_outs,
    "time-outs of the epochs' time": _waits,
    "timers, lists and maps of pandas": _of_pandas,
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
            SourceSpec(name="left", topics=("l",), format="json", schema=_COLUMNS),
            SourceSpec(name="right", topics=("r",), format="json", schema=_COLUMNS, idle_timeout=idle),
        )

    def result(self, streams: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """What a job function returns: a sink for each operator, named by its place."""
        inputs = timed(streams, self.left_delay_s, self.right_delay_s)
        return {f"out_{place}": OPERATORS[name](inputs) for place, name in enumerate(self.operators)}


Epoch = tuple[tuple[str, str, int], ...]
"""Records: topic, id, seconds since the start."""


def records(epoch: Epoch) -> list[Record]:
    """What comes in that epoch."""
    return [Record(as_json(id=key, n=seconds, at=_text(seconds)), topic=topic) for topic, key, seconds in epoch]


def _text(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"2024-06-01T{10 + hours:02d}:{minutes:02d}:{rest:02d}Z"


plans: Final = st.builds(
    Plan,
    st.lists(st.sampled_from(sorted(OPERATORS)), min_size=1, max_size=3, unique=True).map(tuple),
    st.sampled_from([0, 10, 120]),
    st.sampled_from([0, 10, 120]),
    st.sampled_from([None, None, 2]),
)

_one_record = st.tuples(st.sampled_from("lr"), st.sampled_from("ab"), st.integers(0, 600))


@st.composite
def inputs(draw: st.DrawFn) -> tuple[Epoch, ...]:
    """Four to seven epochs, some without records or with those of one input only; time goes on, and some come late."""
    found: list[Epoch] = []
    for number in range(draw(st.integers(4, 7))):
        only = draw(st.sampled_from(["lr", "l", "r"]))
        drawn = draw(st.lists(_one_record, max_size=4))
        found.append(tuple((topic, key, number * 180 + at) for topic, key, at in drawn if topic in only))
    return tuple(found)
