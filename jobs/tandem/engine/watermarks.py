"""Watermarks of several sinks: each sink has those that it would have as a query of its own.

All sinks of a job are one query of Spark, since an epoch is published whole; and a query has one watermark, that of its
slowest input. So the windows of one sink would wait for an input that only another sink reads. Therefore the watermarks of
sinks that do not have the same ones are in groups of their own, for each of which `Watermarks.java` keeps a watermark.
What a watermark has seen counts in all its groups; and a job whose sinks all have the same watermarks stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame


def apart(frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The sinks' DataFrames, those that have other watermarks than others marked so."""
    if len(frames) < 2:
        return dict(frames)
    session = next(iter(frames.values())).sparkSession
    jvm: Any = session._jvm
    tool = jvm.tandem.WatermarkGroups()
    found = {name: frozenset(tool.identities(_plan(frame)).split()) for name, frame in frames.items()}
    groups = list(dict.fromkeys(identities for identities in found.values() if identities))
    if len(groups) < 2:
        return dict(frames)
    dataset = getattr(jvm.org.apache.spark.sql.classic, "Dataset$").__getattr__("MODULE$")

    def marked(name: str, frame: DataFrame) -> DataFrame:
        if not found[name]:
            return frame
        plan = tool.marked(_plan(frame), groups.index(found[name]))
        return DataFrame(dataset.ofRows(session._jsparkSession, plan), session)

    return {name: marked(name, frame) for name, frame in frames.items()}


def _plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()
