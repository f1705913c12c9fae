"""Whether a table of PostgreSQL takes a job's rows, all of them and as they are. Pure.

The database would cast in silence what it can: 1.999 becomes 2.00 in a `numeric(10,2)`, and a time is rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tandem.manifest import PostgresSink


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `kind`: its type, in PostgreSQL's words; of a domain, what it is made of."""

    kind: str
    is_enum: bool = False
    is_computed: bool = False
    is_needed: bool = False
    """It is NOT NULL, and has no default."""

    @property
    def width(self) -> int | None:
        """The most characters of a text in it, or of one within its arrays; None: it takes texts of any length."""
        match = _VARYING.fullmatch(self.kind)
        return None if match is None else int(match[1])


@dataclass(frozen=True, slots=True)
class Shape:
    """A table as the database describes it. `uniques`: sets of columns with a unique index that ON CONFLICT can name."""

    columns: Mapping[str, Column]
    uniques: frozenset[frozenset[str]] = frozenset()
    missing_rights: tuple[str, ...] = ()


_WHOLE: Final = ("smallint", "integer", "bigint", "numeric")
_TEXTS: Final = frozenset({"text", "citext", "json", "jsonb", "uuid", "inet", "cidr", "macaddr", "xml"})
_HELD: Final[Mapping[type[DataType], tuple[str, ...]]] = {
    BooleanType: ("boolean",),
    ByteType: _WHOLE,
    ShortType: _WHOLE,
    IntegerType: _WHOLE[1:],
    LongType: _WHOLE[2:],
    FloatType: ("real", "double precision"),
    DoubleType: ("double precision",),
    BinaryType: ("bytea",),
    DateType: ("date",),
    TimestampType: ("timestamp with time zone", "timestamp(6) with time zone"),
    TimestampNTZType: ("timestamp without time zone", "timestamp(6) without time zone"),
}
_DIGITS: Final[Mapping[type[DataType], int]] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_VARYING: Final = re.compile(r"character varying\((\d+)\)(?:\[\])*")
_NUMERIC: Final = re.compile(r"numeric\((\d+),(-?\d+)\)")


def misfits(shape: Shape, rows: StructType, sink: PostgresSink) -> Iterator[str]:
    """What of a job's rows the table would change, or never take; nothing: they fit."""
    for right in shape.missing_rights:
        yield f"the user {sink.user} has no right to {right}. GRANT it"
    for field in rows.fields:
        column = shape.columns.get(field.name)
        if column is None:
            yield f"the table has no column {field.name}{_near(field.name, shape)}"
        elif column.is_computed:
            yield f"column {field.name} is computed by the database. Do not select it"
        elif why := _unheld(field.dataType, column):
            yield f"column {field.name} is {_type(field.dataType)} in the job, but {column.kind} in the table{why}"
    for name, column in shape.columns.items():
        if column.is_needed and name not in rows.names:
            yield f"column {name} of the table is NOT NULL without a default, but the job does not select it"
    if sink.mode == "upsert":
        yield from _of_key(shape, rows, sink)


def _of_key(shape: Shape, rows: StructType, sink: PostgresSink) -> Iterator[str]:
    for name in sink.key:
        if name not in rows.names:
            yield f"the key's column {name} is not selected by the job"
    if frozenset(sink.key) not in shape.uniques:
        columns = ", ".join(map(quoted, sink.key))
        yield (
            f"no unique index is over ({columns}) alone, which upsert needs: CREATE UNIQUE INDEX ON {shown(sink)} "
            f"({columns})"
        )


def create_statement(sink: PostgresSink, rows: StructType) -> str:
    """A CREATE TABLE for a job's rows."""
    columns = [f"{quoted(field.name)} {_fitting(field)}" for field in rows.fields]
    if sink.key:
        columns.append(f"PRIMARY KEY ({', '.join(map(quoted, sink.key))})")
    return f"CREATE TABLE {shown(sink)} ({', '.join(columns)})"


def quoted(name: str) -> str:
    """A name for people to read in SQL: in quotes where it needs them, unless it is a word of SQL."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def shown(sink: PostgresSink) -> str:
    """The table's name with its schema, for people to read."""
    return f"{quoted(sink.schema_name)}.{quoted(sink.table)}"


def _near(name: str, shape: Shape) -> str:
    other = next((one for one in shape.columns if one.lower() == name.lower()), None)
    return f" (but {other}: PostgreSQL tells upper from lower case)" if other else ""


def _unheld(kind: DataType, column: Column) -> str | None:
    """None: the column holds every value of the type. Else what to say beside the two types, and to do."""
    if isinstance(kind, ArrayType):
        inner = kind.elementType
        if isinstance(inner, ArrayType | MapType | StructType):
            return ". Select its text with to_json(), for a column of type json or jsonb"
        if not column.kind.endswith("[]"):
            return f", which is no array. Let it be {_fitting(StructField('', kind))}"
        return _unheld(inner, Column(column.kind.removesuffix("[]"), column.is_enum))
    if isinstance(kind, StructType | MapType):
        return ". Select its text with to_json(), for a column of type json or jsonb"
    if isinstance(kind, StringType):
        fits = column.is_enum or column.kind.rpartition(".")[2] in _TEXTS or column.kind.startswith("character varying")
        return None if fits else f". Cast it in the job, or let it be {_fitting(StructField('', kind))}"
    if isinstance(kind, DecimalType):
        return None if _holds_decimal(kind, column.kind) else f". Let it be {_fitting(StructField('', kind))}"
    match = _NUMERIC.fullmatch(column.kind)
    digits = _DIGITS.get(type(kind))
    if match and digits:
        fits = int(match[1]) - int(match[2]) >= digits and int(match[2]) >= 0
    else:
        fits = column.kind in _HELD.get(type(kind), ())
    return None if fits else f". Cast it in the job, or let it be {_fitting(StructField('', kind))}"


def _holds_decimal(kind: DecimalType, there: str) -> bool:
    if there == "numeric":
        return True
    match = _NUMERIC.fullmatch(there)
    if match is None:
        return False
    precision, scale = int(match[1]), int(match[2])
    return scale >= kind.scale and precision - scale >= kind.precision - kind.scale


def _fitting(field: StructField) -> str:
    kind = field.dataType
    if isinstance(kind, ArrayType):
        inner = _fitting(StructField("", kind.elementType))
        return inner if inner == "jsonb" else f"{inner}[]"
    if isinstance(kind, DecimalType):
        return f"numeric({kind.precision},{kind.scale})"
    if isinstance(kind, StringType):
        return "text"
    return _HELD.get(type(kind), ("jsonb",))[0]


def _type(kind: DataType) -> str:
    return kind.simpleString().upper()
