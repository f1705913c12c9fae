"""Rules about lanes, and what the partitions of sources follow."""

from __future__ import annotations

from typing import Final

from tandem.manifest.rules_lanes import LONGEST_WHOLE
from tandem_operator.crd.cel import Rule, path

LANES: Final[tuple[Rule, ...]] = (
    Rule(
        "lanes-write-side-by-side",
        (path("spec"),),
        "self.lanes == 1 || self.sinks.all(sink, !has(sink.delta) && !has(sink.iceberg) && !has(sink.foreachBatch))",
        "lanes cannot share a delta, iceberg or foreachBatch sink. Use a topic, parquet or postgres sink; or write a topic, "
        "and this sink by a second job without lanes",
        field_path=".sinks",
        mirrors=("lanes_write_side_by_side",),
    ),
    Rule(
        "partitions-are-of-a-topic",
        (path("spec.sinks[]"),),
        "self.partitionBy == 'key' || has(self.topic)",
        "only a topic has partitions. Remove partitionBy",
        field_path=".partitionBy",
        mirrors=("partitions_are_of_a_topic",),
    ),
    Rule(
        "lanes-have-short-names",
        ((),),
        f"self.spec.lanes == 1 || has(self.spec.laneOf) || size(self.metadata.name) <= {LONGEST_WHOLE}",
        f"a job with lanes has a name of at most {LONGEST_WHOLE} characters: those of its pods are longer. "
        "Give it a shorter one",
        field_path=".metadata.name",
        mirrors=("lanes_have_short_names",),
    ),
    Rule(
        "lane-is-there",
        (path("spec"),),
        "!has(self.laneOf) || self.laneOf.lane < self.lanes",
        "there is no such lane: the operator writes laneOf. Remove it",
        field_path=".laneOf",
        mirrors=("a_lane_is_there",),
    ),
    Rule(
        "table-follows-no-column",
        (path("spec.sources[]"),),
        "!has(self.table) || self.partitionedBy == 'key'",
        "every lane has all rows of a table, whatever its partitions follow. Remove partitionedBy",
        field_path=".partitionedBy",
        mirrors=("partitions_follow_a_column",),
    ),
    Rule(
        "raw-follows-key-or-value",
        (path("spec.sources[]"),),
        "self.format != 'raw' || self.partitionedBy in ['key', 'value', 'any']",
        "without a format there is no other column than value. Name value, key or any",
        field_path=".partitionedBy",
        mirrors=("partitions_follow_a_column",),
    ),
)
