"""Rules about lanes, and what the partitions of sources follow."""

from __future__ import annotations

from typing import Final

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
        "lanes-on-one-machine",
        (path("spec"),),
        "self.lanes == 1",
        "lanes run on one machine for now, by tandem run. Set lanes: 1, or leave it out",
        field_path=".lanes",
    ),
    Rule(
        "table-follows-no-column",
        (path("spec.sources[]"),),
        "!has(self.table) || self.partitionedBy == 'key'",
        "every lane has all rows of a table, whatever its partitions follow. Remove partitionedBy",
        field_path=".partitionedBy",
        mirrors=("partitions_follow_a_column",),
    ),
)
