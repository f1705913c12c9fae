"""Two inputs with a watermark each, and what Hypothesis draws to come in each epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Record, as_json

COLUMNS: Final = "id STRING, n INT, at TIMESTAMP"


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


def keyed(frame: DataFrame, key: str) -> DataFrame:
    """Rows for a sink: all columns as JSON, under the one that is their key."""
    return frame.select(F.col(key).alias("key"), F.to_json(F.struct("*")).alias("value"))


Epoch = tuple[tuple[str, str, int], ...]
"""Records: topic, id, seconds since the start."""


def records(epoch: Epoch) -> list[Record]:
    """What comes in that epoch."""
    return [Record(as_json(id=key, n=seconds, at=_text(seconds)), topic=topic) for topic, key, seconds in epoch]


def _text(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"2024-06-01T{10 + hours:02d}:{minutes:02d}:{rest:02d}Z"


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
