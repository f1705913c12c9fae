"""Which rows no Iceberg table can hold, and which tables cannot be written as they are. Pure.

What is here beside the format's own limits was seen of the library that writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tandem.replica.table_rows import has_days_of_iso_years

_FIRST_US: Final = -62_135_596_800_000_000
"""The year 1, as microseconds since 1970."""
_LAST_US: Final = 253_402_300_799_999_999
"""The end of the year 9999."""
_FLOATING: Final = ("float", "double")


def unfit(rows: pa.StructArray, indexes: Sequence[int]) -> dict[int, str]:
    """Rows that no table can hold: index → why."""
    if not _why(rows):
        return {}
    return {index: why for place, index in enumerate(indexes) if (why := _why(rows.take([place])))}


def unfit_partition(table: Any) -> str:
    """Why a table that is partitioned like this one takes no rows from here; "": it does.

    The library takes 0.0 and -0.0 for two partitions, and writes the rows of both into each; at NaN it fails.
    """
    columns = table.schema()
    for field in table.spec().fields:
        if str(field.transform) == "identity" and (kind := str(columns.find_type(field.source_id))) in _FLOATING:
            return (
                f"it is partitioned by {columns.find_column_name(field.source_id)}, which is {kind}: rows with 0.0, -0.0 "
                "or NaN there would be written twice, or never. Partition the table by another column, or give the sink "
                "another table"
            )
    return ""


def _why(rows: pa.StructArray) -> str:
    """Why a table cannot hold one of the rows; "": it can hold all."""
    if not _is_text(rows):
        return "it has a text that is no UTF-8, which an Iceberg table cannot hold"
    if not has_days_of_iso_years(rows):
        return "it has a DATE outside of the years 1 to 9999, which many readers of Iceberg refuse"
    if not all(map(_is_of_iso_years, _times(rows))):
        return (
            "it has a time outside of the years 1 to 9999, of which the library that writes Iceberg has no statistics"
        )
    return ""


def _is_text(rows: pa.Array) -> bool:
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _times(rows: pa.StructArray) -> Iterator[pa.Array]:
    """Columns of times, also within structs; there are no statistics of what is within arrays and maps."""
    for column in rows.flatten():
        if pa.types.is_timestamp(column.type):
            yield column
        elif pa.types.is_struct(column.type):
            yield from _times(column)


def _is_of_iso_years(times: pa.Array) -> bool:
    ends = pc.min_max(times.cast(pa.int64())).as_py()
    return ends["min"] is None or (ends["min"] >= _FIRST_US and ends["max"] <= _LAST_US)
