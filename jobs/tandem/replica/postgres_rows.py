"""An epoch's rows as PostgreSQL takes them: texts that its types read, in JSON. Pure.

`json_to_recordset` reads each value with the input function of its column's type, so no value goes through a number or a
time of Python that could not hold it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tandem.replica.rows import plain

MOST_ROWS: Final = 5_000
MOST_BYTES: Final = 8_000_000
"""Of one statement; a row that is larger has one of its own."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Rows as JSON objects: index in the epoch and text, in their order. `refused`: index → why no table takes the row."""

    rows: tuple[tuple[int, str], ...]
    refused: Mapping[int, str]

    def chunks(self) -> list[tuple[tuple[int, str], ...]]:
        """The rows in parts, each for one statement."""
        parts: list[list[tuple[int, str]]] = []
        size = 0
        for row in self.rows:
            if not parts or len(parts[-1]) == MOST_ROWS or size + len(row[1]) > MOST_BYTES:
                parts.append([])
                size = 0
            parts[-1].append(row)
            size += len(row[1])
        return [tuple(part) for part in parts]


class UnfitValueError(ValueError):
    """A value that no column of PostgreSQL can hold."""


def encode(
    rows: pa.StructArray,
    indexes: Collection[int],
    key: Collection[str] = (),
    widths: Mapping[str, int | None] = MappingProxyType({}),
) -> Encoded:
    """Make JSON of rows.

    indexes : of the rows in their epoch. key : columns that must not be null. widths : the most characters of a column's
    texts, where there is such a number. The database refuses longer ones, but for those that only spaces make too long:
    it would take them without these.
    """
    columns = {
        field.name: _values(rows.field(number), widths.get(field.name)) for number, field in enumerate(rows.type)
    }
    names, taken, refused = list(columns), [], {}
    for index, values in zip(indexes, zip(*columns.values(), strict=True), strict=True):
        try:
            row = {name: make() for name, make in zip(names, values, strict=True)}
            if nulls := [name for name in key if row[name] is None]:
                raise UnfitValueError(f"its key column {nulls[0]} is null")
        except UnfitValueError as error:
            refused[index] = str(error)
        else:
            taken.append((index, json.dumps(row, ensure_ascii=False, separators=(",", ":"))))
    return Encoded(tuple(taken), refused)


def _values(column: pa.Array, width: int | None) -> list[Callable[[], Any]]:
    """For each row, what makes the value of one column. Raises `UnfitValueError` when it is called."""
    convert = _converter(column.type, width)
    return [_Value(convert, value) for value in plain(column).to_pylist()]


@dataclass(frozen=True, slots=True)
class _Value:
    convert: Callable[[Any], Any]
    value: Any

    def __call__(self) -> Any:
        return None if self.value is None else self.convert(self.value)


def _converter(kind: pa.DataType, width: int | None = None) -> Callable[[Any], Any]:
    """From a value as `plain` gives it to one for JSON."""
    if pa.types.is_string(kind):
        return _text if width is None else partial(_text_within, width)
    if pa.types.is_binary(kind):
        return lambda value: "\\x" + value.hex()
    if pa.types.is_date32(kind):
        return lambda days: _time(np.datetime64(days, "D"))
    if pa.types.is_timestamp(kind):
        zone = "" if kind.tz is None else "+00"
        return lambda us: _time(np.datetime64(us, "us"), zone)
    if pa.types.is_floating(kind):
        return lambda value: value if math.isfinite(value) else str(value)
    if pa.types.is_decimal(kind):
        return lambda value: f"{Decimal(value):f}"
    if pa.types.is_list(kind):
        convert = _converter(kind.value_type, width)
        return lambda values: [None if value is None else convert(value) for value in values]
    return lambda value: value


def _text(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise UnfitValueError("it has a text that is no UTF-8, which PostgreSQL cannot hold") from error
    if "\0" in text:
        raise UnfitValueError("it has a text with the character NUL (U+0000), which PostgreSQL cannot hold")
    return text


def _text_within(width: int, content: bytes) -> str:
    text = _text(content)
    if len(text) > width and not text[width:].strip(" "):
        raise UnfitValueError(
            f"it has a text of {len(text):,} characters, and the column holds {width:,}: PostgreSQL would drop the spaces "
            "at its end"
        )
    return text


def _time(moment: np.datetime64, zone: str = "") -> str:
    """As PostgreSQL reads it: before the year 1, years are counted backwards, without a year 0."""
    if np.isnat(moment):  # the least value of 64 bits, which Spark can hold
        raise UnfitValueError("it has a time that PostgreSQL cannot hold")
    day, separator, clock = str(moment).partition("T")
    year, month, date = day.rsplit("-", 2)
    number = int(year)
    era = "" if number > 0 else " BC"
    return f"{number if number > 0 else 1 - number:04d}-{month}-{date}{separator}{clock}{zone}{era}"
