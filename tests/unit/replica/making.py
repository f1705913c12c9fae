"""Writers of tables that are made first, as a replica makes them when a generation of the job begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tandem.replica import iceberg, tables
from tandem.replica.iceberg import IcebergWriter
from tandem.replica.rows import EpochRows
from tandem.replica.tables import TableWriter
from tandem.topics.declared import TABLE_PREFIX


class MakingTableWriter(TableWriter):
    """Makes the tables of an epoch's rows before it writes them."""

    def write(self, rows: EpochRows) -> None:
        for sink in self._sinks:
            if (column := TABLE_PREFIX + sink.name) in rows.table.column_names:
                tables.make(sink, pa.schema(list(rows.table.schema.field(column).type)))
        super().write(rows)


class MakingIcebergWriter(IcebergWriter):
    """Makes its table before each epoch."""

    def write(self, epoch: int, rows: pa.StructArray, indexes: Sequence[int]) -> Mapping[int, str]:
        iceberg.make(self._table, pa.schema(list(rows.type)))
        return super().write(epoch, rows, indexes)
