"""Which values the column of a Delta table's partitions cannot hold. Pure.

A partition's value is written as text: into the table's log, and into the name of a folder. An empty text is null there
(Delta protocol, "Partition Value Serialization"). What else is here was seen of the library that writes.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

_LONGEST: Final = 255
"""Bytes of a file's name on Linux."""
_NULL: Final = b"__HIVE_DEFAULT_PARTITION__"
_FIRST_US: Final = -62_135_596_800_000_000
"""The year 1, as microseconds since 1970."""
_LAST_US: Final = 253_402_300_799_999_999
"""The end of the year 9999."""


def unfit_partition(column: str, value: Any, kind: pa.DataType) -> str:
    """Why a partition cannot have this value; "": it can.

    value : as `plain` and `to_pylist` give it: a text as its bytes, a time as a number.
    """
    if value is None:
        return ""
    if pa.types.is_decimal(kind):
        if value < 0 and value != value.to_integral_value():
            return f"{column} is {value}: nobody could read the table any more, in whose log it would be spelt wrongly"
    elif pa.types.is_timestamp(kind):
        if not _FIRST_US <= value <= _LAST_US:
            return f"{column} is a time outside of the years 1 to 9999, with which no reader could read the table"
    elif isinstance(value, bytes) and not _is_text(value):
        return f"{column} is a text that is no UTF-8, which the table's log cannot hold"
    elif value == b"":
        return f"{column} is an empty text, which would be null there"
    elif value == _NULL:
        return f"{column} is the name that the folder of null has, and would be null there"
    elif len(f"{column}={_spelt(value)}".encode()) > _LONGEST:
        return (
            f"{column} is too long for the name of a folder: {_LONGEST} bytes, with three for a byte of most characters"
        )
    return ""


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _spelt(value: Any) -> str:
    """At most as short as the library writes it: that leaves some more characters as they are."""
    if isinstance(value, bytes):
        return quote(value, safe="")
    return f"{Decimal(value):f}" if isinstance(value, float) else str(value)
