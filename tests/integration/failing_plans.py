"""Plans whose functions raise an error about the record `bad`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StatefulProcessor

from integration.failing_job import Plan


def text() -> Column:
    return F.col("value").cast("string")


def is_bad() -> Column:
    return text() == "bad"


def selecting(column: Callable[[], Column]) -> Plan:
    return lambda events: events.select("key", column().cast("string").alias("value"))


def raising(raises: Callable[[], object]) -> Plan:
    def function(value: bytes) -> Any:
        return raises() if bytes(value) == b"bad" else 1

    return selecting(lambda: F.udf(function, "int")("value"))


def in_pandas(events: DataFrame) -> DataFrame:
    def function(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            if (frame.value.map(bytes) == b"bad").any():
                raise KeyError("gone")
            yield frame[["value"]]

    return events.select("value").mapInPandas(function, "value binary")


def in_a_processor(events: DataFrame) -> DataFrame:
    class Processor(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._count = handle.getValueState("count", "count INT")

        def handleInputRows(self, _key: Any, rows: Any, _timers: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
            for frame in rows:
                if (frame.value.map(bytes) == b"bad").any():
                    raise RuntimeError("the processor cannot")
            count = (self._count.get()[0] if self._count.exists() else 0) + 1
            self._count.update((count,))
            yield pd.DataFrame({"value": [str(count)]})

        def close(self) -> None: ...

    keyed = events.select(F.lit(1).alias("k"), "value").groupBy("k")
    return keyed.transformWithStateInPandas(Processor(), "value STRING", "append", "None")
