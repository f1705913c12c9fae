"""Which columns and types a sink can hold. What it cannot is refused at start, not changed in silence. Pure."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    UserDefinedType,
    VarcharType,
    VariantType,
    YearMonthIntervalType,
)

from tandem.jobapi.errors import JobError
from tandem.manifest import SinkSpec
from tandem.manifest.formats import REGISTRY_FORMATS

_HELD: Final = (
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    BinaryType,
    DateType,
    TimestampType,
    TimestampNTZType,
)
"""Beside these: strings of the default collation, and arrays, maps and structs of what is held."""

_UNITS: Final = "Select its units as numbers, with extract(), or cast it to STRING"
_REMEDIES: Final[tuple[tuple[type[DataType], str], ...]] = (
    (YearMonthIntervalType, _UNITS),
    (DayTimeIntervalType, _UNITS),
    (NullType, "Cast it to the type that it is to have"),
    (CharType, "Cast it to STRING"),
    (VarcharType, "Cast it to STRING"),
    (StringType, "Cast it to STRING, which has the collation UTF8_BINARY"),
    (VariantType, "Select its text, with to_json(), or its fields, with variant_get()"),
    (UserDefinedType, "Select the fields that it is made of"),
)
_OTHERS: Final = "Cast it to STRING, or select what it is made of"


_PLACES: Final = {"foreachBatch": "DataFrame for foreachBatch"}


def check_table(sink: str, kind: str, schema: StructType) -> None:
    """Raise `JobError` if a table of `kind` (a table's, or foreachBatch) would not give back what was selected.

    Source: what Spark 4.3 reads of Parquet files that Arrow has written, and what delta-rs takes.
    """
    kind = _PLACES.get(kind, f"{kind} table")
    if not schema.fields:
        raise JobError(f"sink {sink}: the job selects no column. A table needs one")
    for problem in _of_struct("", schema, kind):
        raise JobError(f"sink {sink}: {problem}")


def check_kafka(spec: SinkSpec, schema: StructType, names_topic: bool) -> None:
    """Raise `JobError` if the columns of a Kafka sink are not those of Spark's, or what its formats take.

    `names_topic` : the job computes a column `topic` itself.
    """
    sink = spec.name
    types = {field.name: field.dataType for field in schema.fields}
    types = {name: kind for name, kind in types.items() if name == "value" or not isinstance(kind, NullType)}
    if "value" not in types:
        raise JobError(
            f"sink {sink}: no column `value` among {list(types)}. As for Spark's Kafka sink, select one, for example "
            'F.to_json(F.struct("*")).alias("value")'
        )
    if spec.key_format in REGISTRY_FORMATS and "key" not in types:
        raise JobError(f"sink {sink}: no column `key`, which keyFormat {spec.key_format} is for. Select one")
    for name, form in (("key", spec.key_format), ("value", spec.format)):
        if form not in REGISTRY_FORMATS and name in types and not isinstance(types[name], BinaryType | StringType):
            raise _wrong(sink, name, types[name], "Cast it to STRING or BINARY")
    if names_topic:
        raise JobError(
            f"sink {sink}: the job gives its rows a column `topic`, but all rows of a sink go to its one topic. Give "
            "spec.sinks one sink for each topic and return a dict with a DataFrame for each of them, or drop the column"
        )
    if not isinstance(types.get("partition", IntegerType()), ByteType | ShortType | IntegerType | LongType):
        raise _wrong(sink, "partition", types["partition"], "Cast it to INT")
    if "headers" in types and not _are_headers(types["headers"]):
        remedy = "As for Spark's Kafka sink, it must be ARRAY<STRUCT<key: STRING, value: BINARY>>"
        raise _wrong(sink, "headers", types["headers"], remedy)


def _wrong(sink: str, column: str, kind: DataType, remedy: str) -> JobError:
    return JobError(f"sink {sink}: column `{column}` is {kind.simpleString()}. {remedy}")


def _are_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = [(field.name.lower(), field.dataType) for field in kind.elementType.fields]
    is_named = [name for name, _ in fields] == ["key", "value"]
    return is_named and isinstance(fields[0][1], StringType) and isinstance(fields[1][1], BinaryType | StringType)


def _of_struct(path: str, struct: StructType, kind: str, in_map: bool = False) -> Iterator[str]:
    """What is wrong with the fields of a struct; `path`: its name and a dot, "": it is the row."""
    again = [name for name, count in Counter(name.lower() for name in struct.names).items() if count > 1]
    if again:
        where = f"column `{path[:-1]}` has" if path else "the job selects"
        names = ", ".join(name for name in struct.names if name.lower() == again[0])
        yield f"{where} several fields of one name ({names}): Spark does not tell upper from lower case. Rename them"
    if path and not struct.fields:
        yield f"column `{path[:-1]}` is a struct without fields, which no {kind} can hold. Leave it out"
    for field in struct.fields:
        yield from _of_type(path + field.name, field.dataType, kind, in_map)


def _of_type(column: str, found: DataType, kind: str, in_map: bool) -> Iterator[str]:
    if isinstance(found, StructType):
        yield from _of_struct(f"{column}.", found, kind, in_map)
    elif isinstance(found, ArrayType):
        yield from _of_type(f"{column}.element", found.elementType, kind, in_map)
    elif isinstance(found, MapType):
        yield from _of_type(f"{column}.key", found.keyType, kind, True)
        yield from _of_type(f"{column}.value", found.valueType, kind, True)
    elif kind == "delta table" and in_map and isinstance(found, TimestampNTZType):
        yield f"column `{column}` is TIMESTAMP_NTZ in a map, which the writer of Delta tables refuses. Cast it to TIMESTAMP"
    elif type(found) not in _HELD and not (type(found) is StringType and found == StringType()):
        remedy = next((text for one, text in _REMEDIES if isinstance(found, one)), _OTHERS)
        name = found.simpleString().upper()
        yield f"column `{column}` is {name}, and a {kind} would not give it back as it is. {remedy}"
