"""Which rows no Iceberg table can hold, and which tables cannot be written as they are. Pure.

What is here beside the format's own limits was seen of the library that writes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any, Final
from urllib.parse import quote_plus, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from tandem.replica.table_rows import has_days_of_iso_years

_FIRST_US: Final = -62_135_596_800_000_000
"""The year 1, as microseconds since 1970."""
_LAST_US: Final = 253_402_300_799_999_999
"""The end of the year 9999."""
_FLOATING: Final = ("float", "double")
_PLAIN: Final = ("identity", "void")
_TEXTS: Final = ("string", "binary")
_WITH_FOLDERS: Final = ("", "file", "hdfs")
_LONGEST_NAME: Final = 255
"""Of a folder, bytes."""
_MOST_SPELLED: Final = 4
"""Bytes in a folder's name for one of a value: three (%FF) for one of a text, and for each sign of bytes in base64 (%2B)."""
_ANOTHER: Final = "Partition the table by another column, or give the sink another table"


def unfit(rows: pa.StructArray, indexes: Sequence[int]) -> dict[int, str]:
    """Rows that no table can hold: index → why."""
    if not _why(rows):
        return {}
    return {index: why for place, index in enumerate(indexes) if (why := _why(rows.take([place])))}


def unfit_partition(table: Any, has_core: bool) -> str:
    """Why a table that is partitioned like this one takes no rows from here; "": it does.

    The library takes 0.0 and -0.0 for two partitions, and writes the rows of both into each; at NaN it fails.

    has_core : whether `pyiceberg-core` is there, which computes days, buckets and the like.
    """
    columns = table.schema()
    for field in table.spec().fields:
        by, name = str(field.transform), columns.find_column_name(field.source_id)
        kind = str(columns.find_type(field.source_id))
        if by == "identity" and kind in _FLOATING:
            return (
                f"it is partitioned by {name}, which is {kind}: rows with 0.0, -0.0 or NaN there would be written twice, or "
                f"never. {_ANOTHER}"
            )
        if by.startswith("truncate") and kind.startswith("decimal"):
            return (
                f"it is partitioned by {by} of {name}, which is {kind}: the library that writes fails at the least values "
                f"of that type. {_ANOTHER}"
            )
        if by not in _PLAIN and not has_core:
            return (
                f"it is partitioned by {by} of {name}, which needs the package pyiceberg-core: pip install "
                "'tandem-stream[iceberg]'"
            )
    return ""


def unfit_folders(rows: pa.StructArray, indexes: Sequence[int], table: Any) -> dict[int, str]:
    """Rows whose partition's folder would have a name that is too long: index → why. An object store has no folders."""
    found: dict[int, str] = {}
    if urlsplit(table.location()).scheme not in _WITH_FOLDERS:
        return found
    columns = table.schema()
    for field in table.spec().fields:
        by = field.transform
        if not str(by).startswith(("identity", "truncate")):
            continue
        kind, name = columns.find_type(field.source_id), columns.find_column_name(field.source_id)
        if str(kind) not in _TEXTS:
            continue
        cut, prefix = by.transform(kind), quote_plus(field.name, safe="")
        for index, value in zip(indexes, _values(rows, name, _LONGEST_NAME - len(prefix) - 1), strict=False):
            part = quote_plus(by.to_human_string(kind, cut(value)), safe="")
            if len(prefix) + 1 + len(part) > _LONGEST_NAME:
                found[index] = (
                    f"its {name} is too long for the name of a folder, and the Iceberg table is partitioned by it"
                )
    return found


def _values(rows: pa.StructArray, name: str, room: int) -> list[Any]:
    """The values of a column, or of one within a struct; none if all of them fit into `room`, however they are spelled."""
    names = [name] if rows.type.get_field_index(name) >= 0 else name.split(".")
    try:
        column = pc.struct_field(rows, names)
    except (pa.ArrowInvalid, KeyError):
        return []  # the job does not select it
    longest = pc.max(pc.binary_length(column)).as_py() or 0
    return [] if longest * _MOST_SPELLED <= room else column.to_pylist()


def misfits(table: Any, rows: pa.Schema) -> Iterator[str]:
    """What of a job's rows the table does not take: a column that one of them has not, a type, or null."""
    from pyiceberg.exceptions import ResolveError
    from pyiceberg.io.pyarrow import _check_pyarrow_schema_compatible, _pyarrow_to_schema_without_ids
    from pyiceberg.schema import promote

    version = table.metadata.format_version
    theirs = {field.name: field for field in table.schema().fields}
    mine = {field.name: field for field in _pyarrow_to_schema_without_ids(rows, format_version=version).fields}
    found = [f"the table has no column {name}" for name in mine if name not in theirs]
    for field in table.spec().fields:
        by = table.schema().find_column_name(field.source_id) if str(field.transform) != "void" else None
        if by is not None and by not in mine and by.split(".")[0] not in mine:
            found.append(f"the table is partitioned by {by}, which the job does not select")
    for name, there in theirs.items():
        if (here := mine.get(name)) is None:
            if there.required:
                found.append(f"column {name} of the table is required, but the job does not select it")
            continue
        if there.required and not here.required:
            found.append(f"column {name} may be null in the job, but is required in the table")
        if (mine_is := here.field_type) == (its := there.field_type) or not (mine_is.is_primitive or its.is_primitive):
            continue
        try:
            promote(mine_is, its)
        except ResolveError:
            found.append(f"column {name} is {mine_is} in the job, but {its} in the table")
    if not found:
        try:
            with redirect_stdout(io.StringIO()):  # it prints a picture
                _check_pyarrow_schema_compatible(table.schema(), rows, format_version=version)
        except ValueError as error:
            both = [(name, _shown(mine[name].field_type), _shown(theirs[name].field_type)) for name in mine]
            found = [
                f"column {name} is {here} in the job, but {its} in the table" for name, here, its in both if here != its
            ]
            found = found or [" ".join(str(error).split())]
    yield from found


def _shown(kind: Any) -> str:
    """A type without the numbers of its fields."""
    return re.sub(r"-?\d+: ", "", str(kind))


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
