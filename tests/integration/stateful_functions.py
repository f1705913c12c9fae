"""Operators whose state is kept by code in Python: processors and functions, with timers and time-outs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from integration.timed_inputs import Timed, keyed


def timers(streams: Timed) -> DataFrame:
    kept = streams.left.groupBy("id").transformWithState(counting(), "id STRING, what STRING", "append", "EventTime")
    return keyed(kept, "id")


def counting() -> StatefulProcessor:
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


def ticks(streams: Timed) -> DataFrame:
    kept = streams.left.groupBy("id").transformWithState(
        _ticking(), "id STRING, what STRING", "append", "ProcessingTime"
    )
    return keyed(kept, "id")


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


def time_outs(streams: Timed) -> DataFrame:
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
    return keyed(kept, "id")


def waits(streams: Timed) -> DataFrame:
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
    return keyed(kept, "id")


def of_pandas(streams: Timed) -> DataFrame:
    kept = streams.right.groupBy("rid").transformWithStateInPandas(
        _collecting(), "id STRING, what STRING", "append", "ProcessingTime"
    )
    return keyed(kept, "id")


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
