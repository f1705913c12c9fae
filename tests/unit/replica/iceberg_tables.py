"""Iceberg tables in a folder: made as another tool may, written and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.transforms import IdentityTransform

from tandem.replica.iceberg_catalog import IcebergTable
from unit.replica.making import MakingIcebergWriter

EACH = IdentityTransform()


def lake(tmp_path: Path) -> IcebergTable:
    options = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    return IcebergTable("lake", "shop.orders", options, "job")


def rows(kind: pa.DataType, *values: Any) -> pa.StructArray:
    return pa.array(
        [{"n": n, "v": value} for n, value in enumerate(values)], pa.struct([("n", pa.int64()), ("v", kind)])
    )


def write(table: IcebergTable, some: pa.StructArray) -> dict[int, str]:
    return dict(MakingIcebergWriter(table, 0).write(0, some, range(len(some))))


def content(table: IcebergTable) -> pa.Table:
    return table.catalog().load_table(table.table).scan().to_arrow()


def partitioned(table: IcebergTable, kind: pa.DataType, by: Any = EACH) -> None:
    """Make the table, with a partition for each value of `v` or what `by` makes of it, as another tool may."""
    catalog = table.catalog()
    catalog.create_namespace("shop")
    made = catalog.create_table(table.table, pa.schema([("n", pa.int64()), ("v", kind)]))
    with made.update_spec() as update:
        update.add_field("v", by, "v" if by is EACH else "p")


def made(table: IcebergTable, schema: pa.Schema) -> None:
    table.catalog().create_namespace("shop")
    table.catalog().create_table(table.table, schema)
