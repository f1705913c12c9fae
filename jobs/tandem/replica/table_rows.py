"""Which rows a table cannot hold: those become dead letters. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tandem.replica.rows import plain
from tandem.replica.table_partitions import unfit_partition
from tandem.topics.declared import TABLE_PREFIX

_FIRST_DAY: Final = -719_162
"""0001-01-01 as days since 1970."""
_LAST_DAY: Final = 2_932_896
"""9999-12-31."""


def unfit_for_delta(table: pa.Table, deltas: Mapping[str, Sequence[str]]) -> Mapping[int, str]:
    """Index of a row of a Delta sink → why its table cannot hold it; none, as a rule.

    The library that writes Delta panics at a DATE beyond the year 262142, or before -262143. One outside of the years 1 to
    9999 stands in the statistics of a file in a form that readers refuse, the other rows with it.

    deltas : sink → the columns that its table is partitioned by.
    """
    found: dict[int, str] = {}
    for sink, partitions in deltas.items():
        name = TABLE_PREFIX + sink
        if name not in table.column_names:
            continue
        rows = table[name].combine_chunks()
        found |= {
            index: f"{why} (the Delta table of {sink} is partitioned by it)" for index, why in _parts(rows, partitions)
        }
        if not has_days_of_iso_years(rows):
            for index in range(len(rows)):
                if rows[index].is_valid and not has_days_of_iso_years(rows.take([index])):
                    found[index] = (
                        f"it has a DATE outside of the years 1 to 9999, which the Delta table of {sink} cannot hold"
                    )
    return found


def _parts(rows: pa.Array, partitions: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Index of a row, and which value of it no partition can have."""
    for column in partitions:
        if rows.type.get_field_index(column) < 0:
            continue  # without it, the row's partition is null
        kind = rows.type.field(column).type
        for index, value in enumerate(plain(pc.struct_field(rows, column)).to_pylist()):
            if why := unfit_partition(column, value, kind):
                yield index, f"its {why}"


def has_days_of_iso_years(values: pa.Array) -> bool:
    """Whether all dates, however deep they lie, are of the years 1 to 9999."""
    for dates in _dates(values):
        ends = pc.min_max(dates.cast(pa.int32())).as_py()
        if ends["min"] is not None and (ends["min"] < _FIRST_DAY or ends["max"] > _LAST_DAY):
            return False
    return True


def _dates(values: pa.Array) -> Iterator[pa.Array]:
    """All dates, however deep they lie."""
    kind = values.type
    if pa.types.is_date32(kind):
        yield values
    elif pa.types.is_struct(kind):
        for part in values.flatten():
            yield from _dates(part)
    elif pa.types.is_map(kind):
        entries = values.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        yield from _dates(entries.flatten())
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _dates(values.flatten())
